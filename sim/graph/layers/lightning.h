/* lightning.h - lightning attention (Qin et al. 2024, arXiv 2405.17381) in place of attention, as in
 * MiniMax-01 (arXiv 2501.08313): a state that decays by a constant of each head.
 *
 *   q, k, v = silu(tokens projected), all with the same heads
 *   y       = linear attention of q, k and v; head h of H, from 1 on, decays by
 *             exp(-slope 2^(-8 h / H)) a token
 *   o       = (RMS norm of y, of all heads together) sigmoid(g), g of tokens projected
 *
 * Places where a sharding may be asked for, under the layer's name: in, projected, q (on q, k, v and
 * the heads' outputs), attended, out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_LIGHTNING_H
#define GRAPH_LAYERS_LIGHTNING_H

#include "graph/layers/state.h"

/* x[batch, seq, embed] -> [batch, seq, embed]; `slope` is the layer's, above 0. */
uint32_t layer_lightning(struct graph *graph, const char *name, uint32_t x, double slope,
                         const struct state_weights *weights);

#endif /* GRAPH_LAYERS_LIGHTNING_H */
