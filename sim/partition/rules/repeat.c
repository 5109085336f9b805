/* Sharding rule of repetition: the shorter dimension follows the longer one as far as it divides.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const union graph_attr *attr = &graph->nodes[node].attr;
    int longer, shorter;

    rule_by_names(out, graph, node);
    longer = rule_find(out, graph, node, attr->repeat.to_dim);
    shorter = rule_find(out, graph, node, attr->repeat.from_dim);
    out->factors[shorter].follows = (int8_t)longer;
}

/* `longer` and `shorter` are buffers that have the repeated dimension at the same place. */
static void describe(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                     uint32_t node, const struct rule *rule, const int64_t *extents,
                     uint32_t longer, uint32_t shorter)
{
    const struct graph_node *n = &graph->nodes[node];
    int to = rule_find(rule, graph, node, n->attr.repeat.to_dim);
    int from = rule_find(rule, graph, node, n->attr.repeat.from_dim);
    uint32_t at = 0;

    while (rule->result[0][at] != to && rule->result[0][at] != from)
        at++;
    desc->repeat = (struct kern_repeat){
        .dtype = n->dtype,
        .outer = rule_product(rule->result[0], extents, 0, at),
        .heads = extents[to],
        .kv_heads = extents[from],
        .inner = rule_product(rule->result[0], extents, at + 1, n->rank),
        .repeat = rule->factors[to].size / rule->factors[from].size,
    };
    op->noffsets = 2;
    op->offsets[0] = (struct program_offset){longer, at};
    op->offsets[1] = (struct program_offset){shorter, at};
}

static void lower_forward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                          uint32_t node, const struct rule *rule, const int64_t *extents)
{
    describe(op, desc, graph, node, rule, extents, op->outputs[0], op->inputs[0]);
}

static void lower_backward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                           uint32_t node, const struct rule *rule, const int64_t *extents)
{
    describe(op, desc, graph, node, rule, extents, op->inputs[0], op->outputs[0]);
}

const struct rule_op rule_repeat = {
    .rule = rule, .kernel = &kern_kernel_repeat, .lower = lower_forward};
const struct rule_op rule_repeat_sum = {
    .rule = rule, .kernel = &kern_kernel_repeat_sum, .lower = lower_backward};
