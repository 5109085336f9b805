/* Timing reshard steps on a cluster (reshard.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/reshard.h"

#include <math.h>

#include <shd/reshard_figures.h>

_Static_assert(HARDWARE_TIERS_MAX <= SHD_LINK_TIERS_MAX, "the planner takes all tiers");

/* ---- a step as a collective ---- */

static enum coll_kind kind_of(const struct shd_reshard_step *step)
{
    switch (step->kind) {
    case SHD_RESHARD_ALL_GATHER:
        return COLL_ALL_GATHER;
    case SHD_RESHARD_REDUCE_SCATTER:
        return COLL_REDUCE_SCATTER;
    case SHD_RESHARD_ALL_REDUCE:
        return COLL_ALL_REDUCE;
    case SHD_RESHARD_PERMUTE:
        return COLL_PERMUTE;
    default: /* a shift comes from a neighbour, though possibly in two pieces */
        return step->shift > 0 ? COLL_PERMUTE : COLL_ALL_TO_ALL;
    }
}

void hardware_transfer_of(struct hardware_transfer *out, const struct hardware *hardware,
                          const struct shd_reshard_step *step, double operand_bytes,
                          double received_bytes)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_reshard_step_axes(step, axes);
    double n;

    out->kind = kind_of(step);
    out->operand_bytes = operand_bytes;
    hardware_group_of(&out->group, hardware, step->from.mesh, axes, naxes);
    n = (double)out->group.members;
    if (out->kind == COLL_PERMUTE)
        out->operand_bytes = received_bytes;
    else if (step->kind == SHD_RESHARD_EXCHANGE)
        out->operand_bytes = n > 1 ? received_bytes * n / (n - 1) : 0;
}

/* ---- tiers ---- */

/* The rate into a device: on a torus it has one or two links along each axis. */
static double rate_of(const struct hardware_tier *tier)
{
    int links = 0;

    for (int d = 0; d < tier->ndims && tier->torus; d++)
        links += tier->dims[d] <= 1 ? 0 : tier->wrap[d] ? 2 : 1;
    return tier->bytes_per_s * tier->efficiency / tier->oversubscription *
           (double)(links > 0 ? links : 1);
}

void hardware_reshard_tiers(struct shd_reshard_opts *opts, const struct hardware *hardware,
                            int64_t ndevices)
{
    opts->seconds = hardware_reshard_seconds;
    opts->seconds_arg = hardware;
    opts->ntiers = 0;
    for (int t = 0; t < hardware->ntiers; t++) {
        const struct hardware_tier *tier = &hardware->tiers[t];
        bool last = t + 1 == hardware->ntiers || tier->devices == 0 || tier->devices >= ndevices;
        int32_t before = opts->ntiers > 0 ? opts->tiers[opts->ntiers - 1].ndevices : 1;

        if (!last && tier->devices % before != 0)
            continue;
        opts->tiers[opts->ntiers++] =
            (struct shd_link_tier){.ndevices = last ? 0 : (int32_t)tier->devices,
                                   .latency_s = tier->latency_s + tier->step_s,
                                   .bytes_per_s = rate_of(tier)};
        if (last)
            return;
    }
}

/* ---- seconds ---- */

static double shard_bytes(const struct shd_sharding *sharding, const int64_t *shape,
                          enum shd_dtype dtype)
{
    double bytes = (double)shd_dtype_size(dtype);
    int64_t local[SHD_RANK_MAX];

    shd_sharding_shard_shape(sharding, shape, local);
    for (size_t d = 0; d < sharding->rank; d++)
        bytes *= (double)local[d];
    return bytes;
}

/* Upper limit of the bytes that a device receives: one shard from each position along the step's
 * axes. */
static double most_received(const struct shd_reshard_step *step, const int64_t *shape,
                            enum shd_dtype dtype)
{
    const struct shd_mesh *mesh = step->to.mesh;
    int32_t coords[SHD_MESH_AXES_MAX] = {0};
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_reshard_step_axes(step, axes), i = 0;
    uint64_t most = 0;

    do {
        uint64_t bytes =
            shd_reshard_step_received(step, shape, dtype, shd_mesh_position(mesh, coords));

        most = bytes > most ? bytes : most;
        for (i = 0; i < naxes && ++coords[axes[i]] == shd_mesh_axis_size(mesh, axes[i]); i++)
            coords[axes[i]] = 0;
    } while (i < naxes);
    return (double)most;
}

/* One more than the largest device id of a mesh. */
static int64_t end_of(const struct shd_mesh *mesh)
{
    int64_t end = 0;

    for (int32_t p = 0; p < shd_mesh_size(mesh); p++)
        end = shd_mesh_device_id(mesh, p) >= end ? shd_mesh_device_id(mesh, p) + (int64_t)1 : end;
    return end;
}

static double seconds_between_meshes(const struct hardware *hardware,
                                     const struct shd_reshard_step *step, const int64_t *shape,
                                     enum shd_dtype dtype)
{
    struct shd_reshard_plan plan = {
        .dtype = dtype, .nsteps = 1, .received_bytes = step->received_bytes};
    int64_t from = end_of(step->from.mesh), to = end_of(step->to.mesh);
    struct shd_reshard_opts opts = {.memory_bytes = 0};
    struct shd_reshard_figures figures;

    plan.steps[0] = *step;
    hardware_reshard_tiers(&opts, hardware, from > to ? from : to);
    opts.seconds = NULL;
    return shd_reshard_measure(&figures, &plan, shape, &opts, NULL) == SHD_OK ? figures.seconds
                                                                              : INFINITY;
}

static bool is_local(const struct shd_reshard_step *step)
{
    return step->kind == SHD_RESHARD_SLICE || step->kind == SHD_RESHARD_MASK;
}

bool hardware_transfer_of_array(struct hardware_transfer *out, const struct hardware *hardware,
                                const struct shd_reshard_step *step, const int64_t *shape,
                                enum shd_dtype dtype)
{
    double received = 0;

    if (is_local(step) || !shd_mesh_equal(step->from.mesh, step->to.mesh))
        return false;
    if (step->kind == SHD_RESHARD_PERMUTE || step->kind == SHD_RESHARD_EXCHANGE)
        received = most_received(step, shape, dtype);
    hardware_transfer_of(
        out, hardware, step,
        (double)shd_reshard_operand_count(step, shape) * (double)shd_dtype_size(dtype), received);
    return true;
}

double hardware_reshard_seconds(const void *arg, const struct shd_reshard_step *step,
                                const int64_t *shape, enum shd_dtype dtype)
{
    const struct hardware *hardware = arg;
    const struct hardware_work copy = {
        .kind = HARDWARE_MEMORY, .dtype = dtype, .bytes = 2 * shard_bytes(&step->to, shape, dtype)};
    struct hardware_transfer transfer;

    if (is_local(step))
        return hardware_kernel_seconds(hardware, &copy);
    if (!hardware_transfer_of_array(&transfer, hardware, step, shape, dtype))
        return seconds_between_meshes(hardware, step, shape, dtype);
    return hardware_collective_seconds(hardware, transfer.kind, &transfer.group,
                                       transfer.operand_bytes);
}
