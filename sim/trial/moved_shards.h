/* moved_shards.h - the expected shard of a result after a step between shardings.
 *
 * It follows from all devices' shards before the step: each element of the result is a copy, an
 * extreme or a sum.  Copies and extremes are exact, and so are sums added in the group's order, as
 * the default algorithms do; for sums in another order there is an error bound (and replay_sum.h).
 *
 * Thread class: any thread; shards are only read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_MOVED_SHARDS_H
#define TRIAL_MOVED_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

/* Expected elements of one device's shard, row-major. */
struct moved {
    double *want;
    double *allowed; /* allowed deviation by element; NULL: exact */
};

/* The expected array `part` of a PROGRAM_RESHARD op at `device`, given all shards before the op
 * ([device][buffer]).  False, with nothing to free: no memory. */
bool moved_init(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, uint32_t part, const void *const *const *shards);

/* The same for a PROGRAM_ROWS op: each element is a copy, or 0. */
bool moved_rows(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, const void *const *const *shards);
void moved_fini(struct moved *moved);

#endif /* TRIAL_MOVED_SHARDS_H */
