/* Searching layouts, or the sharding of tensors (searched.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/search/searched.h"

#include <stdlib.h>
#include <string.h>

#include "base/screen.h"
#include "base/units.h"
#include "command/command.h"
#include "cmd/export/exported.h"
#include "command/picture.h"
#include "cmd/search/search_tensors.h"
#include "run/ranks/ranks.h"
#include "search/crew.h"
#include "search/search_picture.h"
#include "search/search_report.h"
#include "search/serving_apart.h"
#include "search/serving_report.h"
#include "search/serving_scenario.h"
#include "command/write.h"

/* Time for an interrupted search to end its plan and print its best layouts: a plan of 2,048 devices
 * takes more than 5 s on a busy machine. */
#define TELL_SECONDS 20

static void show_progress(void *arg, const struct search_progress *p)
{
    char found[3 * UNITS_TEXT_MAX] = "";
    char speed[UNITS_TEXT_MAX] = "";

    if (p->next_bound_s > 0 || p->best_s > 0) /* it plans */
        cmd_stop_within(TELL_SECONDS);
    if (p->best_s > 0 && p->next_bound_s > 0)
        snprintf(found, sizeof found, "; best %s, none left below %s",
                 units_print_seconds(p->best_s).text, units_print_seconds(p->next_bound_s).text);
    else if (p->best_s > 0)
        snprintf(found, sizeof found, "; best %s", units_print_seconds(p->best_s).text);
    if (p->layouts_per_s > 0)
        snprintf(speed, sizeof speed, "; %.0f layouts a second", p->layouts_per_s);
    log_progress_line(arg, "%zu of at most %zu %s%s%s", p->ndone, p->ntotal, p->what, found, speed);
}

/* ---- what comes out ---- */

/* Why the search ended before it was over; NULL: it did not. */
static const char *why_cut_short(void)
{
    return cmd_stop_request ? "interrupted" : cmd_halt ? "out of time" : NULL;
}

static int write_scenario(const struct searched *o, const struct search_outcome *outcome)
{
    const struct search *s = outcome->search;
    struct text text = TEXT_INIT;
    struct variant attempt;
    struct shd_error err;
    int status;

    if (o->row > s->nbest) {
        cmd_error("no row %zu to write: only %zu planned layouts fit", o->row, s->nbest);
        return CMD_FAILED;
    }
    status =
        attempt_init(&attempt, s->subject, &s->items[s->plans[s->best[o->row - 1]].item].layout,
                     ATTEMPT_WHOLE, 0, SCENARIO_NLAYER_TYPES, &err);
    if (status == SHD_OK) {
        if (outcome->cut_short)
            text_addf(&text,
                      "# The best so far of an incomplete search (%s): of %zu layouts, %zu "
                      "were planned.\n",
                      outcome->cut_short, s->nlayouts, s->nplans);
        scenario_print_brief(attempt.trial.scenario, &text);
        variant_fini(&attempt);
        status = text.failed ? shd_error_set(&err, SHD_ENOMEM, "no memory for the scenario")
                             : store_write(o->output, &text, &err);
    }
    text_fini(&text);
    return status == SHD_OK ? CMD_OK : cmd_cannot(&err);
}

static int put(const struct searched *o, const struct search_outcome *outcome)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    struct screen screen;
    int exit;

    if (o->json) {
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
        outcome_json(&json, outcome);
        text_add_char(&text, '\n');
    } else {
        screen_init(&screen, stdout, SCREEN_NEVER);
        search_report_text(&text, screen.columns, outcome);
    }
    exit = cmd_put_last(&text);
    text_fini(&text);
    return exit;
}

/* Add to the search: neighbours, families, and the search repeated on a worse cluster. */
static int look_around(struct search_outcome *outcome, struct sensitivity *sensitivity,
                       const struct searched *o, struct search *s, const struct search_opts *opts)
{
    struct shd_error err;
    int status = outcome_look_around(outcome, s, opts, &err);

    if (status == SHD_OK && o->sensitivity && s->nbest > 0) {
        status = sensitivity_find(sensitivity, &o->chosen.trial, s->subject,
                                  &s->items[s->plans[s->best[0]].item].layout, opts, &err);
        outcome->sensitivity = sensitivity;
    }
    return status == SHD_OK ? CMD_OK : cmd_cannot(&err);
}

static int draw_front(const struct searched *o, const struct search_outcome *outcome)
{
    struct text text = TEXT_INIT;

    search_picture_front(&text, outcome);
    return picture_put(o->picture, &text);
}

static int answer(const struct searched *o, struct search *s, const struct search_opts *opts,
                  double own_step_s)
{
    struct search_outcome outcome = {.search = s, .ntop = o->ntop, .own_step_s = own_step_s};
    struct sensitivity sensitivity;
    int exit;

    if (!s->over)
        outcome.cut_short = why_cut_short();
    exit = look_around(&outcome, &sensitivity, o, s, opts);
    if (!outcome.cut_short)
        outcome.unlooked = why_cut_short();
    outcome_find_error(&outcome);
    if (exit == CMD_OK)
        exit = put(o, &outcome);
    if (exit == CMD_OK && s->nbest == 0)
        exit = CMD_FAILED;
    if (exit == CMD_OK && o->output)
        exit = write_scenario(o, &outcome);
    if (exit == CMD_OK && o->picture)
        exit = draw_front(o, &outcome);
    return cmd_stop_request ? CMD_INTERRUPTED : exit;
}

/* The step of the unchanged scenario, if for the same number of devices; 0: none, or
 * interrupted. */
static double own_step(struct chosen *chosen, const struct space *space)
{
    struct trial *trial = &chosen->trial;
    struct modelled_figures figures;
    struct shd_error err;

    if (cmd_stop_request || shd_mesh_size(trial->mesh) != space->devices ||
        trial_plan(trial, &err) != SHD_OK)
        return 0;
    modelled_figures_of(&figures, trial->record, 0);
    return figures.step_s;
}

static int search(struct searched *o)
{
    struct subject subject;
    struct search_opts opts = {.ntop = o->ntop,
                               .nplans = o->nplans,
                               .all = o->all,
                               .nthreads = o->nthreads,
                               .farm = o->farm,
                               .within_s = o->within_s,
                               .stop = &cmd_halt,
                               .progress = show_progress,
                               .arg = o->log};
    const struct subject_filter filter = exported_filter(o->target);
    struct search found;
    struct shd_error err;
    int exit, status = subject_init(&subject, &o->chosen.trial, o->devices, o->ranges, o->nranges,
                                    &filter, &err);

    if (status == SHD_OK && o->memory_bytes > 0)
        subject_suppose(&subject, 1, (double)o->memory_bytes / subject.cluster.memory_bytes);
    if (status == SHD_OK && o->journal)
        status = journal_open(&opts.journal, o->journal, &subject, &err);
    log_progress_begin(o->log);
    if (status == SHD_OK)
        status = search_run(&found, &subject, &opts, &err);
    log_progress_end(o->log);
    if (status != SHD_OK) {
        exit = cmd_refused(&err);
    } else {
        exit = answer(o, &found, &opts, own_step(&o->chosen, &subject.space));
        search_fini(&found);
        if (journal_check(opts.journal, &err) != SHD_OK)
            exit = cmd_worse(exit, cmd_cannot(&err));
    }
    journal_close(opts.journal);
    subject_fini(&subject);
    return exit;
}

static int search_scaling(const struct searched *o)
{
    const struct subject_filter filter = exported_filter(o->target);
    const struct scaling asked = {.trial = &o->chosen.trial,
                                  .filter = &filter,
                                  .ranges = o->ranges,
                                  .nranges = o->nranges,
                                  .counts = o->counts,
                                  .ncounts = o->ncounts,
                                  .price = o->price,
                                  .json = o->json,
                                  .picture = o->picture,
                                  .opts = {.ntop = 1,
                                           .nplans = o->nplans,
                                           .all = o->all,
                                           .nthreads = o->nthreads,
                                           .farm = o->farm,
                                           .stop = &cmd_stop_request,
                                           .progress = show_progress,
                                           .arg = o->log}};

    int exit;

    log_progress_begin(o->log);
    exit = scaling_run(&asked);
    log_progress_end(o->log);
    return exit;
}

static int search_tensors(const struct searched *o)
{
    const struct search_tensors asked = {.json = o->json,
                                         .output = o->output,
                                         .opts = {.pattern = o->tensors,
                                                  .memory_bytes = o->memory_bytes,
                                                  .nthreads = o->nthreads,
                                                  .stop = &cmd_stop_request}};

    return search_tensors_run(&o->chosen.trial, &asked);
}

static void show_plans(void *arg, size_t nplanned)
{
    log_progress_line(arg, "%zu plans", nplanned);
}

/* Write the best layout of a search for serving, or the best way to share devices out; one of the
 * two is NULL. */
static int write_serving(const struct searched *o, const struct serving_search *found,
                         const struct serving_apart *apart)
{
    const struct trial *trial = &o->chosen.trial;
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status;

    if (!(found ? found->over : apart->over))
        text_addf(&text, "# The best so far of an incomplete search (%s).\n", why_cut_short());
    status = found ? serving_scenario_print(&text, trial, &found->layouts[0], &err)
                   : serving_scenario_print_split(&text, trial, &apart->splits[0], &err);
    if (status == SHD_OK && text.failed)
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for the scenario");
    if (status == SHD_OK)
        status = store_write(o->output, &text, &err);
    text_fini(&text);
    return status == SHD_OK ? CMD_OK : cmd_cannot(&err);
}

static int put_serving(const struct searched *o, const struct serving_search *found)
{
    struct text text = TEXT_INIT;
    int exit;

    if (o->json)
        serving_report_json(&text, found);
    else
        serving_report_text(&text, found, o->ntop);
    exit = cmd_put_last(&text);
    text_fini(&text);
    if (exit == CMD_OK && o->picture && found->nwithin > 0) {
        serving_report_picture(&text, found);
        exit = picture_put(o->picture, &text);
    }
    if (exit == CMD_OK && o->output && found->nwithin > 0)
        exit = write_serving(o, found, NULL);
    if (!found->over)
        return CMD_INTERRUPTED;
    return exit == CMD_OK && found->nwithin == 0 ? CMD_FAILED : exit;
}

/* Share devices out to prefill and decode. */
static int search_apart(const struct searched *o, const struct serving_wants *wants)
{
    struct serving_apart found;
    struct text text = TEXT_INIT;
    struct screen screen;
    struct shd_error err;
    int exit, status;

    screen_init(&screen, stdout, SCREEN_NEVER);
    log_progress_begin(o->log);
    status = serving_apart_run(&found, &o->chosen.trial, wants, &err);
    log_progress_end(o->log);
    if (status == SHD_OK && o->json)
        serving_apart_json(&text, &found);
    else if (status == SHD_OK)
        serving_apart_text(&text, &found, o->ntop, screen.columns);
    exit = status == SHD_OK ? cmd_put_last(&text) : cmd_refused(&err);
    if (exit == CMD_OK && o->output && found.nsplits > 0)
        exit = write_serving(o, NULL, &found);
    if (exit == CMD_OK)
        exit = !found.over ? CMD_INTERRUPTED : found.nsplits == 0 ? CMD_FAILED : CMD_OK;
    serving_apart_fini(&found);
    text_fini(&text);
    return exit;
}

static int search_serving(const struct searched *o)
{
    const struct subject_filter filter = exported_filter(o->target);
    const struct serving_wants wants = {.devices = o->devices,
                                        .filter = &filter,
                                        .ttft_s = o->ttft_s,
                                        .tpot_s = o->tpot_s,
                                        .nthreads = o->nthreads,
                                        .stop = &cmd_halt,
                                        .progress = show_plans,
                                        .arg = o->log};
    struct serving_search found;
    struct shd_error err;
    int exit, status;

    if (o->apart)
        return search_apart(o, &wants);
    log_progress_begin(o->log);
    status = serving_search_run(&found, &o->chosen.trial, &wants, &err);
    log_progress_end(o->log);
    exit = status == SHD_OK ? put_serving(o, &found) : cmd_refused(&err);
    serving_search_fini(&found);
    return exit;
}

/* Let the software of the target run the job, unless --set says which. */
static void run_software(struct chosen *chosen, const struct export_target *target,
                         struct text *set)
{
    if (!target || !target->software || chosen->nsets == CHOSEN_SETS_MAX)
        return;
    for (size_t i = 0; i < chosen->nsets; i++)
        if (!strncmp(chosen->sets[i], "software=", strlen("software=")))
            return;
    text_addf(set, "software=%s", target->software);
    if (!set->failed)
        chosen->sets[chosen->nsets++] = text_get(set);
}

/* Refuse a scenario of which the target can express no layout, and name the systems that may. */
static int check_source(const struct searched *o)
{
    const struct scenario *scenario = o->chosen.trial.scenario;
    struct text others = TEXT_INIT;
    struct shd_error err;
    int exit = CMD_OK;

    if (o->target && export_check_source(o->target, scenario, &err) != SHD_OK) {
        export_add_accepting(&others, scenario);
        cmd_error("%s can express no layout of this scenario: %s%s%s", o->target->name, err.text,
                  others.length > 0 ? "; or search --for " : "", text_get(&others));
        exit = CMD_USAGE;
    }
    text_fini(&others);
    return exit;
}

static int search_what_is_asked(struct searched *o)
{
    int exit = cmd_check_new(o->output, o->force);

    if (exit == CMD_OK)
        exit = cmd_check_output(o->picture);
    if (exit == CMD_OK)
        exit = chosen_load(&o->chosen);
    if (exit == CMD_OK)
        exit = check_source(o);
    if (exit == CMD_OK && o->seconds > 0)
        exit = cmd_halt_after(o->seconds);
    if (exit != CMD_OK)
        return exit;
    if (o->serve)
        return search_serving(o);
    return o->by_tensors ? search_tensors(o) : o->ncounts > 1 ? search_scaling(o) : search(o);
}

/* Rank 0 searches, and the other ranks work for it.  A rank that cannot read the scenario is of no
 * use, but does no harm. */
int searched_run(struct searched *o)
{
    const struct subject_filter filter = exported_filter(o->target);
    struct crew crew = {&o->chosen.trial, o->ranges, o->nranges, &filter};
    const struct farm_crew own = {crew_work, &crew, o->nthreads, &cmd_halt};
    struct text software = TEXT_INIT;
    int exit;

    run_software(&o->chosen, o->target, &software);
    if (ranks_count() == 1) {
        exit = search_what_is_asked(o);
        text_fini(&software);
        return exit;
    }
    o->farm = farm_create(&own);
    if (ranks_me() > 0) {
        if (chosen_load(&o->chosen) != CMD_OK)
            crew.trial = NULL;
        exit = farm_serve(o->farm);
    } else {
        exit = search_what_is_asked(o);
        cmd_tell_ranks(o->farm, o->quiet);
    }
    farm_destroy(o->farm, exit);
    text_fini(&software);
    return exit;
}
