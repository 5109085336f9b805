/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "partition/layer_groups.h"

struct overlap {
    struct program *program;
    struct layer_groups groups;
    uint32_t *target; /* [op] group to whose start the op moves; PROGRAM_NONE: it stays */
    uint32_t *later;  /* [op] group to whose end the op moves; PROGRAM_NONE: it stays */
    uint32_t *maker;  /* [buffer] the op that writes it */
    bool *ready;      /* [buffer] a parameter, or made of parameters only */
    bool *waits;      /* [op] a kernel whose result only such kernels and the update read */
};

/* ---- gathers of parameters ---- */

static bool all_ready(const struct overlap *p, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (!p->ready[op->inputs[k]])
            return false;
    return op->ninputs > 0 && !op->accumulates;
}

static void find_ready(struct overlap *p)
{
    for (uint32_t i = 0; i < p->program->nops; i++) {
        const struct program_op *op = &p->program->ops[i];

        for (uint32_t k = 0; k < op->noutputs; k++) {
            const struct program_buffer *b = &p->program->buffers[op->outputs[k]];

            p->maker[op->outputs[k]] = i;
            p->ready[op->outputs[k]] = op->kind == PROGRAM_FILL
                                           ? b->argument && b->use == PROGRAM_PARAMETERS
                                           : all_ready(p, op);
        }
    }
}

static bool gathers(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD && op->phase < PROGRAM_PHASE_UPDATE &&
           program_coll_kind(op) == COLL_ALL_GATHER;
}

/* Whether an op brings a parameter or a value of the forward phase back from the host. */
static bool brings_back(const struct program_op *op)
{
    return op->kind == PROGRAM_HOST && !op->to_host && op->phase < PROGRAM_PHASE_UPDATE;
}

/* The group to whose start op `i` moves by itself, if its reader is at the start of group `from`.
 */
static uint32_t target_of(const struct overlap *p, uint32_t i, uint32_t from,
                          const struct overlap_layers *layers)
{
    const struct program_op *op = &p->program->ops[i];

    if (brings_back(op))
        return layer_groups_earlier(&p->groups, i, from, layers->host);
    if (gathers(op) && all_ready(p, op) && from == p->groups.of[i])
        return layer_groups_earlier(&p->groups, i, from, layers->gathers);
    return from;
}

/* Set the targets of gathers of parameters, of copies from the host, and of the ops that their
 * inputs depend on. */
static void find_targets(struct overlap *p, const struct overlap_layers *layers)
{
    for (uint32_t i = p->program->nops; i-- > 0;) {
        const struct program_op *op = &p->program->ops[i];
        uint32_t *target = &p->target[i];
        uint32_t from = *target == PROGRAM_NONE ? p->groups.of[i] : *target;
        uint32_t to = target_of(p, i, from, layers);

        if (to < from)
            *target = to;
        for (uint32_t k = 0; *target != PROGRAM_NONE && k < op->ninputs; k++) {
            uint32_t maker = p->maker[op->inputs[k]];

            if (p->program->ops[maker].kind != PROGRAM_FILL && *target < p->groups.of[maker] &&
                *target < p->target[maker])
                p->target[maker] = *target;
        }
    }
}

/* ---- readers of summed gradients ---- */

static uint64_t elements(const struct program_buffer *b)
{
    return program_buffer_count(b);
}

/* Whether a result is smaller than an input.  Such an op is not delayed: the larger input would
 * take memory for longer. */
static bool shrinks(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (elements(&program->buffers[op->inputs[k]]) >
            elements(&program->buffers[op->outputs[0]]))
            return true;
    return false;
}

/* Find the kernels whose results only such kernels and the update read.  Visited from the end, so
 * that all readers of an op are decided before the op. */
static void find_waiting(struct overlap *p)
{
    const struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        p->waits[i] =
            op->kind == PROGRAM_KERNEL && program_is_backward(op->part) && !shrinks(program, op);
    }
    for (uint32_t i = program->nops; i-- > 0;) {
        const struct program_op *op = &program->ops[i];

        for (uint32_t k = 0; k < op->ninputs; k++)
            p->waits[p->maker[op->inputs[k]]] &= p->waits[i] || op->part == PROGRAM_UPDATE;
    }
}

static bool sums_gradients(const struct program *program, const struct program_op *op)
{
    enum coll_kind kind;

    if (op->kind != PROGRAM_RESHARD || !program_is_backward(op->part) ||
        program->buffers[op->outputs[0]].use != PROGRAM_GRADIENTS)
        return false;
    kind = program_coll_kind(op);
    return kind == COLL_REDUCE_SCATTER || kind == COLL_ALL_REDUCE;
}

/* Whether an op takes a value of the forward phase to the host. */
static bool takes_away(const struct program_op *op)
{
    return op->kind == PROGRAM_HOST && op->to_host && op->part == PROGRAM_FORWARD;
}

/* Delay waiting kernels that read a summed gradient, and those that read their results; and copies
 * to the host, behind which the device's memory is free. */
static void find_later(struct overlap *p)
{
    const struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (takes_away(op))
            p->later[i] = layer_groups_next(&p->groups, i);
        for (uint32_t k = 0; p->waits[i] && k < op->ninputs; k++) {
            uint32_t maker = p->maker[op->inputs[k]];

            if (p->later[maker] != PROGRAM_NONE || sums_gradients(program, &program->ops[maker]))
                p->later[i] = layer_groups_next(&p->groups, i);
        }
    }
}

/* ---- moving ---- */

#define PLACES 3 /* positions in a group: before, among, or after the group's ops */

/* Sort key of an op: moved ops come before or behind the ops of their new group. */
static uint32_t place_of(const struct overlap *p, uint32_t i)
{
    if (p->target[i] != PROGRAM_NONE)
        return PLACES * p->target[i];
    if (p->later[i] != PROGRAM_NONE)
        return PLACES * p->later[i] + 2;
    return PLACES * p->groups.of[i] + 1;
}

/* Sort ops by place with a counting sort, which keeps the order within a place. */
static void move(struct overlap *p, uint32_t *from, uint32_t *begin)
{
    struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++)
        begin[place_of(p, i) + 1]++;
    for (uint32_t g = 0; g < PLACES * p->groups.n; g++)
        begin[g + 1] += begin[g];
    for (uint32_t i = 0; i < program->nops; i++)
        from[begin[place_of(p, i)]++] = i;
    program_permute_ops(program, from);
}

void overlap_transfers(struct program *program, const struct overlap_layers *layers,
                       struct pool *pool)
{
    size_t nops = program->nops, nbuffers = program->nbuffers;
    struct overlap p = {.program = program,
                        .ready = pool_array(pool, nbuffers, sizeof *p.ready),
                        .waits = pool_array(pool, nops, sizeof *p.waits),
                        .target = pool_array(pool, nops, sizeof *p.target),
                        .later = pool_array(pool, nops, sizeof *p.later),
                        .maker = pool_array(pool, nbuffers, sizeof *p.maker)};

    layer_groups_init(&p.groups, program, pool);
    memset(p.target, 0xff, nops * sizeof *p.target); /* PROGRAM_NONE */
    memset(p.later, 0xff, nops * sizeof *p.later);
    find_ready(&p);
    if (layers->gathers > 0 || layers->host > 0)
        find_targets(&p, layers);
    find_waiting(&p);
    find_later(&p);
    move(&p, pool_array(pool, nops, sizeof(uint32_t)),
         pool_array(pool, PLACES * (nops + 1) + 1, sizeof(uint32_t)));
}
