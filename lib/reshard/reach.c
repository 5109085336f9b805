/* reshard/reach.c - a step in which each device gets an interval around its own, a halo, or its
 * part of a slice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include <string.h>

#include "bound.h"
#include "step.h"

/* The bytes that all devices receive: those of one row of devices along the axes that cut the
 * dimension before or after, times the number of rows. */
static uint64_t received(const struct shd_reshard_step *step, const int64_t *shape,
                         enum shd_dtype dtype)
{
    const struct shd_mesh *mesh = step->from.mesh;
    const uint32_t axes = reshard_axes_from(&step->from.dims[step->dim], 0) |
                          reshard_axes_from(&step->to.dims[step->dim], 0);
    uint64_t bytes = 0, row = (uint64_t)shd_mesh_size_along(mesh, axes);

    for (uint64_t i = 0; i < row; i++) {
        int32_t coords[SHD_MESH_AXES_MAX] = {0};
        uint64_t rest = i;

        for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
            uint64_t size = axes >> a & 1 ? (uint64_t)shd_mesh_axis_size(mesh, a) : 1;

            coords[a] = (int32_t)(rest % size);
            rest /= size;
        }
        bytes += shd_reshard_step_received(step, shape, dtype, shd_mesh_position(mesh, coords));
    }
    return reshard_mul(bytes, (uint64_t)shd_mesh_size(mesh) / row);
}

/* Whether two shardings are equal but for the axes of one dimension. */
static bool differ_along(const struct shd_sharding *from, const struct shd_sharding *to, int dim)
{
    struct shd_sharding s = *to;

    if (from->rank != to->rank || dim < 0 || (size_t)dim >= from->rank)
        return false;
    s.dims[dim] = from->dims[dim];
    return shd_sharding_equal(from, &s);
}

int shd_reshard_reach(struct shd_reshard_step *out, const struct shd_sharding *from,
                      const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                      int dim, const struct shd_reach *reach, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, reach) || check_bound(from, "from", err) ||
        check_bound(to, "to", err) || !SHD_GIVEN_ARRAY(err, shape, from->rank))
        return SHD_EINVAL;

    struct shd_reshard_step step = {.kind = SHD_RESHARD_EXCHANGE,
                                    .dim = dim,
                                    .dim2 = -1,
                                    .reach = *reach,
                                    .from = *from,
                                    .to = *to};
    int64_t made[SHD_RANK_MAX];
    uint64_t bytes;
    int status;

    if (!differ_along(from, to, dim) || reach->extent < 1 || reach->apart < 0)
        return shd_error_set(err, SHD_EINVAL, "cannot reach along dimension %d of %u", dim,
                             (unsigned)from->rank);
    if (from->uneven || to->uneven || from->flat.naxes > 0)
        return shd_error_set(err, SHD_EUNSUPPORTED, "cannot reach into uneven or flat shards");
    step.reach.apart += reach->apart == 0;
    step.reach.stride += reach->stride == 0;
    status = shd_sharding_check(from, shape, err);
    if (status == SHD_OK)
        status = shd_shape_bytes(&bytes, shape, from->rank, dtype, err);
    if (status == SHD_OK) {
        shd_reshard_step_shape(&step, shape, made);
        status = shd_sharding_check(to, made, err);
    }
    if (status == SHD_OK)
        status = shd_shape_bytes(&bytes, made, from->rank, dtype, err);
    if (status != SHD_OK)
        return status;
    step.received_bytes = received(&step, shape, dtype);
    if (step.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "a reach moves 2^64 bytes or more");
    if (step.received_bytes == 0)
        step.kind = SHD_RESHARD_SLICE;
    *out = step;
    return SHD_OK;
}

int64_t reshard_reach_origin(const struct shd_reshard_step *step, int64_t index)
{
    const struct shd_reach *r = &step->reach;
    int64_t at = index * r->by + r->first;

    return r->base + (at / r->apart + (at % r->apart > 0)) * r->stride;
}

void shd_reshard_step_shape(const struct shd_reshard_step *step, const int64_t *shape, int64_t *out)
{
    if (!step || !out || (!shape && step->from.rank > 0))
        return;
    memcpy(out, shape, step->to.rank * sizeof *out);
    if (step->reach.extent > 0)
        out[step->dim] = step->reach.extent * shd_sharding_nshards(&step->to, (size_t)step->dim);
}

void shd_reshard_step_offset(const struct shd_reshard_step *step, const int64_t *shape,
                             int32_t position, int64_t *out)
{
    if (!step || !out || (!shape && step->from.rank > 0))
        return;
    shd_sharding_offset(&step->to, shape, position, out);
    if (step->reach.extent > 0)
        out[step->dim] =
            reshard_reach_origin(step, shd_sharding_index(&step->to, (size_t)step->dim, position));
}
