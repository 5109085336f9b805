/* shardsim show array - which device holds which block of an array.
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
    const char *mesh, *shape, *spec;
};

#define AT(field) ARGS_AT(struct request, field)

static const struct args_row rows[] = {
    {"mesh", 'm', "AXES", args_text, AT(mesh), 0, 0, "The mesh, e.g. dp=2,tp=4"},
    {"shape", 'n', "SIZES", args_text, AT(shape), 0, 0, "Shape of the array, e.g. 8,16"},
    {"spec", 'p', "SPEC", args_text, AT(spec), 0, 0,
     "The partition spec, one entry per dimension: 'dp,tp', or \"P(('dp', 'fsdp'), None, 'tp')\", "
     "or '[[dp, fsdp], null, tp]'"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct request *o = input;

    if (!o->mesh || !o->shape)
        args_error(line, "expected --mesh and --shape (and --spec)");
}

static const struct args args = {
    .own = {.rows = rows, .word = {.again = "unexpected '%s'; expected only options"}},
    .parts = {{&common_canvas, offsetof(struct request, canvas)}},
    .check = check,
    .help = "Draw the blocks of a sharded array, with the ids of the devices that hold each block. "
            "For more than two dimensions the last two are drawn, once for each block of the other "
            "dimensions.\vExamples:\n"
            "  Rows over dp, columns over tp:\n"
            "    shardsim show array --mesh dp=2,tp=4 --shape 8,16 --spec dp,tp\n"
            "  Rows over both axes, columns unsharded, as a picture:\n"
            "    shardsim show array -m dp=2,tp=4 -n 8,16 -p '[[dp, tp]]' -o "
            "a.svg\n\n" ARGS_EXIT_STATUS("")};

static int show(const struct request *o, const struct shd_mesh *mesh)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_sharding sharding;
    struct figure figure;
    struct shd_error err;
    int rank = asked_shape(shape, o->shape), status;

    if (rank < 0)
        return cmd_wrong("shape", "expected a shape such as '8,16', of at most 16 dimensions");
    if (asked_sharding(&sharding, mesh, o->spec, shape, (size_t)rank, &err) != SHD_OK)
        return cmd_failure("spec", &err);
    figure_init(&figure);
    status = layouts_sharding(&figure, &sharding, shape, &err);
    return canvas_end(&o->canvas, &figure, status, &err);
}

static int run(int argc, char **argv)
{
    struct request o = {.spec = "[]"};
    struct shd_mesh *mesh = NULL;
    int status;

    args_parse(&args, argc, argv, &o);
    status = asked_mesh(&mesh, o.mesh);
    if (status == CMD_OK)
        status = show(&o, mesh);
    shd_mesh_destroy(mesh);
    return status;
}

const struct cmd show_array = {"array", "the blocks of a sharded array", run};
