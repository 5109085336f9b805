/* Sharding rule of choice by label: classes may be cut; each device picks among its own classes, a
 * partial sum.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

/* Number of ids per token: those behind x's own dimensions. */
static int64_t choices(const struct graph_node *ids, const struct graph_node *x,
                       const int8_t *factors, const int64_t *extents)
{
    return rule_product(factors, extents, x->rank - 1, ids->rank);
}

/* Describe x[tokens..., classes, inner...] by the place of its classes. */
static void describe(struct program_op *op, union kern_desc *desc, const struct graph_node *x,
                     enum shd_dtype dtype, uint32_t dim, const int8_t *factors,
                     const int64_t *extents, uint32_t buffer, int64_t nchoices)
{
    uint32_t at = graph_place(x, dim);

    desc->pick = (struct kern_pick){.dtype = dtype,
                                    .tokens = rule_product(factors, extents, 0, at),
                                    .classes = extents[factors[at]],
                                    .inner = rule_product(factors, extents, at + 1, x->rank),
                                    .choices = nchoices};
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){buffer, at};
}

static void lower_forward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                          uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    describe(op, desc, &graph->nodes[n->inputs[0]], n->dtype, n->attr.choice.dim, rule->operand[0],
             extents, op->inputs[0],
             choices(&graph->nodes[n->inputs[1]], &graph->nodes[n->inputs[0]], rule->operand[1],
                     extents));
}

static void lower_backward(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                           uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    describe(op, desc, n, n->dtype, n->attr.choice.dim, rule->result[0], extents, op->outputs[0],
             choices(&graph->nodes[n->inputs[0]], n, rule->operand[0], extents));
}

const struct rule_op rule_pick = {
    .rule = rule_by_names, .kernel = &kern_kernel_pick, .lower = lower_forward};
const struct rule_op rule_pick_grad = {
    .rule = rule_by_names, .kernel = &kern_kernel_pick_grad, .lower = lower_backward};
