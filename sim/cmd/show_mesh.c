/* shardsim show mesh, show groups - the devices of a mesh, and its process groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/common.h"
#include "cmd/show.h"
#include "draw/layouts.h"
#include "command/asked.h"
#include "command/canvas.h"
#include "command/command.h"

struct request {
    struct canvas canvas;
    const char *mesh, *axes;
};

#define AT(field) ARGS_AT(struct request, field)
#define MESH_ROW                                                                   \
    {                                                                              \
        "mesh", 'm', "AXES", args_text, AT(mesh), 0, 0, "The mesh, e.g. dp=2,tp=4" \
    }

static const struct args_row mesh_rows[] = {MESH_ROW, {0}};

static const struct args_row groups_rows[] = {MESH_ROW,
                                              {"axes", 'a', "AXES", args_text, AT(axes), 0, 0,
                                               "The axes that the groups span, most major first"},
                                              {0}};

/* The mesh may be a word, too. */
static void take_mesh(const struct args_value *v)
{
    const char **mesh = v->at;

    if (*mesh)
        args_error(v->line, "one mesh at a time; '%s' is a second one", v->arg);
    args_text(v);
}

static void check(const struct args_line *line, void *input)
{
    if (!((struct request *)input)->mesh)
        args_error(line, "no mesh given; expected e.g. dp=2,tp=4");
}

static const struct args mesh_args = {
    .own = {.rows = mesh_rows, .word = {take_mesh, AT(mesh), NULL, NULL}},
    .parts = {{&common_canvas, offsetof(struct request, canvas)}},
    .operands = "AXES",
    .check = check,
    .help = "Draw the device ids of a mesh. The last axis runs along the columns, the one before "
            "along the rows; every combination of further axes has a picture of its own. AXES are "
            "as in dp=2,tp=4.\vExamples:\n"
            "  The device ids of a mesh:\n"
            "    shardsim show mesh dp=2,tp=4\n\n" ARGS_EXIT_STATUS("")};

static const struct args groups_args = {
    .own = {.rows = groups_rows, .word = {take_mesh, AT(mesh), NULL, NULL}},
    .parts = {{&common_canvas, offsetof(struct request, canvas)}},
    .check = check,
    .help = "Draw process groups: the devices that take part in a collective over some "
            "axes.\vExamples:\n"
            "  The groups of a collective over tp:\n"
            "    shardsim show groups --mesh dp=2,tp=4 --axes tp\n\n" ARGS_EXIT_STATUS("")};

/* The request of a command line, and its mesh.  Returns the exit status. */
static int parse(struct shd_mesh **mesh, struct request *o, const struct args *args, int argc,
                 char **argv)
{
    *o = (struct request){.axes = ""};
    args_parse(args, argc, argv, o);
    return asked_mesh(mesh, o->mesh);
}

static int run_mesh(int argc, char **argv)
{
    struct request o;
    struct shd_mesh *mesh = NULL;
    struct figure figure;
    struct shd_error err;
    int status = parse(&mesh, &o, &mesh_args, argc, argv);

    if (status != CMD_OK)
        return status;
    figure_init(&figure);
    status = layouts_mesh(&figure, mesh, &err);
    status = canvas_end(&o.canvas, &figure, status, &err);
    shd_mesh_destroy(mesh);
    return status;
}

static int run_groups(int argc, char **argv)
{
    struct request o;
    struct shd_mesh *mesh = NULL;
    uint8_t axes[SHD_MESH_AXES_MAX];
    struct shd_groups groups;
    struct figure figure;
    struct shd_error err;
    size_t naxes;
    int status = parse(&mesh, &o, &groups_args, argc, argv);

    if (status == CMD_OK)
        status = asked_axes(axes, &naxes, o.axes, mesh);
    if (status == CMD_OK) {
        figure_init(&figure);
        status = shd_groups_init(&groups, mesh, axes, naxes, &err);
        if (status == SHD_OK)
            status = layouts_groups(&figure, &groups, &err);
        status = canvas_end(&o.canvas, &figure, status, &err);
    }
    shd_mesh_destroy(mesh);
    return status;
}

const struct cmd show_mesh = {"mesh", "device ids of a mesh", run_mesh};
const struct cmd show_groups = {"groups", "process groups along axes of a mesh", run_groups};
