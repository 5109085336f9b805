/* stack.h - equal arrays stacked along a new dimension, and taken apart again.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_STACK_H
#define GRAPH_OPTIMIZER_STACK_H

#include "graph/graph.h"

/* The arrays along a new first dimension, named "stack/SIZE", followed by zeros up to the next
 * multiple of `multiple`; all have the same dimensions and type.  Errors stay in the graph. */
uint32_t stack_make(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n,
                    uint32_t multiple);

/* Set arrays[i] to the i-th array of a stack of at least n. */
void stack_take(struct graph *graph, const char *name, uint32_t stack, uint32_t *arrays,
                uint32_t n);

#endif /* GRAPH_OPTIMIZER_STACK_H */
