/* Sharding rule of linear attention: batch and heads may be cut.  The sequence is whole, since the
 * state passes through it, and so are keys and values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    const uint32_t *q = graph->nodes[n->inputs[0]].dims, *v = graph->nodes[n->inputs[2]].dims;

    rule_by_names(out, graph, node);
    out->factors[rule_find(out, graph, node, q[1])].whole = true;
    out->factors[rule_find(out, graph, node, q[3])].whole = true;
    out->factors[rule_find(out, graph, node, v[3])].whole = true;
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const int8_t *q = rule->operand[0], *v = rule->operand[2];
    enum shd_dtype dtype = graph->nodes[n->inputs[0]].dtype;

    (void)op;
    desc->linear_attention = (struct kern_linear_attention){
        .dtype = dtype,
        .decay_dtype = n->attr.linear_attention.decays ? graph->nodes[n->inputs[3]].dtype : dtype,
        .batch = extents[q[0]],
        .seq = extents[q[1]],
        .heads = extents[q[2]],
        .key_dim = extents[q[3]],
        .value_dim = extents[v[3]],
        .chunk = n->attr.linear_attention.chunk,
        .decays = n->attr.linear_attention.decays,
        .by_channel = n->attr.linear_attention.by_channel,
        .delta = n->attr.linear_attention.delta,
        .starts = n->attr.linear_attention.starts,
        .ends = n->attr.linear_attention.ends};
}

const struct rule_op rule_linear_attention = {
    .rule = rule, .kernel = &kern_kernel_linear_attention, .lower = lower};
const struct rule_op rule_linear_attention_grad = {
    .rule = rule, .kernel = &kern_kernel_linear_attention_grad, .lower = lower};
