/* reshard/fetch.c - the boxes that a position fetches in a step, and the elements that it already
 * holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include "source.h"
#include "step.h"

/* The places of a position's new shard along one dimension, as elements of the whole array, and the
 * old intervals that these lie in.  With a shift, elements continue past the end and wrap to the
 * beginning. */
struct span {
    int64_t origin;     /* the element that place 0 is for */
    int64_t stride;     /* element distance between consecutive places */
    int64_t begin, end; /* places that the array has elements for */
    int64_t old_extent; /* of each old interval */
    int64_t first;      /* number of the first old interval */
    int64_t n;          /* number of old intervals */
};

/* Elements by which a step shifts a dimension. */
static int64_t shift_of(const struct shd_reshard_step *step, size_t dim)
{
    return step->shift > 0 && (size_t)step->dim == dim ? step->shift : 0;
}

static bool reaches(const struct shd_reshard_step *step, size_t dim)
{
    return step->reach.extent > 0 && (size_t)step->dim == dim;
}

/* The first place whose element is `element` or one behind it, in the order of places. */
static int64_t place_from(const struct span *span, int64_t element)
{
    int64_t distance = element - span->origin, stride = span->stride;

    if (stride < 0) {
        distance = -distance;
        stride = -stride;
    }
    return distance > 0 ? (distance + stride - 1) / stride : 0;
}

/* Narrow the places [*begin, *end) to those with elements in [start, stop). */
static void narrow(const struct span *span, int64_t start, int64_t stop, int64_t *begin,
                   int64_t *end)
{
    int64_t first = place_from(span, span->stride > 0 ? start : stop - 1);
    int64_t behind = place_from(span, span->stride > 0 ? stop : start - 1);

    *begin = *begin > first ? *begin : first;
    *end = *end < behind ? *end : behind;
    if (*end < *begin)
        *end = *begin;
}

static void find_intervals(struct span *span)
{
    int64_t one, other;

    if (span->end <= span->begin)
        return;
    one = (span->origin + span->begin * span->stride) / span->old_extent;
    other = (span->origin + (span->end - 1) * span->stride) / span->old_extent;
    span->first = one < other ? one : other;
    span->n = one < other ? other - one + 1 : one - other + 1;
}

/* What an index along the dimension of a reach gets. */
static struct span span_of_reach(const struct shd_reshard_step *step, const int64_t *shape,
                                 int64_t index)
{
    size_t dim = (size_t)step->dim;
    struct span span = {.origin = reshard_reach_origin(step, index),
                        .stride = step->reach.stride,
                        .end = step->reach.extent,
                        .old_extent = shd_sharding_extent(&step->from, shape, dim)};

    narrow(&span, 0, shape[dim], &span.begin, &span.end);
    find_intervals(&span);
    return span;
}

static struct span span_of(const struct shd_reshard_step *step, const int64_t *shape,
                           int32_t position, size_t dim)
{
    int64_t extent = shd_sharding_extent(&step->to, shape, dim);
    struct span span = {.stride = 1, .old_extent = shd_sharding_extent(&step->from, shape, dim)};

    if (reaches(step, dim))
        return span_of_reach(step, shape, shd_sharding_index(&step->to, dim, position));
    span.origin = extent * shd_sharding_index(&step->to, dim, position);
    if (extent > shape[dim] - span.origin) /* the last interval, or one past the end */
        extent = span.origin < shape[dim] ? shape[dim] - span.origin : 0;
    span.origin -= shift_of(step, dim);
    if (span.origin < 0)
        span.origin += shape[dim];
    span.end = extent;
    find_intervals(&span);
    return span;
}

int64_t shd_reshard_fetch_count(const struct shd_reshard_step *step, const int64_t *shape,
                                int32_t position)
{
    if (!step || (!shape && step->from.rank > 0))
        return 0;

    int64_t count = 1;

    for (size_t d = 0; d < step->from.rank; d++)
        count *= span_of(step, shape, position, d).n;
    return count;
}

void shd_reshard_fetch(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       int64_t i, struct shd_fetch *out)
{
    if (!step || !step->from.mesh || !out || (!shape && step->from.rank > 0))
        return;

    int64_t old[SHD_RANK_MAX]; /* interval numbers of the shard that contains the box */

    for (size_t d = step->from.rank; d-- > 0;) {
        struct span span = span_of(step, shape, position, d);

        int64_t number = span.first + i % span.n, start = number * span.old_extent;

        i /= span.n;
        old[d] = number % shd_sharding_nshards(&step->from, d);
        narrow(&span, start, start + span.old_extent, &span.begin, &span.end);
        out->extent[d] = span.end - span.begin;
        out->source_offset[d] =
            out->extent[d] > 0 ? span.origin + span.begin * span.stride - start : 0;
        out->source_stride[d] = span.stride;
        out->dest_offset[d] = span.begin;
    }
    out->source = reshard_source(step, shape, position, old);
    out->own = out->source == reshard_position_in(step->from.mesh, step->to.mesh, position);
}

/* Elements that a span shares with the old interval from `old_start` on. */
static int64_t common(const struct span *span, int64_t old_start)
{
    int64_t begin = span->begin, end = span->end;

    narrow(span, old_start, old_start + span->old_extent, &begin, &end);
    return end - begin;
}

uint64_t reshard_held(const struct shd_reshard_step *step, const int64_t *shape, int32_t position)
{
    int32_t old_position = reshard_position_in(step->from.mesh, step->to.mesh, position);
    uint64_t held = 1;

    if (old_position < 0)
        return 0;
    for (size_t d = 0; d < step->from.rank && held > 0; d++) {
        struct span span = span_of(step, shape, position, d);
        int64_t old_start = span.old_extent * shd_sharding_index(&step->from, d, old_position);
        int64_t n = common(&span, old_start);

        if (shift_of(step, d) > 0)
            n += common(&span, old_start + shape[d]);
        held *= (uint64_t)n;
    }
    return held;
}

uint64_t reshard_reached(const struct shd_reshard_step *step, const int64_t *shape,
                         int32_t position)
{
    uint64_t count = 1;

    for (size_t d = 0; d < step->from.rank; d++) {
        struct span span = span_of(step, shape, position, d);

        count *= (uint64_t)(span.end - span.begin);
    }
    return count;
}

/* Those who get elements of a shard have its device's coordinates on all axes but the ones that cut
 * the dimension before. */
uint64_t reshard_reached_by_others(const struct shd_reshard_step *step, const int64_t *shape,
                                   int32_t position)
{
    int32_t coords[SHD_MESH_AXES_MAX];
    size_t dim = (size_t)step->dim;
    int64_t own = shd_sharding_index(&step->from, dim, position), along = 0;
    uint64_t count = 1;

    shd_mesh_coords(step->from.mesh, position, coords);
    for (int64_t i = 0; i < shd_sharding_nshards(&step->from, dim); i++) {
        reshard_set_coords(&step->from, dim, i, coords);

        struct span span = span_of(step, shape, shd_mesh_position(step->from.mesh, coords), dim);

        along += i != own ? common(&span, own * span.old_extent) : 0;
    }
    for (size_t d = 0; d < step->from.rank; d++)
        count *= (uint64_t)(d == dim ? along : shd_sharding_extent(&step->from, shape, d));
    return count;
}

uint64_t shd_fetch_bytes(const struct shd_fetch *box, size_t rank, enum shd_dtype dtype)
{
    if (!box || rank > SHD_RANK_MAX)
        return 0;

    uint64_t bytes = shd_dtype_size(dtype);

    for (size_t d = 0; d < rank; d++)
        bytes *= (uint64_t)box->extent[d];
    return bytes;
}
