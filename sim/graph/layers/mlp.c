/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/mlp.h"

#include "graph/layers/project.h"

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

/* The smaller (KERN_MIN) or larger of x and a number. */
static uint32_t limited(struct graph *g, const char *name, enum kern_fn fn, uint32_t x,
                        double limit)
{
    return graph_map(g, name, fn, x, graph_map(g, name, KERN_FILL, x, GRAPH_NONE, limit), 0);
}

/* Limit a gate and its operand, and add 1 to that. */
static void limit_both(struct graph *g, const char *name, uint32_t *gate, uint32_t *up,
                       double limit)
{
    const char *within = graph_text(g, "%s/up/limited", name);

    *gate = limited(g, graph_text(g, "%s/gate/limited", name), KERN_MIN, *gate, limit);
    *up = limited(g, within, KERN_MIN, *up, limit);
    *up = limited(g, within, KERN_MAX, *up, -limit);
    *up = graph_map(g, graph_text(g, "%s/up/one_plus", name), KERN_ADD_SCALAR, *up, GRAPH_NONE, 1);
}

/* Mark the nodes from `first` to before `result` as an activation's own. */
static void mark_interim(struct graph *g, uint32_t first, uint32_t result)
{
    for (uint32_t n = first; n < result && g->err.status == SHD_OK; n++)
        g->nodes[n].interim = GRAPH_OF_ACTIVATION;
}

uint32_t mlp_activate(struct graph *graph, const char *name, uint32_t gate, uint32_t up,
                      struct mlp_activation activation)
{
    const char *act = graph_text(graph, "%s/%s", name, kern_fns[activation.fn].name);
    uint32_t first = graph->nnodes, result;

    if (gate == GRAPH_NONE) {
        up = layer_scaled(graph, graph_text(graph, "%s/scaled", act), up, activation.scale);
        return graph_map(graph, act, activation.fn, up, GRAPH_NONE, 0);
    }
    gate = layer_scaled(graph, graph_text(graph, "%s/scaled", act), gate, activation.scale);
    if (activation.limit > 0)
        limit_both(graph, name, &gate, &up, activation.limit);
    gate = graph_map(graph, act, activation.fn, gate, GRAPH_NONE, 0);
    result = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, gate, up, 0);
    mark_interim(graph, first, result);
    return result;
}

uint32_t layer_mlp(struct graph *graph, const char *name, uint32_t x,
                   const struct mlp_weights *weights, struct mlp_activation activation)
{
    const char *hidden = graph_text(graph, "%s/hidden", name);
    uint32_t h, gate = GRAPH_NONE;

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    h = project(graph, graph_text(graph, "%s/up", name), x, weights->up, weights->up_bias);
    h = graph_constraint(graph, hidden, h);
    if (weights->gate != GRAPH_NONE) {
        gate = project(graph, graph_text(graph, "%s/gate", name), x, weights->gate,
                       weights->gate_bias);
        gate = graph_constraint(graph, hidden, gate);
    }
    h = mlp_activate(graph, name, gate, h, activation);
    h = project(graph, graph_text(graph, "%s/down", name), h, weights->down, weights->down_bias);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), h);
}
