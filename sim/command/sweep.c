/* Planning strategies on all ranks (sweep.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/sweep.h"

#include <stdlib.h>

#include "base/diag_pack.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/yaml.h"
#include "command/command.h"
#include "run/ranks/ranks.h"
#include "report/modelled.h"
#include "report/result.h"
#include "trial/fit.h"
#include "trial/saving.h"
#include "trial/handoff.h"
#include "trial/sequences.h"

/* Kind of a note in an answer, followed by the values listed. */
enum note {
    NOTE_SKIPPED, /* why */
    NOTE_WRONG,   /* messages */
    NOTE_FAILED,  /* status, why */
    NOTE_PLANNED
};

static int no_memory(struct sweep *s)
{
    log_error(&s->work->log, "no memory for the strategies");
    return CMD_CANNOT;
}

bool sweep_is_for(const struct work *work)
{
    return ranks_count() > 1 && !work_reads_input(work);
}

/* ---- a strategy, on any rank ---- */

static void pack_text(struct text *out, const struct text *text)
{
    pack_string(out, text_get(text));
    out->failed |= text->failed;
}

/* The reports and the row that are wanted of a result. */
static int describe(const struct sweep *s, const struct result *result, struct text *answer,
                    struct shd_error *err)
{
    struct text text = TEXT_INIT, json = TEXT_INIT;
    struct figures row = {.good = false};
    struct json_out out;
    int status = SHD_OK;

    if (s->wants.text)
        status = result_text(result, &text, err);
    if (s->wants.json && status == SHD_OK) {
        json_out_init_text(&out, &json, JSON_OUT_PRETTY);
        status = result_json(result, &out, err);
    }
    if (s->wants.row && status == SHD_OK)
        status = figures_init(&row, result, err);
    if (status == SHD_OK) {
        pack_text(answer, &text);
        pack_text(answer, &json);
        figures_pack(&row, answer);
    }
    text_fini(&text);
    text_fini(&json);
    figures_fini(&row);
    return status;
}

static int plan_item(const struct sweep *s, struct work_item *item, bool wants_fit,
                     struct text *answer, struct shd_error *err)
{
    struct trial *trial = &item->trial;
    struct result result;
    struct fit fit;
    int status = handoff_plan(trial, err);

    if (status != SHD_OK)
        return status;
    if (!work_describe(item, &result))
        return shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    result.verbose = s->wants.verbose;
    status = trial_sequences(&result.sequences_that_fit, trial, err);
    if (!s->wants.row && status == SHD_OK)
        status = trial_saving(&result.saving, trial, err);
    if (wants_fit && status == SHD_OK) {
        status = trial_fit(&fit, trial, err);
        result.fit = &fit;
    }
    if (status != SHD_OK)
        return status;
    pack_uint(answer, NOTE_PLANNED);
    pack_uint(answer, trial_fits(trial));
    pack_uint(answer, modelled_fits(trial->record));
    uint128 peak_bytes = program_peak_bytes(trial->program);
    pack_bytes(answer, &peak_bytes, sizeof peak_bytes);
    pack_text(answer, &item->what);
    return describe(s, &result, answer, err);
}

/* Note the errors of a strategy whose program was not built. */
static int refuse(const struct scenario *scenario, int status, const struct diag *diag,
                  struct text *answer)
{
    if (diag->no_memory)
        return CMD_CANNOT;
    if (scenario->swept && status == SHD_EINDIVISIBLE) {
        pack_uint(answer, NOTE_SKIPPED);
        pack_string(answer, diag_first(diag, ""));
    } else {
        pack_uint(answer, NOTE_WRONG);
        diag_pack(diag, answer);
    }
    return CMD_OK;
}

static int plan(const struct sweep *s, const struct scenario *scenario, bool wants_fit,
                struct text *answer)
{
    struct work_item item = {.scenario = scenario};
    struct diag diag = DIAG_INIT;
    struct shd_error err;
    int exit = CMD_OK, status = trial_init(&item.trial, scenario, &diag);

    if (status != SHD_OK) {
        exit = refuse(scenario, status, &diag, answer);
    } else {
        status = plan_item(s, &item, wants_fit, answer, &err);
        if (cmd_exit_of(status) > CMD_FAILED) {
            exit = cmd_exit_of(status);
        } else if (status != SHD_OK) {
            text_clear(answer);
            pack_uint(answer, NOTE_FAILED);
            pack_uint(answer, (uint64_t)err.status);
            pack_string(answer, err.text);
        }
        trial_fini(&item.trial);
    }
    text_fini(&item.what);
    diag_fini(&diag);
    return exit;
}

/* The work of a farm_crew. */
static int work_on_strategy(void *arg, const void *task, size_t bytes, struct text *answer)
{
    const struct sweep *s = arg;
    const struct work *w = s->work;
    struct unpack from;
    size_t file, number;
    uint64_t read;
    bool fit;

    unpack_init(&from, task, bytes);
    file = unpack_uint(&from);
    number = unpack_uint(&from);
    read = unpack_uint(&from);
    fit = unpack_uint(&from);
    if (file >= w->nnames || !w->files || !w->files[file] || s->read[file] != read ||
        number >= w->files[file]->nscenarios)
        return CMD_CANNOT; /* another file, or none, is at this path here */
    return plan(s, &w->files[file]->scenarios[number], fit, answer);
}

/* ---- rank 0 ---- */

static void ask_for_strategy(void *arg, size_t task, struct text *out)
{
    const struct sweep *s = arg;
    const struct sweep_task *t = &s->tasks[task];

    pack_uint(out, t->file);
    pack_uint(out, t->number);
    pack_uint(out, s->read[t->file]);
    pack_uint(out, t->fit);
}

static bool take_text(struct text *out, struct unpack *from)
{
    const char *text = unpack_string(from);

    text_clear(out);
    text_add(out, text ? text : "");
    return !out->failed && !from->bad;
}

static bool take_planned(struct sweep_item *item, struct unpack *from)
{
    bool done;

    item->planned = true;
    item->fits = unpack_uint(from);
    item->exit = unpack_uint(from) && item->fits ? CMD_OK : CMD_FAILED;
    unpack_bytes(from, &item->peak_bytes, sizeof item->peak_bytes);
    done = take_text(&item->what, from) && take_text(&item->text, from) &&
           take_text(&item->json, from);
    figures_fini(&item->row);
    return figures_unpack(&item->row, from) && done;
}

static int take_wrong(struct sweep *s, struct unpack *from)
{
    struct diag diag = DIAG_INIT;
    bool done = diag_unpack(&diag, from);

    if (done)
        diag_append(&s->work->diag, &diag);
    diag_fini(&diag);
    return done ? CMD_OK : no_memory(s);
}

/* Record a failure that another rank reports as a failure of this rank. */
static int take_failure(struct sweep *s, struct work_item *item, struct unpack *from)
{
    struct shd_error err;
    int status = (int)unpack_uint(from);
    const char *why = unpack_string(from);

    shd_error_set(&err, status, "%s", why ? why : "");
    return work_failed(s->work, item, &err);
}

static int take_strategy(void *arg, size_t task, int status, const struct text *answer)
{
    struct sweep *s = arg;
    struct work *w = s->work;
    const struct sweep_task *t = &s->tasks[task];
    const struct scenario *scenario = &w->files[t->file]->scenarios[t->number];
    size_t at = t->fit ? t->item : w->nitems;
    struct sweep_item *item = &s->items[at];
    struct unpack from;
    const char *why;

    s->exit = status;
    if (status == CMD_CANNOT)
        return s->exit = no_memory(s);
    if (status != CMD_OK)
        return status;
    unpack_init(&from, text_get(answer), answer->length);
    switch ((enum note)unpack_uint(&from)) {
    case NOTE_WRONG:
        return s->exit = take_wrong(s, &from);
    case NOTE_SKIPPED:
        why = unpack_string(&from);
        work_skip(w, scenario, why ? why : "");
        return CMD_OK;
    case NOTE_FAILED:
        w->items[at].scenario = scenario;
        item->exit = take_failure(s, &w->items[at], &from);
        break;
    default:
        if (!take_planned(item, &from))
            return s->exit = no_memory(s);
    }
    item->file = t->file;
    item->number = t->number;
    if (!t->fit)
        w->items[w->nitems++].scenario = scenario;
    return CMD_OK;
}

static int run_round(struct sweep *s, const struct sweep_task *tasks, size_t ntasks)
{
    const struct farm_round round = {ntasks, ask_for_strategy, take_strategy, s};
    struct shd_error err;
    size_t ntaken;

    s->tasks = tasks;
    s->exit = CMD_OK;
    if (farm_run(s->farm, &round, &ntaken, &err) != SHD_OK)
        return no_memory(s);
    return s->exit == CMD_OK && ntaken < ntasks ? CMD_INTERRUPTED : s->exit;
}

static size_t list_tasks(const struct work *w, struct sweep_task *tasks)
{
    size_t n = 0;

    for (size_t f = 0; f < w->nnames; f++)
        for (size_t i = 0; w->files[f] && i < w->files[f]->nscenarios; i++)
            if (work_wants(w, w->files[f]->scenarios[i].strategy))
                tasks[n++] = (struct sweep_task){.file = f, .number = i};
    return n;
}

/* Plan all strategies asked for.  CMD_OK: the work has items. */
static int plan_all(struct sweep *s)
{
    struct work *w = s->work;
    size_t total = 0;
    struct sweep_task *tasks;
    int exit;

    for (size_t f = 0; f < w->nnames; f++)
        total += w->files[f] ? w->files[f]->nscenarios : 0;
    tasks = calloc(total + 1, sizeof *tasks);
    s->items = calloc(total + 1, sizeof *s->items);
    exit = tasks && s->items ? run_round(s, tasks, list_tasks(w, tasks)) : no_memory(s);
    free(tasks);
    return exit == CMD_OK ? work_tell(w, work_end_load(w)) : exit;
}

int sweep_fit(struct sweep *s, const size_t *items, size_t nitems)
{
    struct sweep_task *tasks = calloc(nitems + 1, sizeof *tasks);
    int exit;

    for (size_t i = 0; i < nitems && tasks; i++)
        tasks[i] =
            (struct sweep_task){s->items[items[i]].file, s->items[items[i]].number, items[i], true};
    exit = tasks ? run_round(s, tasks, nitems) : no_memory(s);
    free(tasks);
    return exit;
}

/* ---- all ranks ---- */

/* Read the files.  CMD_OK or CMD_CANNOT. */
static int begin(struct sweep *out, struct work *work, struct sweep_wants wants)
{
    struct farm_crew crew = {work_on_strategy, out, 1, &cmd_stop_request};
    struct text text = TEXT_INIT;
    struct shd_error err;
    int exit;

    *out = (struct sweep){
        .work = work, .wants = wants, .read = calloc(work->nnames + 1, sizeof *out->read)};
    exit = out->read ? work_read(work) : CMD_CANNOT;
    for (size_t f = 0; f < work->nnames && out->read; f++) {
        text_clear(&text);
        if (file_read(&text, work->names[f], YAML_DOC_BYTES_MAX, &err) == SHD_OK)
            out->read[f] = hash_bytes(HASH_BEGIN, text_get(&text), text.length);
    }
    text_fini(&text);
    out->farm = farm_create(&crew);
    return exit == CMD_OK && !out->farm ? no_memory(out) : exit;
}

/* Rank 0 lets the others go, with its exit status, and says how many each did. */
static void end(struct sweep *s, int exit)
{
    if (s->farm && ranks_me() == 0 && exit < CMD_USAGE)
        cmd_tell_ranks(s->farm, s->work->log.quiet);
    farm_destroy(s->farm, exit);
    for (size_t i = 0; s->items && i < s->work->nitems; i++) {
        text_fini(&s->items[i].what);
        text_fini(&s->items[i].text);
        text_fini(&s->items[i].json);
        figures_fini(&s->items[i].row);
    }
    free(s->items);
    free(s->read);
}

int sweep_run(struct work *work, struct sweep_wants wants, sweep_tell_fn tell, void *arg)
{
    struct sweep s;
    int exit = begin(&s, work, wants);

    if (ranks_me() > 0) {
        exit = s.farm ? farm_serve(s.farm) : CMD_CANNOT;
    } else {
        if (exit == CMD_OK)
            exit = plan_all(&s);
        if (exit == CMD_OK)
            exit = tell(arg, &s);
    }
    end(&s, exit);
    return exit;
}
