/* attention.h - multi-head and grouped-query attention, of a sequence to itself or to another.
 *
 * Places where a sharding may be asked for, under the layer's name: in, q (on q and on the heads'
 * outputs), kv (on k and v), out; and where heads attend in another sharding than the products with
 * weights make and read: projected (q, k and v before that), attended (the outputs behind).
 *
 * Attention is one fused kernel that keeps no scores.  With relative positions, or where that is
 * asked for, it is made of products and a softmax, whose scores are kept for the backward phase.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_ATTENTION_H
#define GRAPH_LAYERS_ATTENTION_H

#include "graph/graph.h"
#include "graph/layers/ring_attention.h"

/* Norms of each head's query and key, behind the projections and before positions. */
struct attention_norms {
    bool used;
    bool centred;            /* layer norms with the biases below, else RMS norms */
    uint32_t q, k;           /* scales, [head_dim], the same for all heads */
    uint32_t q_bias, k_bias; /* [head_dim] */
    double eps;
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
};

struct attention_opts {
    bool causal;
    double rope_theta; /* 0: no rotary embedding */
    bool rope_interleaved;
    bool unscaled; /* scores are as they are; else scaled by head_dim^-1/2 */
    bool relative; /* what lies between two places is added to their scores, which has no kernel of
                      its own */
    bool unfused;  /* made of products and a softmax also without those; needs `sight` NULL */
    const struct attention_sight *sight; /* what is seen, as data, in the place of `causal`, and the
                                            positions of rotary embedding; NULL: none */
    uint32_t bias; /* [seq, keys, heads], keys as long as seq and named otherwise */
};

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_attention(struct graph *graph, const char *name, uint32_t x,
                         const struct attention_weights *weights,
                         const struct attention_opts *opts);

/* The same, to the keys and values of memory[batch, keys, embed]; without relative positions. */
uint32_t layer_cross_attention(struct graph *graph, const char *name, uint32_t x, uint32_t memory,
                               const struct attention_weights *weights,
                               const struct attention_opts *opts);

/* ---- for other layers that attend ---- */

/* Positions rotated into x[batch, seq, heads, width], where that is asked for. */
uint32_t attention_rotate(struct graph *graph, const char *name, uint32_t x,
                          const struct attention_opts *opts);

/* q, k and v, each [batch, seq, its heads, its width], to what the heads read. */
uint32_t attention_heads(struct graph *graph, const char *name, const uint32_t qkv[3],
                         const struct attention_opts *opts, double scale);

#endif /* GRAPH_LAYERS_ATTENTION_H */
