/* busy.h - which axes of the mesh an op has to put to work.
 *
 * Devices among which an operand is cut share heavy work: to gather it and compute everything
 * everywhere may move less, but is not what a cluster is for.  Only where they cannot, they repeat
 * it.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BUSY_H
#define PARTITION_BUSY_H

#include "partition/assign.h"

/* Whether the op's work grows faster than its arrays. */
bool busy_is_heavy(enum graph_op op);

/* The axes that cut operand `k` where it lies, and might cut the op there: bit a for axis a. */
uint32_t busy_brought(const struct rule *rule, uint32_t k, const struct shd_sharding *home);

/* The axes that an assignment puts to work. */
uint32_t busy_axes(const struct assign *assign, size_t naxes);

#endif /* PARTITION_BUSY_H */
