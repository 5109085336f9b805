/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/head_norm.h"

#include "graph/layers/norm.h"

/* x divided by the root of the mean of its squares over heads and head_dim, of what is left of it
 * without its mean if `centred`. */
static uint32_t whole_norm(struct graph *g, const char *name, uint32_t x,
                           const struct head_norm *norm)
{
    struct graph_node n = g->nodes[x];
    double size = (double)g->dims[n.dims[2]].size * (double)g->dims[n.dims[3]].size;
    uint32_t r;

    if (norm->centred) {
        r = graph_reduce(g, graph_text(g, "%s/mean", name), SHD_MEAN, x, n.dims, 2);
        x = graph_map(g, name, KERN_SUB, x, r, 0);
    }
    r = graph_einsum(g, graph_text(g, "%s/squares", name), x, x, n.dims, 2);
    r = graph_map(g, name, KERN_SCALE, r, GRAPH_NONE, 1 / size);
    r = graph_map(g, name, KERN_ADD_SCALAR, r, GRAPH_NONE, norm->eps);
    r = graph_map(g, name, KERN_RSQRT, r, GRAPH_NONE, 0);
    return graph_map(g, name, KERN_MUL, x, r, 0);
}

uint32_t layer_head_norm(struct graph *graph, const char *name, uint32_t x,
                         const struct head_norm *norm)
{
    uint32_t scale = norm->scale;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (graph->nodes[x].rank != 4)
        return graph_fail(graph, SHD_EINVAL, "'%s' needs x[batch, seq, heads, head_dim]", name);
    if (norm->whole)
        x = whole_norm(graph, name, x, norm);
    else if (norm->centred)
        x = layer_layer_norm(graph, name, x, GRAPH_NONE, GRAPH_NONE, norm->eps);
    else
        x = layer_rms_norm(graph, name, x, GRAPH_NONE, norm->eps);
    if (scale != GRAPH_NONE && norm->one_plus)
        scale = graph_map(graph, graph_text(graph, "%s/scale", name), KERN_ADD_SCALAR, scale,
                          GRAPH_NONE, 1);
    if (scale != GRAPH_NONE)
        x = graph_map(graph, name, KERN_MUL, x, scale, 0);
    return norm->bias == GRAPH_NONE ? x : graph_map(graph, name, KERN_ADD, x, norm->bias, 0);
}
