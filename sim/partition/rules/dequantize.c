/* Sharding rule of dequantization: a byte of codes is never split, and scales follow the codes of
 * their blocks as far as they divide; beyond, devices have scales that others have, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    for (uint32_t d = 0; d < n->rank; d++) {
        int8_t codes = out->operand[0][d], scales = out->operand[1][d], made = out->result[0][d];

        if (made != codes)
            out->factors[made].follows = codes;
        if (scales != codes)
            out->factors[scales].follows = codes;
    }
}

static void lower(struct program_op *op, const struct graph *graph, uint32_t node,
                  const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node], *s = &graph->nodes[n->inputs[1]];
    struct kern_dequantize *k = &op->desc.dequantize;

    *k = (struct kern_dequantize){.dtype = n->dtype,
                                  .scale_dtype = s->dtype,
                                  .type = n->attr.dequantize.type,
                                  .ndims = n->rank,
                                  .pair_dim = graph_place(n, n->attr.dequantize.pair_dim)};
    for (uint32_t d = 0; d < n->rank; d++) {
        k->extent[d] = extents[rule->result[0][d]];
        k->scales[d] = extents[rule->operand[1][d]];
        k->box[d] = graph->dims[n->dims[d]].size / graph->dims[s->dims[d]].size;
        if (k->box[d] == 1)
            continue;
        op->offsets[2 * k->nboxed] = (struct program_offset){op->outputs[0], d};
        op->offsets[2 * k->nboxed + 1] = (struct program_offset){op->inputs[1], d};
        k->boxed[k->nboxed++] = d;
    }
    op->noffsets = 2 * k->nboxed;
}

const struct rule_op rule_dequantize = {
    .rule = rule, .kernel = &kern_kernel_dequantize, .lower = lower};
