/* mlp.h - the feed-forward layer: down(activation(up(x))), or gated: down(silu(gate(x)) * up(x)).
 *
 * Places where a sharding may be asked for, under the layer's name: in, hidden (after each first
 * matmul), out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_MLP_H
#define GRAPH_LAYERS_MLP_H

#include "graph/graph.h"

/* Weights, as nodes; GRAPH_NONE for absent weights. */
struct mlp_weights {
    uint32_t gate;      /* [embed, mlp]; gated layers only */
    uint32_t up;        /* [embed, mlp] */
    uint32_t down;      /* [mlp, embed] */
    uint32_t gate_bias; /* [mlp]; gated layers only */
    uint32_t up_bias;   /* [mlp] */
    uint32_t down_bias; /* [embed] */
};

/* What is computed between the products: fn(scale up), or gated: fn(scale gate) * up.  With a limit,
 * gated ones only: fn(at most the limit) * (up within the limit on either side, plus 1), as gpt-oss
 * does. */
struct mlp_activation {
    enum kern_fn fn;
    double limit; /* 0: none */
    double scale; /* 0: 1 */
};

/* x[..., embed] -> [..., embed].  The dimensions embed and mlp are taken from `weights->up`. */
uint32_t layer_mlp(struct graph *graph, const char *name, uint32_t x,
                   const struct mlp_weights *weights, struct mlp_activation activation);

/* The activation alone, of the layer `name`; gate may be GRAPH_NONE.  For other layers with
 * mlps. */
uint32_t mlp_activate(struct graph *graph, const char *name, uint32_t gate, uint32_t up,
                      struct mlp_activation activation);

#endif /* GRAPH_LAYERS_MLP_H */
