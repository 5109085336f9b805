/* busy.h - which mesh axes an op must share its work over.
 *
 * If axes shard an operand, their devices share heavy work: gathering the operand and computing
 * everything everywhere may move fewer bytes, but wastes a cluster.  They repeat the work only if
 * no valid assignment shares it.  At least as many devices share the work as by following
 * (follow.h), or arrays could be gathered just ahead of the op.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BUSY_H
#define PARTITION_BUSY_H

#include "partition/assign.h"

/* The axes that shard operand `k` at its home on a dimension that the op could cut: bit a for axis
 * a. */
uint32_t busy_brought(const struct rule *rule, uint32_t k, const struct shd_sharding *home);

/* The axes over which an assignment shares the work. */
uint32_t busy_axes(const struct assign *assign, size_t naxes);

/* Number of devices that share the work under an assignment, each with a different part. */
int64_t busy_sharers(const struct assign *assign, const struct shd_mesh *mesh);

/* By factor, the axes that cut it in all operands that have the factor, if there are at least two:
 * over these axes the operands' shards match.  `homes[k]`: home sharding of operand k. */
void busy_agreed(uint32_t agreed[RULE_FACTORS_MAX], const struct rule *rule,
                 const struct shd_sharding *const homes[GRAPH_INPUTS_MAX]);

/* Whether an assignment cuts each factor by the axes that its operands agree on. */
bool busy_keeps_agreed(const struct assign *assign, const uint32_t agreed[RULE_FACTORS_MAX]);

#endif /* PARTITION_BUSY_H */
