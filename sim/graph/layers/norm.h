/* norm.h - normalisation over one dimension; if that dimension is sharded, only statistics are
 * communicated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_NORM_H
#define GRAPH_LAYERS_NORM_H

#include "graph/graph.h"

/* x / sqrt(mean(x^2) + eps) * scale, over x's last dimension; scale[embed] may be GRAPH_NONE. */
uint32_t layer_rms_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                        double eps);

/* (x - mean) / sqrt(var + eps) * scale + bias, var biased; scale and bias may be GRAPH_NONE. */
uint32_t layer_layer_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                          uint32_t bias, double eps);

#endif /* GRAPH_LAYERS_NORM_H */
