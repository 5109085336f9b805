/* mamba.h - a layer with a state by the recurrence of Mamba-2 (Dao and Gu 2024, arXiv 2405.21060) in
 * place of attention, as Bamba, Granite 4 and Nemotron-H have it.
 *
 *   c, b, x = silu(taps(tokens projected) + bias); c and b have a head for each group of x's
 *   dt      = softplus(tokens projected + bias)
 *   y       = linear attention of c, b and dt x as q, k and v, with the decay -exp(log) dt;
 *             plus skip x
 *   o       = RMS norm of y silu(z), z of tokens projected, of each group's heads together; or
 *             (RMS norm of y) silu(z), or without a norm
 *
 * Places where a sharding may be asked for, under the layer's name: in, projected, kv (on c and b), q
 * (on x and the heads' outputs), attended, out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_MAMBA_H
#define GRAPH_LAYERS_MAMBA_H

#include "graph/layers/state.h"

/* x[batch, seq, embed] -> [batch, seq, embed]. */
uint32_t layer_mamba(struct graph *graph, const char *name, uint32_t x,
                     const struct state_weights *weights);

#endif /* GRAPH_LAYERS_MAMBA_H */
