/* shardsim explain reshard - how an array gets from one sharding to another, in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain.h"

#include "cmd/common.h"
#include "cmd/explain/reshard_picture.h"
#include "command/canvas.h"
#include "command/command.h"
#include "cmd/explain/reshard_asked.h"

struct options {
    struct canvas canvas;
    struct reshard_asked asked;
    bool json;
};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"mesh", 'm', "AXES", args_text, AT(asked.mesh), 0, 0, "The mesh, e.g. dp=2,tp=4"},
    {"shape", 'n', "SIZES", args_text, AT(asked.shape), 0, 0, "Shape of the array, e.g. 8,16"},
    {"dtype", 0, "TYPE", args_text, AT(asked.dtype), 0, 0, "Element type (default: float32)"},
    {"from", 0, "SPEC", args_text, AT(asked.from), 0, 0,
     "Source sharding, as in 'shardsim show array' (default: replicated)"},
    {"partial", 0, "AXES", args_text, AT(asked.partial), 0, 0,
     "Axes over which the source is a partial sum, e.g. tp"},
    {"to", 0, "SPEC", args_text, AT(asked.to), 0, 0, "Target sharding (default: replicated)"},
    {"to-mesh", 0, "AXES", args_text, AT(asked.to_mesh), 0, 0, "Target mesh, if different"},
    {"to-first", 0, "ID", args_text, AT(asked.to_first), 0, 0,
     "First device of the target mesh (default: 0)"},
    {"memory", 0, "SIZE", args_text, AT(asked.memory), 0, 0,
     "Limit on a step's operand and result on one device, e.g. 64MiB, or 'any' (default: the "
     "source and target shards)"},
    {"link", 0, "N:LATENCY:RATE", args_list, ARGS_LIST(struct options, asked.links, asked.nlinks),
     0, SHD_LINK_TIERS_MAX,
     "Links that join groups of N devices (or 'all'), e.g. 8:1us:200GB/s; one per tier, innermost "
     "first. Then the plan minimizes time"},
    {"hardware", 0, "HARDWARE", args_text, AT(asked.hardware), 0, 0,
     "Cluster ('shardsim show hardware') or hardware file. Then the plan minimizes time on its "
     "links, and has the time of each step"},
    {"slices", 0, "N", args_text, AT(asked.slices), 0, 0,
     "The devices form N equal slices of the cluster's torus (default: 1)"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "Print JSON"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->json && canvas_is_picture(&o->canvas))
        args_error(line, "--json is text; expected --output FILE.txt, or remove --json");
    if (!o->asked.mesh || !o->asked.shape)
        args_error(line, "expected --mesh and --shape (and --from, --to)");
    if (o->asked.to_first && !o->asked.to_mesh)
        args_error(line, "--to-first requires --to-mesh");
    if (o->asked.hardware && o->asked.nlinks > 0)
        args_error(line, "--hardware and --link both define links; expected only one of the two");
    if (o->asked.slices && !o->asked.hardware)
        args_error(line, "--slices requires --hardware");
}

static const struct args args = {
    .own = {.rows = rows, .word = {.again = "unexpected '%s'; expected only options"}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
    .check = check,
    .help =
        "Plan the change of an array from one sharding to another: the steps, the bytes that they "
        "move, the lower bound of any method, and the alternatives that were tried.\vExamples:\n"
        "  From rows over dp and columns over tp to rows over tp and columns over dp:\n"
        "    shardsim explain reshard -m dp=2,tp=4 -n 64,64 --from dp,tp --to tp,dp\n"
        "  Reduce-scatter: from partial sums over tp to rows sharded over tp:\n"
        "    shardsim explain reshard -m tp=4 -n 64,64 --partial tp --to tp\n"
        "  The fastest steps on a cluster, and their times:\n"
        "    shardsim explain reshard -m x=4,y=4 -n 512,512 --partial x --hardware "
        "b200\n"
        "  A slide: the blocks before and after, and the traffic between devices:\n"
        "    shardsim explain reshard -m x=2,y=4 -n 64,64 --from x,y --to y,x -o "
        "a.svg\n\n" ARGS_EXIT_STATUS("")};

static int draw(const struct reshard_question *q, const struct shd_reshard_plan *plan,
                const struct canvas *canvas)
{
    struct figure figure;
    struct shd_error err;
    int status;

    figure_init(&figure);
    status = reshard_picture(&figure, plan, &q->from, &q->to, q->shape, &err);
    return canvas_end(canvas, &figure, status, &err);
}

static int answer(const struct reshard_question *q, const struct options *o)
{
    size_t width = o->canvas.style.width;
    struct shd_reshard_plan plan;
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status =
        shd_reshard_build_with(&plan, &q->from, &q->to, q->shape, q->dtype, &q->opts, &err);

    if (status == SHD_OK && canvas_is_picture(&o->canvas))
        return draw(q, &plan, &o->canvas);
    if (status == SHD_OK)
        status = o->json ? reshard_json(&text, q, &plan, &err)
                         : reshard_words(&text, q, &plan, width, &err);
    if (status == SHD_OK)
        status = canvas_put(&o->canvas, &text);
    else
        status = cmd_failure("cannot plan", &err);
    text_fini(&text);
    return status;
}

int explain_reshard(int argc, char **argv)
{
    struct options o = {.asked = {.from = "[]", .to = "[]"}};
    struct reshard_question q = {.mesh = NULL};
    int status;

    args_parse(&args, argc, argv, &o);
    status = reshard_asked_read(&q, &o.asked);
    if (status == CMD_OK)
        status = answer(&q, &o);
    reshard_asked_fini(&q);
    return status;
}
