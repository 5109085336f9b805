/* latent_attention.h - attention whose keys and values are made from one short vector a token.
 *
 * DeepSeek-V2, arXiv 2405.04434, section 2.1: a cache would keep of each token only its latent
 * vector[kv_rank] and one key[rope_dim], shared by all heads, with its position rotated in.  A
 * head's query and key consist of a part without positions followed by a part with positions.
 *
 * Places where a sharding may be asked for, under the layer's name: in, latent, q (on q and on the
 * heads' outputs), kv (on k and v), out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_LATENT_ATTENTION_H
#define GRAPH_LAYERS_LATENT_ATTENTION_H

#include "graph/graph.h"
#include "graph/layers/attention.h"

struct latent_weights {
    uint32_t q_latent;  /* [embed, q_rank]; GRAPH_NONE: queries are made from x */
    uint32_t q_norm;    /* [q_rank], if there is a q_latent */
    uint32_t q;         /* [q_rank or embed, heads, head_dim] */
    uint32_t q_rope;    /* [q_rank or embed, heads, rope_dim] */
    uint32_t kv_latent; /* [embed, kv_rank] */
    uint32_t kv_norm;   /* [kv_rank] */
    uint32_t k_rope;    /* [embed, rope_heads, rope_dim], rope_heads of size 1 */
    uint32_t k;         /* [kv_rank, heads, head_dim] */
    uint32_t v;         /* [kv_rank, heads, value_dim] */
    uint32_t o;         /* [heads, value_dim, embed] */
    double norm_eps;
};

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_latent_attention(struct graph *graph, const char *name, uint32_t x,
                                const struct latent_weights *weights,
                                const struct attention_opts *opts);

#endif /* GRAPH_LAYERS_LATENT_ATTENTION_H */
