/* Serving a trace with a scenario's steps (served.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/serve/served.h"

#include <string.h>

#include "base/file.h"
#include "base/screen.h"
#include "command/command.h"
#include "cmd/serve/step_plans.h"

/* ---- the trace ---- */

static int read_trace(struct request_trace *out, const struct served *o)
{
    struct text text = TEXT_INIT;
    struct diag diag = DIAG_INIT;
    struct shd_error err;
    int exit = CMD_OK;

    if (file_read(&text, o->trace, TRACE_BYTES_MAX, &err) != SHD_OK)
        return cmd_failure(o->trace, &err);
    if (trace_parse(out, o->trace, text_get(&text), text.length, o->unit_ns, &diag) != SHD_OK) {
        diag_write(&diag, stderr);
        exit = cmd_exit_of_input(&diag);
    } else {
        if (o->nrequests > 0)
            trace_limit(out, o->nrequests);
        if (o->rate > 0 && trace_scale(out, o->rate, &err) != SHD_OK) {
            exit = cmd_failure(o->trace, &err);
            trace_fini(out);
        }
    }
    text_fini(&text);
    diag_fini(&diag);
    return exit;
}

static int make_trace(struct request_trace *out, const struct served *o)
{
    struct shd_error err;

    if (o->trace)
        return read_trace(out, o);
    return trace_draw(out, &o->drawn, &err) == SHD_OK ? CMD_OK : cmd_failure("--rate", &err);
}

/* ---- the policies ---- */

struct policies {
    const struct serving_policy *each[SERVED_POLICIES_MAX];
    size_t n;
};

static uint32_t nprefill_of(const struct served *o, const struct serving_policy *policy)
{
    return policy->form_decode ? o->nprefill : 0;
}

/* Without costs.  A group of devices that share sequences is what is a replica there. */
static struct serving_setup setup_of(const struct served *o, const struct step_plans *plans,
                                     const struct request_trace *trace,
                                     const struct serving_policy *policy)
{
    const struct step_devices *decode = &plans->decode, *prefill = &plans->prefill;
    uint32_t nprefill = nprefill_of(o, policy);

    return (struct serving_setup){.trace = trace,
                                  .policy = policy,
                                  .limits = o->limits,
                                  .draft = plans->draft,
                                  .concurrency = o->concurrency,
                                  .nreplicas = (o->nreplicas - nprefill) * decode->ngroups +
                                               nprefill * prefill->ngroups,
                                  .nprefill = nprefill * prefill->ngroups,
                                  .together = decode->together ? decode->ngroups : 1,
                                  .prefill_together = prefill->together ? prefill->ngroups : 1,
                                  .cache_tokens = decode->cache_tokens,
                                  .prefill_cache_tokens = prefill->cache_tokens};
}

/* The policies asked for, or all that can be had: two pools need two replicas, and where the
 * prefill has devices of its own no replica does both. */
static void list_policies(struct policies *out, const struct served *o, bool apart)
{
    out->n = 0;
    for (size_t i = 0; i < o->npolicies; i++)
        out->each[out->n++] = policy_find(o->policies[i]);
    for (size_t i = 0; o->npolicies == 0 && serving_policies[i]; i++)
        if (serving_policies[i]->form_decode ? o->nreplicas > 1 : !apart)
            out->each[out->n++] = serving_policies[i];
}

/* Refuse what cannot be served before anything is planned; returns the exit status. */
static int check_policies(const struct policies *policies, const struct served *o,
                          const struct step_plans *plans, const struct request_trace *trace)
{
    struct shd_error err;

    if (policies->n == 0)
        return cmd_wrong(o->chosen.path, "the scenario has a separate prefill mesh; expected at "
                                         "least two --replicas, some of them for prefill");
    for (size_t i = 0; i < policies->n; i++) {
        struct serving_setup setup = setup_of(o, plans, trace, policies->each[i]);

        if (plans->apart && !setup.policy->form_decode)
            return cmd_wrong(setup.policy->name,
                             "the scenario has a separate prefill mesh: no replica does both; "
                             "expected --policy disaggregated");
        if (serving_check(&setup, &err) != SHD_OK)
            return cmd_failure(o->chosen.path, &err);
    }
    return CMD_OK;
}

static int serve(struct serving_row *row, const struct served *o, const struct step_plans *plans,
                 const struct request_trace *trace)
{
    struct serving_setup setup = setup_of(o, plans, trace, row->policy);
    int64_t nprefill = nprefill_of(o, row->policy);
    struct serving_outcome outcome;
    struct shd_error err;
    int status;

    setup.costs = &plans->tables.costs;
    if (serving_run(&outcome, &setup, &err) != SHD_OK)
        return cmd_failure(o->chosen.path, &err);
    status = serving_figures_of(&row->figures, &setup, &outcome, &o->goal, &err);
    row->counts = outcome.counts;
    row->nserved = outcome.nserved;
    row->nrefused = outcome.nrefused;
    row->nsteps = outcome.nsteps;
    row->ndevices =
        nprefill * plans->prefill.ndevices + (o->nreplicas - nprefill) * plans->decode.ndevices;
    serving_outcome_fini(&outcome);
    return status == SHD_OK ? CMD_OK : cmd_failure(o->chosen.path, &err);
}

static int print(const struct served *o, const struct serving_report *report)
{
    struct text text = TEXT_INIT;
    struct screen screen;
    int exit;

    screen_init(&screen, stdout, SCREEN_NEVER);
    serving_report_print(&text, report, o->format, screen.columns);
    exit = cmd_write(o->path, &text);
    text_fini(&text);
    return exit;
}

static int serve_all(const struct served *o, const struct policies *policies,
                     const struct step_plans *plans, const struct request_trace *trace)
{
    struct serving_row rows[SERVED_POLICIES_MAX];
    struct serving_report report = {.name = o->chosen.path,
                                    .cluster = plans->cluster,
                                    .trace = trace,
                                    .rows = rows,
                                    .nrows = policies->n,
                                    .concurrency = o->concurrency,
                                    .nreplicas = o->nreplicas,
                                    .nprefill = o->nprefill,
                                    .limits = o->limits,
                                    .draft = plans->draft,
                                    .goal = o->goal,
                                    .ngroups = plans->decode.ngroups,
                                    .together = plans->decode.together,
                                    .cache_tokens = plans->decode.cache_tokens,
                                    .token_bytes = plans->token_bytes,
                                    .apart = plans->apart,
                                    .nplans = plans->nplans,
                                    .trust = plans->trust,
                                    .margin = plans->margin,
                                    .error = plans->error};
    int exit = CMD_OK;

    for (size_t i = 0; i < report.nrows && exit == CMD_OK; i++) {
        rows[i].policy = policies->each[i];
        exit = cmd_stop_request ? CMD_INTERRUPTED : serve(&rows[i], o, plans, trace);
    }
    return exit == CMD_OK ? print(o, &report) : exit;
}

/* The sizes of the steps that the trace needs. */
static void set_sizes(struct step_plans *plans, const struct served *o,
                      const struct request_trace *trace)
{
    plans->batch_max = o->limits.batch_max;
    plans->tokens_max = o->limits.tokens_max;
    plans->nreplicas = o->nreplicas;
    plans->nprefill = o->nprefill;
    for (uint32_t i = 0; i < trace->nrequests; i++) {
        uint32_t tokens = trace->requests[i].prompt + trace->requests[i].output;

        if (tokens > plans->context_max)
            plans->context_max = tokens;
    }
}

/* Plan for a trace, and serve it. */
static int serve_trace(struct served *o, const struct request_trace *trace)
{
    struct step_plans plans = {.text = TEXT_INIT};
    struct policies policies;
    int exit;

    set_sizes(&plans, o, trace);
    exit = step_plans_begin(&plans, &o->chosen);
    if (exit == CMD_OK) {
        list_policies(&policies, o, plans.apart);
        exit = check_policies(&policies, o, &plans, trace);
    }
    if (exit == CMD_OK)
        exit = step_plans_make(&plans, &o->chosen);
    if (exit == CMD_OK)
        exit = serve_all(o, &policies, &plans, trace);
    step_plans_fini(&plans);
    return exit;
}

int served_run(struct served *o)
{
    struct request_trace trace;
    int exit = cmd_check_output(o->path);

    if (exit == CMD_OK)
        exit = make_trace(&trace, o);
    if (exit != CMD_OK)
        return exit;
    if (o->nprefill == 0)
        o->nprefill = o->nreplicas / 2;
    exit = serve_trace(o, &trace);
    trace_fini(&trace);
    return exit;
}
