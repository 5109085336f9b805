/* attention.h - multi-head and grouped-query self-attention.
 *
 * Places where a sharding may be asked for, under the layer's name: in, q (on q and on the heads'
 * outputs), kv (on k and v), out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_ATTENTION_H
#define GRAPH_LAYERS_ATTENTION_H

#include "graph/graph.h"

struct attention_weights {
    uint32_t q;    /* [embed, heads, head_dim] */
    uint32_t k, v; /* [embed, kv_heads, head_dim] */
    uint32_t o;    /* [heads, head_dim, embed] */
};

struct attention_opts {
    bool causal;
    double rope_theta; /* 0: no rotary embedding */
    bool rope_interleaved;
};

/* x[batch, seq, embed] -> [batch, seq, embed]; scores are scaled by head_dim^-1/2. */
uint32_t layer_attention(struct graph *graph, const char *name, uint32_t x,
                         const struct attention_weights *weights,
                         const struct attention_opts *opts);

#endif /* GRAPH_LAYERS_ATTENTION_H */
