/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/latent_attention.h"

#include "graph/layers/norm.h"

/* The layer under construction. */
struct latent {
    struct graph *graph;
    const char *name;
    const struct attention_opts *opts;
    uint32_t batch, seq; /* dimensions */
};

static bool failed(const struct latent *l)
{
    return l->graph->err.status != SHD_OK;
}

/* x[batch, seq, from] times [from, heads, width], or [from, to]. */
static uint32_t project(const struct latent *l, const char *part, uint32_t x, uint32_t weights)
{
    const struct graph_node *w;
    uint32_t dims[4] = {l->batch, l->seq};

    if (failed(l) || x == GRAPH_NONE || weights == GRAPH_NONE)
        return GRAPH_NONE;
    w = &l->graph->nodes[weights];
    for (uint32_t d = 1; d < w->rank; d++)
        dims[d + 1] = w->dims[d];
    return graph_einsum(l->graph, graph_text(l->graph, "%s/%s", l->name, part), x, weights, dims,
                        w->rank + 1);
}

/* x projected to a short vector and normalised. */
static uint32_t compress(const struct latent *l, const char *part, uint32_t x, uint32_t weights,
                         uint32_t norm, double eps)
{
    x = project(l, part, x, weights);
    return layer_rms_norm(l->graph, graph_text(l->graph, "%s/%s/norm", l->name, part), x, norm,
                          eps);
}

/* Positions rotated into x[batch, seq, heads, rope_dim]. */
static uint32_t rotate(const struct latent *l, const char *part, uint32_t x)
{
    const char *name = graph_text(l->graph, "%s/%s/rope", l->name, part);

    if (failed(l) || x == GRAPH_NONE)
        return GRAPH_NONE;
    return attention_rotate(l->graph, name, x, l->opts);
}

/* The part without positions, then the part with positions: [batch, seq, heads, head_dim +
 * rope_dim]. */
static uint32_t join(const struct latent *l, const char *part, uint32_t plain, uint32_t rotated)
{
    struct graph *g = l->graph;
    uint32_t a, b, both;

    if (failed(l) || plain == GRAPH_NONE || rotated == GRAPH_NONE)
        return GRAPH_NONE;
    a = g->nodes[plain].dims[3];
    b = g->nodes[rotated].dims[3];
    both = graph_dim(g, "qk_dim", g->dims[a].size + g->dims[b].size);
    return graph_concat(g, graph_text(g, "%s/%s/all", l->name, part), plain, a, rotated, b, both);
}

static uint32_t queries(const struct latent *l, uint32_t x, const struct latent_weights *w)
{
    if (w->q_latent != GRAPH_NONE)
        x = compress(l, "q_latent", x, w->q_latent, w->q_norm, w->norm_eps);
    return join(l, "q", project(l, "q", x, w->q),
                rotate(l, "q", project(l, "q_rope", x, w->q_rope)));
}

/* Keys of all heads; they share one key of positions. */
static uint32_t keys(const struct latent *l, uint32_t x, uint32_t kv,
                     const struct latent_weights *w)
{
    struct graph *g = l->graph;
    uint32_t k = project(l, "k", kv, w->k),
             rope = rotate(l, "k", project(l, "k_rope", x, w->k_rope));

    if (failed(l) || k == GRAPH_NONE || rope == GRAPH_NONE)
        return GRAPH_NONE;
    rope = graph_repeat(g, graph_text(g, "%s/k_rope/heads", l->name), rope, g->nodes[rope].dims[2],
                        g->nodes[k].dims[2]);
    return join(l, "k", k, rope);
}

uint32_t layer_latent_attention(struct graph *graph, const char *name, uint32_t x,
                                const struct latent_weights *weights,
                                const struct attention_opts *opts)
{
    struct latent l = {.graph = graph, .name = name, .opts = opts};
    const char *place = graph_text(graph, "%s/kv", name);
    uint32_t q, kv, k, v, o, dims[3];

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    if (failed(&l) || x == GRAPH_NONE)
        return GRAPH_NONE;
    l.batch = graph->nodes[x].dims[0];
    l.seq = graph->nodes[x].dims[1];
    q = graph_constraint(graph, graph_text(graph, "%s/q", name), queries(&l, x, weights));
    kv = compress(&l, "kv_latent", x, weights->kv_latent, weights->kv_norm, weights->norm_eps);
    kv = graph_constraint(graph, graph_text(graph, "%s/latent", name), kv);
    k = graph_constraint(graph, place, keys(&l, x, kv, weights));
    v = graph_constraint(graph, place, project(&l, "v", kv, weights->v));
    if (failed(&l) || q == GRAPH_NONE)
        return GRAPH_NONE;
    for (int d = 0; d < 3; d++)
        dims[d] = graph->nodes[x].dims[d];
    o = attention_heads(graph, graph_text(graph, "%s/heads", name), (uint32_t[3]){q, k, v},
                        GRAPH_NONE, opts);
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_einsum(graph, graph_text(graph, "%s/o", name), o, weights->o, dims, 3);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), o);
}
