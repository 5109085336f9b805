/* How a product of arrays may be cut, and its kernel (rule.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

/* The rule by names, but dimensions that the operands' are read as have factors of their own. */
static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct graph_renames *r = &n->attr.renames;
    uint32_t dims[RULE_FACTORS_MAX];

    rule_by_names(out, graph, node);
    if (r->n == 0)
        return;
    out->nfactors = n->rank; /* the result's come first */
    memcpy(dims, n->dims, n->rank * sizeof *dims);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++) {
            uint32_t as = graph_read_as(n, k, graph->nodes[n->inputs[k]].dims[d]), f = 0;

            while (f < out->nfactors && dims[f] != as)
                f++;
            dims[f] = as;
            out->operand[k][d] =
                f < out->nfactors ? (int8_t)f : rule_add_factor(out, graph->dims[as].size);
        }
}

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

const struct rule_op rule_einsum = {.rule = rule, .kernel = &kern_kernel_einsum, .lower = lower};
