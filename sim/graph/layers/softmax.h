/* softmax.h - softmax over one dimension; if that dimension is sharded, only maximum and sum are
 * communicated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_SOFTMAX_H
#define GRAPH_LAYERS_SOFTMAX_H

#include "graph/graph.h"

/* exp(x - max) / sum(exp(x - max)) over `dim`. */
uint32_t layer_softmax(struct graph *graph, const char *name, uint32_t x, uint32_t dim);

/* The same with one more element x' in each sum, of which no result is kept: beside[..] has some of
 * the other dimensions of x; GRAPH_NONE: none. */
uint32_t layer_softmax_beside(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                              uint32_t beside);

/* log(sum(exp(x))) over `dim`, which the result lacks. */
uint32_t layer_log_sum_exp(struct graph *graph, const char *name, uint32_t x, uint32_t dim);

#endif /* GRAPH_LAYERS_SOFTMAX_H */
