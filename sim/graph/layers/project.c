/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/project.h"

uint32_t layer_project(struct graph *graph, const char *name, uint32_t x, uint32_t weights)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = 2;

    if (!graph_usable(graph, x) || !graph_usable(graph, weights))
        return GRAPH_NONE;
    dims[0] = graph->nodes[x].dims[0];
    dims[1] = graph->nodes[x].dims[1];
    for (uint32_t d = 1; d < graph->nodes[weights].rank; d++)
        dims[rank++] = graph->nodes[weights].dims[d];
    return graph_einsum(graph, name, x, weights, dims, rank);
}

uint32_t layer_scaled(struct graph *graph, const char *name, uint32_t x, double factor)
{
    if (!(factor > 0) || factor == 1)
        return x;
    return graph_map(graph, name, KERN_SCALE, x, GRAPH_NONE, factor);
}
