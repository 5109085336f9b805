/* What a step takes of a device's memory: one walk in the order of its actions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

/* Live bytes on one device, and what was live at the peak so far. */
struct level {
    uint128 live, uses[PROGRAM_NUSES];
    struct program_memory peak;
};

static void take(struct level *level, const struct program_buffer *b)
{
    level->live += b->bytes;
    level->uses[b->use] += b->bytes;
}

static void give_back(struct level *level, const struct program_buffer *b)
{
    level->live -= b->bytes;
    level->uses[b->use] -= b->bytes;
}

static void look(struct level *level, uint64_t workspace_bytes)
{
    if (level->live + workspace_bytes <= level->peak.peak_bytes)
        return;
    level->peak.peak_bytes = level->live + workspace_bytes;
    for (int use = 0; use < PROGRAM_NUSES; use++)
        level->peak.uses[use] = level->uses[use];
    level->peak.uses[PROGRAM_WORKSPACE] += workspace_bytes;
}

static void walk(struct level *level, const struct program *program, uint32_t rank, uint32_t from,
                 uint32_t end, bool first)
{
    uint32_t dead[PROGRAM_DEAD_MAX];

    for (uint32_t i = from; i < end; i++) {
        const struct program_op *op = &program->ops[i];

        if (!program_holds(program, rank, op))
            continue;
        for (uint32_t k = 0; k < op->noutputs; k++)
            if (program_allocates(program, op, k, first))
                take(level, &program->buffers[op->outputs[k]]);
        look(level, op->workspace_bytes);
        for (uint32_t d = program_dead_buffers(program, i, dead); d-- > 0;)
            give_back(level, &program->buffers[dead[d]]);
    }
}

/* In a row of microbatches all but the first are alike: accumulated sums are there from their begin
 * on. */
void program_memory(struct program_memory *out, const struct program *program, uint32_t rank)
{
    struct level level = {.live = 0};

    walk(&level, program, rank, 0, program->first_op, true);
    for (uint32_t t = program->first_turn[rank]; t < program->first_turn[rank + 1]; t++) {
        const struct program_turn *turn = &program->turns[t];
        const struct program_segment *s = &program->segments[turn->segment];

        walk(&level, program, rank, s->first_op, s->end_op, turn->first);
        if (turn->count > 1)
            walk(&level, program, rank, s->first_op, s->end_op, false);
    }
    *out = level.peak;
}

static uint128 peak_of(const struct program *program, uint32_t rank)
{
    struct program_memory memory;

    program_memory(&memory, program, rank);
    return memory.peak_bytes;
}

uint32_t program_peak_rank(const struct program *program)
{
    uint32_t most = 0;
    uint128 peak = 0;

    for (uint32_t rank = 0; rank < program->nranks; rank++) {
        uint128 bytes = peak_of(program, rank);

        most = bytes > peak ? rank : most;
        peak = bytes > peak ? bytes : peak;
    }
    return most;
}

uint128 program_peak_bytes(const struct program *program)
{
    return peak_of(program, program_peak_rank(program));
}

const char *program_use_name(enum program_use use)
{
    static const char *const names[] = {
        [PROGRAM_ACTIVATIONS] = "activations", [PROGRAM_PARAMETERS] = "parameters",
        [PROGRAM_GRADIENTS] = "gradients",     [PROGRAM_OPTIMIZER] = "optimizer",
        [PROGRAM_GATHERED] = "gathered",       [PROGRAM_DATA] = "data",
        [PROGRAM_WORKSPACE] = "workspace"};

    return names[use];
}
