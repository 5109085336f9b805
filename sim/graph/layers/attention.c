/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/attention.h"

#include <math.h>

/* x[batch, seq, embed] times [embed, heads, head_dim], with positions rotated in if asked for. */
static uint32_t project(struct graph *g, const char *name, const char *part, const char *place,
                        uint32_t x, uint32_t w, const struct attention_opts *rope)
{
    const char *full = graph_text(g, "%s/%s", name, part);
    const struct graph_node *n, *m;
    uint32_t y;

    if (g->err.status != SHD_OK || x == GRAPH_NONE || w == GRAPH_NONE)
        return GRAPH_NONE;
    n = &g->nodes[x];
    m = &g->nodes[w];
    if (n->rank != 3 || m->rank != 3)
        return graph_fail(g, SHD_EINVAL,
                          "'%s' wants x[batch, seq, embed] and weights[embed, heads, head_dim]",
                          full);
    const uint32_t dims[4] = {n->dims[0], n->dims[1], m->dims[1], m->dims[2]};

    y = graph_einsum(g, full, x, w, dims, 4);
    y = graph_constraint(g, graph_text(g, "%s/%s", name, place), y);
    if (rope && rope->rope_theta > 0)
        y = graph_rope(g, graph_text(g, "%s/rope", full), y, dims[1], dims[3], 0, rope->rope_theta,
                       rope->rope_interleaved);
    return y;
}

uint32_t layer_attention(struct graph *graph, const char *name, uint32_t x,
                         const struct attention_weights *weights, const struct attention_opts *opts)
{
    uint32_t q, k, v, o, dims[3];
    double head_dim;

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    q = project(graph, name, "q", "q", x, weights->q, opts);
    k = project(graph, name, "k", "kv", x, weights->k, opts);
    v = project(graph, name, "v", "kv", x, weights->v, NULL);
    if (graph->err.status != SHD_OK || q == GRAPH_NONE)
        return GRAPH_NONE;
    head_dim = (double)graph->dims[graph->nodes[q].dims[3]].size;
    for (int d = 0; d < 3; d++)
        dims[d] = graph->nodes[x].dims[d];
    o = graph_attention(graph, graph_text(graph, "%s/heads", name), q, k, v, opts->causal,
                        1 / sqrt(head_dim));
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_einsum(graph, graph_text(graph, "%s/o", name), o, weights->o, dims, 3);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), o);
}
