/* Sharding rule of rotary embedding: pairs are whole; positions may be cut, since each device knows
 * where its own begin, or gets them as data with the same sharding.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_by_names(out, graph, node);
    out->factors[rule_find(out, graph, node, graph->nodes[node].attr.rope.pair_dim)].whole = true;
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_rope *r = &desc->rope;

    r->dtype = n->dtype;
    r->ndims = n->rank;
    for (uint32_t d = 0; d < n->rank; d++)
        r->extent[d] = extents[rule->result[0][d]];
    rule_strides(r->stride, n->rank, rule->result[0], extents);
    r->position_dim = graph_place(n, n->attr.rope.position_dim);
    r->pair_dim = graph_place(n, n->attr.rope.pair_dim);
    r->position0 = n->attr.rope.position0;
    r->rotation = n->attr.rope.rotation;
    r->inverse = n->attr.rope.inverse;
    r->given = n->ninputs > 1;
    op->noffsets = r->given ? 0 : 1;
    op->offsets[0] = (struct program_offset){op->outputs[0], r->position_dim};
}

const struct rule_op rule_rope = {.rule = rule, .kernel = &kern_kernel_rope, .lower = lower};
