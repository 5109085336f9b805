/* Leaves, and further results of ops: nodes that compute nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"

static void need_extra(struct padding *p, struct graph_node *n)
{
    if (p->to->nodes[n->inputs[0]].op == GRAPH_SLOTS)
        padding_refuse_all(p, n);
}

static struct within made_extra(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return p->to->nodes[n->inputs[0]].op == GRAPH_ATTENTION_GRAD ? padding_zero(p, n, d)
                                                                 : padding_unknown;
}

/* The sums of attention and the counts of slots, which no exported op reads. */
static void jax_extra(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph, (void)n;
    text_add(out, "None");
}

const struct graph_op_row graph_op_input = {.name = "input", .made = padding_zero};
const struct graph_op_row graph_op_param = {.name = "param", .made = padding_zero};
const struct graph_op_row graph_op_extra = {
    .name = "extra", .need = need_extra, .made = made_extra, .jax = jax_extra};
