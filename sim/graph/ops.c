/* Table of the ops of a graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/ops.h"

#define LISTED(op, called) [op] = &graph_op_##called,
static const struct graph_op_row *const rows[GRAPH_NOPS] = {GRAPH_OPS(LISTED)};
#undef LISTED

const struct graph_op_row *graph_op(enum graph_op op)
{
    return rows[op];
}

enum kern_linear graph_linearity(const struct graph_node *node)
{
    if (node->op == GRAPH_MAP && kern_is_whole(node->dtype))
        return KERN_NOT_LINEAR; /* also of fractions: parts would be cut off one by one */
    if (node->op == GRAPH_MAP)
        return kern_fns[node->fn].linear;
    if ((node->op == GRAPH_REDUCE && node->reduce != SHD_SUM) ||
        (node->op == GRAPH_WINDOW && node->attr.window.fill != 0) ||
        (node->op == GRAPH_SCAN && node->attr.scan.fn != KERN_SCAN_SUM) ||
        (node->op == GRAPH_TAPS && node->attr.taps.how.fill != 0))
        return KERN_NOT_LINEAR;
    return rows[node->op]->linear;
}

bool graph_is_linear(const struct graph *graph, const struct graph_node *node, uint32_t k)
{
    enum kern_linear linear = graph_linearity(node);

    if (kern_is_whole(graph->nodes[node->inputs[k]].dtype))
        return false;
    return linear == KERN_LINEAR_IN_FIRST ? k == 0 : linear != KERN_NOT_LINEAR;
}

bool graph_is_weight(const struct graph *graph, uint32_t node)
{
    enum graph_op op = graph->nodes[node].op;

    return op == GRAPH_PARAM || rows[op]->unpacks;
}
