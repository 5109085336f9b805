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
    {"shape", 'n', "SIZES", args_text, AT(asked.shape), 0, 0, "The array's extents, e.g. 8,16"},
    {"dtype", 0, "TYPE", args_text, AT(asked.dtype), 0, 0,
     "Its element type (float32 if not given)"},
    {"from", 0, "SPEC", args_text, AT(asked.from), 0, 0,
     "The sharding before, as in 'shardsim show array' (replicated if not given)"},
    {"partial", 0, "AXES", args_text, AT(asked.partial), 0, 0,
     "Axes over which it is still to be summed, e.g. tp"},
    {"to", 0, "SPEC", args_text, AT(asked.to), 0, 0,
     "The sharding after (replicated if not given)"},
    {"to-mesh", 0, "AXES", args_text, AT(asked.to_mesh), 0, 0, "On this other mesh"},
    {"to-first", 0, "ID", args_text, AT(asked.to_first), 0, 0,
     "The first device of that mesh (0 if not given)"},
    {"memory", 0, "SIZE", args_text, AT(asked.memory), 0, 0,
     "What a step's operand and result may need on a device, e.g. 64MiB, or 'any'; if not given, "
     "what the array needs before and after"},
    {"link", 0, "N:LATENCY:RATE", args_list, ARGS_LIST(struct options, asked.links, asked.nlinks),
     0, SHD_LINK_TIERS_MAX,
     "Links that join groups of N devices (or 'all'), e.g. 8:1us:200GB/s; once a tier, the nearest "
     "first.  The plan is then the fastest"},
    {"hardware", 0, "HARDWARE", args_text, AT(asked.hardware), 0, 0,
     "The links of this cluster ('shardsim show hardware') or file.  The plan is then the fastest "
     "there, with the time of each step"},
    {"slices", 0, "N", args_text, AT(asked.slices), 0, 0,
     "The devices form N equal slices of its torus (1)"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "Print the machine form"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->json && canvas_is_picture(&o->canvas))
        args_error(line, "--json is text; expected --output FILE.txt, or no --json");
    if (!o->asked.mesh || !o->asked.shape)
        args_error(line, "expected --mesh and --shape (and --from, --to)");
    if (o->asked.to_first && !o->asked.to_mesh)
        args_error(line, "--to-first is of another mesh; expected --to-mesh too");
    if (o->asked.hardware && o->asked.nlinks > 0)
        args_error(line, "a cluster has its own links; expected --hardware or --link");
    if (o->asked.slices && !o->asked.hardware)
        args_error(line, "--slices are of a cluster's torus; expected --hardware too");
}

static const struct args args = {
    .own = {.rows = rows, .word = {.again = "'%s' is too much; everything is given by options"}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
    .check = check,
    .help =
        "Plan how an array gets from one sharding to another: the steps, what they move and what "
        "no method can do without, and the other ways that were tried.\v"
        "Examples:\n"
        "  Rows over dp and columns over tp, and then the other way round:\n"
        "    shardsim explain reshard -m dp=2,tp=4 -n 64,64 --from dp,tp --to tp,dp\n"
        "  Partial sums over tp, to be reduced with rows sharded over tp:\n"
        "    shardsim explain reshard -m tp=4 -n 64,64 --partial tp --to tp\n"
        "  The fastest way on a cluster, and the time of its steps:\n"
        "    shardsim explain reshard -m x=4,y=4 -n 512,512 --partial x --hardware "
        "b200\n"
        "  A slide: the blocks before and after, and who sends how much to whom:\n"
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
