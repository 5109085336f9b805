/* matrix.h - parameters as matrices: which dimensions are summed over in products, and which are
 * those of the results.
 *
 * A weight is a matrix of its inputs by its outputs, each of one or more dimensions, as in
 * q[embed, heads, head_dim]; further dimensions, such as experts, number matrices.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_MATRIX_H
#define GRAPH_OPTIMIZER_MATRIX_H

#include "graph/graph.h"

/* Bit d: the parameter's dimension d is one of the inputs, or of the outputs.  Both 0: no matrix. */
struct optimizer_matrix {
    uint16_t in, out;
    uint32_t homes; /* places that share out matrices like this one; 0: none (muon.c) */
};

/* Find the matrices among a graph's parameters: those that are read by products alone, which agree
 * on inputs and outputs.  `out` has an element for each node, zeroed before. */
void optimizer_find_matrices(struct optimizer_matrix *out, const struct graph *graph);

/* Elements along the dimensions of some bits. */
double optimizer_side(const struct graph *graph, uint32_t param, uint16_t side);

/* The bits of the shorter side, and those of the other: in a tie the side of fewer dimensions is the
 * shorter one, or else the outputs. */
uint16_t optimizer_shorter(const struct graph *graph, uint32_t param,
                           const struct optimizer_matrix *matrix);
uint16_t optimizer_longer(const struct graph *graph, uint32_t param,
                          const struct optimizer_matrix *matrix);

#endif /* GRAPH_OPTIMIZER_MATRIX_H */
