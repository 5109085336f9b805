/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/trials.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "model/model.h"
#include "report/result.h"
#include "scenario/scenario.h"
#include "trial/trial.h"

struct options {
    const char **files, **sets, **strategies;
    size_t nfiles, nsets, nstrategies;
    bool json, quiet;
    int repeats, nthreads;
};

enum { KEY_REPEAT = 1000, KEY_THREADS }; /* no short form */

#define REPEATS_MAX 1000000
#define THREADS_MAX 1024
#define NRUN_OPTIONS 2 /* the first rows: a plan does without */

static const struct argp_option option_table[] = {
    {"repeat", KEY_REPEAT, "N", 0,
     "Execute the step N times, for measuring: the first is told apart, the time is the median of "
     "the others",
     0},
    {"threads", KEY_THREADS, "N", 0,
     "Compute each op of a device in N threads (the results are the same); with more than one the "
     "step is not replayed",
     0},
    {"json", 'j', NULL, 0, "Print the machine form: an object a strategy, an array of several", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {"set", 's', "KEY=VALUE", 0,
     "Override a value of the scenario, e.g. --set model.d_ff=4096 or --set 'mesh={dp: 4}'; may be "
     "given several times",
     0},
    {"strategy", 'S', "NAME", 0, "Only this strategy of the file; may be given several times", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static void parse_count(int *out, const char *option, const char *arg, int max,
                        const struct argp_state *state)
{
    char *end;
    long n = strtol(arg, &end, 10);

    if (end == arg || *end || n < 1 || n > max)
        argp_error(state, "--%s is '%s'; expected a whole number from 1 to %d", option, arg, max);
    else
        *out = (int)n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'j':
        o->json = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case KEY_REPEAT:
        parse_count(&o->repeats, "repeat", arg, REPEATS_MAX, state);
        return 0;
    case KEY_THREADS:
        parse_count(&o->nthreads, "threads", arg, THREADS_MAX, state);
        return 0;
    case 's':
        o->sets[o->nsets++] = arg;
        return 0;
    case 'S':
        o->strategies[o->nstrategies++] = arg;
        return 0;
    case ARGP_KEY_ARG:
        o->files[o->nfiles++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no scenario file given ('-' is standard input)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* One strategy that is to be tried. */
struct item {
    const struct scenario *scenario;
    struct trial trial;
};

struct work {
    const struct options *options;
    enum record_mode mode;
    struct scenario_file **files;
    struct item *items;
    size_t nitems;
    struct diag diag;
    struct log log;
};

static bool wanted(const struct options *o, const char *strategy)
{
    for (size_t i = 0; i < o->nstrategies; i++)
        if (!strcmp(o->strategies[i], strategy))
            return true;
    return o->nstrategies == 0;
}

static void report_unknown_strategies(struct work *w)
{
    for (size_t s = 0; s < w->options->nstrategies; s++) {
        struct nearest near;
        struct text names = TEXT_INIT;
        char hint[NEAREST_HINT_MAX];
        bool found = false;

        nearest_init(&near, w->options->strategies[s]);
        for (size_t f = 0; f < w->options->nfiles; f++)
            for (size_t i = 0; w->files[f] && i < w->files[f]->nscenarios; i++) {
                const char *name = w->files[f]->scenarios[i].strategy;

                found |= !strcmp(name, w->options->strategies[s]);
                nearest_add(&near, name);
                text_addf(&names, "%s'%s'", names.length ? ", " : "", name);
            }
        if (!found)
            diag_error(&w->diag, (struct place){"--strategy", (int)s + 1, 1},
                       "there is no strategy '%s'; expected one of %s%s",
                       w->options->strategies[s], text_get(&names),
                       nearest_hint(&near, hint, sizeof hint));
        text_fini(&names);
    }
}

/* Load all files and build all programs, so that every error is told before anything runs. */
static int prepare(struct work *w)
{
    const struct options *o = w->options;
    size_t total = 0;

    w->files = calloc(o->nfiles, sizeof *w->files);
    if (!w->files)
        return CMD_CANNOT;
    for (size_t f = 0; f < o->nfiles; f++)
        if (scenario_load(&w->files[f], o->files[f], o->sets, o->nsets, &w->diag) == SHD_OK)
            total += w->files[f]->nscenarios;
    if (w->diag.nerrors == 0)
        report_unknown_strategies(w);
    w->items = calloc(total + 1, sizeof *w->items);
    if (!w->items)
        return CMD_CANNOT;
    for (size_t f = 0; f < o->nfiles; f++)
        for (size_t i = 0; w->files[f] && i < w->files[f]->nscenarios; i++) {
            struct item *item = &w->items[w->nitems];

            item->scenario = &w->files[f]->scenarios[i];
            if (wanted(o, item->scenario->strategy) &&
                trial_init(&item->trial, item->scenario, &w->diag) == SHD_OK)
                w->nitems++;
        }
    if (w->diag.nerrors == 0)
        return CMD_OK;
    if (cmd_stop_request) /* while waiting for standard input, which is no error of the input */
        return CMD_INTERRUPTED;
    diag_write(&w->diag, stderr);
    return CMD_USAGE;
}

/* Try one strategy and add its report; returns the exit status. */
static int try_item(struct work *w, struct item *item, struct text *text, struct json_out *json)
{
    struct trial *trial = &item->trial;
    struct text what = TEXT_INIT;
    struct result result = {.scenario = item->scenario->name,
                            .strategy = item->scenario->strategy,
                            .memory_limit_bytes = item->scenario->memory_limit_bytes};
    struct progress *progress = progress_start(&w->log, (uint64_t)(item - w->items), w->nitems,
                                               item->scenario->strategy);
    struct shd_error err;
    int status;

    trial->repeats = (uint32_t)w->options->repeats;
    trial->nthreads = w->options->nthreads;
    status = w->mode == RECORD_PLANNED ? trial_plan(trial, &err)
                                       : trial_execute(trial, &cmd_stop_request, &err);

    progress_stop(progress);
    if (status == SHD_OK) {
        model_describe(&what, item->scenario);
        result.what = text_get(&what);
        result.record = trial->record;
        if (!json && text->length > 0)
            text_add(text, "\n");
        status = json ? result_json(&result, json, &err) : result_text(&result, text, &err);
        text_fini(&what);
    }
    if (status != SHD_OK) {
        log_error(&w->log, "%s: %s: %s", item->scenario->place.file, item->scenario->strategy,
                  err.text);
        return cmd_exit_of(status);
    }
    if (!trial_fits(trial) || (trial->record->verified && !record_verified_ok(trial->record)))
        return CMD_FAILED;
    return CMD_OK;
}

static int try_all(struct work *w)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit = CMD_OK;

    if (w->options->json)
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
    if (w->options->json && w->nitems != 1)
        json_out_begin_array(&json);
    log_progress_begin(&w->log);
    for (size_t i = 0; i < w->nitems && exit != CMD_CANNOT && exit != CMD_INTERRUPTED; i++) {
        int one;

        one = try_item(w, &w->items[i], &text, w->options->json ? &json : NULL);
        exit = one > exit ? one : exit;
        trial_fini(&w->items[i].trial);
    }
    log_progress_end(&w->log);
    if (w->options->json && w->nitems != 1)
        json_out_end_array(&json);
    if (w->options->json) {
        if (text.length > 0)
            json_out_newline(&json);
        (void)json_out_fini(&json); /* a lack of memory is in the text */
    }
    if (text.length > 0 && exit != CMD_INTERRUPTED) {
        int put = cmd_put(&text);

        exit = put > exit ? put : exit;
    }
    text_fini(&text);
    return exit;
}

static void clean_up(struct work *w)
{
    for (size_t i = 0; i < w->nitems; i++)
        trial_fini(&w->items[i].trial);
    for (size_t f = 0; w->files && f < w->options->nfiles; f++)
        scenario_file_destroy(w->files[f]);
    free(w->items);
    free(w->files);
    diag_fini(&w->diag);
}

int trials_main(int argc, char **argv, enum record_mode mode, const char *doc)
{
    const struct argp argp = {option_table + (mode == RECORD_PLANNED ? NRUN_OPTIONS : 0),
                              parse_option, "SCENARIO...", doc, NULL, NULL, NULL};
    size_t n = (size_t)argc + 1;
    struct options o = {.files = calloc(3 * n, sizeof *o.files)};
    struct work w = {.options = &o, .mode = mode, .diag = DIAG_INIT};
    int exit;

    if (!o.files)
        return CMD_CANNOT;
    o.sets = o.files + n;
    o.strategies = o.sets + n;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    log_init(&w.log, stderr);
    w.log.quiet = o.quiet;
    exit = prepare(&w);
    if (exit == CMD_OK)
        exit = try_all(&w);
    clean_up(&w);
    free(o.files);
    return exit;
}
