/* busy.h - which axes of the mesh an op has to put to work.
 *
 * Devices among which an operand is cut share heavy work: to gather it and compute everything
 * everywhere may move less, but is not what a cluster is for.  Only where they cannot, they repeat
 * it.  And no fewer devices share it than by following (follow.h), or arrays could be gathered just
 * ahead of it.
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

/* The axes that shard operand `k` at its home, and might cut the op there: bit a for axis a. */
uint32_t busy_brought(const struct rule *rule, uint32_t k, const struct shd_sharding *home);

/* The axes that an assignment puts to work. */
uint32_t busy_axes(const struct assign *assign, size_t naxes);

/* How many devices share the work by an assignment: no two of them do the same. */
int64_t busy_sharers(const struct assign *assign, const struct shd_mesh *mesh);

/* By factor, the axes that cut it in all the operands that have it, two at least: what the op needs
 * of them lies together.  `homes[k]`: where operand k lies. */
void busy_agreed(uint32_t agreed[RULE_FACTORS_MAX], const struct rule *rule,
                 const struct shd_sharding *const homes[GRAPH_INPUTS_MAX]);

/* Whether an assignment cuts each factor by the axes on which operands agree. */
bool busy_keeps_agreed(const struct assign *assign, const uint32_t agreed[RULE_FACTORS_MAX]);

#endif /* PARTITION_BUSY_H */
