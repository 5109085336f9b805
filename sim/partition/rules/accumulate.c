/* Sharding rule of sums over microbatches: by names, and linear, so that partial sums are
 * accumulated as they are and combined once a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

/* The kernel adds its operand to its own earlier result, its first input (struct program_op). */
static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_map *m = &desc->map;

    op->accumulates = true;
    m->dtype = n->dtype;
    m->ndims = rule->nfactors;
    for (uint32_t f = 0; f < rule->nfactors; f++)
        m->extent[f] = extents[f];
    rule_factor_strides(m->out_stride, n->rank, rule->result[0], extents);
    m->ninputs = 2;
    m->in_dtype[0] = n->dtype;
    m->in_dtype[1] = graph->nodes[n->inputs[0]].dtype;
    rule_factor_strides(m->in_stride[0], n->rank, rule->result[0], extents);
    rule_factor_strides(m->in_stride[1], n->rank, rule->operand[0], extents);
    m->ninstrs = 1;
    m->instrs[0] = (struct kern_instr){KERN_ADD, {0, 1}, 0};
}

const struct rule_op rule_accumulate = {
    .rule = rule_by_names, .kernel = &kern_kernel_map, .lower = lower};
