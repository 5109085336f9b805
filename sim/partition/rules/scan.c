/* Sharding rule of scans: all dimensions may be cut.  Along the scan's own a device scans its
 * shard, and continues the shards before (carry.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t at = graph_place(n, n->attr.scan.dim);

    (void)op;
    desc->scan =
        (struct kern_scan){.dtype = n->dtype,
                           .fn = n->attr.scan.fn,
                           .reverse = n->attr.scan.reverse,
                           .outer = rule_product(rule->result[0], extents, 0, at),
                           .extent = extents[rule->result[0][at]],
                           .inner = rule_product(rule->result[0], extents, at + 1, n->rank)};
}

const struct rule_op rule_scan = {
    .rule = rule_by_names, .kernel = &kern_kernel_scan, .lower = lower};
