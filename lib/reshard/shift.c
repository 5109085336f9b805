/* reshard/shift.c - a step that shifts the elements of an array cyclically along a dimension.
 *
 * A device's new interval is an old interval `shift` elements earlier, which wraps from element 0
 * to the end of the dimension.  So it overlaps at most two old shards, and every device sends as
 * much as it receives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include "bound.h"
#include "step.h"

int shd_reshard_shift(struct shd_reshard_step *out, const struct shd_sharding *sharding,
                      const int64_t *shape, enum shd_dtype dtype, int dim, int64_t by,
                      struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || check_bound(sharding, "sharding", err) ||
        !SHD_GIVEN_ARRAY(err, shape, sharding->rank))
        return SHD_EINVAL;

    struct shd_reshard_step step = {
        .dim = dim, .dim2 = -1, .from = *sharding, .to = *sharding, .received_bytes = 0};
    uint64_t bytes;
    int status;

    if (dim < 0 || (size_t)dim >= sharding->rank)
        return shd_error_set(err, SHD_EINVAL, "cannot shift along dimension %d of %u", dim,
                             (unsigned)sharding->rank);
    status = shd_shape_bytes(&bytes, shape, sharding->rank, dtype, err);
    if (status == SHD_OK)
        status = shd_sharding_check(sharding, shape, err);
    if (status != SHD_OK)
        return status;

    int64_t extent = shape[dim] / shd_sharding_nshards(sharding, (size_t)dim);

    step.shift = shape[dim] > 0 ? (by % shape[dim] + shape[dim]) % shape[dim] : 0;
    if (step.shift == 0 || extent == shape[dim])
        step.kind = SHD_RESHARD_SLICE;
    else
        step.kind = step.shift % extent ? SHD_RESHARD_EXCHANGE : SHD_RESHARD_PERMUTE;
    /* All devices receive equal amounts. */
    if (step.kind != SHD_RESHARD_SLICE)
        step.received_bytes = reshard_mul(shd_reshard_step_received(&step, shape, dtype, 0),
                                          (uint64_t)shd_mesh_size(sharding->mesh));
    if (step.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "a shift moves 2^64 bytes or more");
    *out = step;
    return SHD_OK;
}
