/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/rebuild.h"

#include <stdlib.h>

#include "base/array.h"

uint32_t graph_rebuild_copy(struct graph *graph, const struct graph_node *node)
{
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    if (!array_make_room(&graph->nodes, graph->nnodes, sizeof *graph->nodes))
        return graph_fail(graph, SHD_ENOMEM, "no memory for a graph of %u nodes", graph->nnodes);
    graph->nodes[graph->nnodes] = *node;
    return graph->nnodes++;
}

static void make_one(struct graph *graph, const struct graph_node *nodes, uint32_t old,
                     uint32_t *moved, graph_rebuild_fn make, void *arg)
{
    struct graph_node node = nodes[old];

    for (uint32_t k = 0; k < node.ninputs; k++)
        node.inputs[k] = moved[node.inputs[k]];
    moved[old] = make(arg, graph, old, &node);
}

static uint32_t renumbered(const uint32_t *moved, uint32_t old)
{
    return old == GRAPH_NONE ? GRAPH_NONE : moved[old];
}

void graph_rebuild_renumber(struct graph *graph, const struct graph_node *nodes, uint32_t n,
                            const uint32_t *moved)
{
    for (uint32_t old = 0; old < n; old++) {
        struct graph_node *node = &graph->nodes[moved[old]];

        node->gradient_of = renumbered(moved, nodes[old].gradient_of);
        node->state_of = renumbered(moved, nodes[old].state_of);
        for (uint32_t e = 0; e < nodes[old].nextras; e++)
            node->extras[e] = moved[nodes[old].extras[e]];
    }
    for (uint32_t o = 0; o < graph->noutputs; o++) {
        graph->outputs[o].node = renumbered(moved, graph->outputs[o].node);
        graph->outputs[o].of = renumbered(moved, graph->outputs[o].of);
    }
}

void graph_rebuild(struct graph *graph, graph_rebuild_fn make, void *arg)
{
    struct graph_node *nodes = graph->nodes;
    uint32_t n = graph->nnodes, *moved;

    if (graph->err.status != SHD_OK)
        return;
    moved = malloc(((size_t)n + 1) * sizeof *moved);
    if (!moved) {
        graph_fail(graph, SHD_ENOMEM, "no memory for a graph of %u nodes", n);
        return;
    }
    graph->nodes = NULL;
    graph->nnodes = 0;
    for (uint32_t old = 0; old < n && graph->err.status == SHD_OK; old++)
        make_one(graph, nodes, old, moved, make, arg);
    if (graph->err.status == SHD_OK)
        graph_rebuild_renumber(graph, nodes, n, moved);
    else
        graph->noutputs = 0; /* they name old nodes */
    free(nodes);
    free(moved);
}
