/* Sharding rule of rows written into an array: the array may be cut along their places, where each
 * device keeps those rows that it has; rows are whole, as any of them may be a device's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct graph_node *places = &graph->nodes[n->inputs[KERN_APPEND_PLACES]];

    rule_by_names(out, graph, node);
    for (uint32_t d = 0; d < places->rank; d++)
        if (!graph_has_dim(n, places->dims[d]))
            out->factors[out->operand[KERN_APPEND_PLACES][d]].whole = true;
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t at = graph_place(n, n->attr.choice.dim);
    uint32_t nrows = graph->nodes[n->inputs[KERN_APPEND_ROWS]].rank + 1 - n->rank;
    uint32_t nplaces = graph->nodes[n->inputs[KERN_APPEND_PLACES]].rank;

    desc->append = (struct kern_append){
        .dtype = n->dtype,
        .outer = rule_product(rule->result[0], extents, 0, at),
        .extent = extents[rule->result[0][at]],
        .rows = rule_product(rule->operand[KERN_APPEND_ROWS], extents, at, at + nrows),
        .inner = rule_product(rule->result[0], extents, at + 1, n->rank),
        .by_outer = nplaces > nrows,
    };
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){op->outputs[0], at};
}

const struct rule_op rule_append = {.rule = rule, .kernel = &kern_kernel_append, .lower = lower};
