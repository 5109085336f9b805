/* shardsim show mesh, show groups - the devices of a mesh, and its process groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/args.h"
#include "draw/layouts.h"

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
        status = show_failure("cannot draw", err);
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

int show_parse_axes(uint8_t *axes, size_t *naxes, const char *text, const struct shd_mesh *mesh)
{
    char name[64], hint[NEAREST_HINT_MAX];

    for (*naxes = 0; *text; text += strspn(text, ", ")) {
        size_t length = strcspn(text, ", ");
        int axis;

        snprintf(name, sizeof name, "%.*s", (int)length, text);
        text += length;
        axis = shd_mesh_find_axis(mesh, name);
        if (axis < 0 || *naxes == SHD_MESH_AXES_MAX) {
            struct nearest near;

            nearest_init(&near, name);
            for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
                nearest_add(&near, shd_mesh_axis_name(mesh, a));
            cmd_error("axes: the mesh has no axis '%s'%s", name,
                      nearest_hint(&near, hint, sizeof hint));
            return CMD_USAGE;
        }
        axes[(*naxes)++] = (uint8_t)axis;
    }
    return CMD_OK;
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
    status = show_parse_axes(axes, &naxes, o.axes ? o.axes : "", mesh);
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
