/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

/* Row-major strides of an array by factor; returns the bits of those it has. */
static uint32_t by_factor(int64_t *out, uint32_t rank, const int8_t *factors,
                          const int64_t *extents)
{
    int64_t stride[GRAPH_RANK_MAX];
    uint32_t has = 0;

    rule_strides(stride, rank, factors, extents);
    for (uint32_t d = 0; d < rank; d++) {
        out[factors[d]] = stride[d];
        has |= 1u << factors[d];
    }
    return has;
}

static void lower(struct program_op *op, const struct graph *graph, uint32_t node,
                  const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_einsum *e = &op->desc.einsum;

    op->kernel = &kern_kernel_einsum;
    e->dtype = n->dtype;
    e->ndims = rule->nfactors;
    memcpy(e->extent, extents, rule->nfactors * sizeof *extents);
    e->a_has = by_factor(e->a_stride, graph->nodes[n->inputs[0]].rank, rule->operand[0], extents);
    e->b_has = by_factor(e->b_stride, graph->nodes[n->inputs[1]].rank, rule->operand[1], extents);
    e->c_has = by_factor(e->c_stride, n->rank, rule->result[0], extents);
}

const struct rule_op rule_einsum = {rule_by_names, lower, false};
