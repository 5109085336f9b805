/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/attention.h"

#include <math.h>

#include "graph/layers/softmax.h"

#define MASKED (-1e30) /* score of a masked key */

/* A projection of the layer `name`. */
struct projection {
    const char *part, *place;
    uint32_t weights; /* [embed, heads, head_dim] */
    bool biased;
    uint32_t bias;
    const struct norm_weights *norm; /* of q and k, of which scores are made; NULL: v */
};

/* x[batch, seq, embed] times [embed, heads, head_dim]. */
static uint32_t project(struct graph *g, const char *name, const struct projection *p, uint32_t x)
{
    const char *full = graph_text(g, "%s/%s", name, p->part);
    const struct graph_node *n, *m;
    uint32_t y;

    if (g->err.status != SHD_OK || x == GRAPH_NONE || p->weights == GRAPH_NONE)
        return GRAPH_NONE;
    n = &g->nodes[x];
    m = &g->nodes[p->weights];
    if (n->rank != 3 || m->rank != 3)
        return graph_fail(g, SHD_EINVAL,
                          "'%s' needs x[batch, seq, embed] and weights[embed, heads, head_dim]",
                          full);
    const uint32_t dims[4] = {n->dims[0], n->dims[1], m->dims[1], m->dims[2]};

    y = graph_einsum(g, full, x, p->weights, dims, 4);
    if (p->biased)
        y = graph_map(g, graph_text(g, "%s/bias", full), KERN_ADD, y, p->bias, 0);
    y = graph_constraint(g, graph_text(g, "%s/projected", name), y);
    return graph_constraint(g, graph_text(g, "%s/%s", name, p->place), y);
}

static bool rotates(const struct attention_opts *opts)
{
    return opts->rotation || opts->rope_theta > 0;
}

/* Prepare q or k[batch, seq, its heads, head_dim] for the scores: normalise heads and rotate
 * positions in, if the layer does so. */
static uint32_t prepare(struct graph *g, const char *name, const struct projection *p, uint32_t x,
                        const struct attention_norms *norms, const struct attention_opts *opts)
{
    const char *norm = graph_text(g, "%s/%s/norm", name, p->part);

    if (norms->used && !norms->late)
        x = layer_norm(g, norm, x, p->norm);
    x = attention_rotate(g, graph_text(g, "%s/%s/rope", name, p->part), x, opts);
    return norms->used && norms->late && rotates(opts) ? layer_norm(g, norm, x, p->norm) : x;
}

uint32_t attention_positions(const struct attention_sight *sight)
{
    return sight->queries == GRAPH_NONE ? sight->positions[0] : sight->queries;
}

uint32_t attention_rotate(struct graph *graph, const char *name, uint32_t x,
                          const struct attention_opts *opts)
{
    const struct kern_rotation *rotation = opts->rotation;
    const struct graph_node *n;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || !rotates(opts))
        return x;
    n = &graph->nodes[x];
    if (!rotation)
        rotation = graph_rotation(graph, x, n->dims[3], opts->rope_theta, opts->rope_interleaved);
    if (!rotation)
        return GRAPH_NONE;
    if (opts->sight)
        return graph_rope_at(graph, name, x, attention_positions(opts->sight), n->dims[3],
                             rotation);
    return graph_rope(graph, name, x, n->dims[1], n->dims[3], 0, rotation);
}

/* k or v[batch, seq, kv_heads, head_dim] repeated to q's heads, with `keys` in place of seq. */
static uint32_t as_queries(struct graph *g, const char *name, uint32_t x, uint32_t q, uint32_t keys)
{
    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    x = graph_repeat(g, name, x, g->nodes[x].dims[1], keys);
    if (x == GRAPH_NONE || g->nodes[x].dims[2] == g->nodes[q].dims[2])
        return x;
    return graph_repeat(g, name, x, g->nodes[x].dims[2], g->nodes[q].dims[2]);
}

/* The dimension of keys: as long as the queries' dimension, under another name. */
static uint32_t keys_of(struct graph *g, const char *name, uint32_t queries,
                        const struct attention_opts *opts)
{
    if (!opts->relative)
        return graph_dim(g, graph_text(g, "%s_keys", g->dims[queries].name), g->dims[queries].size);
    if (g->nodes[opts->bias].rank != 3)
        return graph_fail(g, SHD_EINVAL, "'%s' needs a bias[seq, keys, heads]", name);
    return g->nodes[opts->bias].dims[1];
}

/* What scores s become before the mask. */
static uint32_t scaled_and_capped(struct graph *g, const char *name, uint32_t s,
                                  const struct attention_scores *how)
{
    double factor = how->cap > 0 ? how->scale / how->cap : how->scale;

    if (factor != 1)
        s = graph_map(g, graph_text(g, "%s/scaled", name), KERN_SCALE, s, GRAPH_NONE, factor);
    if (!(how->cap > 0))
        return s;
    s = graph_map(g, graph_text(g, "%s/capped", name), KERN_TANH, s, GRAPH_NONE, 0);
    return graph_map(g, graph_text(g, "%s/capped", name), KERN_SCALE, s, GRAPH_NONE, how->cap);
}

/* Unfused attention, which writes out its scores, with an optional bias[seq, keys, heads]. q, k, v:
 * [batch, seq, heads, head_dim]. */
static uint32_t unfused_heads(struct graph *g, const char *name, const uint32_t qkv[3],
                              const struct attention_opts *opts, const struct attention_scores *how)
{
    uint32_t q = qkv[0], k, v, s, dims[4], scores[4], keys;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    for (int d = 0; d < 3; d++)
        dims[d] = g->nodes[q].dims[d];
    dims[3] = g->nodes[qkv[2]].dims[3];
    keys = keys_of(g, name, dims[1], opts);
    if (keys == GRAPH_NONE)
        return GRAPH_NONE;
    scores[0] = dims[0];
    scores[1] = dims[2];
    scores[2] = dims[1];
    scores[3] = keys;
    k = as_queries(g, graph_text(g, "%s/k", name), qkv[1], q, keys);
    v = as_queries(g, graph_text(g, "%s/v", name), qkv[2], q, keys);
    s = graph_einsum(g, graph_text(g, "%s/scores", name), q, k, scores, 4);
    s = scaled_and_capped(g, name, s, how);
    if (opts->relative)
        s = graph_map(g, graph_text(g, "%s/biased", name), KERN_ADD, s, opts->bias, 0);
    if (opts->causal)
        s = graph_causal_mask(g, graph_text(g, "%s/masked", name), s, dims[1], keys, MASKED);
    s = layer_softmax_beside(g, graph_text(g, "%s/softmax", name), s, keys, how->sinks);
    return graph_einsum(g, name, s, v, dims, 4);
}

/* Attention to all keys at once, fused or unfused, or around a ring. */
uint32_t attention_heads(struct graph *graph, const char *name, const uint32_t qkv[3],
                         uint32_t sinks, const struct attention_opts *opts)
{
    const struct attention_sight *sight = opts->sight;
    struct graph_attention options = {GRAPH_ATTENTION_INIT, .causal = opts->causal && !sight};
    struct attention_scores scores = {opts->scale, opts->cap, sinks};

    if (graph->err.status != SHD_OK || qkv[0] == GRAPH_NONE)
        return GRAPH_NONE;
    if (!(scores.scale > 0))
        scores.scale = 1 / sqrt((double)graph->dims[graph->nodes[qkv[0]].dims[3]].size);
    if (opts->relative || opts->unfused)
        return unfused_heads(graph, name, qkv, opts, &scores);
    if (opts->cache && !opts->cache->begins)
        return layer_cached_attention(graph, name, qkv, sight, &scores);
    if (sight && sight->blocks > 1)
        return layer_ring_attention(graph, name, qkv, sight, &scores);
    options.scale = scores.scale;
    options.cap = scores.cap;
    options.sinks = scores.sinks;
    if (sight) {
        options.sight = sight->sight;
        options.spans = sight->spans;
        options.positions = sight->positions[0];
    }
    return graph_attention(graph, name, qkv[0], qkv[1], qkv[2], &options);
}

/* The heads' outputs o, gated by x, in the sharding of the projections. */
static uint32_t gated(struct graph *g, const char *name, uint32_t x, uint32_t o,
                      const struct attention_weights *w)
{
    const char *full = graph_text(g, "%s/gate", name);
    uint32_t gate;

    if (!w->gated || !graph_usable(g, o))
        return o;
    gate = graph_einsum(g, full, x, w->gate, g->nodes[o].dims, 4);
    gate = graph_constraint(g, graph_text(g, "%s/projected", name), gate);
    gate = graph_map(g, graph_text(g, "%s/sigmoid", full), KERN_SIGMOID, gate, GRAPH_NONE, 0);
    return graph_map(g, graph_text(g, "%s/gated", name), KERN_MUL, o, gate, 0);
}

static uint32_t attend(struct graph *g, const char *name, uint32_t x, uint32_t memory,
                       const struct attention_weights *w, const struct attention_opts *opts)
{
    const struct projection parts[3] = {{"q", "q", w->q, w->biased, w->q_bias, &w->norms.q},
                                        {"k", "kv", w->k, w->biased, w->k_bias, &w->norms.k},
                                        {"v", "kv", w->v, w->biased, w->v_bias, NULL}};
    const char *heads = graph_text(g, "%s/heads", name);
    uint32_t qkv[3], kept[3], o, dims[3];

    for (int i = 0; i < 3; i++) {
        qkv[i] = project(g, name, &parts[i], i == 0 ? x : memory);
        if (parts[i].norm)
            qkv[i] = prepare(g, name, &parts[i], qkv[i], &w->norms, opts);
    }
    if (g->err.status != SHD_OK || qkv[0] == GRAPH_NONE)
        return GRAPH_NONE;
    for (int i = 1; i < 3 && opts->cache; i++)
        kept[i] = layer_cache(g, graph_text(g, "%s/%s_cache", name, parts[i].part), qkv[i],
                              opts->cache, g->nodes[parts[i].weights].name);
    for (int i = 1; i < 3 && opts->cache && !opts->cache->begins; i++)
        qkv[i] = kept[i];
    for (int d = 0; d < 3; d++)
        dims[d] = g->nodes[x].dims[d];
    o = attention_heads(g, heads, qkv, w->sunk ? w->sinks : GRAPH_NONE, opts);
    o = graph_constraint(g, graph_text(g, "%s/q", name), o);
    o = graph_constraint(g, graph_text(g, "%s/attended", name), o);
    o = gated(g, name, x, o, w);
    o = graph_einsum(g, graph_text(g, "%s/o", name), o, w->o, dims, 3);
    if (w->o_biased)
        o = graph_map(g, graph_text(g, "%s/o/bias", name), KERN_ADD, o, w->o_bias, 0);
    return graph_constraint(g, graph_text(g, "%s/out", name), o);
}

uint32_t layer_attention(struct graph *graph, const char *name, uint32_t x,
                         const struct attention_weights *weights, const struct attention_opts *opts)
{
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    return attend(graph, name, x, x, weights, opts);
}

uint32_t layer_cross_attention(struct graph *graph, const char *name, uint32_t x, uint32_t memory,
                               const struct attention_weights *weights,
                               const struct attention_opts *opts)
{
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    return attend(graph, name, x, memory, weights, opts);
}
