/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/norm.h"

/* 1 / sqrt(mean(x^2) + eps), over x's last `over` dimensions. */
static uint32_t inverse_rms(struct graph *g, const char *name, uint32_t x, uint32_t over,
                            double eps)
{
    const struct graph_node *n = &g->nodes[x];
    uint32_t dims[GRAPH_RANK_MAX], rank = n->rank - over, r;
    double size = 1;

    for (uint32_t d = 0; d < n->rank; d++) {
        dims[d] = n->dims[d];
        size *= d < rank ? 1 : (double)g->dims[dims[d]].size;
    }
    r = graph_einsum(g, graph_text(g, "%s/squares", name), x, x, dims, rank);
    r = graph_map(g, name, KERN_SCALE, r, GRAPH_NONE, 1 / size);
    r = graph_map(g, name, KERN_ADD_SCALAR, r, GRAPH_NONE, eps);
    return graph_map(g, name, KERN_RSQRT, r, GRAPH_NONE, 0);
}

static bool usable(struct graph *g, const char *name, uint32_t x, uint32_t over)
{
    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return false;
    if (g->nodes[x].rank >= over)
        return true;
    graph_fail(g, SHD_EINVAL, "'%s' normalises over %u dimensions, and its input has %u", name,
               over, g->nodes[x].rank);
    return false;
}

static uint32_t normalise(struct graph *g, const char *name, uint32_t x,
                          const struct norm_weights *w)
{
    uint32_t over = w->whole ? 2 : 1;

    if (!usable(g, name, x, over))
        return GRAPH_NONE;
    if (w->centred)
        x = graph_map(g, name, KERN_SUB, x,
                      graph_reduce(g, graph_text(g, "%s/mean", name), SHD_MEAN, x, g->nodes[x].dims,
                                   g->nodes[x].rank - over),
                      0);
    if (!usable(g, name, x, over))
        return GRAPH_NONE;
    x = graph_map(g, name, KERN_MUL, x, inverse_rms(g, name, x, over, w->eps), 0);
    if (w->scale != GRAPH_NONE)
        x = graph_map(g, name, KERN_MUL, x, w->scale, 0);
    return w->bias == GRAPH_NONE ? x : graph_map(g, name, KERN_ADD, x, w->bias, 0);
}

struct norm_weights norm_rms(uint32_t scale, double eps)
{
    return (struct norm_weights){.used = true, .scale = scale, .bias = GRAPH_NONE, .eps = eps};
}

uint32_t layer_rms_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                        double eps)
{
    const struct norm_weights weights = norm_rms(scale, eps);

    return normalise(graph, name, x, &weights);
}

uint32_t layer_layer_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                          uint32_t bias, double eps)
{
    const struct norm_weights weights = {
        .used = true, .centred = true, .scale = scale, .bias = bias, .eps = eps};

    return normalise(graph, name, x, &weights);
}

uint32_t layer_norm(struct graph *graph, const char *name, uint32_t x,
                    const struct norm_weights *weights)
{
    struct norm_weights w = *weights;

    if (!w.used)
        return x;
    if (w.one_plus && w.scale != GRAPH_NONE)
        w.scale = graph_map(graph, graph_text(graph, "%s/one_plus", name), KERN_ADD_SCALAR, w.scale,
                            GRAPH_NONE, 1);
    return normalise(graph, name, x, &w);
}
