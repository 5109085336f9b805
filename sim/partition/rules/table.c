/* Table of the sharding rules of all ops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stddef.h>

#include "partition/rule.h"

static const struct rule_op constraint = {rule_by_names, NULL, false};
static const struct rule_op map = {rule_by_names, NULL, true};

static const struct rule_op *const rows[GRAPH_NOPS] = {
    [GRAPH_EINSUM] = &rule_einsum,       [GRAPH_MAP] = &map,
    [GRAPH_REDUCE] = &rule_reduce,       [GRAPH_CONSTRAINT] = &constraint,
    [GRAPH_ATTENTION] = &rule_attention, [GRAPH_ATTENTION_GRAD] = &rule_attention_grad,
    [GRAPH_ROPE] = &rule_rope,           [GRAPH_CAUSAL] = &rule_causal,
    [GRAPH_EMBED] = &rule_embed,         [GRAPH_EMBED_GRAD] = &rule_embed_grad,
    [GRAPH_PICK] = &rule_pick,           [GRAPH_PICK_GRAD] = &rule_pick_grad,
    [GRAPH_REPEAT] = &rule_repeat,       [GRAPH_REPEAT_SUM] = &rule_repeat_sum,
    [GRAPH_WINDOW] = &rule_window,       [GRAPH_SHIFT] = &rule_shift,
    [GRAPH_ACCUMULATE] = &rule_accumulate, [GRAPH_TOPK] = &rule_topk,
    [GRAPH_SLOTS] = &rule_slots,         [GRAPH_COUNT] = &rule_count,
    [GRAPH_GROUPED] = &rule_grouped,     [GRAPH_DISPATCH] = &rule_dispatch,
    [GRAPH_COMBINE] = &rule_combine,
};

bool rule_moves_rows(enum graph_op op)
{
    return op == GRAPH_DISPATCH || op == GRAPH_COMBINE;
}

const struct rule_op *rule_of(enum graph_op op)
{
    return rows[op];
}
