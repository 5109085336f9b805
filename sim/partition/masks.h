/* masks.h - values that all devices have, added to partial sums on one device of each group.
 *
 * The bias of a product whose rows are sharded may be added before the partial sums are combined,
 * if one device alone adds it: the others add zeros (SHD_RESHARD_MASK).  Worth it where the sums
 * are combined as a smaller array by then, as experts' rows are behind the combine, or together
 * with other sums, as those of two branches that are added.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_MASKS_H
#define PARTITION_MASKS_H

#include "partition/placement.h"

/* Operand `k` of a node if it is a weight added to data, so that one device of a group can add it
 * for all; `weight`: by node, whether it depends on parameters only. */
bool masks_weight(const struct graph *graph, const bool *weight, uint32_t node, uint32_t k);

/* Whether partial sums over `axes` that pass a node are combined as a smaller array, or with other
 * partial sums. */
bool masks_pay(const struct placement *placement, const bool *weight, uint32_t node, uint32_t axes);

#endif /* PARTITION_MASKS_H */
