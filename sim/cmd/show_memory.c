/* shardsim show memory - what a device's memory is for, from op to op of a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/common.h"
#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/command.h"
#include "program/moments.h"

struct request {
    struct canvas canvas;
    struct chosen chosen;
    int64_t rank;       /* of a pipeline; -1: the rank with the highest peak */
    uint64_t max_bytes; /* end of the scale; 0: chosen */
};

static const char marks[PROGRAM_NUSES] = {
    [PROGRAM_PARAMETERS] = 'P', [PROGRAM_OPTIMIZER] = 'O', [PROGRAM_GRADIENTS] = 'G',
    [PROGRAM_DATA] = 'd',       [PROGRAM_GATHERED] = 'c',  [PROGRAM_ACTIVATIONS] = 'a',
    [PROGRAM_WORKSPACE] = 'w'};

#define LARGEST_MAX 6 /* arrays named */

/* Arrays of one name, alive at the peak, summed over layers and microbatches. */
struct alike {
    char *name;
    enum program_use use;
    uint32_t count;
    uint128 bytes;
};

/* State of a walk through the step. */
struct film {
    const struct program *program;
    uint32_t rank;
    struct program_memory peak;
    struct program_moments moments;
    uint128 *bytes;  /* [moment][kind], as struct stack's */
    uint32_t *alive; /* [buffer] copies alive now, each of one microbatch */
    struct alike *alikes;
    size_t nalikes;
    bool found;               /* the peak was passed, and `alikes` is set */
    struct stack_span *spans; /* room for all moments */
    size_t nspans;
    struct figure texts; /* text storage of the drawing */
    bool failed;
};

/* ---- what is alive at the peak ---- */

static void add_alike(struct film *f, const struct program_buffer *b, uint32_t count)
{
    struct text name = TEXT_INIT;
    size_t i = 0;

    text_add_any_layer(&name, b->name);
    while (i < f->nalikes &&
           (f->alikes[i].use != b->use || strcmp(f->alikes[i].name, text_get(&name)) != 0))
        i++;
    if (i == f->nalikes) {
        f->alikes[i] = (struct alike){.name = strdup(text_get(&name)), .use = b->use};
        f->failed |= name.failed || !f->alikes[i].name;
        f->nalikes += f->alikes[i].name != NULL;
    }
    if (!f->failed) {
        f->alikes[i].count += count;
        f->alikes[i].bytes += (uint128)b->bytes * count;
    }
    text_fini(&name);
}

static int by_bytes(const void *left, const void *right)
{
    const struct alike *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void keep_alive(struct film *f)
{
    f->found = true;
    for (uint32_t b = 0; b < f->program->nbuffers && !f->failed; b++)
        if (f->alive[b] > 0)
            add_alike(f, &f->program->buffers[b], f->alive[b]);
    qsort(f->alikes, f->nalikes, sizeof *f->alikes, by_bytes);
}

/* ---- the walk ---- */

static void change(void *arg, uint32_t buffer, bool alive)
{
    ((struct film *)arg)->alive[buffer] += alive ? 1 : -1U;
}

static void look(void *arg, uint32_t op, uint32_t microbatch)
{
    struct film *f = arg;

    if (!f->found && !f->failed && op == f->peak.op && microbatch == f->peak.microbatch)
        keep_alive(f);
}

/* A new phase, or a new microbatch, which begins at a moment: "forward 3", or short "F3", with the
 * letters and numbers of a timetable. */
static void add_span(struct film *f, size_t at)
{
    const struct program_moment *moment = &f->moments.each[at];
    const struct program_moment *before = at > 0 ? moment - 1 : NULL;
    uint8_t phase = f->program->ops[moment->op].phase;
    const char *name = program_phase_name(phase);
    bool numbered = f->program->microbatches > 1 && phase != PROGRAM_PHASE_UPDATE;
    struct stack_span *span = &f->spans[f->nspans];

    if (before && f->program->ops[before->op].phase == phase &&
        (!numbered || before->microbatch == moment->microbatch))
        return;
    *span = (struct stack_span){at, name, name};
    if (numbered) {
        span->name = figure_print(&f->texts, "%s %u", name, moment->microbatch);
        span->mark =
            figure_print(&f->texts, "%c%u", toupper((unsigned char)*name), moment->microbatch);
    } else {
        span->mark = figure_print(&f->texts, "%c", toupper((unsigned char)*name));
    }
    f->nspans++;
}

/* Turn the moments into spans to draw. */
static bool add_moments(struct film *f)
{
    f->bytes = calloc(f->moments.n + 1, PROGRAM_NUSES * sizeof *f->bytes);
    f->spans = calloc(f->moments.n + 1, sizeof *f->spans);
    if (!f->bytes || !f->spans)
        return false;
    for (size_t i = 0; i < f->moments.n; i++) {
        for (int k = 0; k < PROGRAM_NUSES; k++)
            f->bytes[i * PROGRAM_NUSES + (size_t)k] = f->moments.each[i].uses[program_use_order[k]];
        add_span(f, i);
    }
    return true;
}

static bool film_init(struct film *f, const struct program *program, uint32_t rank)
{
    const struct program_memory_watch watch = {change, look, f};
    struct shd_error err;

    *f = (struct film){.program = program, .rank = rank};
    figure_init(&f->texts);
    if (program_moments_init(&f->moments, program, rank, &err) != SHD_OK)
        return false;
    f->alive = calloc((size_t)program->nbuffers + 1, sizeof *f->alive);
    f->alikes = calloc((size_t)program->nbuffers + 1, sizeof *f->alikes);
    if (!f->alive || !f->alikes || !add_moments(f))
        return false;
    program_memory(&f->peak, program, rank);
    program_memory_walk(program, rank, &watch);
    return !f->failed && !f->texts.failed;
}

static void film_fini(struct film *f)
{
    for (size_t i = 0; i < f->nalikes; i++)
        free(f->alikes[i].name);
    free(f->alikes);
    free(f->alive);
    free(f->bytes);
    free(f->spans);
    program_moments_fini(&f->moments);
    figure_fini(&f->texts);
}

/* ---- words ---- */

/* "Most: 1.19 MiB in layers/1/attn/heads.grad (backward of microbatch 1)." */
static const char *peak_note(struct film *f)
{
    const struct program_op *op = &f->program->ops[f->peak.op];
    char peak[UNITS_TEXT_MAX];
    const char *of = "", *rank = "";

    if (f->program->nranks > 1)
        rank = figure_print(&f->texts, " of rank %u", f->rank);
    if (f->program->microbatches > 1 && op->phase != PROGRAM_PHASE_UPDATE)
        of = figure_print(&f->texts, " of microbatch %u", f->peak.microbatch);
    return figure_print(&f->texts, "Most%s: %s in %s (%s%s).", rank,
                        units_print_bytes(peak, sizeof peak, f->peak.peak_bytes), op->name,
                        program_phase_name(op->phase), of);
}

/* "That does not fit limits.memory, 700 KiB." */
static const char *limit_note(struct film *f, uint64_t limit_bytes)
{
    char limit[UNITS_TEXT_MAX];

    return figure_print(&f->texts, "That %s limits.memory, %s.",
                        f->peak.peak_bytes > limit_bytes ? "does not fit" : "fits",
                        units_print_bytes(limit, sizeof limit, limit_bytes));
}

static const char *kinds_note(struct film *f)
{
    const char *note = "There", *between = ":";
    char bytes[UNITS_TEXT_MAX];

    for (int k = 0; k < PROGRAM_NUSES; k++) {
        if (f->peak.uses[program_use_order[k]] == 0)
            continue;
        note = figure_print(
            &f->texts, "%s%s %s %s", note, between, program_use_name(program_use_order[k]),
            units_print_bytes(bytes, sizeof bytes, f->peak.uses[program_use_order[k]]));
        between = ",";
    }
    return figure_print(&f->texts, "%s. The largest arrays:", note);
}

static const char *array_note(struct film *f, const struct alike *a)
{
    char bytes[UNITS_TEXT_MAX], count[32] = "";

    if (a->count > 1)
        snprintf(count, sizeof count, "%u times ", a->count);
    return figure_print(&f->texts, "%s %s: %s%s", units_print_bytes(bytes, sizeof bytes, a->bytes),
                        program_use_name(a->use), count, a->name);
}

/* Check that the peak fits a given scale: a scale common to several drawings must not grow. */
static int check_max(const struct request *o, const struct film *f)
{
    char peak[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];

    if (o->max_bytes == 0 || f->peak.peak_bytes <= o->max_bytes)
        return CMD_OK;
    cmd_error("--max is %s, and the peak is %s; expected that or more",
              units_print_bytes(max, sizeof max, o->max_bytes),
              units_print_bytes(peak, sizeof peak, f->peak.peak_bytes));
    return CMD_USAGE;
}

static const char *title_of(struct film *f, const struct scenario *s)
{
    bool named = strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY) != 0;
    const char *of = "";

    if (f->program->nranks > 1)
        of = figure_print(&f->texts, " of rank %u of %u", f->rank, f->program->nranks);
    return figure_print(&f->texts, "%s%s%s: memory of each device%s, from op to op", s->name,
                        named ? ": " : "", named ? s->strategy : "", of);
}

/* Which rank is drawn of those of a pipeline, if none was asked for. */
static const char *rank_note(struct film *f)
{
    return figure_print(&f->texts, "Of the ranks, %u needs the most; --rank draws another.",
                        f->rank);
}

static int draw(const struct request *o, struct film *f)
{
    const struct scenario *s = o->chosen.trial.scenario;
    struct stack_kind kinds[PROGRAM_NUSES];
    const char *notes[LARGEST_MAX + 5];
    struct stack stack = {
        .kinds = kinds,
        .nkinds = PROGRAM_NUSES,
        .bytes = f->bytes,
        .nmoments = f->moments.n,
        .spans = f->spans,
        .nspans = f->nspans,
        .across = "From left to right: op by op, not to scale in time",
        .marks = "F forward and B backward of the microbatch with that number, O optimizer",
        .limit_bytes = s->memory_limit_bytes,
        .top_bytes = o->max_bytes,
        .notes = notes};

    for (int k = 0; k < PROGRAM_NUSES; k++)
        kinds[k] = (struct stack_kind){marks[program_use_order[k]],
                                       program_use_name(program_use_order[k])};
    stack.title = title_of(f, s);
    notes[stack.nnotes++] = peak_note(f);
    if (o->rank < 0 && f->program->nranks > 1)
        notes[stack.nnotes++] = rank_note(f);
    if (s->memory_limit_bytes > 0)
        notes[stack.nnotes++] = limit_note(f, s->memory_limit_bytes);
    notes[stack.nnotes++] = kinds_note(f);
    for (size_t i = 0; i < f->nalikes && i < LARGEST_MAX; i++)
        notes[stack.nnotes++] = array_note(f, &f->alikes[i]);
    if (program_moments_are_of_two(f->program))
        notes[stack.nnotes++] = figure_print(
            &f->texts, "Of %u microbatches two are shown: the others are like the second.",
            f->program->microbatches);
    if (f->texts.failed)
        return cmd_failure("memory", &(struct shd_error){SHD_ENOMEM, "no memory to draw"});
    return canvas_draw_stack(&o->canvas, &stack);
}

/* ---- the command ---- */

static void take_max(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    args_bytes(line, row, arg, at);
    if (*(uint64_t *)at == 0)
        args_error(line, "--%s is '%s'; expected a size above 0", row->name, arg);
}

#define AT(field) ARGS_AT(struct request, field)

static const struct args_row rows[] = {
    {"rank", 'r', "N", args_count, AT(rank), 0, LONG_MAX,
     "This rank of a pipeline; the one that has most if not given"},
    {"max", 0, "SIZE", take_max, AT(max_bytes), 0, 0,
     "Let the scale end at this size, e.g. 2GiB, so that drawings of several strategies have the "
     "same; at the peak if not given"},
    {0}};

/* Film and draw the rank asked for. */
static int draw_rank(const struct request *o)
{
    const struct program *program = o->chosen.trial.program;
    struct film film;
    int exit;

    if (o->rank >= (int64_t)program->nranks) {
        cmd_error("--rank is %lld; the pipeline has ranks 0 to %u", (long long)o->rank,
                  program->nranks - 1);
        return CMD_USAGE;
    }
    if (film_init(&film, program, o->rank < 0 ? program_peak_rank(program) : (uint32_t)o->rank))
        exit = check_max(o, &film) == CMD_OK ? draw(o, &film) : CMD_USAGE;
    else
        exit = cmd_failure("memory", &(struct shd_error){SHD_ENOMEM, "no memory to draw"});
    film_fini(&film);
    return exit;
}

static const struct args args = {
    .own = {rows},
    .parts = {{&common_chosen, offsetof(struct request, chosen)},
              {&common_canvas, offsetof(struct request, canvas)}},
    .operands = "SCENARIO",
    .help =
        "Draw what a device's memory is for, from op to op of a step, on paper: parameters, the "
        "optimizer's state, gradients, data, gathered copies, activations and workspace, on top of "
        "one another; where the peak is, and the largest arrays that are alive there. It is the "
        "same on every device of a rank.\v"
        "Examples:\n"
        "  What is the memory for?\n"
        "    shardsim show memory scenarios/fsdp.yaml\n"
        "  As a picture:\n"
        "    shardsim show memory scenarios/fsdp.yaml -o memory.svg\n"
        "  On a scale that others have too:\n"
        "    shardsim show memory scenarios/fsdp.yaml --max 8MiB -o "
        "memory.svg\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct request o = {.rank = -1};
    int exit;

    canvas_init(&o.canvas);
    args_parse(&args, argc, argv, &o);
    exit = chosen_load(&o.chosen);
    if (exit == CMD_OK)
        exit = draw_rank(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd show_memory = {"memory", "what a device's memory is for, op by op", run};
