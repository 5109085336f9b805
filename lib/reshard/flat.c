/* reshard/flat.c - resharding from and to pieces: flat cuts of a device's shard.
 *
 * Pieces are not boxes of the array, so there is no direct step between different pieces: they are
 * gathered into their shards, these are resharded, and the result is cut into pieces.  Values that
 * are partial over the axes of the cut are reduce-scattered over these, and remaining partial
 * values are combined in pieces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "step.h"

static bool same_pieces(const struct shd_sharding *a, const struct shd_sharding *b)
{
    return a->flat_dims == b->flat_dims && !memcmp(&a->flat, &b->flat, sizeof(a->flat)) &&
           !memcmp(a->dims, b->dims, sizeof(a->dims));
}

/* Reshard, without pieces, to the dimensions' axes of the goal; values stay partial. */
static int move_shards(struct reshard_way *way, struct shd_error *err)
{
    struct shd_sharding goal = way->at;
    struct shd_reshard_plan *plan = way->plan, part;
    int status;

    memcpy(goal.dims, way->ask->to.dims, sizeof(goal.dims));
    goal.partial |= way->ask->to.partial;
    goal.partial_op = goal.partial ? way->at.partial ? way->at.partial_op : way->ask->to.partial_op
                                   : 0;
    if (goal.partial & shd_sharding_axes(&goal)) /* parts over axes that shard the goal cannot
                                                    remain */
        goal.partial &= (uint16_t)~shd_sharding_axes(&goal);
    if (shd_sharding_equal(&goal, &way->at))
        return SHD_OK;
    status = shd_reshard_build(&part, &way->at, &goal, way->ask->shape, way->ask->dtype, err);
    if (status)
        return status;
    if (plan->nsteps + part.nsteps + 3 > SHD_RESHARD_STEPS_MAX)
        return shd_error_set(err, SHD_EUNSUPPORTED, "a reshard to pieces needs more than %d steps",
                             SHD_RESHARD_STEPS_MAX);
    memcpy(&plan->steps[plan->nsteps], part.steps, part.nsteps * sizeof(part.steps[0]));
    plan->nsteps += part.nsteps;
    plan->received_bytes = reshard_add(plan->received_bytes, part.received_bytes);
    if (part.peak_bytes > plan->peak_bytes)
        plan->peak_bytes = part.peak_bytes;
    if (part.nsteps > 0)
        way->at = part.steps[part.nsteps - 1].to;
    way->count = reshard_shard_count(&way->at, way->ask->shape);
    return SHD_OK;
}

/* Combine values that are partial over some, but not all, of the cut's axes first. */
static void combine_some(struct reshard_way *way)
{
    uint32_t cut = reshard_axes_from(&way->ask->to.flat, 0), some = cut & way->at.partial;

    if (some && some != cut)
        reshard_all_reduce(way, some);
}

int reshard_go_flat(struct shd_reshard_plan *plan, const struct reshard_ask *ask,
                    struct shd_error *err)
{
    bool same = same_pieces(&ask->from, &ask->to);
    struct reshard_way way;
    uint32_t rest;
    int status = SHD_OK;

    if (ask->cross)
        return shd_error_set(err, SHD_EUNSUPPORTED, "a reshard of pieces cannot change the mesh");
    reshard_begin(&way, plan, ask);
    if (ask->from.flat.naxes > 0 && !same)
        reshard_gather_pieces(&way);
    if (!same)
        status = move_shards(&way, err);
    if (status)
        return status;
    if (ask->to.flat.naxes > 0 && !same) {
        combine_some(&way);
        reshard_make_pieces(&way, &ask->to);
    }
    rest = way.at.partial & ~(uint32_t)ask->to.partial;
    if (rest)
        reshard_all_reduce(&way, rest);
    if (ask->to.partial & ~(uint32_t)way.at.partial)
        reshard_mask(&way, &ask->to);
    return SHD_OK;
}
