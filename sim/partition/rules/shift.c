/* Sharding rule of cyclic shifts: all dimensions may be cut.  If the shifted dimension is whole, a
 * kernel copies a shard in two parts; if it is cut, devices pass elements on (emit.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t at = graph_place(n, n->attr.shift.dim);
    int64_t extent = extents[rule->result[0][at]], by = extent > 0 ? n->attr.shift.by % extent : 0;

    op->ninputs = 2; /* the shard twice: elements that move up, and elements that wrap around */
    op->inputs[1] = op->inputs[0];
    desc->window = (struct kern_window){
        .dtype = n->dtype,
        .ninputs = 2,
        .outer = rule_product(rule->result[0], extents, 0, at),
        .inner = rule_product(rule->result[0], extents, at + 1, n->rank),
        .out_extent = extent,
        .in_extent = {extent, extent},
        .from = {0, extent - by},
        .to = {by, 0},
        .count = {extent - by, by},
    };
}

const struct rule_op rule_shift = {
    .rule = rule_by_names, .kernel = &kern_kernel_window, .lower = lower};
