/* shardsim serve - a trace of requests served by replicas of a model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/serve/served.h"
#include "serving/policy.h"

#define REQUESTS 1000
#define REPLICAS_MAX 4096
#define BATCH_MAX 65536

static void take_rate(const struct args_value *v)
{
    double *rate = v->at;
    char *end;

    *rate = decimal_read(v->arg, &end);
    if (end == v->arg || *end || !(*rate > 0))
        args_error(v->line, "--rate is '%s'; expected requests per second above 0, or inf", v->arg);
}

static void take_unit(const struct args_value *v)
{
    static const char *const names[] = {"s", "ms", "us", "ns"};
    int64_t *ns = v->at;

    *ns = INT64_C(1000000000);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++, *ns /= 1000)
        if (!strcmp(v->arg, names[i]))
            return;
    args_error(v->line, "--time-unit is '%s'; expected s, ms, us or ns", v->arg);
}

static void take_lengths(const struct args_value *v)
{
    struct shd_error err;

    if (trace_parse_lengths(v->at, v->arg, &err) != SHD_OK)
        args_error(v->line, "--%s: %s", v->row->name, err.text);
}

static void take_time(const struct args_value *v)
{
    int64_t *ns = v->at;
    struct shd_error err;

    if (units_parse_ns(ns, v->arg, &err) != SHD_OK)
        args_error(v->line, "--%s: %s", v->row->name, err.text);
    if (*ns <= 0)
        args_error(v->line, "--%s is '%s'; expected a time above 0, e.g. 50ms", v->row->name,
                   v->arg);
}

static void take_policy(const struct args_value *v)
{
    struct served *o = v->at;
    struct nearest near;

    if (!policy_find(v->arg)) {
        nearest_init(&near, v->arg);
        for (size_t i = 0; serving_policies[i]; i++)
            nearest_add(&near, serving_policies[i]->name);
        args_error(v->line, "unknown policy '%s'%s", v->arg, nearest_hint(&near).text);
    }
    if (o->npolicies == SERVED_POLICIES_MAX)
        args_error(v->line, "--policy is given more than %d times", SERVED_POLICIES_MAX);
    o->policies[o->npolicies++] = v->arg;
}

/* A trace of a file has its own lengths and seconds; others are drawn. */
static void check_trace(const struct args_line *line, struct served *o)
{
    static const char *const of_drawn[] = {"prompt-tokens", "output-tokens", "seed"};

    for (size_t i = 0; o->trace && i < sizeof of_drawn / sizeof of_drawn[0]; i++)
        if (args_given(line, of_drawn[i]))
            args_error(line, "--trace has its own requests; remove --%s", of_drawn[i]);
    if (!o->trace && o->unit_ns > 0)
        args_error(line, "--time-unit requires --trace");
    if (o->trace && strcmp(o->trace, "-") == 0 && strcmp(o->chosen.path, "-") == 0)
        args_error(
            line,
            "--trace and the scenario are both standard input; expected a file for either");
    o->drawn.nrequests = o->nrequests > 0 ? o->nrequests : REQUESTS;
    o->drawn.rate = o->rate > 0 ? o->rate : INFINITY;
}

static void check_replicas(const struct args_line *line, const struct served *o)
{
    bool has_pools = o->npolicies == 0;

    for (size_t i = 0; i < o->npolicies; i++)
        has_pools |= policy_find(o->policies[i])->form_decode != NULL;
    if (o->nprefill > 0 && !has_pools)
        args_error(line, "--prefill-replicas requires --policy disaggregated");
    if (o->nprefill >= o->nreplicas)
        args_error(line,
                   "--prefill-replicas is %u of %u --replicas; expected at least one replica left "
                   "for decode",
                   o->nprefill, o->nreplicas);
}

static void check_together(const struct args_line *line, void *input)
{
    check_trace(line, input);
    check_replicas(line, input);
}

#define AT(field) ARGS_AT(struct served, field)

static const struct args_row rows[] = {
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Requests:"},
    {"trace", 0, "FILE", args_text, AT(trace), 0, 0,
     "Read requests from a file: CSV with headings (Azure, BurstGPT), or JSON lines (Mooncake, "
     "whose hash_ids mark shared prefixes)"},
    {"time-unit", 0, "s|ms|us|ns", take_unit, AT(unit_ns), 0, 0,
     "Unit of numeric arrival times in the file (default: from the field's name, else guessed from "
     "their fractions, size and rate)"},
    {"requests", 'n', "N", args_count, AT(nrequests), 1, TRACE_REQUESTS_MAX,
     "Number of requests: the first N of the file (default: all), or N random requests (default: "
     "1000)"},
    {"rate", 0, "NUMBER", take_rate, AT(rate), 0, 0,
     "Requests per second: Poisson arrivals, or the file's times rescaled; inf: all at once "
     "(default without a file)"},
    {"concurrency", 0, "N", args_count, AT(concurrency), 1, TRACE_REQUESTS_MAX,
     "At most N requests in the system; the next arrives when one has finished (default: no "
     "limit)"},
    {"prompt-tokens", 0, "LENGTHS", take_lengths, AT(drawn.prompt), 0, 0,
     "Tokens per prompt: a number (default: 1024), or lognormal:MEAN,DEVIATION"},
    {"output-tokens", 0, "LENGTHS", take_lengths, AT(drawn.output), 0, 0,
     "Output tokens per request, in the same form (default: 128)"},
    {"seed", 0, "N", args_count, AT(drawn.seed), 0, INT32_MAX,
     "Seed of random requests (default: 0)"},
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Servers:"},
    {"policy", 'p', "NAME", take_policy, 0, 0, 0, 0,
     "Batching policy; repeatable (default: all that are possible)"},
    {"replicas", 0, "N", args_count, AT(nreplicas), 1, REPLICAS_MAX,
     "Replicas of the model, each on the scenario's mesh (default: 1)"},
    {"prefill-replicas", 0, "N", args_count, AT(nprefill), 1, REPLICAS_MAX,
     "For disaggregated: number of prefill replicas (default: half)"},
    {"batch", 0, "N", args_count, AT(limits.batch_max), 1, BATCH_MAX,
     "Maximum sequences in the batch of a replica, or of each of its batch shards (default: 256)"},
    {"step-tokens", 0, "N", args_count, AT(limits.tokens_max), 1, TRACE_TOKENS_MAX,
     "Maximum tokens per step (default: 2048); except for chunked, a longer prompt has its own "
     "step"},
    {"page", 0, "N", args_count, AT(limits.page), 1, TRACE_TOKENS_MAX,
     "Tokens per page of the KV cache (default: 16)"},
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Report:"},
    {"ttft", 0, "TIME", take_time, AT(goal.first_ns), 0, 0,
     "Goodput: limit on a request's time to first token"},
    {"tpot", 0, "TIME", take_time, AT(goal.token_ns), 0, 0,
     "Goodput: limit on a request's mean time per output token"},
    {"format", 0, "table|csv|json", args_choice, AT(format), 0, 0,
     "Output format (default: table)"},
    {"json", 'j', NULL, args_set, AT(format), SERVING_JSON, 0, "Same as --format=json"},
    {"output", 'o', "FILE", args_text, AT(path), 0, 0, "Write to a file"},
    {0}};

static void list_policies(struct text *out)
{
    for (size_t i = 0; serving_policies[i]; i++)
        text_addf(out, "  %-14s %s\n", serving_policies[i]->name, serving_policies[i]->desc);
}

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct served, chosen)}},
    .operands = "SCENARIO",
    .more = list_policies,
    .check = check_together,
    .help = "Simulate serving: requests arrive at replicas of a scenario's model. Prefill and "
            "decode steps are planned at many sizes, and every step of every replica is simulated "
            "with these times. Requests that do not fit in the KV cache wait, or are preempted and "
            "recomputed. The report has throughput and latency for each policy.\vPolicies:\n"
            "\f\n"
            "Examples:\n"
            "  Two replicas of a small model, 1000 requests at 200 requests/s:\n"
            "    shardsim serve scenarios/requests.yaml --replicas 2 --rate 200 --tpot 1ms\n"
            "  All requests at once, with small prefill chunks:\n"
            "    shardsim serve scenarios/requests.yaml -p chunked --step-tokens 256\n"
            "\n" ARGS_EXIT_STATUS("  1    the model leaves no memory for a KV cache\n")};

static int run(int argc, char **argv)
{
    struct served o = {.nreplicas = 1,
                       .limits = {.batch_max = 256, .tokens_max = 2048, .page = 16},
                       .drawn = {.prompt = {1024, 0}, .output = {128, 0}}};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = served_run(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd cmd_serve = {"serve", "simulate serving of requests, step by step", run};
