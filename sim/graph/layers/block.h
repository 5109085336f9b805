/* block.h - a transformer block: attention and an mlp (or experts), each with norms before or
 * behind it, added to the residual stream one after the other or side by side; or one of both.
 *
 *   serial     h = s x + f attn(norm1(x)), y = s h + f mlp(norm2(h))
 *   normed     n = norm1(x), h = s n + f attn(n); m = norm2(h), y = s m + f mlp(m)
 *   beside     y = s x + f (attn(norm1(x)) + mlp(norm2(x))); without norm2 the mlp reads
 *              norm1(x), too
 *   attention  y = s x + f attn(norm1(x))
 *   mlp        y = s x + f mlp(norm1(x))
 *
 * with norm1_after and norm2_after of what attn and mlp return, where these are used.  f is the
 * residual scale, s the skip scale.  Beside each other the two outputs are added first, so that
 * where both are partial sums one all-reduce completes them.
 *
 * Places where a sharding may be asked for, under the block's name: those of attn and mlp (or moe),
 * and out on the sums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_BLOCK_H
#define GRAPH_LAYERS_BLOCK_H

#include "graph/layers/attention.h"
#include "graph/layers/gated_delta.h"
#include "graph/layers/latent_attention.h"
#include "graph/layers/lightning.h"
#include "graph/layers/mamba.h"
#include "graph/layers/mlp.h"
#include "graph/layers/moe.h"
#include "graph/layers/norm.h"
#include "graph/layers/short_conv.h"

/* A mixture of experts, layer NAME/moe. */
struct block_experts {
    struct moe_weights weights;
    struct moe_opts opts;
    uint32_t *loss; /* the layer's losses are added to this node, GRAPH_NONE at first; not owned */
};

struct block_weights {
    struct attention_weights attn;
    const struct latent_weights *latent;   /* each of these replaces attn; all NULL: use attn */
    const struct state_weights *delta;     /* layer NAME/attn, too; or KDA's */
    const struct state_weights *mamba;     /* layer NAME/mamba */
    bool both;                             /* mamba does not replace attn, but is added to it */
    const struct state_weights *lightning; /* layer NAME/lightning */
    const struct short_conv_weights *conv; /* layer NAME/conv */
    struct mlp_weights mlp;
    const struct block_experts *experts;          /* replaces mlp; NULL: use mlp */
    struct norm_weights norm1, norm2;             /* of the inputs of attn and mlp */
    struct norm_weights norm1_after, norm2_after; /* of their outputs */
};

enum block_order { BLOCK_SERIAL, BLOCK_NORMED, BLOCK_BESIDE, BLOCK_ATTENTION, BLOCK_MLP };

struct block_opts {
    const struct attention_opts *attention;
    struct mlp_activation activation;
    enum block_order order;
    double residual_scale, skip_scale; /* 0: 1 */
    double attention_scale, mlp_scale; /* of the outputs of attn and mlp; 0: 1 */
    double slope;                      /* of lightning attention */
};

#define BLOCK_NORM_EPS 1e-6 /* of RMS norms */
#define BLOCK_LAYER_NORM_EPS 1e-5

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_block(struct graph *graph, const char *name, uint32_t x,
                     const struct block_weights *weights, const struct block_opts *opts);

#endif /* GRAPH_LAYERS_BLOCK_H */
