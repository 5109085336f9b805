/* Loading the strategies of scenario files, and trying them (work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/system.h"
#include "base/units.h"
#include "base/yaml.h"
#include "command/command.h"
#include "model/model.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "report/modelled.h"
#include "trial/fit.h"
#include "trial/handoff.h"
#include "trial/sequences.h"
#include "trial/serve.h"

/* ---- progress, shown from a thread of its own; meanwhile nobody else may use the log ---- */

struct progress;

#define LOOK_NS INT64_C(100000000)

struct progress {
    struct log *log;
    uint64_t ndone, ntotal;
    const char *verb, *what;
    int64_t began_ns;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `stopped` */
    pthread_cond_t changed;
    bool stopped;
};

static void say(const struct progress *p)
{
    char line[256];

    long long seconds = (long long)(p->log->now() - p->began_ns) / 1000000000;

    if (seconds > 0)
        snprintf(line, sizeof line, "%s '%.160s' for %lld s; strategies done", p->verb, p->what,
                 seconds);
    else
        snprintf(line, sizeof line, "%s '%.160s'; strategies done", p->verb, p->what);
    log_progress(p->log, p->ndone, p->ntotal, line);
}

/* By the clock of conditions, which somebody may set: at worst a line comes late. */
static struct timespec next_look(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += LOOK_NS;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static void *show(void *arg)
{
    struct progress *p = arg;

    pthread_mutex_lock(&p->mutex);
    while (!p->stopped) {
        struct timespec at = next_look();

        say(p);
        pthread_cond_timedwait(&p->changed, &p->mutex, &at);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* Show now and then, as log_progress() sees fit, that the strategy `what` is at work ("planning"),
 * with `ndone` of `ntotal` done before it.  NULL where it cannot be shown: the work goes on
 * without. */
static struct progress *progress_start(struct log *log, uint64_t ndone, uint64_t ntotal,
                                       const char *verb, const char *what)
{
    struct progress *p = log->quiet ? NULL : calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->log = log;
    p->ndone = ndone;
    p->ntotal = ntotal;
    p->verb = verb;
    p->what = what;
    p->began_ns = log->now();
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (cmd_start_thread(&p->thread, show, p) == 0)
        return p;
    free(p);
    return NULL;
}

/* NULL is allowed. */
static void progress_stop(struct progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->stopped = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
}

bool work_init(struct work *out, int argc)
{
    size_t n = (size_t)argc + 1;

    *out = (struct work){.names = calloc(3 * n, sizeof *out->names), .diag = DIAG_INIT};
    if (!out->names) {
        fprintf(stderr, "shardsim: error: no memory left\n");
        return false;
    }
    out->sets = out->names + n;
    out->strategies = out->sets + n;
    log_init(&out->log, stderr);
    return true;
}

void work_fini(struct work *w)
{
    for (size_t i = 0; i < w->nitems; i++) {
        trial_fini(&w->items[i].trial);
        text_fini(&w->items[i].what);
    }
    for (size_t i = 0; i < w->nskipped; i++)
        free(w->skipped[i].why);
    for (size_t f = 0; w->files && f < w->nnames; f++)
        scenario_file_destroy(w->files[f]);
    free(w->items);
    free(w->skipped);
    free(w->files);
    free(w->names);
    diag_fini(&w->diag);
}

bool work_wants(const struct work *w, const char *strategy)
{
    for (size_t i = 0; i < w->nstrategies; i++)
        if (scenario_is_called(strategy, w->strategies[i]))
            return true;
    return w->nstrategies == 0;
}

static void report_unknown_strategies(struct work *w)
{
    for (size_t s = 0; s < w->nstrategies; s++) {
        struct nearest near;
        struct text names = TEXT_INIT;
        bool found = false;
        size_t nnames = 0;

        nearest_init(&near, w->strategies[s]);
        for (size_t f = 0; f < w->nnames; f++)
            for (size_t i = 0; w->files[f] && i < w->files[f]->nscenarios; i++) {
                const char *name = w->files[f]->scenarios[i].strategy;

                found |= scenario_is_called(name, w->strategies[s]);
                nearest_add(&near, name);
                nnames++;
                text_addf(&names, "%s'%s'", names.length ? ", " : "", name);
            }
        w->diag.no_memory |= names.failed;
        if (!found && nnames > 1)
            diag_error(&w->diag, (struct place){"--strategy", (int)s + 1, 1},
                       "there is no strategy '%s'; expected one of %s%s", w->strategies[s],
                       text_get(&names), nearest_hint(&near).text);
        else if (!found)
            diag_error(&w->diag, (struct place){"--strategy", (int)s + 1, 1},
                       "there is no strategy '%s'; the only one is %s, which needs no --strategy",
                       w->strategies[s], text_get(&names));
        text_fini(&names);
    }
}

void work_skip(struct work *w, const struct scenario *scenario, const char *why)
{
    struct work_skipped *skipped = &w->skipped[w->nskipped];

    *skipped = (struct work_skipped){scenario, strdup(why)};
    if (skipped->why)
        w->nskipped++;
    else
        diag_no_memory(&w->diag);
}

/* Add a strategy.  A sweep generates strategies from sizes, so one whose sizes do not divide is
 * left out, which is no error. */
static void add_item(struct work *w, const struct scenario *scenario)
{
    struct work_item *item = &w->items[w->nitems];
    struct diag own = DIAG_INIT;
    int status = trial_init(&item->trial, scenario, scenario->swept ? &own : &w->diag);

    item->scenario = scenario;
    if (status == SHD_OK)
        w->nitems++;
    else if (scenario->swept && status == SHD_EINDIVISIBLE)
        work_skip(w, scenario, diag_first(&own, ""));
    else
        diag_append(&w->diag, &own);
    diag_fini(&own);
}

static int load_file(struct work *w, size_t f)
{
    if (w->text)
        return scenario_parse(&w->files[f], w->names[f], text_get(w->text), w->text->length,
                              w->sets, w->nsets, &w->diag);
    return scenario_load_chosen(&w->files[f], w->names[f], w->sets, w->nsets,
                                (struct scenario_choice){w->strategies, w->nstrategies}, &w->diag);
}

static size_t load_files(struct work *w)
{
    size_t total = 0;

    for (size_t f = 0; f < w->nnames; f++)
        if (load_file(w, f) == SHD_OK) {
            total += w->files[f]->nscenarios;
            if (w->plan)
                scenario_file_plan(w->files[f]);
        }
    return total;
}

int work_read(struct work *w)
{
    size_t total;

    w->files = calloc(w->nnames + 1, sizeof *w->files);
    if (!w->files) {
        diag_no_memory(&w->diag);
        return CMD_CANNOT;
    }
    total = load_files(w);
    if (w->diag.nerrors == 0)
        report_unknown_strategies(w);
    w->items = calloc(total + 1, sizeof *w->items);
    w->skipped = calloc(total + 1, sizeof *w->skipped);
    if (!w->items || !w->skipped) {
        diag_no_memory(&w->diag);
        return CMD_CANNOT;
    }
    return CMD_OK;
}

int work_end_load(struct work *w)
{
    if (w->diag.nerrors == 0 && w->nitems == 0)
        diag_error(&w->diag, w->skipped[0].scenario->place,
                   "no strategy of the sweep has divisible sizes; the first: %s",
                   w->skipped[0].why);
    return cmd_exit_of_input(&w->diag);
}

int work_load(struct work *w)
{
    int exit = work_read(w);

    if (exit != CMD_OK)
        return exit;
    for (size_t f = 0; f < w->nnames; f++)
        for (size_t i = 0; w->files[f] && i < w->files[f]->nscenarios; i++)
            if (work_wants(w, w->files[f]->scenarios[i].strategy))
                add_item(w, &w->files[f]->scenarios[i]);
    return work_end_load(w);
}

int work_tell(struct work *w, int exit)
{
    for (size_t i = 0; i < w->nskipped; i++)
        log_note(&w->log, "skipped %s: %s", w->skipped[i].scenario->strategy, w->skipped[i].why);
    if (exit == CMD_OK)
        return exit;
    if (cmd_stop_request) /* while waiting for standard input, which is no error of the input */
        return CMD_INTERRUPTED;
    diag_write(&w->diag, stderr);
    return exit;
}

int work_prepare(struct work *w)
{
    return work_tell(w, work_load(w));
}

bool work_reads_input(const struct work *w)
{
    for (size_t i = 0; i < w->nnames; i++)
        if (!strcmp(w->names[i], "-"))
            return true;
    return false;
}

/* Whether this rank has read the same files as all other ranks.  (Hashes are merged by OR: the
 * merged hash equals every rank's own only if all are equal.) */
static bool reads_alike(const struct work *w)
{
    uint64_t own = HASH_BEGIN, merged;
    struct text text = TEXT_INIT;
    struct shd_error err;

    for (size_t i = 0; i < w->nnames; i++) {
        text.length = 0;
        if (file_read(&text, w->names[i], YAML_DOC_BYTES_MAX, &err) == SHD_OK)
            own = hash_bytes(own, text_get(&text), text.length);
    }
    text_fini(&text);
    merged = own;
    ranks_merge(&merged, sizeof merged, RANKS_JOIN);
    return merged == own;
}

/* The worst of all ranks' exit statuses. */
static int worst_of_all(int exit)
{
    int64_t worst = exit;

    ranks_merge(&worst, sizeof worst, RANKS_MOST);
    return (int)worst;
}

int work_prepare_all(struct work *w)
{
    int exit, worst;

    if (ranks_count() > 1 && work_reads_input(w)) {
        log_error(&w->log, "several ranks cannot share standard input; expected a file");
        return CMD_USAGE;
    }
    w->over_ranks = ranks_count() > 1;
    exit = work_prepare(w);
    worst = worst_of_all(exit);
    if (exit == CMD_OK && worst != CMD_OK)
        log_error(
            &w->log,
            "another rank cannot read the scenarios; they must have the same path on all machines");
    if (worst != CMD_OK || ranks_count() == 1)
        return worst;
    worst = worst_of_all(reads_alike(w) ? CMD_OK : CMD_USAGE);
    if (worst != CMD_OK)
        log_error(&w->log,
                  "the scenarios differ between ranks; the files must be equal on all machines");
    return worst;
}

/* Whether devices can be spread so. */
static int check_spread(struct work *w, const struct work_item *item)
{
    struct shd_error err;
    struct spread *spread;

    if (!w->spread_axis)
        return CMD_OK;
    if (spread_create(&spread, item->trial.mesh, w->spread_axis, &err) != SHD_OK) {
        log_error(&w->log, "%s: %s: %s", item->scenario->place.file, item->scenario->strategy,
                  err.text);
        return err.status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
    }
    spread_destroy(spread);
    return CMD_OK;
}

/* Limits of execution without being asked: a minute or so of work that fits. */
#define UNASKED_DEVICES_MAX 1024
#define UNASKED_FLOPS_MAX 1e12

const char *work_too_much(const struct work_item *item, double *flops)
{
    const struct program *program = item->trial.program;
    double n = shd_mesh_size(program->mesh);

    for (uint32_t op = 0; op < program->nops; op++)
        *flops += n * (double)program->ops[op].dense_flops * program->ops[op].times;
    if (n > UNASKED_DEVICES_MAX)
        return "has more than 1024 devices";
    if (n * (double)program_peak_bytes(program) > (double)system_memory_bytes() / 2)
        return "needs more than half of this machine's memory";
    if (*flops > UNASKED_FLOPS_MAX)
        return "takes more than 10^12 flops, including the strategies before it";
    return NULL;
}

/* Refuse at once programs that need this multiple of the machine's memory: running out of memory
 * would take longer.  Twice, as stages and their devices differ, and the largest is counted for
 * all. */
#define MEMORY_TIMES 2

/* Whether this machine could hold the devices' arrays; prints an error if not. */
static int check_memory(struct work *w, const struct work_item *item)
{
    const struct trial *trial = &item->trial;
    double has = (double)system_memory_bytes();
    double devices = shd_mesh_size(trial->program->mesh), bytes;

    if (trial->over_ranks)
        devices *= (double)ranks_here() / ranks_count();
    bytes = devices * (double)program_peak_bytes(trial->program);
    if (has <= 0 || bytes <= MEMORY_TIMES * has)
        return CMD_OK;
    log_error(&w->log,
              "%s: %s: its devices need %s of memory in total, and this machine has %s; use "
              "'shardsim plan', which executes nothing",
              item->scenario->place.file, item->scenario->strategy,
              units_print_bytes((uint128)bytes).text, units_print_bytes((uint128)has).text);
    return CMD_CANNOT;
}

bool work_describe(struct work_item *item, struct result *result)
{
    const struct scenario *s = item->scenario;

    model_describe(&item->what, s);
    *result = (struct result){.scenario = s->name,
                              .strategy = s->strategy,
                              .file = s->place.file,
                              .what = text_get(&item->what),
                              .memory_limit_bytes = item->trial.memory_limit_bytes,
                              .tokens = (uint64_t)s->batch.size * (uint64_t)scenario_new_tokens(s),
                              .serves = scenario_serves(s),
                              .decodes = s->step.decode,
                              .sequences = s->batch.size,
                              .sequences_that_fit = -1,
                              .made = s->step.decode ? scenario_step_tokens(s) : 0,
                              .kept = scenario_kept_tokens(s) +
                                      (s->step.decode ? s->decode.tokens : s->batch.seq),
                              .record = item->trial.record};
    return !item->what.failed;
}

int work_failed(struct work *w, struct work_item *item, const struct shd_error *err)
{
    const struct scenario *s = item->scenario;
    struct diag diag = DIAG_INIT;

    item->error = *err;
    if (cmd_exit_of_refused(err->status) != CMD_USAGE) { /* what happened to a run has no line */
        log_error(&w->log, "%s: %s: %s", s->place.file, s->strategy, err->text);
        return cmd_exit_of(err->status);
    }
    diag_failure(&diag, scenario_blamed(s, err->text, s->place), err->status, "%s: %s", s->strategy,
                 err->text);
    log_diag(&w->log, &diag);
    diag_fini(&diag);
    return CMD_USAGE;
}

int work_try(struct work *w, struct work_item *item, enum record_mode mode, struct result *result)
{
    struct trial *trial = &item->trial;
    const struct scenario *s = item->scenario;
    struct progress *progress =
        progress_start(&w->log, (uint64_t)(item - w->items), w->nitems,
                       mode == RECORD_PLANNED ? "planning" : "running",
                       strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY) != 0 ? s->strategy : s->name);
    int64_t sequences = -1;
    struct shd_error err;
    int status;

    trial->over_ranks = w->over_ranks;
    trial->spread_axis = w->spread_axis;
    status = check_spread(w, item);
    if (status == CMD_OK && mode == RECORD_EXECUTED)
        status = check_memory(w, item);
    if (status != CMD_OK) {
        progress_stop(progress);
        return status;
    }
    status = mode == RECORD_PLANNED ? handoff_plan(trial, &err)
                                    : serve_execute(trial, &cmd_stop_request, &err);
    if (status == SHD_OK && mode == RECORD_PLANNED) {
        trial_find_worst(trial);
        status = trial_sequences(&sequences, trial, &err);
    }
    progress_stop(progress);
    if (cmd_is_stopped(status))
        return CMD_INTERRUPTED;
    if (status != SHD_OK)
        return work_failed(w, item, &err);
    if (!work_describe(item, result)) {
        log_error(&w->log, "%s: %s: no memory for the report", s->place.file, s->strategy);
        return CMD_CANNOT;
    }
    result->sequences_that_fit = sequences;
    if (!trial_fits(trial) || !modelled_fits(trial->record) ||
        (trial->record->verified && !record_verified_ok(trial->record)))
        return CMD_FAILED;
    return CMD_OK;
}

int work_tell_fit(struct work *work, struct work_item *item)
{
    struct text line = TEXT_INIT, unit = TEXT_INIT;
    struct shd_error err;
    struct fit fit;
    int status = trial_fit(&fit, &item->trial, &err);

    if (status == SHD_OK) {
        fit_sentence(&fit, &line);
        fit_unit(item->trial.memory_limit_bytes, &unit);
        if (line.failed || unit.failed)
            status = shd_error_set(&err, SHD_ENOMEM,
                                   "out of memory while searching for changes that make it fit");
    }
    if (status == SHD_OK)
        log_note(&work->log, "%s: %s%s%s", item->scenario->strategy, text_get(&line),
                 unit.length ? "; " : "", text_get(&unit));
    text_fini(&unit);
    text_fini(&line);
    return status == SHD_OK ? CMD_OK : work_failed(work, item, &err);
}

int work_put(struct work *work, const char *path, const struct text *text, int status,
             const struct shd_error *err)
{
    if (status != SHD_OK) {
        log_error(&work->log, "%s", err->text);
        return cmd_exit_of(status);
    }
    return cmd_write(path, text);
}
