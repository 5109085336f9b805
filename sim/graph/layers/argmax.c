/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/argmax.h"

#include <string.h>

/* Whether a source is what layer_filled() is asked for. */
static bool is_filled_so(const struct kern_source *source, const struct kern_source *asked)
{
    return asked->index ? source->index
                        : kern_source_is_number(source) && source->offset == asked->offset;
}

uint32_t layer_filled(struct graph *graph, const char *name, enum shd_dtype dtype,
                      const uint32_t *dims, uint32_t rank, struct kern_source source)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];

        if (node->op == GRAPH_INPUT && is_filled_so(&node->source, &source) &&
            node->dtype == dtype && node->rank == rank &&
            memcmp(node->dims, dims, rank * sizeof *dims) == 0)
            return n;
    }
    return graph_input(graph, name, dtype, dims, rank, source);
}

uint32_t layer_numbers(struct graph *graph, uint32_t dim)
{
    return layer_filled(graph, graph_text(graph, "iota/%s", graph->dims[dim].name), SHD_I32, &dim,
                        1, (struct kern_source){.index = true});
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
