/* project.h - tokens times a weight, as layers begin.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_PROJECT_H
#define GRAPH_LAYERS_PROJECT_H

#include "graph/graph.h"

/* x[batch, seq, from] times weights[from, ..] -> [batch, seq, ..].  GRAPH_NONE if an operand is. */
uint32_t layer_project(struct graph *graph, const char *name, uint32_t x, uint32_t weights);

/* x times a number, where that is neither 0, which means none, nor 1. */
uint32_t layer_scaled(struct graph *graph, const char *name, uint32_t x, double factor);

#endif /* GRAPH_LAYERS_PROJECT_H */
