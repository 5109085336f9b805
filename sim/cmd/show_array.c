/* shardsim show array - which device holds which block of an array.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/args.h"
#include "draw/layouts.h"
#include "jobs/asked.h"
#include "jobs/command.h"

static const struct argp_option option_table[] = {
    {"mesh", 'm', "AXES", 0, "The mesh, e.g. dp=2,tp=4", 0},
    {"shape", 'n', "SIZES", 0, "The array's extents, e.g. 8,16", 0},
    {"spec", 'p', "SPEC", 0,
     "The partition spec, an entry a dimension: 'dp,tp', or \"P(('dp', 'fsdp'), None, 'tp')\", or "
     "'[[dp, fsdp], null, tp]'",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    const struct show_request *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        args_error(state, "'%s' is too much; everything is given by options", arg);
        return 0;
    case ARGP_KEY_END:
        if (!o->mesh || !o->shape)
            args_error(state, "expected --mesh and --shape (and --spec)");
        return 0;
    default:
        return show_parse_option(key, arg, state);
    }
}

static int show(const struct show_request *o, const struct shd_mesh *mesh)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_sharding sharding;
    struct figure figure;
    struct shd_error err;
    int rank = asked_shape(shape, o->shape), status;

    if (rank < 0)
        return cmd_wrong("shape", "expected extents as '8,16', at most 16 of them");
    if (asked_sharding(&sharding, mesh, o->spec ? o->spec : "[]", shape, (size_t)rank, &err) !=
        SHD_OK)
        return cmd_failure("spec", &err);
    figure_init(&figure);
    if (layouts_sharding(&figure, &sharding, shape, &err) == SHD_OK)
        status = canvas_draw(&o->canvas, &figure);
    else
        status = cmd_failure("cannot draw", &err);
    figure_fini(&figure);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        NULL,
        "Draw how an array is sharded over a mesh: its blocks, with the devices that hold each; "
        "replicas "
        "are together.  Of more than two dimensions the last two are drawn, once for each block of "
        "the others.\v"
        "Examples:\n"
        "  Rows over dp, columns over tp:\n"
        "    shardsim show array --mesh dp=2,tp=4 --shape 8,16 --spec dp,tp\n"
        "  Rows over both, columns unsharded, as a picture:\n"
        "    shardsim show array -m dp=2,tp=4 -n 8,16 -p '[[dp, tp]]' -o "
        "a.svg\n\n" ARGS_EXIT_STATUS(""),
        show_children,
        NULL,
        NULL};
    struct show_request o;
    struct shd_mesh *mesh = NULL;
    int status;

    status = show_parse(&mesh, &o, &argp, argc, argv);
    if (status == CMD_OK)
        status = show(&o, mesh);
    shd_mesh_destroy(mesh);
    return status;
}

const struct cmd show_array = {"array", "the blocks of a sharded array", run};
