/* moved.h - what a step between shardings must leave in a device's shard of its result.
 *
 * It follows from the shards that the devices had before the step, of which each element of the
 * result is a copy, an extreme or a sum.  Copies and extremes are known to the last bit, and so is
 * a sum that is added in the order of the group, as the default algorithms do; of a sum in another
 * order there is a bound (and replay_sum.h).
 *
 * Thread class: any thread; shards are only read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_MOVED_H
#define TRIAL_MOVED_H

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

/* Of one device's shard, row-major. */
struct moved {
    double *want;
    double *allowed; /* how far each element may be off; NULL: not at all */
};

/* What array `part` of a PROGRAM_RESHARD op must be at `device`, given all shards before the op
 * ([device][buffer]).  False, with nothing to free: no memory. */
bool moved_init(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, uint32_t part, const void *const *const *shards);

/* The same of a PROGRAM_ROWS op: each element is a copy, or 0. */
bool moved_rows(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, const void *const *const *shards);
void moved_fini(struct moved *moved);

#endif /* TRIAL_MOVED_H */
