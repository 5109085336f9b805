/* Explaining a step (explained.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/explained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/explain/lesson.h"
#include "cmd/explain/overview.h"
#include "cmd/explain/roofline.h"
#include "command/asked.h"
#include "command/command.h"
#include "model/model.h"
#include "run/walk/walk.h"

static int run_for_values(struct trial *trial, struct values *values, struct shd_error *err)
{
    struct walk_opts opts = {.stop_request = &cmd_stop_request,
                             .memory_bytes = trial->memory_limit_bytes,
                             .observe = values_observe,
                             .observe_arg = values};
    struct record *record;
    int status = values_init(values, trial->program, err);

    if (status == SHD_OK)
        status = record_create(&record, trial->program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK) {
        status = walk_run(record, &opts, err);
        if (status == SHD_OK && atomic_load(&values->failed))
            status = shd_error_set(err, SHD_ENOMEM, "no memory for values");
        record_destroy(record);
    }
    return status;
}

/* Whether the form that fits a screen is asked for: nothing selects ops, and nothing asks for what
 * only whole accounts have. */
static bool wants_overview(const struct explained *o)
{
    return !o->op && !o->collectives && !o->ops && !o->verbose && !o->device && !o->values;
}

static int add_ops(const struct explained *o, struct trial *trial, struct lesson *lesson,
                   struct text *text, struct shd_error *err)
{
    const struct partition_request request = trial_request(trial);
    struct values values = {.texts = NULL};
    int status = alternatives_create(&lesson->alternatives, &request, err);

    if (status == SHD_OK && o->values)
        status = run_for_values(trial, &values, err);
    lesson->placement = request.placement;
    lesson->values = o->values ? &values : NULL;
    if (status == SHD_OK)
        status = lesson_text(lesson, text, err);
    alternatives_destroy(lesson->alternatives);
    values_fini(&values);
    return status;
}

static int teach(const struct explained *o, struct trial *trial, struct lesson *lesson,
                 struct text *text, struct shd_error *err)
{
    struct fold fold = {.entries = NULL};
    struct text what = TEXT_INIT;
    int status = trial_plan(trial, err);

    model_describe(&what, trial->scenario);
    if (status == SHD_OK && what.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the model's description");
    if (status == SHD_OK && !o->verbose && !o->op)
        status = fold_init(&fold, trial->program, err);
    lesson->what = text_get(&what);
    lesson->record = trial->record;
    lesson->collectives = o->collectives;
    lesson->fold = fold.entries ? &fold : NULL;
    if (status == SHD_OK)
        status = wants_overview(o) ? overview_text(lesson, text, err)
                                   : add_ops(o, trial, lesson, text, err);
    fold_fini(&fold);
    text_fini(&what);
    return status;
}

static int put_json(const struct trial *trial, int32_t position, struct text *text,
                    struct shd_error *err)
{
    struct json_out json;
    int status;

    json_out_init_text(&json, text, JSON_OUT_PRETTY);
    status = roofline_json(trial->program, trial->hardware, position, &json, err);
    if (status == SHD_OK && json_out_fini(&json) != SHD_OK)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a table of ops");
    return status;
}

static int roofline(const struct explained *o, const struct trial *trial,
                    const struct lesson *lesson, struct text *text, struct shd_error *err)
{
    if (!trial->hardware)
        return shd_error_set(err, SHD_ERANGE,
                             "--roofline needs a cluster; expected 'hardware: NAME' in %s, or "
                             "--set hardware=NAME",
                             o->chosen.path);
    if (o->json)
        return put_json(trial, lesson->position, text, err);
    return (canvas_is_picture(&o->canvas) ? roofline_picture : roofline_text)(
        trial->program, trial->hardware, lesson->position, text, err);
}

int explained_put(struct explained *o)
{
    struct trial *trial = &o->chosen.trial;
    struct lesson lesson = {.scenario = trial->scenario->name,
                            .strategy = trial->scenario->strategy,
                            .op = LESSON_ALL,
                            .width = o->canvas.style.width,
                            .colour = o->canvas.style.colour};
    struct text text = TEXT_INIT;
    struct shd_error err;
    long n;
    int status;

    if (o->op) {
        n = asked_number("--op", o->op, 1, (long)trial->program->nops,
                         ", as explain without --op numbers them");
        if (n < 0)
            return CMD_USAGE;
        lesson.op = (uint32_t)n - 1;
    }
    if (o->device) {
        n = asked_number("--device", o->device, 0, (long)shd_mesh_size(trial->mesh) - 1, "");
        if (n < 0)
            return CMD_USAGE;
        lesson.position = (int32_t)n;
    }
    status = o->roofline ? roofline(o, trial, &lesson, &text, &err)
                         : teach(o, trial, &lesson, &text, &err);
    if (status != SHD_OK) {
        status = chosen_failed(&o->chosen, &err);
    } else {
        status = canvas_put(&o->canvas, &text);
    }
    text_fini(&text);
    return status;
}
