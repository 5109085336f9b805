/* reshard/ways.c - the ways from one sharding to another: combine partial values, then move.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "step.h"

/* A strategy for combining partial values. */
struct manner {
    bool append; /* give dimensions their goal axes even if these are not next in order */
    int spread; /* dimension to cut first over all unused axes; -1: none.  Each replica then
                   combines only its own part. */
    int rest;   /* dimension for reduce-scattering the remaining axes; -1: all-reduce */
};

/* Whether a dimension still divides when an axis is added. */
static bool divides(const struct shd_sharding *sharding, const int64_t *shape, size_t dim,
                    size_t axis)
{
    return shape[dim] %
               (shd_sharding_nshards(sharding, dim) * shd_mesh_axis_size(sharding->mesh, axis)) ==
           0;
}

/* A mask of the axes over which values have to be combined. */
static uint32_t to_combine(const struct reshard_way *way, const struct shd_sharding *to)
{
    return way->at.partial & ~(uint32_t)to->partial;
}

/* Reduce-scatter over axes that have to be combined and that some dimension needs next; false if
 * there are none. */
static bool scatter_next(struct reshard_way *way, const struct shd_sharding *to)
{
    uint32_t combine = to_combine(way, to);

    for (size_t d = 0; d < to->rank; d++) {
        const struct shd_dim_axes *now = &way->at.dims[d];
        const struct shd_dim_axes *goal = &to->dims[d];
        size_t end = now->naxes;

        if (reshard_common(now, goal) < now->naxes)
            continue;
        while (end < goal->naxes && combine >> goal->axes[end] & 1)
            end++;
        if (end > now->naxes) {
            reshard_reduce_scatter(way, d, goal->axes + now->naxes, end - now->naxes);
            return true;
        }
    }
    return false;
}

/* Append to dimension `dim` of `next` those of its goal axes that are in the mask `axes` and still
 * divide it; returns how many. */
static size_t append_wanted(const struct reshard_way *way, struct shd_sharding *next,
                            const struct shd_dim_axes *goal, size_t dim, uint32_t axes)
{
    struct shd_dim_axes *out = &next->dims[dim];
    size_t n = 0;

    for (size_t i = 0; i < goal->naxes; i++) {
        if (axes >> goal->axes[i] & 1 && divides(next, way->ask->shape, dim, goal->axes[i])) {
            out->axes[out->naxes++] = goal->axes[i];
            n++;
        }
    }
    return n;
}

/* Append to each dimension all its axes in `to`, in whatever order: free axes by a slice, then axes
 * to combine by reduce-scatters. */
static void append_all(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_sharding next = way->at;
    uint32_t free_axes = reshard_free_axes(way);
    size_t n = 0;

    for (size_t d = 0; d < to->rank; d++)
        n += append_wanted(way, &next, &to->dims[d], d, free_axes);
    if (n > 0)
        reshard_slice_to(way, &next);

    for (size_t d = 0; d < to->rank; d++) {
        next = way->at;
        n = append_wanted(way, &next, &to->dims[d], d, to_combine(way, to));
        if (n > 0)
            reshard_reduce_scatter(way, d, next.dims[d].axes + way->at.dims[d].naxes, n);
    }
}

/* Combine the remaining axes: by an all-reduce if `rest` is -1, else by a reduce-scatter on
 * dimension `rest`; false if that dimension does not divide. */
static bool combine_rest(struct reshard_way *way, const struct shd_sharding *to, int rest)
{
    uint32_t combine = to_combine(way, to);

    if (combine == 0)
        return rest < 0; /* other strategies would be equal */
    if (rest < 0) {
        reshard_all_reduce(way, combine);
        return true;
    }

    struct shd_sharding next = way->at;
    struct shd_dim_axes *dim = &next.dims[rest];

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++) {
        if (!(combine >> a & 1))
            continue;
        if (!divides(&next, way->ask->shape, (size_t)rest, a))
            return false;
        dim->axes[dim->naxes++] = a;
    }

    size_t first = way->at.dims[rest].naxes;

    reshard_reduce_scatter(way, (size_t)rest, dim->axes + first, dim->naxes - first);
    return true;
}

/* Cut a dimension over all free axes, so that each replica combines only its own part; false if it
 * does not divide, or no axis is free. */
static bool spread(struct reshard_way *way, int dim)
{
    struct shd_sharding next = way->at;
    struct shd_dim_axes *axes = &next.dims[dim];
    uint32_t free_axes = reshard_free_axes(way);
    bool any = false;

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++) {
        if (!(free_axes >> a & 1) || shd_mesh_axis_size(way->at.mesh, a) == 1)
            continue;
        if (!divides(&next, way->ask->shape, (size_t)dim, a))
            return false;
        axes->axes[axes->naxes++] = a;
        any = true;
    }
    if (any)
        reshard_slice_to(way, &next);
    return any;
}

/* Combine with one strategy over the axes that are not partial in `to`; false if the strategy does
 * not apply. */
static bool combine(struct reshard_way *way, const struct shd_sharding *to, struct manner manner)
{
    if (manner.append) {
        append_all(way, to);
    } else {
        do {
            reshard_slice(way, to);
        } while (scatter_next(way, to));
    }
    if (manner.spread >= 0 && !spread(way, manner.spread))
        return false;
    return combine_rest(way, to, manner.rest);
}

/* Reshard to another mesh: combine everything on the first mesh, in whatever layout results, then
 * exchange once. */
static bool cross(struct reshard_way *way, struct manner manner)
{
    struct shd_sharding to = way->ask->to;
    struct shd_sharding whole = way->at; /* a goal without axes on this mesh */

    whole.partial = 0;
    if (way->at.partial && (manner.append || !combine(way, &whole, manner)))
        return false;
    to.partial = 0;
    to.partial_op = 0;
    reshard_exchange(way, &to);
    return true;
}

/* Whether to mask before moving: the axes that become partial must be free, and the present shards
 * smaller than the final ones, so that fewer elements are set to zero. */
static bool masks_first(const struct reshard_way *way)
{
    const struct reshard_ask *ask = way->ask;
    uint32_t become = ask->to.partial & ~(uint32_t)ask->from.partial;

    return become && (become & ~reshard_free_axes(way)) == 0 &&
           (way->at.partial == 0 || way->at.partial_op == SHD_SUM) &&
           way->count < reshard_shard_count(&ask->to, ask->shape);
}

/* Build the plan that combines with one strategy and then moves. */
static bool go(struct shd_reshard_plan *plan, const struct reshard_ask *ask, struct manner manner,
               enum reshard_mode mode)
{
    struct reshard_way way;
    struct shd_sharding unmasked = ask->to;

    reshard_begin(&way, plan, ask);
    if (ask->cross) {
        if (!cross(&way, manner))
            return false;
    } else {
        if (masks_first(&way))
            reshard_mask(&way, &ask->to);
        unmasked.partial = ask->to.partial & way.at.partial;
        if (to_combine(&way, &ask->to) && !combine(&way, &ask->to, manner))
            return false;
        if (!reshard_move(&way, &unmasked, mode))
            return false;
    }
    if (ask->to.partial & ~(uint32_t)way.at.partial)
        reshard_mask(&way, &ask->to);
    return true;
}

/* ---- all ways ---- */

/* Whether a reshard has anything to combine. */
static bool combines(const struct reshard_ask *ask)
{
    return ask->from.partial && (ask->cross || (ask->from.partial & ~(uint32_t)ask->to.partial));
}

/* Strategy number i, in order of preference among equals; false if there are no more. */
static bool manner_at(struct manner *out, const struct reshard_ask *ask, bool wide, size_t i)
{
    size_t n = ask->from.rank + 1;

    if (!combines(ask)) {
        *out = (struct manner){false, -1, -1};
        return i == 0;
    }
    *out = (struct manner){i / n == 1, (int)(i / n) - 2, (int)(i % n) - 1};
    if (i / n < 2)
        out->spread = -1;
    return i < (wide || ask->cross ? 2 + ask->from.rank : 2) * n;
}

static size_t nmanners(const struct reshard_ask *ask, bool wide)
{
    struct manner manner;
    size_t n = 0;

    while (manner_at(&manner, ask, wide, n))
        n++;
    return n;
}

size_t reshard_nways(const struct reshard_ask *ask, bool wide)
{
    return nmanners(ask, wide) * (wide && !ask->cross ? 2 : 1);
}

bool reshard_go(struct shd_reshard_plan *plan, const struct reshard_ask *ask, bool wide, size_t i)
{
    size_t n = nmanners(ask, wide);
    struct manner manner;

    manner_at(&manner, ask, wide, i % n);
    if (!wide)
        return go(plan, ask, manner, RESHARD_FEWEST);
    return go(plan, ask, manner, i / n == 0 ? RESHARD_NAMED : RESHARD_DIRECT);
}

/* Whether no other strategy can beat this plan: it keeps the memory limit, only slices before
 * combining, and moves nothing afterwards. */
static bool is_best(const struct reshard_ask *ask, const struct shd_reshard_plan *plan)
{
    bool combined = false;

    if (plan->peak_bytes > ask->limit_bytes)
        return false;
    for (size_t i = 0; i < plan->nsteps; i++) {
        enum shd_reshard_kind kind = plan->steps[i].kind;

        if (kind == SHD_RESHARD_REDUCE_SCATTER || kind == SHD_RESHARD_ALL_REDUCE)
            combined = true;
        else if (combined && (kind == SHD_RESHARD_SLICE || plan->steps[i].received_bytes > 0))
            return false;
    }
    return true;
}

bool reshard_is_better(const struct reshard_ask *ask, const struct shd_reshard_plan *a,
                       const struct shd_reshard_plan *b)
{
    bool fits = a->peak_bytes <= ask->limit_bytes;

    if (fits != (b->peak_bytes <= ask->limit_bytes))
        return fits;
    if (a->received_bytes != b->received_bytes)
        return a->received_bytes < b->received_bytes;
    return a->nsteps < b->nsteps;
}

void reshard_copy_plan(struct shd_reshard_plan *out, const struct shd_reshard_plan *plan)
{
    out->dtype = plan->dtype;
    out->nsteps = plan->nsteps;
    out->received_bytes = plan->received_bytes;
    out->peak_bytes = plan->peak_bytes;
    memcpy(out->steps, plan->steps, plan->nsteps * sizeof(plan->steps[0]));
}

void reshard_go_fewest(struct shd_reshard_plan *plan, const struct reshard_ask *ask)
{
    struct shd_reshard_plan other;
    size_t nways = reshard_nways(ask, false);

    /* The first way always applies. */
    (void)reshard_go(plan, ask, false, 0);
    if (nways == 1 || is_best(ask, plan))
        return;
    for (size_t i = 1; i < nways; i++) {
        if (reshard_go(&other, ask, false, i) && reshard_is_better(ask, &other, plan))
            reshard_copy_plan(plan, &other);
    }
}
