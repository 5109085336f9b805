/* Trying scenarios and printing reports (trials.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/trials.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/screen.h"
#include "command/command.h"
#include "command/rounds.h"
#include "command/sweep.h"
#include "run/ranks/ranks.h"
#include "report/result_colour.h"
#include "command/write.h"
#include "trial/fit.h"
#include "trial/saving.h"

/* Wall time for the rounds that make the replayed step steady; small scenarios need only a part. */
#define ROUNDS_NS INT64_C(1000000000)
/* Most strategies for which changes that make them fit are looked for: each may take as long as
 * some dozens of plans, and a sweep has hundreds. */
#define FITS_MAX 8
#define TOO_MANY_FITS \
    "changes that make a strategy fit are searched for the first %d strategies only"

/* Whether it is to be looked what would make a strategy fit; says once where no more. */
static bool wants_fit(struct trials *o, const struct work_item *item)
{
    if (trial_fits(&item->trial) || o->nfits > FITS_MAX)
        return false;
    if (o->nfits++ < FITS_MAX)
        return true;
    log_note(&o->work.log, TOO_MANY_FITS, FITS_MAX);
    return false;
}

static int add_report(const struct trials *o, const struct result *result, struct text *text,
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

/* Write the outputs of an executed strategy, right or wrong. */
static int put_outputs(struct trials *o, const struct trial *trial)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status;

    if (!trial->outputs)
        return CMD_OK;
    outputs_print(trial->outputs, &text);
    status = store_write(o->outputs, &text, &err);
    text_fini(&text);
    if (status != SHD_OK)
        log_error(&o->work.log, "%s", err.text);
    return status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

static int check_file(struct trials *o)
{
    struct shd_error err;

    if (store_check(o->outputs, &err) == SHD_OK)
        return CMD_OK;
    log_error(&o->work.log, "%s", err.text);
    return cmd_exit_of(err.status);
}

/* Whether outputs can be written, which is asked before anything is executed. */
static int check_outputs(struct trials *o)
{
    if (!o->outputs)
        return CMD_OK;
    if (o->work.nitems != 1)
        log_error(&o->work.log, "--outputs needs one strategy of the %zu; expected --strategy=NAME",
                  o->work.nitems);
    else if (ranks_count() > 1)
        log_error(&o->work.log, "--outputs needs one process, not several ranks");
    else
        return check_file(o);
    return CMD_USAGE;
}

/* Try one strategy and add its report; returns the exit status. */
static int try_item(struct trials *o, struct work_item *item, struct text *text,
                    struct json_out *json)
{
    struct result result = {.record = NULL};
    struct fit fit;
    struct shd_error err;
    int status, exit, measured, saved;
    size_t whole;

    item->trial.repeats = (uint32_t)o->repeats;
    item->trial.nthreads = o->nthreads;
    item->trial.memory = o->memory;
    item->trial.keeps_outputs = o->outputs != NULL;
    exit = work_try(&o->work, item, o->mode, &result);
    if (!result.record) {
        int told =
            exit == CMD_FAILED && wants_fit(o, item) ? work_tell_fit(&o->work, item) : CMD_OK;

        return cmd_worse(exit, told);
    }
    if (put_outputs(o, &item->trial) != CMD_OK)
        return CMD_CANNOT;
    measured = rounds_run(&o->work, (size_t)(item - o->work.items), 1, ROUNDS_NS);
    if (measured != CMD_OK)
        return measured;
    status = trial_saving(&result.saving, &item->trial, &err);
    if (status == SHD_OK && wants_fit(o, item)) {
        status = trial_fit(&fit, &item->trial, &err);
        result.fit = &fit;
    }
    if (status != SHD_OK)
        return work_failed(&o->work, item, &err);
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
    return work_failed(&o->work, item, &err);
}

/* In place of the result of a strategy that was refused after the others had begun. */
static void put_refused(struct json_out *json, const struct work_item *item)
{
    const struct scenario *s = item->scenario;
    const struct place place = scenario_blamed(s, item->error.text, s->place);

    json_out_begin_object(json);
    json_out_key_string(json, "schema", "shardsim.result/2");
    json_out_key_string(json, "scenario", s->name);
    json_out_key_string(json, "strategy", s->strategy);
    json_out_key_object(json, "error");
    json_out_key_string(json, "file", place.file);
    json_out_key_int(json, "line", place.line);
    json_out_key_int(json, "column", place.column);
    json_out_key_string(json, "message", item->error.text);
    json_out_end_object(json);
    json_out_end_object(json);
}

/* The reports of several strategies as JSON are an array. */
static void begin_reports(const struct trials *o, struct json_out *json, struct text *text)
{
    if (!o->json)
        return;
    json_out_init_text(json, text, JSON_OUT_PRETTY);
    if (o->work.nitems != 1)
        json_out_begin_array(json);
}

static void end_reports(const struct trials *o, struct json_out *json, const struct text *text)
{
    if (!o->json)
        return;
    if (o->work.nitems != 1)
        json_out_end_array(json);
    if (text->length > 0)
        json_out_newline(json);
    (void)json_out_fini(json); /* a lack of memory is in the text */
}

static int try_all(struct trials *o)
{
    struct work *w = &o->work;
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit = CMD_OK;

    begin_reports(o, &json, &text);
    log_progress_begin(&w->log);
    for (size_t i = 0; i < w->nitems && exit != CMD_CANNOT && exit != CMD_INTERRUPTED; i++) {
        int own = try_item(o, &w->items[i], &text, o->json ? &json : NULL);

        if (own == CMD_USAGE && o->json && w->items[i].error.status != SHD_OK)
            put_refused(&json, &w->items[i]);
        exit = cmd_worse(exit, own);
        trial_fini(&w->items[i].trial);
    }
    log_progress_end(&w->log);
    end_reports(o, &json, &text);
    if (text.length > 0 && exit != CMD_INTERRUPTED && !(o->json && exit == CMD_CANNOT))
        exit = cmd_worse(exit, cmd_put(&text));
    text_fini(&text);
    return exit;
}

/* ---- planned on all ranks ---- */

/* Look for changes that make strategies fit, in their order and up to the limit of try_all(). */
static int fit_planned(struct trials *o, struct sweep *s)
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
    struct trials *o = arg;
    struct text text = TEXT_INIT;
    struct json_out json;
    int exit = fit_planned(o, s);

    if (exit != CMD_OK)
        return exit;
    begin_reports(o, &json, &text);
    for (size_t i = 0; i < s->work->nitems; i++) {
        struct sweep_item *item = &s->items[i];

        exit = cmd_worse(exit, item->exit);
        if (item->planned && o->json)
            json_out_lines(&json, &item->json);
        if (item->planned && !o->json)
            text_addf(&text, "%s%s", text.length > 0 ? "\n" : "", text_get(&item->text));
    }
    end_reports(o, &json, &text);
    exit = cmd_worse(exit, cmd_put(&text));
    text_fini(&text);
    return exit;
}

static int plan_with_ranks(struct trials *o)
{
    struct sweep_wants wants = {.text = !o->json, .json = o->json, .verbose = o->verbose};

    return sweep_run(&o->work, wants, put_planned, o);
}

int trials_run(struct trials *o)
{
    bool on_paper = o->mode == RECORD_PLANNED;
    int exit;

    screen_init(&o->screen, stdout, o->colour);
    o->work.plan = on_paper;
    if (on_paper && !o->save.wanted && sweep_is_for(&o->work))
        return plan_with_ranks(o);
    if (on_paper && ranks_me() > 0)
        return CMD_OK; /* rank 0 works alone */
    exit = on_paper ? work_prepare(&o->work) : work_prepare_all(&o->work);
    if (exit == CMD_OK)
        exit = check_outputs(o);
    if (exit == CMD_OK)
        exit = save_begin(&o->save, &o->work.log);
    if (exit == CMD_OK) {
        exit = try_all(o);
        exit = cmd_worse(exit, save_end(&o->save, exit == CMD_INTERRUPTED, &o->work.log));
    }
    return exit;
}
