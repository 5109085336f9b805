/* How a reduction may be cut, and its kernel (rule.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_by_names(out, graph, node);
    out->reduce = graph->nodes[node].reduce;
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_reduce *r = &desc->reduce;

    (void)op;
    r->dtype = n->dtype;
    r->op = n->reduce;
    r->ndims = rule->nfactors;
    memcpy(r->extent, extents, rule->nfactors * sizeof *extents);
    rule_factor_strides(r->in_stride, graph->nodes[n->inputs[0]].rank, rule->operand[0], extents);
    r->out_has = rule_factor_strides(r->out_stride, n->rank, rule->result[0], extents);
}

const struct rule_op rule_reduce = {.rule = rule, .kernel = &kern_kernel_reduce, .lower = lower};
