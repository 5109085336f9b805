/* How a product of arrays may be cut, and its kernel (rule.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_einsum *e = &desc->einsum;

    (void)op;
    e->dtype = n->dtype;
    e->ndims = rule->nfactors;
    memcpy(e->extent, extents, rule->nfactors * sizeof *extents);
    e->a_has = rule_factor_strides(e->a_stride, graph->nodes[n->inputs[0]].rank, rule->operand[0],
                                   extents);
    e->b_has = rule_factor_strides(e->b_stride, graph->nodes[n->inputs[1]].rank, rule->operand[1],
                                   extents);
    e->c_has = rule_factor_strides(e->c_stride, n->rank, rule->result[0], extents);
}

const struct rule_op rule_einsum = {
    .rule = rule_by_names, .kernel = &kern_kernel_einsum, .lower = lower};
