/* Sharding rule of the causal mask and the padding mask: every dimension may be cut; devices know
 * which queries and keys they hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_causal *c = &desc->causal;

    bool queries = n->attr.causal.query_dim != GRAPH_NONE;

    if (!queries)
        op->kernel = &kern_kernel_padding;
    c->dtype = n->dtype;
    c->ndims = n->rank;
    for (uint32_t d = 0; d < n->rank; d++)
        c->extent[d] = extents[rule->result[0][d]];
    rule_strides(c->stride, n->rank, rule->result[0], extents);
    c->query_dim = queries ? graph_place(n, n->attr.causal.query_dim) : n->rank;
    c->key_dim = graph_place(n, n->attr.causal.key_dim);
    c->held = graph->dims[n->attr.causal.key_dim].held;
    c->masked = n->attr.causal.masked;
    op->noffsets = 2;
    op->offsets[0] = (struct program_offset){op->outputs[0], queries ? c->query_dim : c->key_dim};
    op->offsets[1] = (struct program_offset){op->outputs[0], c->key_dim};
}

const struct rule_op rule_causal = {
    .rule = rule_by_names, .kernel = &kern_kernel_causal, .lower = lower};
