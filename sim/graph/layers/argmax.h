/* graph/layers/argmax.h - the places of extremes.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_ARGMAX_H
#define GRAPH_LAYERS_ARGMAX_H

#include "graph/graph.h"

/* An input of one number, or of the numbers along a dimension, that each device fills for itself:
 * one for all readers. */
uint32_t layer_filled(struct graph *graph, const char *name, enum shd_dtype dtype,
                      const uint32_t *dims, uint32_t rank, struct kern_source source);

/* The numbers 0, 1, ... along a dimension, int32. */
uint32_t layer_numbers(struct graph *graph, uint32_t dim);

/* The first place of the largest element of x along `dim`, or with SHD_MIN of the smallest, int32:
 * the least number of those whose element is it.  So a sharded dimension takes two small
 * reductions, and is not gathered.  `nan`: a NaN counts as the extreme, as in JAX and PyTorch;
 * otherwise an array with one has the size of the dimension as its place. */
uint32_t layer_argmax(struct graph *graph, const char *name, enum shd_reduce_op op, uint32_t x,
                      uint32_t dim, bool nan);

#endif /* GRAPH_LAYERS_ARGMAX_H */
