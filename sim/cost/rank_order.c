/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/rank_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "program/paired_walk.h"

#define NONE PROGRAM_NONE

/* The last actions so far of the computation stream and of the transfer streams. */
struct lasts {
    uint32_t core, streams[EVENTS_STREAMS_MAX];
};

/* Number of the action that does an op for a microbatch, or once a step. */
static uint64_t number_of(const struct rank_order *order, const struct program *program,
                          uint32_t op, uint32_t microbatch)
{
    return order->base[op] + (program->ops[op].times > 1 ? microbatch : 0);
}

uint32_t rank_order_action(const struct rank_order *order, const struct program *program,
                           uint32_t op, uint32_t microbatch)
{
    return order->base[op] == UINT64_MAX ? NONE
                                         : order->when[number_of(order, program, op, microbatch)];
}

/* The op's last action, over all microbatches listed so far. */
static uint32_t last_action_of(const struct rank_order *order, const struct program *program,
                               uint32_t op)
{
    uint32_t last = NONE;

    for (uint32_t m = 0; m < program->ops[op].times; m++) {
        uint32_t action = rank_order_action(order, program, op, m);

        if (action != NONE && (last == NONE || action > last))
            last = action;
    }
    return last;
}

/* The action that wrote an operand of an action's op; NONE: the operand is there from the start. */
static uint32_t maker_of(const struct rank_order *order, const struct program *program,
                         const struct program_action *a, uint32_t buffer)
{
    uint32_t first = program->buffers[buffer].first_op;

    if (program->ops[first].times == 1 || program->ops[a->op].times > 1)
        return rank_order_action(order, program, first, a->microbatch);
    return last_action_of(order, program, first);
}

static void read_end(struct rank_order *order, uint32_t action)
{
    if (action != NONE)
        order->readers[action]++;
}

/* List the makers of the operands of action `i`; false: no memory. */
static bool list_makers(struct rank_order *order, const struct program *program, uint32_t i)
{
    const struct program_action *a = &order->actions[i];
    const struct program_op *op = &program->ops[a->op];
    uint32_t n = order->first_maker[i];

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t maker = maker_of(order, program, a, op->inputs[k]);

        if (maker == NONE)
            continue;
        if (!array_make_room32(&order->makers, n, sizeof *order->makers))
            return false;
        order->makers[n++] = maker;
        read_end(order, maker);
    }
    order->first_maker[i + 1] = n;
    return true;
}

/* Append an action to its stream. */
static void place(struct rank_order *order, const struct events_view *view, struct lasts *lasts,
                  uint32_t i)
{
    uint32_t op = order->actions[i].op;
    bool moves = program_is_beside(&view->program->ops[op]);
    enum events_issue issue = moves ? view->issue(view->arg, op) : EVENTS_IN_ORDER;
    uint32_t *last = moves ? &lasts->streams[view->stream(view->arg, op)] : &lasts->core;

    order->before[i] = issue == EVENTS_FILLS ? NONE : *last;
    order->issued[i] = issue == EVENTS_ISSUED || issue == EVENTS_BLOCKS ? lasts->core : NONE;
    if (issue != EVENTS_FILLS)
        *last = i;
    read_end(order, order->before[i]);
    read_end(order, order->issued[i]);
}

static bool list(struct rank_order *order, const struct events_view *view, uint32_t rank)
{
    const struct program *program = view->program;
    struct program_paired_walk walk = program_paired_walk_begin(program, rank, view->interleaves);
    struct program_action action;
    struct lasts lasts;
    bool good = true;

    memset(&lasts, 0xff, sizeof lasts); /* NONE */
    while (good && program_paired_walk_next(&walk, &action)) {
        uint32_t i = order->nactions++;

        order->actions[i] = action;
        good = list_makers(order, program, i);
        order->when[number_of(order, program, action.op, action.microbatch)] = i;
        place(order, view, &lasts, i);
        if (program->ops[action.op].kind == PROGRAM_SEND) /* which the receive needs */
            order->readers[i]++;
    }
    return good;
}

bool rank_order_init(struct rank_order *out, const struct events_view *view, uint32_t rank)
{
    uint64_t n = program_nactions(view->program, rank) + 1;

    *out = (struct rank_order){.nactions = 0};
    if (n > UINT32_MAX / 5)
        return false;
    out->actions = calloc(n, sizeof *out->actions);
    out->base = calloc((size_t)view->program->nops + 1, sizeof *out->base);
    out->when = calloc(5 * n, sizeof *out->when);
    if (!out->actions || !out->base || !out->when)
        return false;
    memset(out->when, 0xff, n * sizeof *out->when); /* NONE */
    out->before = out->when + n;
    out->issued = out->before + n;
    out->readers = out->issued + n;
    out->first_maker = out->readers + n;
    program_number_actions(view->program, rank, out->base);
    return list(out, view, rank);
}

void rank_order_fini(struct rank_order *order)
{
    free(order->actions);
    free(order->base);
    free(order->when);
    free(order->makers);
}
