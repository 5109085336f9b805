/* shardsim show mesh, show groups - the devices of a mesh, and its process groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/args.h"
#include "draw/layouts.h"
#include "jobs/asked.h"
#include "jobs/command.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct show_request *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->mesh)
            args_error(state, "one mesh at a time; '%s' is too much", arg);
        o->mesh = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->mesh)
            args_error(state, "no mesh given; expected e.g. dp=2,tp=4");
        return 0;
    default:
        return show_parse_option(key, arg, state);
    }
}

/* Draw unless making the figure failed. */
static int draw(const struct show_request *o, struct figure *figure, int status,
                const struct shd_error *err)
{
    if (status != SHD_OK)
        status = cmd_failure("cannot draw", err);
    else
        status = canvas_draw(&o->canvas, figure);
    figure_fini(figure);
    return status;
}

static const struct argp_option mesh_option[] = {
    {"mesh", 'm', "AXES", 0, "The mesh, e.g. dp=2,tp=4", 0}, {NULL, 0, NULL, 0, NULL, 0}};

static int run_mesh(int argc, char **argv)
{
    static const struct argp argp = {
        mesh_option,
        parse_option,
        "AXES",
        "Draw a mesh: which device is where.  The last axis runs along the columns, the one before "
        "along the rows; of further axes each combination is a picture of its own.  AXES are as in "
        "dp=2,tp=4.\v"
        "Examples:\n"
        "  Which device is where?\n"
        "    shardsim show mesh dp=2,tp=4\n\n" ARGS_EXIT_STATUS(""),
        show_children,
        NULL,
        NULL};
    struct show_request o;
    struct shd_mesh *mesh = NULL;
    struct figure figure;
    struct shd_error err;
    int status;

    status = show_parse(&mesh, &o, &argp, argc, argv);
    if (status != CMD_OK)
        return status;
    figure_init(&figure);
    status = layouts_mesh(&figure, mesh, &err);
    status = draw(&o, &figure, status, &err);
    shd_mesh_destroy(mesh);
    return status;
}

static int run_groups(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"mesh", 'm', "AXES", 0, "The mesh, e.g. dp=2,tp=4", 0},
        {"axes", 'a', "AXES", 0, "The axes that the groups span, the first the most major", 0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        NULL,
        "Draw process groups: the devices that a collective over some axes brings together.\v"
        "Examples:\n"
        "  Whom does a collective over tp bring together?\n"
        "    shardsim show groups --mesh dp=2,tp=4 --axes tp\n\n" ARGS_EXIT_STATUS(""),
        show_children,
        NULL,
        NULL};
    struct show_request o;
    struct shd_mesh *mesh = NULL;
    uint8_t axes[SHD_MESH_AXES_MAX];
    struct shd_groups groups;
    struct figure figure;
    struct shd_error err;
    size_t naxes;
    int status;

    status = show_parse(&mesh, &o, &argp, argc, argv);
    if (status != CMD_OK)
        return status;
    status = asked_axes(axes, &naxes, o.axes ? o.axes : "", mesh);
    if (status == CMD_OK) {
        figure_init(&figure);
        status = shd_groups_init(&groups, mesh, axes, naxes, &err);
        if (status == SHD_OK)
            status = layouts_groups(&figure, &groups, &err);
        status = draw(&o, &figure, status, &err);
    }
    shd_mesh_destroy(mesh);
    return status;
}

const struct cmd show_mesh = {"mesh", "the devices of a mesh", run_mesh};
const struct cmd show_groups = {"groups", "process groups along axes of a mesh", run_groups};
