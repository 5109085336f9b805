/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/latent_attention.h"

#include <math.h>

#include "graph/layers/norm.h"
#include "graph/layers/project.h"

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
    return layer_project(l->graph, graph_text(l->graph, "%s/%s", l->name, part), x, weights);
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

/* The part without positions, then the part with positions, along `dim`: [batch, seq, heads,
 * head_dim + rope_dim]. */
static uint32_t join(const struct latent *l, const char *part, uint32_t plain, uint32_t rotated,
                     const char *dim)
{
    struct graph *g = l->graph;
    uint32_t a, b, both;

    if (failed(l) || plain == GRAPH_NONE || rotated == GRAPH_NONE)
        return GRAPH_NONE;
    a = g->nodes[plain].dims[3];
    b = g->nodes[rotated].dims[3];
    both = graph_dim(g, dim, g->dims[a].size + g->dims[b].size);
    return graph_concat(g, graph_text(g, "%s/%s/all", l->name, part), plain, a, rotated, b, both);
}

static uint32_t queries(const struct latent *l, uint32_t x, const struct latent_weights *w)
{
    if (w->q_latent != GRAPH_NONE)
        x = compress(l, "q_latent", x, w->q_latent, w->q_norm, w->norm_eps);
    return join(l, "q", project(l, "q", x, w->q),
                rotate(l, "q", project(l, "q_rope", x, w->q_rope)), "qk_dim");
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
    return join(l, "k", k, rope, "qk_dim");
}

/* The latent vectors kv[batch, seq, kv_rank] and the keys of positions x[batch, seq, 1, rope_dim],
 * as they are kept: [batch, seq, 1, kv_rank + rope_dim], keys of the latent space. */
static uint32_t latent_keys(const struct latent *l, uint32_t x, uint32_t kv,
                            const struct latent_weights *w)
{
    struct graph *g = l->graph;
    uint32_t rope = rotate(l, "k", project(l, "k_rope", x, w->k_rope)), dims[4];

    if (failed(l) || kv == GRAPH_NONE || rope == GRAPH_NONE)
        return GRAPH_NONE;
    dims[0] = l->batch;
    dims[1] = l->seq;
    dims[2] = g->nodes[rope].dims[2];
    dims[3] = g->nodes[kv].dims[2];
    kv = graph_reshape(g, graph_text(g, "%s/kv_latent/kept", l->name), kv, dims, 4);
    return join(l, "latent", kv, rope, "latent_dim");
}

/* Queries of the latent space: those without positions meet the weights that would have made keys
 * of latent vectors (DeepSeek-V2, arXiv 2405.04434, 2.1.2). */
static uint32_t latent_queries(const struct latent *l, uint32_t x, const struct latent_weights *w)
{
    struct graph *g = l->graph;
    uint32_t from = x, q, dims[4];

    if (w->q_latent != GRAPH_NONE)
        from = compress(l, "q_latent", x, w->q_latent, w->q_norm, w->norm_eps);
    q = project(l, "q", from, w->q);
    if (failed(l) || q == GRAPH_NONE)
        return GRAPH_NONE;
    for (int d = 0; d < 3; d++)
        dims[d] = g->nodes[q].dims[d];
    dims[3] = g->nodes[w->k].dims[0];
    q = graph_einsum(g, graph_text(g, "%s/q/latent", l->name), q, w->k, dims, 4);
    return join(l, "q", q, rotate(l, "q", project(l, "q_rope", from, w->q_rope)), "latent_dim");
}

/* Attention to kept latent vectors: of what heads take of them, [batch, seq, heads, kv_rank +
 * rope_dim], the latent part becomes values. */
static uint32_t attend_latent(const struct latent *l, uint32_t q, uint32_t kept,
                              const struct latent_weights *w, const struct attention_opts *opts)
{
    struct graph *g = l->graph;
    struct attention_opts scaled = *opts;
    const char *name = graph_text(g, "%s/heads", l->name);
    uint32_t o, dims[4];

    if (failed(l) || q == GRAPH_NONE || kept == GRAPH_NONE)
        return GRAPH_NONE;
    if (!(scaled.scale > 0)) /* scale by the heads' width, not by the latent width */
        scaled.scale = 1 / sqrt((double)(g->dims[g->nodes[w->q].dims[2]].size +
                                         g->dims[g->nodes[w->q_rope].dims[2]].size));
    o = attention_heads(g, name, (uint32_t[]){q, kept, kept}, GRAPH_NONE, &scaled);
    if (failed(l) || o == GRAPH_NONE)
        return GRAPH_NONE;
    for (int d = 0; d < 3; d++)
        dims[d] = g->nodes[o].dims[d];
    dims[3] = g->nodes[w->v].dims[2];
    o = graph_slice(g, graph_text(g, "%s/latent", name), o, g->nodes[o].dims[3],
                    g->nodes[w->v].dims[0], 0);
    return graph_einsum(g, graph_text(g, "%s/values", name), o, w->v, dims, 4);
}

/* Heads of queries, keys and values that are made of latent vectors. */
static uint32_t attend_heads(const struct latent *l, uint32_t x, uint32_t kv,
                             const struct latent_weights *w, const struct attention_opts *opts)
{
    struct graph *g = l->graph;
    const char *place = graph_text(g, "%s/kv", l->name);
    uint32_t q = graph_constraint(g, graph_text(g, "%s/q", l->name), queries(l, x, w));
    uint32_t k = graph_constraint(g, place, keys(l, x, kv, w));
    uint32_t v = graph_constraint(g, place, project(l, "v", kv, w->v));

    return attention_heads(g, graph_text(g, "%s/heads", l->name), (uint32_t[]){q, k, v}, GRAPH_NONE,
                           opts);
}

uint32_t layer_latent_attention(struct graph *graph, const char *name, uint32_t x,
                                const struct latent_weights *weights,
                                const struct attention_opts *opts)
{
    struct latent l = {.graph = graph, .name = name, .opts = opts};
    uint32_t kv, kept = GRAPH_NONE, o, dims[3];

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    if (failed(&l) || x == GRAPH_NONE)
        return GRAPH_NONE;
    l.batch = graph->nodes[x].dims[0];
    l.seq = graph->nodes[x].dims[1];
    for (int d = 0; d < 3; d++)
        dims[d] = graph->nodes[x].dims[d];
    kv = compress(&l, "kv_latent", x, weights->kv_latent, weights->kv_norm, weights->norm_eps);
    kv = graph_constraint(graph, graph_text(graph, "%s/latent", name), kv);
    if (opts->cache)
        kept = layer_cache(graph, graph_text(graph, "%s/latent_cache", name),
                           latent_keys(&l, x, kv, weights), opts->cache, NULL);
    if (opts->cache && !opts->cache->begins)
        o = attend_latent(&l, latent_queries(&l, x, weights), kept, weights, opts);
    else
        o = attend_heads(&l, x, kv, weights, opts);
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_einsum(graph, graph_text(graph, "%s/o", name), o, weights->o, dims, 3);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), o);
}
