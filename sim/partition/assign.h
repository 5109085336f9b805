/* assign.h - an op's assignment: the factor that each mesh axis cuts, and the shardings of operands
 * and results that follow.
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

#define ASSIGN_NONE (-1)    /* the axis shards nothing: its devices repeat the work */
#define ASSIGN_PARTIAL (-2) /* the axis's devices hold partial sums, of an operand and the result */
#define ASSIGN_FLAT (-3)    /* the axis cuts all arrays flat, after the other axes */

struct assign {
    int8_t place[SHD_MESH_AXES_MAX];  /* by axis: a factor of the op's rule, or a constant above */
    uint8_t order[SHD_MESH_AXES_MAX]; /* all axes, major ones first: their order within a
                                         dimension */
    uint8_t flat_dims;                /* leading dimensions that are cut flat (shd/sharding.h);
                                         0: none */
    uint8_t linear_operand;           /* the operand that is partial, for ASSIGN_PARTIAL in a
                                         product */
};

/* An op's assignment with the graph and mesh it applies to. */
struct assigned {
    const struct graph *graph;
    uint32_t node;
    const struct rule *rule;
    const struct assign *assign;
    const struct shd_mesh *mesh;
};

/* Assign nothing, with the axes in mesh order. */
void assign_init(struct assign *assign);

/* Reorder the axes, as little as needed for the sharding's order of axes within each dimension. */
void assign_take_order(struct assign *assign, const struct shd_sharding *sharding);

/* Put axes before all others, in their order. */
void assign_put_first(struct assign *assign, const struct shd_dim_axes *axes);

/* The sharding that the op needs of operand `k`, and the sharding of result `r`. */
void assign_operand(struct shd_sharding *out, const struct assigned *a, uint32_t k);
void assign_result(struct shd_sharding *out, const struct assigned *a, uint32_t r);

/* The node that is result `r` of an op: the op's own node, then its extras. */
uint32_t assign_result_node(const struct graph *graph, uint32_t node, uint32_t r);

/* Extents of all factors on one device. */
void assign_extents(int64_t *extents, const struct assigned *a);

/* Whether the op converts a gradient's type.  A partial gradient stays partial and is combined
 * in the new type; other partial values are combined before conversion, so that they are rounded
 * once. */
bool assign_converts_sum(const struct graph_node *node);

/* Whether every factor may be cut and divides by its axes, and only ops linear in an operand pass
 * its partial sums on.
 */
bool assign_valid(const struct assigned *a);

#endif /* PARTITION_ASSIGN_H */
