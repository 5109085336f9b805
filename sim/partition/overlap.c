/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "graph/layer_name.h"

struct overlap {
    struct program *program;
    uint32_t *layer;  /* [op] layer number, or GRAPH_NO_LAYER */
    uint32_t *group;  /* [op] group number, from 0: a group is the ops of a layer, or those
                         between two layers */
    uint32_t *target; /* [op] group to whose start the op moves; PROGRAM_NONE: it stays */
    uint32_t *later;  /* [op] group to whose end the op moves; PROGRAM_NONE: it stays */
    uint32_t *maker;  /* [buffer] the op that writes it */
    bool *ready;      /* [buffer] a parameter, or made of parameters only */
    bool *waits;      /* [op] a kernel whose result only such kernels and the update read */
    uint32_t ngroups;
};

/* ---- layers ---- */

static bool same_part(const struct program *program, uint32_t a, uint32_t b)
{
    return program->ops[a].part == program->ops[b].part &&
           program->ops[a].stage == program->ops[b].stage;
}

/* The next layer named by an op behind op `i` in the same part of the step. */
static uint32_t next_layer(const struct overlap *p, uint32_t i)
{
    uint32_t next = i + 1;

    while (next < p->program->nops && same_part(p->program, i, next)) {
        if (p->layer[next] != GRAPH_NO_LAYER)
            return p->layer[next];
        next++;
    }
    return GRAPH_NO_LAYER;
}

/* An op whose name tells no layer belongs to the layer of the ops on both sides. */
static void find_layers(struct overlap *p)
{
    const struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++)
        p->layer[i] = graph_layer_of(program->ops[i].name).number;
    for (uint32_t i = 1; i < program->nops; i++)
        if (p->layer[i] == GRAPH_NO_LAYER && p->layer[i - 1] != GRAPH_NO_LAYER &&
            same_part(program, i - 1, i) && next_layer(p, i) == p->layer[i - 1])
            p->layer[i] = p->layer[i - 1];
}

static void find_groups(struct overlap *p)
{
    find_layers(p);
    for (uint32_t i = 0; i < p->program->nops; i++) {
        if (i > 0 && (!same_part(p->program, i - 1, i) || p->layer[i] != p->layer[i - 1]))
            p->ngroups++;
        p->group[i] = p->ngroups;
    }
    p->ngroups += p->program->nops > 0;
}

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

/* The group `layers` before the group of op `i`, or the first of its part of the step. */
static uint32_t earlier_group(const struct overlap *p, uint32_t i, uint32_t layers)
{
    uint32_t first = i;

    while (first > 0 && same_part(p->program, first - 1, i) &&
           p->group[i] - p->group[first - 1] <= layers)
        first--;
    return p->group[first];
}

/* Set the targets of gathers of parameters, and of the ops that their inputs depend on. */
static void find_targets(struct overlap *p, uint32_t layers)
{
    for (uint32_t i = p->program->nops; i-- > 0;) {
        const struct program_op *op = &p->program->ops[i];
        uint32_t *target = &p->target[i];

        if (*target == PROGRAM_NONE && gathers(op) && all_ready(p, op)) {
            *target = earlier_group(p, i, layers);
            if (*target == p->group[i])
                *target = PROGRAM_NONE;
        }
        for (uint32_t k = 0; *target != PROGRAM_NONE && k < op->ninputs; k++) {
            uint32_t maker = p->maker[op->inputs[k]];

            if (p->program->ops[maker].kind != PROGRAM_FILL && *target < p->group[maker] &&
                *target < p->target[maker])
                p->target[maker] = *target;
        }
    }
}

/* ---- readers of summed gradients ---- */

static bool is_backward(const struct program_op *op)
{
    return op->part == PROGRAM_BACKWARD || op->part == PROGRAM_WEIGHTS;
}

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

        p->waits[i] = op->kind == PROGRAM_KERNEL && is_backward(op) && !shrinks(program, op);
    }
    for (uint32_t i = program->nops; i-- > 0;) {
        const struct program_op *op = &program->ops[i];

        for (uint32_t k = 0; k < op->ninputs; k++)
            p->waits[p->maker[op->inputs[k]]] &= p->waits[i] || op->part == PROGRAM_UPDATE;
    }
}

/* The group behind the group of op `i` in its part of the step; the last group itself. */
static uint32_t next_group(const struct overlap *p, uint32_t i)
{
    uint32_t last = i;

    while (last + 1 < p->program->nops && same_part(p->program, last + 1, i) &&
           p->group[last + 1] <= p->group[i] + 1)
        last++;
    return p->group[last];
}

static bool sums_gradients(const struct program *program, const struct program_op *op)
{
    enum coll_kind kind;

    if (op->kind != PROGRAM_RESHARD || !is_backward(op) ||
        program->buffers[op->outputs[0]].use != PROGRAM_GRADIENTS)
        return false;
    kind = program_coll_kind(op);
    return kind == COLL_REDUCE_SCATTER || kind == COLL_ALL_REDUCE;
}

/* Delay waiting kernels that read a summed gradient, and those that read their results. */
static void find_later(struct overlap *p)
{
    const struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        for (uint32_t k = 0; p->waits[i] && k < op->ninputs; k++) {
            uint32_t maker = p->maker[op->inputs[k]];

            if (p->later[maker] != PROGRAM_NONE || sums_gradients(program, &program->ops[maker]))
                p->later[i] = next_group(p, i);
        }
    }
}

/* ---- moving ---- */

#define PLACES 3 /* places of a group: before its ops, among them, behind them */

/* Sort key of an op: moved ops come before or behind the ops of their new group. */
static uint32_t place_of(const struct overlap *p, uint32_t i)
{
    if (p->target[i] != PROGRAM_NONE)
        return PLACES * p->target[i];
    if (p->later[i] != PROGRAM_NONE)
        return PLACES * p->later[i] + 2;
    return PLACES * p->group[i] + 1;
}

/* Sort ops by place with a counting sort, which keeps the order within a place. */
static void move(struct overlap *p, struct program_op *sorted, uint32_t *begin)
{
    struct program *program = p->program;

    for (uint32_t i = 0; i < program->nops; i++)
        begin[place_of(p, i) + 1]++;
    for (uint32_t g = 0; g < PLACES * p->ngroups; g++)
        begin[g + 1] += begin[g];
    for (uint32_t i = 0; i < program->nops; i++)
        sorted[begin[place_of(p, i)]++] = program->ops[i];
    memcpy(program->ops, sorted, program->nops * sizeof *sorted);
}

int overlap_transfers(struct program *program, uint32_t layers, struct shd_error *err)
{
    size_t nops = program->nops, nbuffers = program->nbuffers;
    struct overlap p = {.program = program};
    struct program_op *sorted = malloc((nops + 1) * sizeof *sorted);
    uint32_t *numbers = calloc((4 + PLACES) * nops + nbuffers + PLACES + 1, sizeof *numbers);
    int status = SHD_OK;

    p.ready = calloc(nbuffers + 1, sizeof *p.ready);
    p.waits = calloc(nops + 1, sizeof *p.waits);
    if (!sorted || !numbers || !p.ready || !p.waits) {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    } else {
        p.layer = numbers;
        p.group = p.layer + nops;
        p.target = p.group + nops;
        p.later = p.target + nops;
        p.maker = p.later + nops;
        memset(p.target, 0xff, 2 * nops * sizeof *p.target); /* and later: PROGRAM_NONE */
        find_groups(&p);
        find_ready(&p);
        if (layers > 0)
            find_targets(&p, layers);
        find_waiting(&p);
        find_later(&p);
        move(&p, sorted, p.maker + nbuffers);
    }
    free(sorted);
    free(numbers);
    free(p.ready);
    free(p.waits);
    return status;
}
