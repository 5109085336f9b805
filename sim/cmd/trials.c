/* The common part of `run` and `plan`: trying scenarios and printing reports (trials.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/trials.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/screen.h"
#include "cmd/args.h"
#include "cmd/common.h"
#include "jobs/command.h"
#include "jobs/rounds.h"
#include "jobs/save.h"
#include "jobs/sweep.h"
#include "jobs/work.h"
#include "ranks/ranks.h"
#include "report/result_colour.h"
#include "trial/fit.h"
#include "trial/saving.h"

struct options {
    struct work work;
    struct save save;
    bool json, verbose;
    int repeats, nthreads;
    const char *memory; /* NULL: the default */
    enum screen_colour colour;
    struct screen screen;
    uint32_t nfits; /* strategies whose changes to fit were looked for */
};

enum { KEY_REPEAT = 1000, KEY_THREADS, KEY_MEMORY, KEY_SAVE, KEY_COLOUR }; /* no short form */

#define REPEATS_MAX 1000000 /* more is a slip of the hand */
#define THREADS_MAX 1024    /* of one device, far above the cores of a host */
/* Wall time for the rounds that make the replayed step steady; small scenarios need only a part. */
#define ROUNDS_NS INT64_C(1000000000)
/* Most strategies for which changes that make them fit are looked for: each may take as long as
 * some dozens of plans, and a sweep has hundreds. */
#define FITS_MAX 8
#define TOO_MANY_FITS "what would fit is looked for of the first %d strategies only"
#define NRUN_OPTIONS 3 /* the first rows of the table, which `plan` does not have */

static const struct argp_option option_table[] = {
    {"repeat", KEY_REPEAT, "N", 0,
     "Execute the step N times, for measuring: the first is reported separately, the time is the "
     "median of "
     "the others; a step that trains is executed as often as the scenario says",
     0},
    {"threads", KEY_THREADS, "N", 0,
     "Compute each op of a device in N threads (the results are the same); with more than one the "
     "step is not replayed",
     0},
    {"memory", KEY_MEMORY, ARGS_MEMORY, 0, ARGS_MEMORY_DOC, 0},
    SAVE_OPTION(KEY_SAVE),
    {"color", KEY_COLOUR, ARGS_COLOUR, OPTION_ARG_OPTIONAL,
     "Whether in colours; auto, the default: on a terminal, unless NO_COLOR is set", 0},
    {"json", 'j', NULL, 0, "Print the machine form: an object a strategy, an array of several", 0},
    {"verbose", 'v', NULL, 0, "List every kind of collective, where there are many", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; state->root_argp->children[i].argp; i++)
            state->child_inputs[i] = &o->work;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'v':
        o->verbose = true;
        return 0;
    case KEY_COLOUR:
        if (!screen_parse_colour(&o->colour, arg ? arg : "always"))
            args_error(state, "--color is '%s'; expected auto, always or never", arg);
        return 0;
    case KEY_REPEAT:
        o->repeats = (int)args_parse_count("repeat", arg, 1, REPEATS_MAX, state);
        return 0;
    case KEY_MEMORY:
        o->memory = args_parse_memory(arg, state);
        return 0;
    case KEY_SAVE:
        o->save.wanted = true;
        o->save.path = arg;
        return 0;
    case KEY_THREADS:
        o->nthreads = (int)args_parse_count("threads", arg, 1, THREADS_MAX, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether it is to be looked what would make a strategy fit; says once where no more. */
static bool wants_fit(struct options *o, const struct work_item *item)
{
    if (trial_fits(&item->trial) || o->nfits > FITS_MAX)
        return false;
    if (o->nfits++ < FITS_MAX)
        return true;
    log_note(&o->work.log, TOO_MANY_FITS, FITS_MAX);
    return false;
}

static int add_report(const struct options *o, const struct result *result, struct text *text,
                      struct shd_error *err)
{
    struct text plain = TEXT_INIT;
    int status;

    if (!o->screen.colour)
        return result_text(result, text, err);
    status = result_text(result, &plain, err);
    if (status == SHD_OK)
        result_add_coloured(text, text_get(&plain));
    text_fini(&plain);
    if (status == SHD_OK && text->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    return status;
}

/* Try one strategy and add its report; returns the exit status. */
static int try_item(struct options *o, struct work_item *item, enum record_mode mode,
                    struct text *text, struct json_out *json)
{
    struct result result = {.record = NULL};
    struct fit fit;
    struct shd_error err;
    int status, exit, measured, saved;
    size_t whole;

    item->trial.repeats = (uint32_t)o->repeats;
    item->trial.nthreads = o->nthreads;
    item->trial.memory = o->memory;
    exit = work_try(&o->work, item, mode, &result);
    if (!result.record) {
        int told =
            exit == CMD_FAILED && wants_fit(o, item) ? work_tell_fit(&o->work, item) : CMD_OK;

        return told > exit ? told : exit;
    }
    measured = rounds_run(&o->work, (size_t)(item - o->work.items), 1, ROUNDS_NS);
    if (measured != CMD_OK)
        return measured;
    status = trial_saving(&result.saving, &item->trial, &err);
    if (status == SHD_OK && wants_fit(o, item)) {
        status = trial_fit(&fit, &item->trial, &err);
        result.fit = &fit;
    }
    if (status != SHD_OK) {
        log_error(&o->work.log, "%s: %s: %s", item->scenario->place.file, result.strategy,
                  err.text);
        return cmd_exit_of(status);
    }
    result.verbose = o->verbose;
    result.columns = o->screen.columns;
    saved = save_result(&o->save, &result, &o->work.log);
    if (saved != CMD_OK)
        return saved;
    whole = text->length;
    if (!json && text->length > 0)
        text_add(text, "\n");
    status = json ? result_json(&result, json, &err) : add_report(o, &result, text, &err);
    if (status == SHD_OK)
        return exit;
    text->length = whole; /* keep the earlier reports */
    log_error(&o->work.log, "%s: %s: %s", item->scenario->place.file, result.strategy, err.text);
    return cmd_exit_of(status);
}

static int try_all(struct options *o, enum record_mode mode)
{
    struct work *w = &o->work;
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit = CMD_OK;

    if (o->json)
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
    if (o->json && w->nitems != 1)
        json_out_begin_array(&json);
    log_progress_begin(&w->log);
    for (size_t i = 0; i < w->nitems && exit != CMD_CANNOT && exit != CMD_INTERRUPTED; i++) {
        int one = try_item(o, &w->items[i], mode, &text, o->json ? &json : NULL);

        exit = one > exit ? one : exit;
        trial_fini(&w->items[i].trial);
    }
    log_progress_end(&w->log);
    if (o->json && w->nitems != 1)
        json_out_end_array(&json);
    if (o->json) {
        if (text.length > 0)
            json_out_newline(&json);
        (void)json_out_fini(&json); /* a lack of memory is in the text */
    }
    if (text.length > 0 && exit != CMD_INTERRUPTED && !(o->json && exit == CMD_CANNOT)) {
        int put = cmd_put(&text);

        exit = put > exit ? put : exit;
    }
    text_fini(&text);
    return exit;
}

/* ---- planned on all ranks ---- */

/* Look for changes that make strategies fit, in their order and up to the limit of try_all(). */
static int fit_planned(struct options *o, struct sweep *s)
{
    size_t items[FITS_MAX + 1], n = 0;

    for (size_t i = 0; i < s->work->nitems && n <= FITS_MAX; i++)
        if (s->items[i].planned && !s->items[i].fits)
            items[n++] = i;
    if (n <= FITS_MAX)
        return sweep_fit(s, items, n);
    log_note(&o->work.log, TOO_MANY_FITS, FITS_MAX);
    return sweep_fit(s, items, FITS_MAX);
}

/* A sweep_tell_fn. */
static int put_planned(void *arg, struct sweep *s)
{
    struct options *o = arg;
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit = fit_planned(o, s), put;

    if (exit != CMD_OK)
        return exit;
    if (o->json)
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
    if (o->json && s->work->nitems != 1)
        json_out_begin_array(&json);
    for (size_t i = 0; i < s->work->nitems; i++) {
        struct sweep_item *item = &s->items[i];

        exit = item->exit > exit ? item->exit : exit;
        if (item->planned && o->json)
            json_out_lines(&json, &item->json);
        if (item->planned && !o->json)
            text_addf(&text, "%s%s", text.length > 0 ? "\n" : "", text_get(&item->text));
    }
    if (o->json && s->work->nitems != 1)
        json_out_end_array(&json);
    if (o->json && text.length > 0)
        json_out_newline(&json);
    if (o->json)
        (void)json_out_fini(&json); /* a lack of memory is in the text */
    put = cmd_put(&text);
    text_fini(&text);
    return put > exit ? put : exit;
}

static int plan_with_ranks(struct options *o)
{
    struct sweep_wants wants = {.text = !o->json, .json = o->json, .verbose = o->verbose};

    return sweep_run(&o->work, wants, put_planned, o);
}

int trials_main(int argc, char **argv, enum record_mode mode, const char *doc)
{
    const struct argp_child children[] = {
        {&work_argp, 0, NULL, 0}, {&work_spread_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
    const struct argp_child on_paper[] = {{&work_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
    const struct argp argp = {option_table + (mode == RECORD_PLANNED ? NRUN_OPTIONS : 0),
                              parse_option,
                              "SCENARIO...",
                              doc,
                              mode == RECORD_PLANNED ? on_paper : children,
                              NULL,
                              NULL};
    struct options o = {.colour = SCREEN_AUTO};
    int exit, saved;

    if (!work_init(&o.work, argc))
        return CMD_CANNOT;
    args_parse(&argp, argc, argv, &o);
    screen_init(&o.screen, stdout, o.colour);
    if (mode == RECORD_PLANNED && (o.save.wanted || !sweep_is_for(&o.work)) && ranks_me() > 0) {
        work_fini(&o.work);
        return CMD_OK; /* rank 0 works alone */
    }
    if (mode == RECORD_PLANNED && !o.save.wanted && sweep_is_for(&o.work)) {
        exit = plan_with_ranks(&o);
        work_fini(&o.work);
        return exit;
    }
    exit = mode == RECORD_PLANNED ? work_prepare(&o.work) : work_prepare_all(&o.work);
    if (exit == CMD_OK)
        exit = save_begin(&o.save, &o.work.log);
    if (exit == CMD_OK) {
        exit = try_all(&o, mode);
        saved = save_end(&o.save, exit == CMD_INTERRUPTED, &o.work.log);
        exit = saved > exit ? saved : exit;
    }
    work_fini(&o.work);
    return exit;
}
