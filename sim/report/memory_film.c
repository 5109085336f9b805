/* What the memory of a device is for, from op to op (memory_film.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/memory_film.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static const char marks[PROGRAM_NUSES] = {
    [PROGRAM_PARAMETERS] = 'P', [PROGRAM_OPTIMIZER] = 'O', [PROGRAM_GRADIENTS] = 'G',
    [PROGRAM_DATA] = 'd',       [PROGRAM_GATHERED] = 'c',  [PROGRAM_ACTIVATIONS] = 'a',
    [PROGRAM_CACHE] = 'K',      [PROGRAM_WORKSPACE] = 'w'};

/* ---- what is alive at the peak ---- */

static void add_alike(struct memory_film *f, const struct program_buffer *b, uint32_t count)
{
    struct text name = TEXT_INIT;
    size_t i = 0;

    text_add_any_layer(&name, b->name);
    while (i < f->nalikes &&
           (f->alikes[i].use != b->use || strcmp(f->alikes[i].name, text_get(&name)) != 0))
        i++;
    if (i == f->nalikes) {
        f->alikes[i] = (struct memory_alike){.name = strdup(text_get(&name)), .use = b->use};
        f->failed |= name.failed || !f->alikes[i].name;
        f->nalikes += f->alikes[i].name != NULL;
    }
    if (!f->failed) {
        f->alikes[i].count += count;
        f->alikes[i].bytes += (uint128)program_buffer_taken(b) * count;
    }
    text_fini(&name);
}

static int by_bytes(const void *left, const void *right)
{
    const struct memory_alike *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void keep_alive(struct memory_film *f)
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
    ((struct memory_film *)arg)->alive[buffer] += alive ? 1 : -1U;
}

static void look(void *arg, uint32_t op, uint32_t microbatch)
{
    struct memory_film *f = arg;

    if (!f->found && !f->failed && op == f->peak.op && microbatch == f->peak.microbatch)
        keep_alive(f);
}

/* A new phase, or a new microbatch, which begins at a moment: "forward 3", or short "F3", with the
 * letters and numbers of a timetable. */
static void add_span(struct memory_film *f, size_t at)
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
static bool add_moments(struct memory_film *f)
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

bool memory_film_init(struct memory_film *f, const struct program *program, uint32_t rank)
{
    const struct program_memory_watch watch = {.buffer = change, .op = look, .arg = f};
    struct shd_error err;

    *f = (struct memory_film){.program = program, .rank = rank};
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

void memory_film_fini(struct memory_film *f)
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
static const char *peak_note(struct memory_film *f)
{
    const struct program_op *op = &f->program->ops[f->peak.op];
    const char *of = "", *rank = "";

    if (f->program->nranks > 1)
        rank = figure_print(&f->texts, " of rank %u", f->rank);
    if (f->program->microbatches > 1 && op->phase != PROGRAM_PHASE_UPDATE)
        of = figure_print(&f->texts, " of microbatch %u", f->peak.microbatch);
    return figure_print(&f->texts, "Most%s: %s in %s (%s%s).", rank,
                        units_print_bytes(f->peak.peak_bytes).text, op->name,
                        program_phase_name(op->phase), of);
}

/* "That does not fit limits.memory, 700 KiB." */
static const char *limit_note(struct memory_film *f, uint64_t limit_bytes)
{
    return figure_print(&f->texts, "That %s limits.memory, %s.",
                        f->peak.peak_bytes > limit_bytes ? "does not fit" : "fits",
                        units_print_bytes(limit_bytes).text);
}

static const char *kinds_note(struct memory_film *f)
{
    const char *note = "There", *between = ":";

    for (int k = 0; k < PROGRAM_NUSES; k++) {
        if (f->peak.uses[program_use_order[k]] == 0)
            continue;
        note = figure_print(&f->texts, "%s%s %s %s", note, between,
                            program_use_name(program_use_order[k]),
                            units_print_bytes(f->peak.uses[program_use_order[k]]).text);
        between = ",";
    }
    return figure_print(&f->texts, "%s. The largest arrays:", note);
}

static const char *array_note(struct memory_film *f, const struct memory_alike *a)
{
    char count[32] = "";

    if (a->count > 1)
        snprintf(count, sizeof count, "%u times ", a->count);
    return figure_print(&f->texts, "%s %s: %s%s", units_print_bytes(a->bytes).text,
                        program_use_name(a->use), count, a->name);
}

static const char *title_of(struct memory_film *f, const struct memory_wish *wish)
{
    const char *of = "";

    if (f->program->nranks > 1)
        of = figure_print(&f->texts, " of rank %u of %u", f->rank, f->program->nranks);
    return figure_print(&f->texts, "%s%s%s: memory of each device%s, from op to op", wish->scenario,
                        *wish->strategy ? ": " : "", wish->strategy, of);
}

/* Which rank is drawn of those of a pipeline, if none was asked for. */
static const char *rank_note(struct memory_film *f)
{
    return figure_print(&f->texts, "Rank %u needs the most memory; --rank draws another.", f->rank);
}

void memory_film_stack(struct stack *out, struct memory_film *f, const struct memory_wish *wish)
{
    *out = (struct stack){
        .kinds = f->kinds,
        .nkinds = PROGRAM_NUSES,
        .bytes = f->bytes,
        .nmoments = f->moments.n,
        .spans = f->spans,
        .nspans = f->nspans,
        .across = "Op by op, not to scale in time",
        .marks = "F, B: forward, backward of the microbatch with that number; O: optimizer",
        .limit_bytes = wish->limit_bytes,
        .top_bytes = wish->max_bytes,
        .title = title_of(f, wish),
        .notes = f->notes};
    for (int k = 0; k < PROGRAM_NUSES; k++)
        f->kinds[k] = (struct stack_kind){marks[program_use_order[k]],
                                          program_use_name(program_use_order[k])};
    f->notes[out->nnotes++] = peak_note(f);
    if (wish->chosen && f->program->nranks > 1)
        f->notes[out->nnotes++] = rank_note(f);
    if (wish->limit_bytes > 0)
        f->notes[out->nnotes++] = limit_note(f, wish->limit_bytes);
    f->notes[out->nnotes++] = kinds_note(f);
    for (size_t i = 0; i < f->nalikes && i < MEMORY_LARGEST_MAX; i++)
        f->notes[out->nnotes++] = array_note(f, &f->alikes[i]);
    if (program_moments_are_of_two(f->program))
        f->notes[out->nnotes++] = figure_print(
            &f->texts, "Two of %u microbatches are shown; the others are like the second.",
            f->program->microbatches);
}
