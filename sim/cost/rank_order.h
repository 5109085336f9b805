/* rank_order.h - the order of a rank's actions in the event simulator (events.h), and which of them
 * an action waits for on its own lane: the same on all lanes of the rank, whatever their times.
 *
 * Thread class: immutable once listed, as long as the view is, but for `readers`, which its owner
 * counts down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_RANK_ORDER_H
#define COST_RANK_ORDER_H

#include "cost/events.h"

struct rank_order {
    struct program_action *actions;
    uint32_t nactions;
    uint64_t *base;   /* by op: index of its first action in `when`; program_number_actions() */
    uint32_t *when;   /* by action number: index in `actions` */
    uint32_t *before; /* [action]: the action before it on its stream; PROGRAM_NONE: none, or the
                         action fills gaps */
    uint32_t *issued; /* [action]: the computation after which it is issued, or PROGRAM_NONE */
    uint32_t *readers; /* [action]: how many later actions need its end, each counted as often */
    uint32_t *makers;  /* actions that write the operands of the actions, action by action ... */
    uint32_t *first_maker; /* ... from here on; one more entry than actions */
};

/* List the actions of a rank; false: no memory, or too many actions.  Free with rank_order_fini()
 * in either case. */
bool rank_order_init(struct rank_order *out, const struct events_view *view, uint32_t rank);
void rank_order_fini(struct rank_order *order);

/* The action that does an op for a microbatch; PROGRAM_NONE: an argument's. */
uint32_t rank_order_action(const struct rank_order *order, const struct program *program,
                           uint32_t op, uint32_t microbatch);

#endif /* COST_RANK_ORDER_H */
