/* gated_delta.h - a layer with a state by the gated delta rule (Yang et al. 2024, arXiv 2412.06464)
 * in place of attention, as Qwen3-Next has it.
 *
 *   q, k, v = silu(taps(x projected)), q and k of unit length, q by key_dim^-1/2
 *   decay   = -exp(log) softplus(x projected + bias), beta = sigmoid(x projected)
 *   o       = RMS norm of each head of linear attention, times silu(x projected)
 *
 * Places where a sharding may be asked for, under the layer's name, are attention's: in, projected,
 * q (on q, k and v, and on the heads' outputs), attended, out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_GATED_DELTA_H
#define GRAPH_LAYERS_GATED_DELTA_H

#include "graph/graph.h"

struct gated_delta_weights {
    uint32_t q, k;                   /* [embed, key_heads, key_dim] */
    uint32_t v, gate;                /* [embed, heads, value_dim] */
    uint32_t decay, beta;            /* [embed, heads] */
    uint32_t q_taps, k_taps, v_taps; /* [tap, ..] with the dimensions of heads of q, k, v */
    uint32_t log, bias;              /* of the decay: [heads] */
    uint32_t scale;                  /* of the norm: [value_dim] */
    uint32_t o;                      /* [heads, value_dim, embed] */
    double norm_eps;
};

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_gated_delta(struct graph *graph, const char *name, uint32_t x,
                           const struct gated_delta_weights *weights);

#endif /* GRAPH_LAYERS_GATED_DELTA_H */
