/* stack.h - equal arrays stacked along a new dimension, and taken apart again.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_STACK_H
#define GRAPH_OPTIMIZER_STACK_H

#include "graph/graph.h"

/* The arrays as [dims], along a new first dimension, named "stack/SIZE", followed by zeros up to
 * the next multiple of `multiple`; all have as many elements, in this order, and one type.  Errors
 * stay in the graph. */
uint32_t stack_make(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n,
                    uint32_t multiple, const uint32_t *dims, uint32_t rank);

/* Array `i` of a stack, along a first dimension of one element. */
uint32_t stack_take(struct graph *graph, const char *name, uint32_t stack, uint32_t i);

#endif /* GRAPH_OPTIMIZER_STACK_H */
