/* relayout.h - moving an array from one sharding to another by copying boxes between devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RELAYOUT_H
#define RUN_RELAYOUT_H

#include <shd/reshard.h>
#include <shd/run.h>

#include "run/collective.h"

/* Copy a box of elements between row-major arrays of these extents; the box has the offsets in
 * `source` and `dest`.  Returns the number of bytes copied. */
uint64_t relayout_copy(enum shd_dtype dtype, size_t rank, const struct shd_fetch *box, void *dest,
                       const int64_t *dest_shape, const void *source, const int64_t *source_shape);

/* In a pull phase over all devices (a member's number is its position): copy the boxes of an
 * exchange from the shards that peers published into `out`, and count them. */
void relayout_fetch(struct run_pull *pull, const struct shd_reshard_step *step,
                    const int64_t *shape, enum shd_dtype dtype, void *out);

/* Called by all devices together: fill `out`, the device's shard by `to`, from all devices' shards
 * by `from`, of which `in` is its own.  Both shardings must divide `shape` (checked) and have no
 * partial sums.  Errors as those of a collective. */
int relayout_run(struct shd_device *dev, const struct shd_sharding *from,
                 const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                 const void *in, void *out, const char *where, struct shd_error *err);

#endif /* RUN_RELAYOUT_H */
