/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/mlp.h"

/* x times a matrix [from, to]: the result has x's dimensions with the last, from, replaced by
 * to. */
static uint32_t project(struct graph *g, const char *name, uint32_t x, uint32_t matrix,
                        uint32_t bias)
{
    uint32_t dims[GRAPH_RANK_MAX], rank, y;

    if (g->err.status != SHD_OK || x == GRAPH_NONE || matrix == GRAPH_NONE)
        return GRAPH_NONE;
    rank = g->nodes[x].rank;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = g->nodes[x].dims[d];
    dims[rank - 1] = g->nodes[matrix].dims[1];
    y = graph_einsum(g, name, x, matrix, dims, rank);
    if (bias == GRAPH_NONE)
        return y;
    return graph_map(g, graph_text(g, "%s/bias", name), KERN_ADD, y, bias, 0);
}

uint32_t layer_mlp(struct graph *graph, const char *name, uint32_t x,
                   const struct mlp_weights *weights, enum kern_fn activation)
{
    const char *hidden = graph_text(graph, "%s/hidden", name);
    const char *act = graph_text(graph, "%s/%s", name, kern_fns[activation].name);
    uint32_t h, gate;

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    h = project(graph, graph_text(graph, "%s/up", name), x, weights->up, weights->up_bias);
    h = graph_constraint(graph, hidden, h);
    if (weights->gate == GRAPH_NONE) {
        h = graph_map(graph, act, activation, h, GRAPH_NONE, 0);
    } else {
        gate = project(graph, graph_text(graph, "%s/gate", name), x, weights->gate, GRAPH_NONE);
        gate = graph_constraint(graph, hidden, gate);
        gate = graph_map(graph, act, activation, gate, GRAPH_NONE, 0);
        h = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, gate, h, 0);
    }
    h = project(graph, graph_text(graph, "%s/down", name), h, weights->down, weights->down_bias);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), h);
}
