/* emit_rows.h - the ops that move rows between tokens and experts.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_EMIT_ROWS_H
#define PARTITION_EMIT_ROWS_H

#include "partition/versions.h"

/* Add an op that moves rows, whose buffers are set.  Where an axis numbers nodes these are two ops:
 * one between nodes, and one inside each.  SHD_ENOMEM; SHD_EINVAL: nodes do not cut tokens as
 * the two ops need. */
SHD_MUST_CHECK int emit_rows(struct emit *e, uint32_t node, struct program_op *op);

#endif /* PARTITION_EMIT_ROWS_H */
