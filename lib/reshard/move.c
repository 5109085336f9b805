/* reshard/move.c - resharding by data movement alone.
 *
 * Every method moves at least the elements of each new shard that its device does not hold, and one
 * exchange moves exactly these.  Named collectives are used if they move no more: they are easier
 * to understand, and every runtime has them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "step.h"

#include <string.h>

static bool has_arrived(const struct reshard_way *way, const struct shd_sharding *to)
{
    return !memcmp(way->at.dims, to->dims, sizeof(to->dims));
}

/* Whether dimension `dim` needs exactly these axes next. */
static bool wants(const struct reshard_way *way, const struct shd_sharding *to, size_t dim,
                  const uint8_t *axes, size_t naxes)
{
    const struct shd_dim_axes *now = &way->at.dims[dim];
    const struct shd_dim_axes *goal = &to->dims[dim];

    return reshard_common(now, goal) == now->naxes && now->naxes + naxes <= goal->naxes &&
           !memcmp(goal->axes + now->naxes, axes, naxes);
}

/* Add an all-to-all that gives as many of a dimension's last axes as possible to another dimension
 * that needs them next; false if there is none. */
static bool step_all_to_all(struct reshard_way *way, const struct shd_sharding *to)
{
    for (size_t d = 0; d < to->rank; d++) {
        const struct shd_dim_axes *now = &way->at.dims[d];
        size_t first = reshard_common(now, &to->dims[d]);

        for (; first < now->naxes; first++) {
            for (size_t e = 0; e < to->rank; e++) {
                size_t naxes = now->naxes - first;

                if (wants(way, to, e, now->axes + first, naxes)) {
                    reshard_all_to_all(way, d, e, naxes);
                    return true;
                }
            }
        }
    }
    return false;
}

/* All-gather the first dimension that has axes to lose; false if there is none. */
static bool step_all_gather(struct reshard_way *way, const struct shd_sharding *to)
{
    for (size_t d = 0; d < to->rank; d++) {
        size_t keep = reshard_common(&way->at.dims[d], &to->dims[d]);

        if (keep < way->at.dims[d].naxes) {
            reshard_all_gather(way, d, way->at.dims[d].naxes - keep);
            return true;
        }
    }
    return false;
}

/* Use named collectives, as long as they move at most `limit` bytes, keep the memory limit (or need
 * no more than earlier steps), and leave room in the plan.  Returns whether they reached `to`. */
static bool by_name(struct reshard_way *way, const struct shd_sharding *to, uint64_t limit)
{
    uint64_t start = way->plan->received_bytes;
    uint64_t most = way->ask->limit_bytes;

    if (way->plan->peak_bytes > most)
        most = way->plan->peak_bytes;
    /* room for a slice, a collective, and a final mask */
    while (way->plan->nsteps + 3 <= SHD_RESHARD_STEPS_MAX) {
        reshard_slice(way, to);
        if (has_arrived(way, to))
            return true;
        if (!step_all_to_all(way, to) && !step_all_gather(way, to))
            return false;
        if (way->plan->received_bytes - start > limit || way->plan->peak_bytes > most)
            return false;
    }
    return false;
}

/* Use named collectives if they move no more than one exchange, else the exchange. */
static bool by_name_or_direct(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_sharding origin = way->at;
    struct shd_reshard_plan *plan = way->plan;
    uint64_t count = way->count;
    size_t nsteps = plan->nsteps;
    uint64_t received_bytes = plan->received_bytes;
    uint64_t peak_bytes = plan->peak_bytes;
    uint64_t least =
        reshard_mul(reshard_moved(&way->at, to, way->ask->shape), shd_dtype_size(plan->dtype));

    if (by_name(way, to, least))
        return true;
    way->at = origin;
    way->count = count;
    plan->nsteps = nsteps;
    plan->received_bytes = received_bytes;
    plan->peak_bytes = peak_bytes;
    reshard_exchange(way, to);
    return true;
}

bool reshard_move(struct reshard_way *way, const struct shd_sharding *to, enum reshard_mode mode)
{
    if (has_arrived(way, to))
        return mode != RESHARD_DIRECT;
    switch (mode) {
    case RESHARD_FEWEST:
        return by_name_or_direct(way, to);
    case RESHARD_NAMED:
        return by_name(way, to, UINT64_MAX);
    default:
        reshard_exchange(way, to);
        return true;
    }
}
