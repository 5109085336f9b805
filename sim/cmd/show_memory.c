/* shardsim show memory - what a device's memory is for, from op to op of a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "cmd/common.h"
#include "command/canvas.h"
#include "command/chosen.h"
#include "command/command.h"
#include "report/memory_film.h"

struct request {
    struct canvas canvas;
    struct chosen chosen;
    int64_t rank;       /* of a pipeline; -1: the rank with the highest peak */
    uint64_t max_bytes; /* end of the scale; 0: chosen */
};

static void take_max(const struct args_value *v)
{
    args_bytes(v);
    if (*(uint64_t *)v->at == 0)
        args_error(v->line, "--%s is '%s'; expected a size above 0", v->row->name, v->arg);
}

#define AT(field) ARGS_AT(struct request, field)

static const struct args_row rows[] = {{"rank", 'r', "N", args_count, AT(rank), 0, LONG_MAX,
                                        "Pipeline rank (default: the one with the largest peak)"},
                                       {"max", 0, "SIZE", take_max, AT(max_bytes), 0, 0,
                                        "End of the scale, e.g. 2GiB, for drawings of several "
                                        "strategies on one scale (default: the peak)"},
                                       {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct request, chosen)},
              {&common_canvas, offsetof(struct request, canvas)}},
    .operands = "SCENARIO",
    .help = "Draw a device's memory from op to op of a step, stacked: parameters, optimizer state, "
            "gradients, data, gathered copies, activations and workspace; with the peak and the "
            "largest arrays alive at the peak. Analytical: nothing is executed. All devices of a "
            "rank have the same memory.\vExamples:\n"
            "  The memory of a device:\n"
            "    shardsim show memory scenarios/fsdp.yaml\n"
            "  As a picture:\n"
            "    shardsim show memory scenarios/fsdp.yaml -o memory.svg\n"
            "  With a fixed scale, for comparison:\n"
            "    shardsim show memory scenarios/fsdp.yaml --max 8MiB -o "
            "memory.svg\n\n" ARGS_EXIT_STATUS("")};

/* Check that the peak fits a given scale: a scale common to several drawings must not grow. */
static int check_max(const struct request *o, const struct memory_film *f)
{
    if (o->max_bytes == 0 || f->peak.peak_bytes <= o->max_bytes)
        return CMD_OK;
    cmd_error("--max is %s, and the peak is %s; expected that or more",
              units_print_bytes(o->max_bytes).text, units_print_bytes(f->peak.peak_bytes).text);
    return CMD_USAGE;
}

static int no_memory(void)
{
    return cmd_failure("memory", &(struct shd_error){SHD_ENOMEM, "no memory to draw"});
}

static int draw(const struct request *o, struct memory_film *film)
{
    const struct scenario *s = o->chosen.trial.scenario;
    bool named = strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY) != 0;
    const struct memory_wish wish = {s->name, named ? s->strategy : "", o->rank < 0,
                                     o->chosen.trial.memory_limit_bytes, o->max_bytes};
    struct stack stack;

    memory_film_stack(&stack, film, &wish);
    return film->texts.failed ? no_memory() : canvas_draw_stack(&o->canvas, &stack);
}

/* Film and draw the rank asked for. */
static int draw_rank(const struct request *o)
{
    const struct program *program = o->chosen.trial.program;
    struct memory_film film;
    int exit;

    if (o->rank >= (int64_t)program->nranks) {
        cmd_error("--rank is %lld; the pipeline has ranks 0 to %u", (long long)o->rank,
                  program->nranks - 1);
        return CMD_USAGE;
    }
    if (memory_film_init(&film, program,
                         o->rank < 0 ? program_peak_rank(program) : (uint32_t)o->rank))
        exit = check_max(o, &film) == CMD_OK ? draw(o, &film) : CMD_USAGE;
    else
        exit = no_memory();
    memory_film_fini(&film);
    return exit;
}

static int run(int argc, char **argv)
{
    struct request o = {.rank = -1};
    int exit;

    args_parse(&args, argc, argv, &o);
    exit = chosen_load(&o.chosen);
    if (exit == CMD_OK)
        exit = draw_rank(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd show_memory = {"memory", "memory of a device, op by op", run};
