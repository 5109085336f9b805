/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/argmax.h"

uint32_t layer_numbers(struct graph *graph, uint32_t dim)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].op == GRAPH_INPUT && graph->nodes[n].source.index &&
            graph->nodes[n].rank == 1 && graph->nodes[n].dims[0] == dim)
            return n;
    return graph_input(graph, graph_text(graph, "iota/%s", graph->dims[dim].name), SHD_I32, &dim, 1,
                       (struct kern_source){.index = true});
}

uint32_t layer_argmax(struct graph *graph, const char *name, enum shd_reduce_op op, uint32_t x,
                      uint32_t dim, bool nan)
{
    uint32_t keep[GRAPH_RANK_MAX], rank = 0, at, n, here;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    for (uint32_t d = 0; d < graph->nodes[x].rank; d++)
        if (graph->nodes[x].dims[d] != dim)
            keep[rank++] = graph->nodes[x].dims[d];
    at = layer_numbers(graph, dim);
    n = graph_map(graph, name, KERN_FILL, at, GRAPH_NONE, (double)graph->dims[dim].size);
    here = graph_map(graph, name, KERN_EQUAL, x, graph_reduce(graph, name, op, x, keep, rank), 0);
    if (nan)
        here = graph_map(graph, name, KERN_OR, here,
                         graph_map(graph, name, KERN_NOT_EQUAL, x, x, 0), 0);
    return graph_reduce(graph, name, SHD_MIN, graph_select(graph, name, here, at, n), keep, rank);
}
