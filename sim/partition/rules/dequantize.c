/* Sharding rules of codes with scales of their blocks, and of what they stand for: a byte of codes
 * is never split, and scales follow the codes of their blocks as far as they divide; beyond,
 * devices have scales that others have, too.
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

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node], *s = &graph->nodes[n->inputs[1]];
    struct kern_dequantize *k = &desc->dequantize;

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

/* ---- codes of what a step makes ---- */

/* The dimension of the blocks is whole. */
static void rule_whole(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    out->factors[out->result[0][n->rank - 1]].whole = true;
    out->factors[out->result[1][n->rank - 1]].whole = true;
    out->factors[out->operand[0][n->rank - 1]].whole = true;
}

static void lower_quantize(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                           uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node], *s = &graph->nodes[n->extras[0]];
    const struct graph_node *x = &graph->nodes[n->inputs[0]];
    uint32_t last = n->rank - 1;
    int64_t width = graph->dims[x->dims[last]].size;

    (void)op;
    desc->quantize =
        (struct kern_quantize){.dtype = x->dtype,
                               .scale_dtype = s->dtype,
                               .type = n->attr.dequantize.type,
                               .rows = rule_product(rule->operand[0], extents, 0, last),
                               .width = width,
                               .box = width / graph->dims[s->dims[last]].size};
}

const struct rule_op rule_dequantize = {
    .rule = rule, .kernel = &kern_kernel_dequantize, .lower = lower};
const struct rule_op rule_restore = {
    .rule = rule, .kernel = &kern_kernel_dequantize, .lower = lower};
const struct rule_op rule_quantize = {
    .rule = rule_whole, .kernel = &kern_kernel_quantize, .lower = lower_quantize};
