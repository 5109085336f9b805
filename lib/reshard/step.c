/* Building the steps of a reshard plan (reshard/step.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "step.h"

#include <string.h>

uint64_t reshard_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t reshard_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint32_t reshard_free_axes(const struct reshard_way *way)
{
    uint32_t all = (UINT32_C(1) << shd_mesh_naxes(way->at.mesh)) - 1;

    return all & ~shd_sharding_axes(&way->at) & ~(uint32_t)way->at.partial &
           ~way->ask->excluded_axes;
}

size_t reshard_common(const struct shd_dim_axes *a, const struct shd_dim_axes *b)
{
    size_t n = 0;

    while (n < a->naxes && n < b->naxes && a->axes[n] == b->axes[n])
        n++;
    return n;
}

void reshard_begin(struct reshard_way *way, struct shd_reshard_plan *plan,
                   const struct reshard_ask *ask)
{
    plan->dtype = ask->dtype;
    plan->nsteps = 0;
    plan->received_bytes = 0;
    plan->peak_bytes = 0;
    way->plan = plan;
    way->ask = ask;
    way->at = ask->from;
    way->count = reshard_shard_count(&ask->from, ask->shape);
}

static struct shd_reshard_step *begin(struct reshard_way *way, enum shd_reshard_kind kind)
{
    struct shd_reshard_step *step = &way->plan->steps[way->plan->nsteps];

    step->kind = kind;
    step->naxes = 0;
    memset(step->axes, 0, sizeof(step->axes));
    step->dim = -1;
    step->dim2 = -1;
    step->shift = 0;
    step->reach = (struct shd_reach){0};
    memset(step->near, 0, sizeof(step->near));
    step->from = way->at;
    step->to = way->at;
    return step;
}

/* Complete a step in which all devices together receive `count` elements. */
static void finish(struct reshard_way *way, struct shd_reshard_step *step, uint64_t count)
{
    struct shd_reshard_plan *plan = way->plan;
    uint64_t size = shd_dtype_size(plan->dtype);
    uint64_t new_count = reshard_shard_count(&step->to, way->ask->shape);
    uint64_t bytes = reshard_mul(reshard_add(way->count, new_count), size);

    if (!step->to.partial)
        step->to.partial_op = 0;
    way->count = new_count;
    plan->peak_bytes = bytes > plan->peak_bytes ? bytes : plan->peak_bytes;
    step->received_bytes = reshard_mul(count, size);
    plan->received_bytes = reshard_add(plan->received_bytes, step->received_bytes);
    plan->nsteps++;
    way->at = step->to;
}

void reshard_slice_to(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_SLICE);

    memcpy(step->to.dims, to->dims, sizeof(to->dims));
    finish(way, step, 0);
}

bool reshard_sliced(struct shd_sharding *next, const struct reshard_way *way,
                    const struct shd_sharding *to)
{
    uint32_t free_axes = reshard_free_axes(way);
    bool any = false;

    *next = way->at;
    for (size_t d = 0; d < to->rank; d++) {
        const struct shd_dim_axes *goal = &to->dims[d];
        struct shd_dim_axes *dim = &next->dims[d];

        if (reshard_common(dim, goal) < dim->naxes)
            continue;
        while (dim->naxes < goal->naxes && free_axes >> goal->axes[dim->naxes] & 1) {
            dim->axes[dim->naxes] = goal->axes[dim->naxes];
            dim->naxes++;
            any = true;
        }
    }
    return any;
}

void reshard_slice(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_sharding next;

    if (reshard_sliced(&next, way, to))
        reshard_slice_to(way, &next);
}

/* Remove a dimension's last `naxes` axes and make them the axes of the step's groups. */
static void drop_axes(struct shd_reshard_step *step, size_t dim, size_t naxes)
{
    struct shd_dim_axes *axes = &step->to.dims[dim];

    step->dim = (int)dim;
    step->naxes = (uint8_t)naxes;
    axes->naxes = (uint8_t)(axes->naxes - naxes);
    memcpy(step->axes, axes->axes + axes->naxes, naxes);
    memset(axes->axes + axes->naxes, 0, naxes);
}

/* Append the axes of the step's groups to a dimension. */
static void append_axes(struct shd_reshard_step *step, size_t dim)
{
    struct shd_dim_axes *axes = &step->to.dims[dim];

    memcpy(axes->axes + axes->naxes, step->axes, step->naxes);
    axes->naxes = (uint8_t)(axes->naxes + step->naxes);
}

void reshard_all_gather(struct reshard_way *way, size_t dim, size_t naxes)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_ALL_GATHER);

    drop_axes(step, dim, naxes);
    finish(way, step, reshard_collective_received(step, way->count));
}

void reshard_all_to_all(struct reshard_way *way, size_t dim, size_t dim2, size_t naxes)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_ALL_TO_ALL);

    drop_axes(step, dim, naxes);
    append_axes(step, dim2);
    step->dim2 = (int)dim2;
    finish(way, step, reshard_collective_received(step, way->count));
}

void reshard_reduce_scatter(struct reshard_way *way, size_t dim, const uint8_t *axes, size_t naxes)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_REDUCE_SCATTER);
    uint64_t count;

    step->dim = (int)dim;
    step->naxes = (uint8_t)naxes;
    for (size_t i = 0; i < naxes; i++) {
        step->axes[i] = axes[i];
        step->to.partial = (uint16_t)(step->to.partial & ~(1U << axes[i]));
    }
    append_axes(step, dim);
    step->to.uneven = step->from.uneven || way->ask->to.uneven;
    count = shd_reshard_operand_count(step, way->ask->shape);
    if (count > way->count) /* a copy with padded chunks */
        way->count = reshard_add(way->count, count);
    finish(way, step, reshard_collective_received(step, count));
}

void reshard_gather_pieces(struct reshard_way *way)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_ALL_GATHER);

    step->naxes = step->from.flat.naxes;
    memcpy(step->axes, step->from.flat.axes, step->naxes);
    memset(&step->to.flat, 0, sizeof(step->to.flat));
    step->to.flat_dims = 0;
    finish(way, step, reshard_collective_received(step, way->count));
}

void reshard_make_pieces(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_SLICE);
    uint32_t axes = reshard_axes_from(&to->flat, 0);
    uint64_t count = 0;

    step->to.flat = to->flat;
    step->to.flat_dims = to->flat_dims;
    if (axes & way->at.partial) {
        step->kind = SHD_RESHARD_REDUCE_SCATTER;
        step->naxes = to->flat.naxes;
        memcpy(step->axes, to->flat.axes, step->naxes);
        step->to.partial = (uint16_t)(step->to.partial & ~axes);
        count = reshard_collective_received(step,
                                            shd_reshard_operand_count(step, way->ask->shape));
    }
    finish(way, step, count);
}

/* Make the masked axes those of the step's groups. */
static void set_axes(struct shd_reshard_step *step, uint32_t axes)
{
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++) {
        if (axes >> a & 1)
            step->axes[step->naxes++] = a;
    }
}

void reshard_all_reduce(struct reshard_way *way, uint32_t axes)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_ALL_REDUCE);

    set_axes(step, axes);
    step->to.partial = (uint16_t)(step->to.partial & ~axes);
    finish(way, step, reshard_collective_received(step, way->count));
}

void reshard_mask(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_MASK);

    set_axes(step, to->partial & ~(uint32_t)way->at.partial);
    step->to.partial |= to->partial;
    step->to.partial_op = to->partial_op;
    finish(way, step, 0);
}

void reshard_exchange(struct reshard_way *way, const struct shd_sharding *to)
{
    struct shd_reshard_step *step = begin(way, SHD_RESHARD_PERMUTE);
    uint64_t moved;

    for (size_t d = 0; d < to->rank; d++) {
        if (shd_sharding_nshards(&way->at, d) != shd_sharding_nshards(to, d))
            step->kind = SHD_RESHARD_EXCHANGE;
    }
    step->to.uneven = to->uneven;
    memcpy(step->near, way->ask->near, sizeof(step->near));
    step->to.mesh = to->mesh;
    memcpy(step->to.dims, to->dims, sizeof(to->dims));
    moved = reshard_moved(&step->from, &step->to, way->ask->shape);
    if (moved == 0)
        step->kind = SHD_RESHARD_SLICE;
    finish(way, step, moved);
}
