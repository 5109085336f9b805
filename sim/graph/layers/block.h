/* block.h - a pre-norm transformer block: h = x + attn(norm(x)), y = h + mlp(norm(h)).
 *
 * Places where a sharding may be asked for, under the block's name: those of attn and mlp (or moe),
 * and out on both sums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_BLOCK_H
#define GRAPH_LAYERS_BLOCK_H

#include "graph/layers/attention.h"
#include "graph/layers/latent_attention.h"
#include "graph/layers/mlp.h"
#include "graph/layers/moe.h"

/* A mixture of experts, layer NAME/moe. */
struct block_experts {
    struct moe_weights weights;
    struct moe_opts opts;
    uint32_t *loss; /* the layer's losses are added to this node, GRAPH_NONE at first; not owned */
};

struct block_weights {
    struct attention_weights attn;
    const struct latent_weights *latent; /* replaces attn; NULL: use attn */
    struct mlp_weights mlp;
    const struct block_experts *experts; /* replaces mlp; NULL: use mlp */
    uint32_t norm1, norm2; /* scales, [embed] */
    bool centred;          /* layer norms with the biases below; false: RMS norms */
    uint32_t norm1_bias, norm2_bias;
    double norm_eps; /* 0: the default of the kind of norm */
};

#define BLOCK_NORM_EPS 1e-6 /* of RMS norms */
#define BLOCK_LAYER_NORM_EPS 1e-5

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_block(struct graph *graph, const char *name, uint32_t x,
                     const struct block_weights *weights, const struct attention_opts *attention,
                     enum kern_fn activation);

#endif /* GRAPH_LAYERS_BLOCK_H */
