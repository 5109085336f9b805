/* attention.h - multi-head and grouped-query attention, self or cross.
 *
 * Places where a sharding may be asked for, under the layer's name: in, q (on q and on the heads'
 * outputs), kv (on k and v), out; and, if heads attend in another sharding than the projections
 * use: projected (q, k and v before attention), attended (the outputs behind).
 *
 * Attention is one fused kernel that keeps no scores.  With relative positions, or if asked for, it
 * consists of products and a softmax, whose scores are kept for the backward phase.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_ATTENTION_H
#define GRAPH_LAYERS_ATTENTION_H

#include "graph/graph.h"
#include "graph/layers/cached_attention.h"
#include "graph/layers/norm.h"
#include "graph/layers/ring_attention.h"

/* Norms of queries and keys, between projections and rotation. */
struct attention_norms {
    bool used;
    bool late; /* behind the rotation, and only in layers that rotate */
    struct norm_weights q, k;
};

struct attention_weights {
    uint32_t q;              /* [embed, heads, head_dim] */
    uint32_t k, v;           /* [embed, kv_heads, head_dim] */
    uint32_t o;              /* [heads, head_dim, embed] */
    bool biased;             /* q, k and v have the biases below */
    uint32_t q_bias;         /* [heads, head_dim] */
    uint32_t k_bias, v_bias; /* [kv_heads, head_dim] */
    bool o_biased;
    uint32_t o_bias; /* [embed] */
    struct attention_norms norms;
    bool gated;     /* heads' outputs are multiplied by a sigmoid of the input times the gate */
    uint32_t gate;  /* [embed, heads, head_dim] */
    bool sunk;      /* heads have sinks */
    uint32_t sinks; /* [heads] */
};

struct attention_opts {
    bool causal;
    double rope_theta; /* 0: no rotary embedding */
    bool rope_interleaved;
    const struct kern_rotation *rotation; /* in place of these two; NULL: none */
    double scale;                         /* of scores; 0: head_dim^-1/2 */
    double cap;                           /* scores are cap * tanh(score / cap); 0: as they are */
    bool relative; /* a bias by relative position is added to the scores; has no fused kernel */
    bool unfused;  /* use products and a softmax even without a bias; needs `sight` NULL */
    const struct attention_sight *sight; /* data-defined mask in place of `causal`, with the
                                            positions of rotary embedding; NULL: none */
    const struct attention_cache *cache; /* keys and values are kept; with `sight` of the cache
                                            unless it begins; NULL: none */
    uint32_t bias; /* [seq, keys, heads]; keys is as long as seq, under another name */
};

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_attention(struct graph *graph, const char *name, uint32_t x,
                         const struct attention_weights *weights,
                         const struct attention_opts *opts);

/* Cross-attention to the keys and values of memory[batch, keys, embed]; without relative
 * positions. */
uint32_t layer_cross_attention(struct graph *graph, const char *name, uint32_t x, uint32_t memory,
                               const struct attention_weights *weights,
                               const struct attention_opts *opts);

/* ---- for other layers with attention ---- */

/* The positions of queries, int32 [seq]. */
uint32_t attention_positions(const struct attention_sight *sight);

/* x[batch, seq, heads, width] with positions rotated in, if `opts` say so. */
uint32_t attention_rotate(struct graph *graph, const char *name, uint32_t x,
                          const struct attention_opts *opts);

/* Attention of q, k and v, each [batch, seq, its heads, its width], with sinks[heads] or
 * GRAPH_NONE; returns the heads' outputs. */
uint32_t attention_heads(struct graph *graph, const char *name, const uint32_t qkv[3],
                         uint32_t sinks, const struct attention_opts *opts);

#endif /* GRAPH_LAYERS_ATTENTION_H */
