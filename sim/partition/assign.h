/* assign.h - which mesh axis cuts which dimension of one op, and what that asks of its arrays.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_ASSIGN_H
#define PARTITION_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/sharding.h>

#include "graph/graph.h"

#define ASSIGN_DIMS_MAX (2 * GRAPH_RANK_MAX)
#define ASSIGN_NONE (-1)    /* the axis cuts nothing: its devices do the same work */
#define ASSIGN_PARTIAL (-2) /* the axis's devices hold parts of a sum, before and after */

/* The dimensions of an op: its result's first, then those it reduces over. */
struct op_dims {
    uint32_t ndims;
    uint32_t nresult; /* the first of them are the result's */
    uint32_t dims[ASSIGN_DIMS_MAX];
    int64_t sizes[ASSIGN_DIMS_MAX];
};

struct assign {
    int8_t place[SHD_MESH_AXES_MAX];  /* by axis: index in op_dims, or a constant above */
    uint8_t order[SHD_MESH_AXES_MAX]; /* all axes, major ones first: the order inside a tuple */
    uint8_t linear_operand;           /* which operand is partial where that matters */
};

void op_dims_of(struct op_dims *out, const struct graph *graph, uint32_t node);

/* Index of a dimension, or -1. */
int op_dims_find(const struct op_dims *dims, uint32_t dim);

/* Nothing assigned, axes in mesh order. */
void assign_init(struct assign *assign);

/* The sharding that operand `k` must have, and the one that the result gets. */
void assign_operand(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                    const struct op_dims *dims, const struct assign *assign,
                    const struct shd_mesh *mesh, uint32_t k);
void assign_result(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                   const struct op_dims *dims, const struct assign *assign,
                   const struct shd_mesh *mesh);

/* Whether the op may pass a partial sum of operand `k` on: it is linear in it. */
bool assign_linear(const struct graph_node *node, uint32_t k);

/* Every dimension divides by the axes put on it, and partial sums go only where they may. */
bool assign_valid(const struct graph *graph, uint32_t node, const struct op_dims *dims,
                  const struct assign *assign, const struct shd_mesh *mesh);

#endif /* PARTITION_ASSIGN_H */
