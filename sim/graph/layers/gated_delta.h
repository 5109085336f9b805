/* gated_delta.h - a layer with a state by the gated delta rule (Yang et al. 2024, arXiv 2412.06464)
 * in place of attention, as Qwen3-Next has it, or by KDA (Kimi Linear, arXiv 2510.26692), whose
 * decay is of each channel of keys.
 *
 *   q, k, v = silu(taps(x projected)), q and k of unit length, q by key_dim^-1/2
 *   decay   = -exp(log) softplus(x projected + bias), beta = sigmoid(x projected)
 *   o       = RMS norm of each head of linear attention, times silu(x projected); KDA: sigmoid
 *
 * Places where a sharding may be asked for, under the layer's name, are attention's: in, projected,
 * q (on q, k and v, and on the heads' outputs), attended, out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_GATED_DELTA_H
#define GRAPH_LAYERS_GATED_DELTA_H

#include "graph/layers/state.h"

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_gated_delta(struct graph *graph, const char *name, uint32_t x,
                           const struct state_weights *weights);

#endif /* GRAPH_LAYERS_GATED_DELTA_H */
