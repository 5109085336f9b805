/* assign.h - which mesh axis cuts which factor of one op, and what that asks of its arrays.
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
#include "partition/rule.h"

#define ASSIGN_NONE (-1)    /* the axis shards nothing: its devices do the same work */
#define ASSIGN_PARTIAL (-2) /* the axis's devices hold parts of a sum, before and after */
#define ASSIGN_FLAT (-3)    /* the axis cuts what the others leave of all arrays flat */

struct assign {
    int8_t place[SHD_MESH_AXES_MAX];  /* by axis: a factor of the op's rule, or a constant above */
    uint8_t order[SHD_MESH_AXES_MAX]; /* all axes, major ones first: the order inside a tuple */
    uint8_t flat_dims;                /* of flat cuts (shd/sharding.h); 0: there is none */
    uint8_t linear_operand;           /* which operand is partial where that matters */
};

/* An op's assignment in its surroundings. */
struct assigned {
    const struct graph *graph;
    uint32_t node;
    const struct rule *rule;
    const struct assign *assign;
    const struct shd_mesh *mesh;
};

/* Nothing assigned, axes in mesh order. */
void assign_init(struct assign *assign);

/* Put the axes in an order, changed as little as makes the tuples of a sharding come in theirs. */
void assign_take_order(struct assign *assign, const struct shd_sharding *sharding);

/* The sharding that operand `k` must have, and the one that result `r` gets. */
void assign_operand(struct shd_sharding *out, const struct assigned *a, uint32_t k);
void assign_result(struct shd_sharding *out, const struct assigned *a, uint32_t r);

/* The node that is result `r` of another: itself, then its extras. */
uint32_t assign_result_node(const struct graph *graph, uint32_t node, uint32_t r);

/* Local extents of all factors. */
void assign_extents(int64_t *extents, const struct assigned *a);

/* Whether the op may pass a partial sum of operand `k` on: it is linear in it. */
bool assign_linear(const struct graph_node *node, uint32_t k);

/* Whether the op converts a gradient, which is combined in the type that it becomes: a sum of parts
 * stays one.  Other values are combined first, so that they are rounded once. */
bool assign_converts_sum(const struct graph_node *node);

/* Every factor may be cut, divides by the axes put on it, and partial sums go only where they may.
 */
bool assign_valid(const struct assigned *a);

#endif /* PARTITION_ASSIGN_H */
