/* reshard/reach.c - a step in which each device gets an interval around its own: a halo.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include <string.h>

#include "step.h"

/* The bytes that all devices receive: those of one row of devices along the dimension, times the
 * number of rows. */
static uint64_t received(const struct shd_reshard_step *step, const int64_t *shape,
                         enum shd_dtype dtype)
{
    const struct shd_sharding *s = &step->from;
    uint64_t bytes = 0, nshards = (uint64_t)shd_sharding_nshards(s, (size_t)step->dim);

    for (uint64_t i = 0; i < nshards; i++) {
        int32_t coords[SHD_MESH_AXES_MAX] = {0};
        uint64_t rest = i;

        for (size_t a = s->dims[step->dim].naxes; a-- > 0;) {
            uint8_t axis = s->dims[step->dim].axes[a];
            uint64_t size = (uint64_t)shd_mesh_axis_size(s->mesh, axis);

            coords[axis] = (int32_t)(rest % size);
            rest /= size;
        }
        bytes += shd_reshard_step_received(step, shape, dtype, shd_mesh_position(s->mesh, coords));
    }
    return reshard_mul(bytes, (uint64_t)shd_mesh_size(s->mesh) / nshards);
}

int shd_reshard_reach(struct shd_reshard_step *out, const struct shd_sharding *sharding,
                      const int64_t *shape, enum shd_dtype dtype, int dim,
                      const struct shd_reach *reach, struct shd_error *err)
{
    struct shd_reshard_step step = {.kind = SHD_RESHARD_EXCHANGE,
                                    .dim = dim,
                                    .dim2 = -1,
                                    .reach = *reach,
                                    .from = *sharding,
                                    .to = *sharding};
    int64_t made[SHD_RANK_MAX];
    uint64_t bytes;
    int status;

    if (dim < 0 || (size_t)dim >= sharding->rank || reach->extent < 1)
        return shd_error_set(err, SHD_EINVAL, "a reach along dimension %d of %u", dim,
                             (unsigned)sharding->rank);
    if (sharding->uneven || sharding->flat.naxes > 0)
        return shd_error_set(err, SHD_EUNSUPPORTED, "a reach into uneven or flat shards");
    status = shd_sharding_check(sharding, shape, err);
    if (status == SHD_OK)
        status = shd_shape_bytes(&bytes, shape, sharding->rank, dtype, err);
    if (status == SHD_OK) {
        shd_reshard_step_shape(&step, shape, made);
        status = shd_shape_bytes(&bytes, made, sharding->rank, dtype, err);
    }
    if (status != SHD_OK)
        return status;
    step.received_bytes = received(&step, shape, dtype);
    if (step.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "a reach of 2^64 bytes or more");
    if (step.received_bytes == 0)
        step.kind = SHD_RESHARD_SLICE;
    *out = step;
    return SHD_OK;
}

void shd_reshard_step_shape(const struct shd_reshard_step *step, const int64_t *shape, int64_t *out)
{
    memcpy(out, shape, step->to.rank * sizeof *out);
    if (step->reach.extent > 0)
        out[step->dim] = step->reach.extent * shd_sharding_nshards(&step->to, (size_t)step->dim);
}

void shd_reshard_step_offset(const struct shd_reshard_step *step, const int64_t *shape,
                             int32_t position, int64_t *out)
{
    shd_sharding_offset(&step->to, shape, position, out);
    if (step->reach.extent > 0)
        out[step->dim] =
            shd_sharding_index(&step->to, (size_t)step->dim, position) * step->reach.by +
            step->reach.first;
}
