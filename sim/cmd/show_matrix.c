/* shardsim show matrix - bytes from device to device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/cmd.h"
#include "cmd/common.h"
#include "command/canvas.h"
#include "command/chosen.h"
#include "command/command.h"
#include "report/matrix.h"

struct options {
    struct canvas canvas;
    struct chosen chosen;
    bool executed;
    bool json;
};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {{"execute", 'x', NULL, args_switch, AT(executed), 0, 0,
                                        "Execute the step and draw the bytes actually copied"},
                                       {"json", 'j', NULL, args_switch, AT(json), 0, 0,
                                        "Print exact bytes as JSON: a row per receiver"},
                                       {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)},
              {&common_canvas, offsetof(struct options, canvas)}},
    .operands = "SCENARIO",
    .help = "Draw the traffic matrix of a step, device to device. Above 256 devices: a row per "
            "class of devices with equal traffic.\vExamples:\n"
            "  The traffic of a layout:\n"
            "    shardsim show matrix scenarios/fsdp_tp.yaml\n\n" ARGS_EXIT_STATUS("")};

static int show(const struct options *o)
{
    const struct trial *trial = &o->chosen.trial;
    const char *name = trial->scenario->name, *strategy = trial->scenario->strategy;
    struct text text = TEXT_INIT;
    struct figure figure;
    struct shd_error err;
    int status;

    if (!o->json) {
        figure_init(&figure);
        status = matrix_drawing(&figure, trial->record, name, strategy, &err);
        return canvas_end(&o->canvas, &figure, status, &err);
    }
    status = matrix_json(&text, trial->record, name, strategy, &err);
    status = status == SHD_OK ? canvas_put(&o->canvas, &text) : cmd_failure(o->chosen.path, &err);
    text_fini(&text);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.executed = false};
    struct shd_error err;
    int status;

    args_parse(&args, argc, argv, &o);
    o.chosen.executes = o.executed;
    status = chosen_load(&o.chosen);
    if (status == CMD_OK) {
        int result = o.executed ? trial_execute(&o.chosen.trial, &cmd_stop_request, &err)
                                : trial_plan(&o.chosen.trial, &err);

        status = result == SHD_OK ? show(&o) : chosen_failed(&o.chosen, &err);
    }
    chosen_fini(&o.chosen);
    return status;
}

const struct cmd show_matrix = {"matrix", "traffic matrix of a step, device to device", run};
