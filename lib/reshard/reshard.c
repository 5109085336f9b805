/* Building reshard plans (shd/reshard.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include <string.h>

#include <shd/reshard_figures.h>

#include "bound.h"
#include "step.h"

static int check(const struct shd_sharding *from, const struct shd_sharding *to,
                 const int64_t *shape, enum shd_dtype dtype, struct shd_error *err)
{
    uint16_t kept = shd_mesh_equal(from->mesh, to->mesh) ? from->partial & to->partial : 0;
    uint64_t bytes;

    if (from->rank != to->rank)
        return shd_error_set(err, SHD_EINVAL, "a reshard cannot change rank %u to %u",
                             (unsigned)from->rank, (unsigned)to->rank);
    if ((from->partial & shd_sharding_axes(from)) || (to->partial & shd_sharding_axes(to)))
        return shd_error_set(err, SHD_EINVAL, "an axis both shards the array and is partial");
    if (kept && from->partial_op != to->partial_op)
        return shd_error_set(err, SHD_EINVAL, "a reshard cannot change the partial operation");
    if ((to->partial & ~kept) && to->partial_op != SHD_SUM)
        return shd_error_set(err, SHD_EUNSUPPORTED, "only a sum can be made partial");

    int status = shd_shape_bytes(&bytes, shape, from->rank, dtype, err);

    if (!status)
        status = shd_sharding_check(from, shape, err);
    if (!status)
        status = shd_sharding_check(to, shape, err);
    return status;
}

static int check_links(const struct shd_reshard_opts *opts, struct shd_error *err)
{
    if (opts->ntiers > SHD_LINK_TIERS_MAX)
        return shd_error_set(err, SHD_EINVAL, "%zu tiers of links: at most %d are possible",
                             opts->ntiers, SHD_LINK_TIERS_MAX);
    for (size_t t = 0; t < opts->ntiers; t++) {
        const struct shd_link_tier *tier = &opts->tiers[t];
        bool last = t + 1 == opts->ntiers;

        if (tier->ndevices < (last ? 0 : 1))
            return shd_error_set(err, SHD_EINVAL, "a tier of links joins %d devices",
                                 (int)tier->ndevices);
        if (t > 0 && tier->ndevices % opts->tiers[t - 1].ndevices != 0)
            return shd_error_set(err, SHD_EINVAL,
                                 "a tier of %d devices is not a multiple of the tier before, %d",
                                 (int)tier->ndevices, (int)opts->tiers[t - 1].ndevices);
        if (!(tier->bytes_per_s > 0) || !(tier->latency_s >= 0))
            return shd_error_set(err, SHD_EINVAL, "a tier of links has no speed");
    }
    return SHD_OK;
}

/* Along an excluded axis nothing moves, so neither sharding may have it.  The nearest holder of a
 * box may lie along any axis, so tiers do not go with excluded ones. */
static int check_excluded(const struct shd_sharding *from, const struct shd_sharding *to,
                          const struct shd_reshard_opts *opts, struct shd_error *err)
{
    uint32_t used = shd_sharding_axes(from) | from->partial | shd_sharding_axes(to) | to->partial;

    if (opts->excluded_axes && (opts->ntiers > 0 || !shd_mesh_equal(from->mesh, to->mesh)))
        return shd_error_set(err, SHD_EINVAL, "excluded axes do not support %s",
                             opts->ntiers > 0 ? "tiers of links" : "two meshes");
    if (opts->excluded_axes & used)
        return shd_error_set(err, SHD_EINVAL, "an excluded axis shards the array");
    return SHD_OK;
}

int reshard_ask(struct reshard_ask *out, const struct shd_sharding *from,
                const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                const struct shd_reshard_opts *opts, struct shd_error *err)
{
    int status = check(from, to, shape, dtype, err);

    if (!status && opts)
        status = check_links(opts, err);
    if (!status && opts)
        status = check_excluded(from, to, opts, err);
    if (status)
        return status;
    shd_sharding_simplify(&out->from, from);
    shd_sharding_simplify(&out->to, to);
    out->shape = shape;
    out->dtype = dtype;
    out->cross = !shd_mesh_equal(from->mesh, to->mesh);
    out->limit_bytes = reshard_mul(
        reshard_add(reshard_shard_count(&out->from, shape), reshard_shard_count(&out->to, shape)),
        shd_dtype_size(dtype));
    out->excluded_axes = opts ? opts->excluded_axes : 0;
    memset(out->near, 0, sizeof(out->near));
    if (opts && opts->memory_bytes > 0)
        out->limit_bytes = opts->memory_bytes;
    for (size_t t = 0; opts && t < opts->ntiers; t++)
        out->near[t] = opts->tiers[t].ndevices;
    return SHD_OK;
}

/* The time of a plan, from the caller's model or from link speeds. */
static int seconds_of(double *out, const struct shd_reshard_plan *plan, const struct reshard_ask *q,
                      const struct shd_reshard_opts *opts, struct shd_error *err)
{
    struct shd_reshard_figures figures = {.seconds = 0};
    int status = SHD_OK;

    if (opts->seconds)
        figures.seconds = reshard_asked_seconds(plan, q->shape, opts);
    else
        status = shd_reshard_measure(&figures, plan, q->shape, opts, err);
    *out = figures.seconds;
    return status;
}

/* Build the plan with the least time, and among equals the one that moves the fewest bytes. */
static int go_fastest(struct shd_reshard_plan *best, const struct reshard_ask *q,
                      const struct shd_reshard_opts *opts, struct shd_error *err)
{
    struct shd_reshard_plan plan;
    size_t nways = reshard_nways(q, true);
    double least = 0, seconds;
    bool any = false;
    int status;

    for (size_t i = 0; i < nways; i++) {
        if (!reshard_go(&plan, q, true, i) || plan.received_bytes == UINT64_MAX ||
            plan.peak_bytes > q->limit_bytes)
            continue;
        status = seconds_of(&seconds, &plan, q, opts, err);
        if (status)
            return status;
        if (any && (seconds > least || (seconds >= least && !reshard_is_better(q, &plan, best))))
            continue;
        any = true;
        least = seconds;
        reshard_copy_plan(best, &plan);
    }
    if (!any)
        reshard_go_fewest(best, q); /* it may need too much memory; the caller checks that */
    return SHD_OK;
}

static bool is_uneven(const struct reshard_ask *q)
{
    return reshard_is_uneven(&q->from, q->shape) || reshard_is_uneven(&q->to, q->shape);
}

/* How many axes of `combined` a dimension can get by a reduce-scatter: those that follow its own in
 * the goal, if so many equal chunks, of which the last are shorter or empty, are the new shards. */
static size_t nscattered(const struct reshard_way *way, size_t dim, uint32_t combined)
{
    const struct shd_dim_axes *at = &way->at.dims[dim], *goal = &way->ask->to.dims[dim];
    const int64_t *shape = way->ask->shape;
    int64_t chunks = shd_sharding_extent(&way->ask->to, shape, dim);
    size_t n = at->naxes;

    if (reshard_common(at, goal) < at->naxes)
        return 0;
    while (n < goal->naxes && combined >> goal->axes[n] & 1)
        chunks *= shd_mesh_axis_size(way->at.mesh, goal->axes[n++]);
    if (n < goal->naxes || (at->naxes > 0 && chunks != shd_sharding_extent(&way->at, shape, dim)))
        return 0;
    return n - at->naxes;
}

/* Combine into the shards that are asked for where these are chunks of the old ones, and the rest
 * where it lies; one exchange, which moves the fewest bytes, brings what is missing then. */
static void go_uneven_by(struct shd_reshard_plan *plan, const struct reshard_ask *q, bool slices,
                         bool scatters)
{
    uint32_t combined = q->from.partial & (q->cross ? UINT32_MAX : ~(uint32_t)q->to.partial);
    struct shd_sharding next;
    struct reshard_way way;

    reshard_begin(&way, plan, q);
    if (slices && reshard_sliced(&next, &way, &q->to)) {
        next.uneven = true;
        reshard_exchange(&way, &next); /* the parts of intervals that do not nest move */
    }
    for (size_t d = 0; d < q->to.rank && scatters; d++) {
        size_t n = nscattered(&way, d, combined);
        const uint8_t *axes = q->to.dims[d].axes + way.at.dims[d].naxes;

        if (n > 0)
            reshard_reduce_scatter(&way, d, axes, n);
        combined &= way.at.partial;
    }
    if (combined)
        reshard_all_reduce(&way, combined);
    if (q->cross || memcmp(way.at.dims, q->to.dims, sizeof(way.at.dims)) != 0)
        reshard_exchange(&way, &q->to);
    if (q->to.partial & ~(uint32_t)way.at.partial)
        reshard_mask(&way, &q->to);
}

/* A reduce-scatter moves the padding of its chunks, too: of five rows over four devices, combining
 * all of them everywhere may be less. */
static void go_uneven(struct shd_reshard_plan *plan, const struct reshard_ask *q)
{
    struct shd_reshard_plan other;

    go_uneven_by(plan, q, false, false);
    for (int way = 1; way < 4 && !q->cross && q->from.partial; way++) {
        go_uneven_by(&other, q, way & 1, way & 2);
        if (reshard_is_better(q, &other, plan))
            reshard_copy_plan(plan, &other);
    }
}

int shd_reshard_build_with(struct shd_reshard_plan *out, const struct shd_sharding *from,
                           const struct shd_sharding *to, const int64_t *shape,
                           enum shd_dtype dtype, const struct shd_reshard_opts *opts,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || check_bound(from, "from", err) || check_bound(to, "to", err) ||
        !SHD_GIVEN_ARRAY(err, shape, from->rank))
        return SHD_EINVAL;

    struct shd_reshard_plan plan;
    struct reshard_ask q;
    int status = reshard_ask(&q, from, to, shape, dtype, opts, err);

    if (!status && (q.from.flat.naxes > 0 || q.to.flat.naxes > 0))
        status = reshard_go_flat(&plan, &q, err);
    else if (!status && is_uneven(&q))
        go_uneven(&plan, &q);
    else if (!status && opts && (opts->ntiers > 0 || opts->seconds))
        status = go_fastest(&plan, &q, opts, err);
    else if (!status)
        reshard_go_fewest(&plan, &q);
    if (status)
        return status;
    if (plan.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "the reshard moves more than 2^64 - 1 bytes");
    if (opts && opts->memory_bytes > 0 && plan.peak_bytes > opts->memory_bytes)
        return shd_error_set(
            err, SHD_EDEVMEM, "the reshard needs %llu bytes on a device, %llu are allowed",
            (unsigned long long)plan.peak_bytes, (unsigned long long)opts->memory_bytes);
    reshard_copy_plan(out, &plan);
    return SHD_OK;
}

int shd_reshard_build(struct shd_reshard_plan *out, const struct shd_sharding *from,
                      const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                      struct shd_error *err)
{
    return shd_reshard_build_with(out, from, to, shape, dtype, NULL, err);
}

int shd_reshard_candidate(struct shd_reshard_plan *out, size_t i, const struct shd_sharding *from,
                          const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                          const struct shd_reshard_opts *opts, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || check_bound(from, "from", err) || check_bound(to, "to", err) ||
        !SHD_GIVEN_ARRAY(err, shape, from->rank))
        return SHD_EINVAL;

    struct shd_reshard_plan plan;
    struct reshard_ask q;
    int status = reshard_ask(&q, from, to, shape, dtype, opts, err);
    bool alone = !status && (q.from.flat.naxes > 0 || q.to.flat.naxes > 0 || is_uneven(&q));
    size_t nways = status || alone ? 0 : reshard_nways(&q, true);

    if (alone && i == 0)
        return shd_reshard_build(out, from, to, shape, dtype, err);
    for (size_t way = 0; way < nways; way++) {
        /* Named collectives stop at the limit of memory; here they may go on. */
        q.limit_bytes = UINT64_MAX;
        if (!reshard_go(&plan, &q, true, way) || plan.received_bytes == UINT64_MAX || i-- > 0)
            continue;
        reshard_copy_plan(out, &plan);
        return SHD_OK;
    }
    return status ? status : shd_error_set(err, SHD_ENOTFOUND, "there is no further way");
}

uint64_t shd_reshard_cost(const struct shd_sharding *from, const struct shd_sharding *to,
                          const int64_t *shape, enum shd_dtype dtype)
{

    struct shd_reshard_plan plan;

    return shd_reshard_build(&plan, from, to, shape, dtype, NULL) ? UINT64_MAX
                                                                  : plan.received_bytes;
}

const char *shd_reshard_kind_name(enum shd_reshard_kind kind)
{
    static const char *const names[SHD_RESHARD_NKINDS] = {
        [SHD_RESHARD_SLICE] = "slice",
        [SHD_RESHARD_MASK] = "mask",
        [SHD_RESHARD_ALL_GATHER] = "all-gather",
        [SHD_RESHARD_ALL_TO_ALL] = "all-to-all",
        [SHD_RESHARD_REDUCE_SCATTER] = "reduce-scatter",
        [SHD_RESHARD_ALL_REDUCE] = "all-reduce",
        [SHD_RESHARD_PERMUTE] = "permute",
        [SHD_RESHARD_EXCHANGE] = "exchange",
    };

    return (unsigned)kind < SHD_RESHARD_NKINDS ? names[kind] : "no kind";
}
