/* reshard/bytes.c - the bytes that a step makes a position, or all positions, receive and send.
 *
 * All byte counts of the library come from here.  Collectives count as the direct algorithms move
 * data: each member combines its own chunk of all operands, and gets whole shards and chunks
 * directly from their holders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include "source.h"
#include "step.h"

uint64_t reshard_group_size(const struct shd_reshard_step *step)
{
    return (uint64_t)shd_mesh_size_of_axes(step->from.mesh, step->axes, step->naxes);
}

bool reshard_is_collective(const struct shd_reshard_step *step)
{
    return step->naxes > 0 && step->kind != SHD_RESHARD_MASK;
}

/* The index of a position in its group. */
static uint64_t member_of(const struct shd_reshard_step *step, int32_t position)
{
    uint64_t member = 0;

    for (size_t i = 0; i < step->naxes; i++)
        member = member * (uint64_t)shd_mesh_axis_size(step->from.mesh, step->axes[i]) +
                 (uint64_t)shd_mesh_coord(step->from.mesh, position, step->axes[i]);
    return member;
}

/* The elements that a member of a collective receives; `count` is the elements of one operand. */
static uint64_t member_received(const struct shd_reshard_step *step, uint64_t count,
                                uint64_t member)
{
    uint64_t size = reshard_group_size(step);
    uint64_t chunk = count / size + (member < count % size);

    switch (step->kind) {
    case SHD_RESHARD_ALL_REDUCE:
        return (size - 1) * chunk + (count - chunk);
    case SHD_RESHARD_ALL_GATHER:
        return (size - 1) * count;
    default: /* reduce-scatter, all-to-all: chunks are equal */
        return (size - 1) * chunk;
    }
}

uint64_t reshard_collective_received(const struct shd_reshard_step *step, uint64_t count)
{
    uint64_t size = reshard_group_size(step);
    uint64_t ngroups = (uint64_t)shd_mesh_size(step->from.mesh) / size;
    uint64_t times = step->kind == SHD_RESHARD_ALL_REDUCE   ? 2
                     : step->kind == SHD_RESHARD_ALL_GATHER ? size
                                                            : 1;

    return reshard_mul(reshard_mul(times, (size - 1) * ngroups), count);
}

uint64_t shd_reshard_operand_count(const struct shd_reshard_step *step, const int64_t *shape)
{
    if (!step || (!shape && step->from.rank > 0))
        return 0;
    if (step->kind == SHD_RESHARD_REDUCE_SCATTER)
        return reshard_mul(reshard_group_size(step), reshard_shard_count(&step->to, shape));
    return reshard_shard_count(&step->from, shape);
}

bool shd_reshard_is_flat(const struct shd_reshard_step *step)
{
    if (!step)
        return false;
    return step->from.flat.naxes != step->to.flat.naxes;
}

uint64_t shd_reshard_step_received(const struct shd_reshard_step *step, const int64_t *shape,
                                   enum shd_dtype dtype, int32_t position)
{
    if (!step || (!shape && step->from.rank > 0))
        return 0;

    uint64_t count;

    if (step->kind == SHD_RESHARD_SLICE || step->kind == SHD_RESHARD_MASK)
        return 0;
    if (reshard_is_collective(step))
        count = member_received(step, shd_reshard_operand_count(step, shape),
                                member_of(step, position));
    else if (step->reach.extent > 0)
        count = reshard_reached(step, shape, position) - reshard_held(step, shape, position);
    else
        count = reshard_count_at(&step->to, shape, position) - reshard_held(step, shape, position);
    return count * shd_dtype_size(dtype);
}

uint64_t shd_reshard_step_sent(const struct shd_reshard_step *step, const int64_t *shape,
                               enum shd_dtype dtype, int32_t position)
{
    if (!step || (!shape && step->from.rank > 0))
        return 0;
    if (step->kind == SHD_RESHARD_SLICE || step->kind == SHD_RESHARD_MASK)
        return 0;
    /* In the direct algorithms, and in shifts, devices send as much as they receive. */
    if (reshard_is_collective(step) || step->shift > 0)
        return shd_reshard_step_received(step, shape, dtype, position);
    if (step->reach.extent > 0)
        return reshard_reached_by_others(step, shape, position) * shd_dtype_size(dtype);
    return reshard_given(step, shape, position) * shd_dtype_size(dtype);
}

uint64_t shd_reshard_received(const struct shd_reshard_plan *plan, const int64_t *shape,
                              int32_t device_id)
{
    if (!plan || !shape)
        return 0;

    uint64_t bytes = 0;

    for (size_t i = 0; i < plan->nsteps; i++) {
        const struct shd_reshard_step *step = &plan->steps[i];
        int32_t position = shd_mesh_find_device(step->to.mesh, device_id);

        if (position >= 0)
            bytes += shd_reshard_step_received(step, shape, plan->dtype, position);
    }
    return bytes;
}
