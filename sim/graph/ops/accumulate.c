/* Op: sums over the microbatches of a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/ops/padding.h"

uint32_t graph_accumulate(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t x)
{
    struct graph_node node = graph_like(graph, GRAPH_ACCUMULATE, x);

    node.dtype = dtype;
    return graph_add(graph, &node, name);
}

const struct graph_op_row graph_op_accumulate = {.name = "accumulation",
                                                 .linear = KERN_LINEAR_IN_ALL,
                                                 .passes_sums = true,
                                                 .flat = true,
                                                 .made = padding_kept};
