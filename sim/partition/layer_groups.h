/* layer_groups.h - the ops of a program in groups: those of a layer, or those between two layers.
 *
 * Layers are known by the names of ops (graph/layer_name.h).  Transfers are moved by whole groups,
 * so that they run beside the computations of a layer.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_LAYER_GROUPS_H
#define PARTITION_LAYER_GROUPS_H

#include "base/pool.h"
#include "program/program.h"

struct layer_groups {
    const struct program_op *ops; /* not owned */
    uint32_t nops;
    uint32_t *of; /* [op] group number, ascending from 0 */
    uint32_t n;
};

/* Group the ops of a program in their present order; the array is in the pool. */
void layer_groups_init(struct layer_groups *out, const struct program *program, struct pool *pool);

/* Whether two ops are in the same part and stage of the step. */
bool layer_groups_same_part(const struct layer_groups *groups, uint32_t a, uint32_t b);

/* The group `layers` before group `from` of the part that op `i` is in, or the part's first. */
uint32_t layer_groups_earlier(const struct layer_groups *groups, uint32_t i, uint32_t from,
                              uint32_t layers);

/* The group behind the group of op `i` in its part of the step; the last group itself. */
uint32_t layer_groups_next(const struct layer_groups *groups, uint32_t i);

#endif /* PARTITION_LAYER_GROUPS_H */
