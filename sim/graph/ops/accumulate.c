/* Op: sums over the microbatches of a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/graph.h"

uint32_t graph_accumulate(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t x)
{
    struct graph_node node = {.op = GRAPH_ACCUMULATE, .dtype = dtype, .ninputs = 1, .inputs = {x}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    node.rank = graph->nodes[x].rank;
    memcpy(node.dims, graph->nodes[x].dims, sizeof node.dims);
    return graph_add(graph, &node, name);
}
