/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_by_names(out, graph, node);
    out->reduce = graph->nodes[node].reduce;
}

static void lower(struct program_op *op, const struct graph *graph, uint32_t node,
                  const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_reduce *r = &op->desc.reduce;
    uint32_t in_rank = graph->nodes[n->inputs[0]].rank;
    int64_t stride[GRAPH_RANK_MAX];

    op->kernel = &kern_kernel_reduce;
    r->dtype = n->dtype;
    r->op = n->reduce;
    r->ndims = rule->nfactors;
    memcpy(r->extent, extents, rule->nfactors * sizeof *extents);
    rule_strides(stride, in_rank, rule->operand[0], extents);
    for (uint32_t d = 0; d < in_rank; d++)
        r->in_stride[rule->operand[0][d]] = stride[d];
    rule_strides(stride, n->rank, rule->result[0], extents);
    for (uint32_t d = 0; d < n->rank; d++) {
        r->out_stride[rule->result[0][d]] = stride[d];
        r->out_has |= 1u << rule->result[0][d];
    }
}

const struct rule_op rule_reduce = {rule, lower, false};
