/* carry.h - scans along a dimension that is cut: each device scans its shard, gives the last row to
 * the devices behind it, and continues from what came before.  In all n (n - 1) / 2 rows for n
 * shards; a recurrence passes on products of its factors, too.
 *
 * Thread class: values; as emit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_CARRY_H
#define PARTITION_CARRY_H

#include "partition/halo.h"

/* Whether a node is a scan along a dimension that is cut. */
bool carry_find(struct halo *out, const struct placement *p, uint32_t node);

/* Cost of the exchange; 0: none. */
double carry_cost(const struct placement *p, uint32_t node);

/* Give a scan's op, with its kernel set, a result of its own, add it, and emit the rest.  `desc` is
 * the op's description, and overwritten. */
SHD_MUST_CHECK int carry_emit(struct emit *e, uint32_t node, const struct halo *halo,
                              struct program_op *op, union kern_desc *desc);

#endif /* PARTITION_CARRY_H */
