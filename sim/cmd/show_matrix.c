/* shardsim show matrix - which device receives how much from which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <string.h>

#include "base/units.h"
#include "cmd/args.h"
#include "cmd/chosen.h"
#include "cmd/cmd.h"
#include "cmd/canvas.h"
#include "draw/layouts.h"

struct options {
    struct canvas canvas;
    struct chosen chosen;
    bool executed;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->chosen;
        state->child_inputs[1] = &o->canvas;
        return 0;
    case 'x':
        o->executed = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int draw(const struct options *o, const struct record *record)
{
    const struct scenario *scenario = o->chosen.trial.scenario;
    char total[UNITS_TEXT_MAX];
    struct figure figure;
    struct shd_error err;
    int status;

    figure_init(&figure);
    if (!record->matrix) {
        status = show_error("cannot draw", "the matrix is kept for up to 2048 devices");
    } else if (layouts_matrix(&figure, record->program->asked_mesh, record->matrix, &err)) {
        status = show_failure("cannot draw", &err);
    } else {
        bool only = !strcmp(scenario->strategy, "default");

        figure.title = figure_print(
            &figure, "%s%s%s: bytes from device to device in a step, %s in all, %s", scenario->name,
            only ? "" : ": ", only ? "" : scenario->strategy,
            units_print_bytes(total, sizeof total, record_received(record)),
            record->mode == RECORD_PLANNED ? "planned" : "executed");
        figure_add_note(&figure, "A row is a receiver, a column a sender; K is 1024 bytes.");
        status = canvas_draw(&o->canvas, &figure);
    }
    figure_fini(&figure);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"execute", 'x', NULL, 0, "Execute the step and draw what was really copied", 0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp_child children[] = {
        {&chosen_argp, 0, NULL, 0}, {&canvas_output_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        option_table, parse_option, "SCENARIO",
        "Draw the traffic of a step from device to device.\v"
        "Examples:\n"
        "  Who sends how much to whom?\n"
        "    shardsim show matrix scenarios/fsdp_tp.yaml\n\n"
        ARGS_EXIT_STATUS(""),
        children, NULL, NULL};
    struct options o = {.executed = false};
    struct shd_error err;
    int status;

    canvas_init(&o.canvas);
    args_parse(&argp, argc, argv, &o);
    status = chosen_load(&o.chosen);
    if (status == CMD_OK) {
        int result = o.executed ? trial_execute(&o.chosen.trial, &cmd_stop_request, &err)
                                : trial_plan(&o.chosen.trial, &err);

        if (result != SHD_OK) {
            (void)show_error(o.chosen.path, err.text);
            status = cmd_exit_of(result);
        } else {
            status = draw(&o, o.chosen.trial.record);
        }
    }
    chosen_fini(&o.chosen);
    return status;
}

const struct cmd show_matrix = {"matrix", "a step's bytes from device to device", run};
