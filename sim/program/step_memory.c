/* A device's memory over a step: one walk through the step's actions in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

static void tell(const struct program *program, uint32_t buffer, bool alive,
                 const struct program_memory_watch *watch)
{
    if (program->buffers[buffer].on_host == watch->of_host && !program->buffers[buffer].inside)
        watch->buffer(watch->arg, buffer, alive);
}

/* Walk the ops from..end - 1 for one microbatch. */
static void walk(const struct program *program, uint32_t rank, uint32_t from, uint32_t end,
                 const struct program_action *action, const struct program_memory_watch *watch)
{
    uint32_t dead[PROGRAM_DEAD_MAX];

    for (uint32_t i = from; i < end; i++) {
        const struct program_op *op = &program->ops[i];

        if (!program_holds(program, rank, op))
            continue;
        for (uint32_t k = 0; k < op->noutputs; k++)
            if (program_allocates(program, op, k, action->first))
                tell(program, op->outputs[k], true, watch);
        watch->op(watch->arg, i, action->microbatch);
        for (uint32_t d = program_dead_buffers(program, i, dead); d-- > 0;)
            tell(program, dead[d], false, watch);
    }
}

/* A turn of several microbatches is walked for the first two only.  From the second on accumulated
 * sums exist from the start, so that all later ones are like the second. */
void program_memory_walk(const struct program *program, uint32_t rank,
                         const struct program_memory_watch *watch)
{
    const struct program_action arguments = {.first = true};

    walk(program, rank, 0, program->first_op, &arguments, watch);
    for (uint32_t t = program->first_turn[rank]; t < program->first_turn[rank + 1]; t++) {
        const struct program_turn *turn = &program->turns[t];
        const struct program_segment *s = &program->segments[turn->segment];
        struct program_action action = {.microbatch = turn->microbatch, .first = turn->first};

        walk(program, rank, s->first_op, s->end_op, &action, watch);
        if (turn->count == 1)
            continue;
        action = (struct program_action){.microbatch = turn->microbatch + 1};
        walk(program, rank, s->first_op, s->end_op, &action, watch);
    }
}

/* Live bytes on one device now, and the highest level so far. */
struct level {
    const struct program *program;
    uint128 live, uses[PROGRAM_NUSES];
    struct program_memory peak;
};

static void change(void *arg, uint32_t buffer, bool alive)
{
    struct level *level = arg;
    const struct program_buffer *b = &level->program->buffers[buffer];
    uint128 bytes = program_buffer_taken(b);

    level->live += alive ? bytes : -bytes;
    level->uses[b->use] += alive ? bytes : -bytes;
}

static void look(void *arg, uint32_t op, uint32_t microbatch)
{
    struct level *level = arg;
    uint64_t workspace_bytes = level->program->ops[op].workspace_bytes;

    if (level->live + workspace_bytes <= level->peak.peak_bytes)
        return;
    level->peak = (struct program_memory){
        .peak_bytes = level->live + workspace_bytes, .op = op, .microbatch = microbatch};
    for (int use = 0; use < PROGRAM_NUSES; use++)
        level->peak.uses[use] = level->uses[use];
    level->peak.uses[PROGRAM_WORKSPACE] += workspace_bytes;
}

void program_memory(struct program_memory *out, const struct program *program, uint32_t rank)
{
    struct level level = {.program = program};
    const struct program_memory_watch watch = {.buffer = change, .op = look, .arg = &level};

    program_memory_walk(program, rank, &watch);
    *out = level.peak;
}

/* A kernel on the host has no workspace. */
static void look_at_host(void *arg, uint32_t op, uint32_t microbatch)
{
    struct level *level = arg;

    (void)op;
    (void)microbatch;
    if (level->live > level->peak.peak_bytes)
        level->peak.peak_bytes = level->live;
}

uint128 program_host_peak_bytes(const struct program *program, uint32_t rank)
{
    struct level level = {.program = program};
    const struct program_memory_watch watch = {
        .buffer = change, .op = look_at_host, .arg = &level, .of_host = true};

    if (program_uses_host(program))
        program_memory_walk(program, rank, &watch);
    return level.peak.peak_bytes;
}

/* The rank with the highest peak; its bytes go to `bytes`. */
static uint32_t find_peak(const struct program *program, uint128 *bytes)
{
    uint32_t most = 0;

    *bytes = 0;
    for (uint32_t rank = 0; rank < program->nranks; rank++) {
        struct program_memory memory;

        program_memory(&memory, program, rank);
        if (memory.peak_bytes <= *bytes)
            continue;
        most = rank;
        *bytes = memory.peak_bytes;
    }
    return most;
}

uint32_t program_peak_rank(const struct program *program)
{
    uint128 bytes;

    return find_peak(program, &bytes);
}

uint128 program_peak_bytes(const struct program *program)
{
    uint128 bytes;

    (void)find_peak(program, &bytes);
    return bytes;
}

const char *program_use_name(enum program_use use)
{
    static const char *const names[] = {[PROGRAM_ACTIVATIONS] = "activations",
                                        [PROGRAM_PARAMETERS] = "parameters",
                                        [PROGRAM_GRADIENTS] = "gradients",
                                        [PROGRAM_OPTIMIZER] = "optimizer",
                                        [PROGRAM_GATHERED] = "gathered",
                                        [PROGRAM_DATA] = "data",
                                        [PROGRAM_CACHE] = "cache",
                                        [PROGRAM_WORKSPACE] = "workspace"};

    return names[use];
}
