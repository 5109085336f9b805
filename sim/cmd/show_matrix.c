/* shardsim show matrix - bytes from device to device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cost/plan.h"
#include "draw/layouts.h"
#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/command.h"
#include "report/class_traffic.h"

struct options {
    struct canvas canvas;
    struct chosen chosen;
    bool executed;
    bool json;
};

static int draw_devices(struct figure *figure, const struct record *record, struct shd_error *err)
{
    bool planned = record->mode == RECORD_PLANNED;
    uint128 *own = planned ? plan_matrix(record->program) : NULL;
    const uint128 *matrix = planned ? own : record->matrix;
    int status;

    if (matrix)
        status = layouts_matrix(figure, record->program->asked_mesh, matrix, err);
    else
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the matrix");
    free(own);
    figure_add_note(figure, "A row is a receiver, a column a sender; K is 1024 bytes.");
    return status;
}

/* With many devices: bytes that a device of each class receives, by the axes along which the
 * senders lie. */
static int draw_classes(struct figure *figure, const struct record *record, struct shd_error *err)
{
    struct class_traffic t;
    struct layouts_table table;
    int status = class_traffic_init(&t, record, err);

    if (status != SHD_OK)
        return status;
    table = (struct layouts_table){
        "to a device of", "from those along", t.nclasses, t.naxes, t.classes, t.axes, t.bytes};
    status = layouts_bytes(figure, &table, err);
    class_traffic_fini(&t);
    figure_add_note(figure, "A row is a class of devices that receive and send alike, a column the "
                            "axes along which the senders are: bytes to one device.");
    return status;
}

static void write_rows(struct json_out *out, const uint128 *matrix, size_t ndevices)
{
    json_out_key(out, "received_bytes");
    json_out_begin_array(out);
    for (size_t to = 0; to < ndevices; to++) {
        json_out_begin_flat_array(out);
        for (size_t from = 0; from < ndevices; from++)
            json_out_uint(out, matrix[to * ndevices + from]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

/* The exact figures; a text for people has them rounded. */
static int write_json(const struct options *o, const struct record *record)
{
    const struct scenario *scenario = o->chosen.trial.scenario;
    bool planned = record->mode == RECORD_PLANNED;
    struct shd_error err;
    struct json_out out;
    struct text text;
    uint128 *own;
    int status;

    if (record->ndevices > LAYOUTS_MATRIX_MAX) {
        (void)shd_error_set(&err, SHD_ERANGE,
                            "%zu devices are too many for a matrix; --json has it for %d at most",
                            (size_t)record->ndevices, LAYOUTS_MATRIX_MAX);
        return cmd_wrong(o->chosen.path, err.text);
    }
    own = planned ? plan_matrix(record->program) : NULL;
    if (planned && !own) {
        (void)shd_error_set(&err, SHD_ENOMEM, "no memory for the matrix");
        return cmd_failure("cannot write", &err);
    }
    text_init(&text);
    json_out_init_text(&out, &text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    json_out_key_string(&out, "schema", "shardsim.matrix/1");
    json_out_key_string(&out, "scenario", scenario->name);
    json_out_key_string(&out, "strategy", scenario->strategy);
    json_out_key_string(&out, "mode", planned ? "plan" : "execute");
    write_rows(&out, planned ? own : record->matrix, record->ndevices);
    json_out_end_object(&out);
    free(own);
    json_out_newline(&out);
    text.failed |= json_out_fini(&out) != SHD_OK;
    status = canvas_put(&o->canvas, &text);
    text_fini(&text);
    return status;
}

static int draw(const struct options *o, const struct record *record)
{
    const struct scenario *scenario = o->chosen.trial.scenario;
    bool only = !strcmp(scenario->strategy, "default");
    bool classes = record->mode == RECORD_PLANNED && record->ndevices > LAYOUTS_MATRIX_MAX;
    char total[UNITS_TEXT_MAX];
    struct figure figure;
    struct shd_error err;
    int status;

    figure_init(&figure);
    figure.title =
        figure_print(&figure, "%s%s%s: bytes from device to device in a step, %s in total, %s",
                     scenario->name, only ? "" : ": ", only ? "" : scenario->strategy,
                     units_print_bytes(total, sizeof total, record_received(record)),
                     record->mode == RECORD_PLANNED ? "planned" : "executed");
    if (record->mode == RECORD_EXECUTED && record->ndevices > LAYOUTS_MATRIX_MAX)
        status = shd_error_set(&err, SHD_ERANGE,
                               "what was copied between more than %d devices has too many cells; "
                               "the planned step is drawn by classes of devices",
                               LAYOUTS_MATRIX_MAX);
    else if (classes)
        status = draw_classes(&figure, record, &err);
    else
        status = draw_devices(&figure, record, &err);
    status =
        status == SHD_OK ? canvas_draw(&o->canvas, &figure) : cmd_failure("cannot draw", &err);
    figure_fini(&figure);
    return status;
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {{"execute", 'x', NULL, args_switch, AT(executed), 0, 0,
                                        "Execute the step and draw what was really copied"},
                                       {"json", 'j', NULL, args_switch, AT(json), 0, 0,
                                        "Print the exact figures as JSON: a row is a receiver"},
                                       {0}};

static const struct args args = {
    .own = {rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)},
              {&common_canvas, offsetof(struct options, canvas)}},
    .operands = "SCENARIO",
    .help =
        "Draw the traffic of a step from device to device; of more than 256 devices, to each class "
        "of devices that receive alike.\v"
        "Examples:\n"
        "  Who sends how much to whom?\n"
        "    shardsim show matrix scenarios/fsdp_tp.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct options o = {.executed = false};
    struct shd_error err;
    int status;

    canvas_init(&o.canvas);
    args_parse(&args, argc, argv, &o);
    status = chosen_load(&o.chosen);
    if (status == CMD_OK) {
        int result = o.executed ? trial_execute(&o.chosen.trial, &cmd_stop_request, &err)
                                : trial_plan(&o.chosen.trial, &err);

        if (result != SHD_OK) {
            if (!cmd_is_stopped(result))
                (void)cmd_wrong(o.chosen.path, err.text);
            status = cmd_exit_of(result);
        } else {
            status = (o.json ? write_json : draw)(&o, o.chosen.trial.record);
        }
    }
    chosen_fini(&o.chosen);
    return status;
}

const struct cmd show_matrix = {"matrix", "a step's bytes from device to device", run};
