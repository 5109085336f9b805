/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/reshard.h>

#include <string.h>

#include "reshard_step.h"

/* Ways to combine partial values, tried in this order; see combine_rest() for `rest`. */
struct manner {
    bool append; /* put wanted axes onto their dimension even where they do not come next there */
    int rest;    /* the dimension that the other axes are scattered on; -1: all-reduce */
};

/* The sharding without axes of size 1. */
static struct shd_sharding without_ones(const struct shd_sharding *sharding)
{
    const struct shd_mesh *mesh = sharding->mesh;
    struct shd_sharding out;

    shd_sharding_init(&out, mesh, sharding->rank);
    for (size_t d = 0; d < sharding->rank; d++) {
        const struct shd_dim_axes *dim = &sharding->dims[d];

        for (size_t i = 0; i < dim->naxes; i++) {
            if (shd_mesh_axis_size(mesh, dim->axes[i]) > 1)
                out.dims[d].axes[out.dims[d].naxes++] = dim->axes[i];
        }
    }
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        if (sharding->partial >> a & 1 && shd_mesh_axis_size(mesh, a) > 1)
            out.partial = (uint16_t)(out.partial | 1U << a);
    }
    out.partial_op = out.partial ? sharding->partial_op : 0;
    return out;
}

static int check(const struct shd_sharding *from, const struct shd_sharding *to,
                 const int64_t *shape, enum shd_dtype dtype, struct shd_error *err)
{
    uint64_t bytes;

    if (from->rank != to->rank)
        return shd_error_set(err, SHD_EINVAL, "a reshard from rank %u to rank %u",
                             (unsigned)from->rank, (unsigned)to->rank);
    if (!shd_mesh_equal(from->mesh, to->mesh))
        return shd_error_set(err, SHD_EINVAL, "a reshard from one mesh to another");
    if ((from->partial & shd_sharding_axes(from)) || (to->partial & shd_sharding_axes(to)))
        return shd_error_set(err, SHD_EINVAL, "an axis that shards the array is partial too");
    if ((from->partial & to->partial) && from->partial_op != to->partial_op)
        return shd_error_set(err, SHD_EINVAL, "a reshard that changes the partial operation");
    if ((to->partial & ~from->partial) && to->partial_op != SHD_SUM)
        return shd_error_set(err, SHD_EUNSUPPORTED, "only a sum can be made partial");

    int status = shd_shape_bytes(&bytes, shape, from->rank, dtype, err);

    if (!status)
        status = shd_sharding_check(from, shape, err);
    if (!status)
        status = shd_sharding_check(to, shape, err);
    return status;
}

/* Whether a dimension still divides when an axis is added. */
static bool divides(const struct shd_sharding *sharding, const int64_t *shape, size_t dim,
                    size_t axis)
{
    return shape[dim] %
               (shd_sharding_nshards(sharding, dim) * shd_mesh_axis_size(sharding->mesh, axis)) ==
           0;
}

/* The axes that must be combined on the way. */
static uint32_t to_combine(const struct reshard_way *way, const struct shd_sharding *to)
{
    return way->at.partial & ~(uint32_t)to->partial;
}

/* Scatter over the axes to combine that some dimension wants next; false if there are none. */
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

/* Those of a dimension's goal axes that are in `axes` and still divide it, put behind `next`. */
static size_t append_wanted(const struct reshard_way *way, struct shd_sharding *next,
                            const struct shd_dim_axes *goal, size_t dim, uint32_t axes)
{
    struct shd_dim_axes *out = &next->dims[dim];
    size_t n = 0;

    for (size_t i = 0; i < goal->naxes; i++) {
        if (axes >> goal->axes[i] & 1 && divides(next, way->shape, dim, goal->axes[i])) {
            out->axes[out->naxes++] = goal->axes[i];
            n++;
        }
    }
    return n;
}

/* Slice, then scatter, all axes that `to` wants onto their dimensions, in whatever place. */
static void append_all(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_sharding next = way->at;
    uint32_t free_axes = reshard_free_axes(&way->at);
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

/* Combine what is left, by all-reduce or by scattering it on some dimension; false where that does
 * not divide. */
static bool combine_rest(struct reshard_way *way, const struct shd_sharding *to, int rest)
{
    uint32_t combine = to_combine(way, to);

    if (combine == 0)
        return rest < 0; /* the other manners would only repeat this one */
    if (rest < 0) {
        reshard_all_reduce(way, combine);
        return true;
    }

    struct shd_sharding next = way->at;
    struct shd_dim_axes *dim = &next.dims[rest];

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++) {
        if (!(combine >> a & 1))
            continue;
        if (!divides(&next, way->shape, (size_t)rest, a))
            return false;
        dim->axes[dim->naxes++] = a;
    }

    size_t first = way->at.dims[rest].naxes;

    reshard_reduce_scatter(way, (size_t)rest, dim->axes + first, dim->naxes - first);
    return true;
}

/* The plan that combines in one manner and then moves; false where the manner does not apply. */
static bool go(struct shd_reshard_plan *plan, const struct shd_sharding *from,
               const struct shd_sharding *to, const int64_t *shape, struct manner manner)
{
    struct reshard_way way = {plan, shape, *from};
    struct shd_sharding unmasked = *to;

    plan->nsteps = 0;
    plan->received_bytes = 0;
    unmasked.partial = to->partial & from->partial;
    if (to_combine(&way, to)) {
        if (manner.append) {
            append_all(&way, to);
        } else {
            do {
                reshard_slice(&way, to);
            } while (scatter_next(&way, to));
        }
        if (!combine_rest(&way, to, manner.rest))
            return false;
    }
    reshard_move(&way, &unmasked);
    if (to->partial & ~(uint32_t)from->partial)
        reshard_mask(&way, to);
    return true;
}

/* Whether no other manner can do better: nothing is combined, or every slice comes before that and
 * no byte moves after it. */
static bool is_best(const struct shd_reshard_plan *plan)
{
    bool combined = false;

    for (size_t i = 0; i < plan->nsteps; i++) {
        enum shd_reshard_kind kind = plan->steps[i].kind;

        if (kind == SHD_RESHARD_REDUCE_SCATTER || kind == SHD_RESHARD_ALL_REDUCE)
            combined = true;
        else if (combined && (kind == SHD_RESHARD_SLICE || plan->steps[i].received_bytes > 0))
            return false;
    }
    return true;
}

static bool is_better(const struct shd_reshard_plan *a, const struct shd_reshard_plan *b)
{
    if (a->received_bytes != b->received_bytes)
        return a->received_bytes < b->received_bytes;
    return a->nsteps < b->nsteps;
}

static void copy_plan(struct shd_reshard_plan *out, const struct shd_reshard_plan *plan)
{
    out->dtype = plan->dtype;
    out->nsteps = plan->nsteps;
    out->received_bytes = plan->received_bytes;
    memcpy(out->steps, plan->steps, plan->nsteps * sizeof(plan->steps[0]));
}

/* Find the best plan; `from` and `to` are without axes of size 1. */
static void search(struct shd_reshard_plan *best, const struct shd_sharding *from,
                   const struct shd_sharding *to, const int64_t *shape)
{
    struct shd_reshard_plan plan;

    go(best, from, to, shape, (struct manner){false, -1});
    if (!(from->partial & ~(uint32_t)to->partial) || is_best(best))
        return;
    plan.dtype = best->dtype;
    for (int append = 0; append < 2; append++) {
        for (int rest = append ? -1 : 0; rest < (int)from->rank; rest++) {
            if (go(&plan, from, to, shape, (struct manner){append, rest}) && is_better(&plan, best))
                copy_plan(best, &plan);
        }
    }
}

int shd_reshard_build(struct shd_reshard_plan *out, const struct shd_sharding *from,
                      const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                      struct shd_error *err)
{
    struct shd_reshard_plan plan;
    int status = check(from, to, shape, dtype, err);

    if (status)
        return status;

    struct shd_sharding origin = without_ones(from);
    struct shd_sharding goal = without_ones(to);

    plan.dtype = dtype;
    search(&plan, &origin, &goal, shape);
    if (plan.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "the reshard moves more than 2^64 - 1 bytes");
    copy_plan(out, &plan);
    return SHD_OK;
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

    return names[kind];
}
