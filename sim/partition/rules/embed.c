/* Sharding rule of embedding look-up: rows may be cut; a device returns the rows it has and zeros
 * for others, a partial sum.  The table's gradient is partial over axes that cut the tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

/* table[rows, width...], ids[tokens...] -> [tokens..., width...] */
static void lower_forward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                          uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t ids_rank = graph->nodes[n->inputs[1]].rank;

    desc->embed =
        (struct kern_embed){.dtype = n->dtype,
                            .rows = extents[rule->operand[0][0]],
                            .tokens = rule_product(rule->operand[1], extents, 0, ids_rank),
                            .width = rule_product(rule->result[0], extents, ids_rank, n->rank)};
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){op->inputs[0], 0};
}

/* ids[tokens...], g[tokens..., width...] -> d table[rows, width...] */
static void lower_backward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                           uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t ids_rank = graph->nodes[n->inputs[0]].rank;

    desc->embed =
        (struct kern_embed){.dtype = n->dtype,
                            .rows = extents[rule->result[0][0]],
                            .tokens = rule_product(rule->operand[0], extents, 0, ids_rank),
                            .width = rule_product(rule->result[0], extents, 1, n->rank)};
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){op->outputs[0], 0};
}

const struct rule_op rule_embed = {
    .rule = rule_by_names, .kernel = &kern_kernel_embed, .lower = lower_forward};
const struct rule_op rule_embed_grad = {
    .rule = rule_by_names, .kernel = &kern_kernel_embed_grad, .lower = lower_backward};
