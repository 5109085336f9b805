/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/norm.h"

/* 1 / sqrt(mean(x^2) + eps), over x's last dimension. */
static uint32_t inverse_rms(struct graph *g, const char *name, uint32_t x, double eps)
{
    const struct graph_node *n = &g->nodes[x];
    double size = (double)g->dims[n->dims[n->rank - 1]].size;
    uint32_t dims[GRAPH_RANK_MAX], rank = n->rank - 1, r;

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = n->dims[d];
    r = graph_einsum(g, graph_text(g, "%s/squares", name), x, x, dims, rank);
    r = graph_map(g, name, KERN_SCALE, r, GRAPH_NONE, 1 / size);
    r = graph_map(g, name, KERN_ADD_SCALAR, r, GRAPH_NONE, eps);
    return graph_map(g, name, KERN_RSQRT, r, GRAPH_NONE, 0);
}

static bool usable(struct graph *g, const char *name, uint32_t x)
{
    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return false;
    if (g->nodes[x].rank > 0)
        return true;
    graph_fail(g, SHD_EINVAL, "'%s' normalises a single number", name);
    return false;
}

uint32_t layer_rms_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                        double eps)
{
    uint32_t y;

    if (!usable(graph, name, x))
        return GRAPH_NONE;
    y = graph_map(graph, name, KERN_MUL, x, inverse_rms(graph, name, x, eps), 0);
    return scale == GRAPH_NONE ? y : graph_map(graph, name, KERN_MUL, y, scale, 0);
}

uint32_t layer_layer_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                          uint32_t bias, double eps)
{
    const char *mean_name = graph_text(graph, "%s/mean", name);
    uint32_t mean, y;

    if (!usable(graph, name, x))
        return GRAPH_NONE;
    mean =
        graph_reduce(graph, mean_name, SHD_MEAN, x, graph->nodes[x].dims, graph->nodes[x].rank - 1);
    x = graph_map(graph, name, KERN_SUB, x, mean, 0);
    if (!usable(graph, name, x))
        return GRAPH_NONE;
    y = graph_map(graph, name, KERN_MUL, x, inverse_rms(graph, name, x, eps), 0);
    if (scale != GRAPH_NONE)
        y = graph_map(graph, name, KERN_MUL, y, scale, 0);
    return bias == GRAPH_NONE ? y : graph_map(graph, name, KERN_ADD, y, bias, 0);
}

struct norm_weights norm_rms(uint32_t scale, double eps)
{
    return (struct norm_weights){.used = true, .scale = scale, .bias = GRAPH_NONE, .eps = eps};
}

uint32_t layer_norm(struct graph *graph, const char *name, uint32_t x,
                    const struct norm_weights *weights)
{
    uint32_t scale = weights->scale;

    if (!weights->used)
        return x;
    if (weights->one_plus && scale != GRAPH_NONE)
        scale = graph_map(graph, graph_text(graph, "%s/one_plus", name), KERN_ADD_SCALAR, scale,
                          GRAPH_NONE, 1);
    if (weights->centred)
        return layer_layer_norm(graph, name, x, scale, weights->bias, weights->eps);
    return layer_rms_norm(graph, name, x, scale, weights->eps);
}
