/* project.h - tokens times a weight, as layers begin.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_PROJECT_H
#define GRAPH_LAYERS_PROJECT_H

#include "graph/graph.h"

/* x[batch, seq, from] times weights[from, ..] -> [batch, seq, ..].  GRAPH_NONE if an operand is. */
uint32_t layer_project(struct graph *graph, const char *name, uint32_t x, uint32_t weights);

#endif /* GRAPH_LAYERS_PROJECT_H */
