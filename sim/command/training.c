/* Training with every strategy, and drawing the losses (training.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "draw/curves.h"
#include "command/command.h"
#include "report/experts.h"

/* All curves have the steps of the first. */
static int check_steps(struct training *o)
{
    const struct work_item *items = o->work.items;

    for (size_t i = 0; i < o->work.nitems; i++) {
        const struct scenario *s = items[i].scenario;

        if (!s->step.update)
            return cmd_wrong(
                s->name, "the scenario does not train; expected step: [forward, backward, update]");
        if (s->steps != items[0].scenario->steps)
            return cmd_wrong(
                s->strategy,
                "its number of steps differs from the first strategy's; expected equal steps");
    }
    return CMD_OK;
}

static int train_all(struct training *o)
{
    struct shd_error err;

    for (size_t i = 0; i < o->work.nitems; i++) {
        struct work_item *item = &o->work.items[i];
        int status = trial_train(&item->trial, &cmd_stop_request, &err);

        if (status != SHD_OK)
            return cmd_is_stopped(status) ? cmd_exit_of(status) : work_failed(&o->work, item, &err);
        log_note(&o->work.log, "%s: loss %.5f after %u steps", item->scenario->strategy,
                 item->trial.record->training.losses[item->trial.record->training.nsteps - 1],
                 item->trial.record->training.nsteps);
    }
    return CMD_OK;
}

static void write_losses(const struct curves *curves, uint32_t series, struct json_out *out)
{
    uint32_t step;

    json_out_key_string(out, "strategy", curves->series[series].name);
    json_out_key_double(out, "distance", curves_distance(curves, series, &step));
    json_out_key_int(out, "distance_step", step);
    json_out_key_flat_array(out, "losses");
    for (uint32_t s = 0; s < curves->nsteps; s++)
        json_out_double(out, curves->series[series].values[s]);
    json_out_end_array(out);
}

/* Write how even the work of experts is in the last step. */
static int write_experts(const struct record *record, struct json_out *out)
{
    struct experts experts;
    struct shd_error err;
    int status = experts_init(&experts, record, &err);

    if (status != SHD_OK)
        return cmd_failure("cannot report the load of experts", &err);
    if (experts.nrows > 0) {
        json_out_key(out, "experts");
        experts_json(&experts, record, out);
    }
    experts_fini(&experts);
    return CMD_OK;
}

static int write_json(const struct training *o, const struct curves *curves, struct text *text)
{
    struct json_out out;
    int status = CMD_OK;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_array(&out);
    for (uint32_t i = 0; i < curves->nseries && status == CMD_OK; i++) {
        json_out_begin_object(&out);
        write_losses(curves, i, &out);
        status = write_experts(o->work.items[i].trial.record, &out);
        json_out_end_object(&out);
    }
    json_out_end_array(&out);
    json_out_newline(&out);
    text->failed |= json_out_fini(&out) != SHD_OK;
    return status;
}

static int put(const struct training *o, const struct curves *curves)
{
    struct text text = TEXT_INIT;
    int status;

    if (!o->json)
        return canvas_draw_curves(&o->canvas, curves);
    status = write_json(o, curves, &text);
    if (status == CMD_OK)
        status = canvas_put(&o->canvas, &text);
    text_fini(&text);
    return status;
}

/* Whether two series are as far from the first, at the same step. */
static bool is_as_far(const struct curves *curves, uint32_t a, uint32_t b)
{
    uint32_t step_a, step_b;
    double far_a = curves_distance(curves, a, &step_a), far_b = curves_distance(curves, b, &step_b);

    return step_a == step_b && !(far_a < far_b) && !(far_a > far_b);
}

/* Say how far a series is from the first, together with the later series at the same distance;
 * nothing if an earlier series was at that distance. */
static bool describe_distance(struct text *note, const struct curves *curves, uint32_t series)
{
    uint32_t step, n = 1;
    double distance = curves_distance(curves, series, &step);

    for (uint32_t i = 1; i < series; i++)
        if (is_as_far(curves, i, series))
            return false;
    text_add(note, curves->series[series].name);
    for (uint32_t i = series + 1; i < curves->nseries; i++)
        if (is_as_far(curves, series, i)) {
            text_addf(note, ", %s", curves->series[i].name);
            n++;
        }
    if (distance > 0 || isnan(distance))
        text_addf(note, "%s at most %.2g from %s, in step %u.", n > 1 ? " are" : " is", distance,
                  curves->series[0].name, step);
    else
        text_addf(note, "%s equal to %s, bit for bit.", n > 1 ? " are" : " is",
                  curves->series[0].name);
    return true;
}

static int draw(const struct training *o)
{
    const struct work *w = &o->work;
    struct curves_series *series = calloc(w->nitems, sizeof *series);
    struct text *texts = calloc(w->nitems, sizeof *texts);
    const char **notes = calloc(w->nitems, sizeof *notes);
    struct curves curves = {.title = w->items[0].scenario->name,
                            .what = "loss",
                            .nsteps = w->items[0].trial.record->training.nsteps,
                            .series = series,
                            .notes = notes};
    bool failed = !series || !texts || !notes;
    int status = CMD_CANNOT;

    for (size_t i = 0; !failed && i < w->nitems; i++)
        series[curves.nseries++] = (struct curves_series){
            w->items[i].scenario->strategy, w->items[i].trial.record->training.losses};
    for (uint32_t i = 1; !failed && i < curves.nseries; i++) {
        if (describe_distance(&texts[i], &curves, i))
            notes[curves.nnotes++] = text_get(&texts[i]);
        failed |= texts[i].failed;
    }
    if (!failed)
        status = put(o, &curves);
    else
        (void)cmd_wrong("cannot draw", "no memory for the curves");
    for (size_t i = 0; texts && i < w->nitems; i++)
        text_fini(&texts[i]);
    free(series);
    free(texts);
    free(notes);
    return status;
}

int training_run(struct training *o)
{
    int status = work_prepare(&o->work);

    if (status == CMD_OK)
        status = check_steps(o);
    if (status == CMD_OK)
        status = train_all(o);
    return status == CMD_OK ? draw(o) : status;
}
