/* reshard/fetch.c - the boxes that a position fetches in a step, and the elements that it already
 * holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include "source.h"
#include "step.h"

/* The interval of a position's new shard along one dimension, in the old numbering of elements, and
 * the old intervals that it overlaps.  Numbers are elements of the whole array; with a shift they
 * continue past the end and wrap to the beginning. */
struct span {
    int64_t start;
    int64_t stop;       /* after the last element */
    int64_t origin;     /* the element that the new shard's first place is for */
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

/* What an index along the dimension of a reach gets. */
static struct span span_of_reach(const struct shd_reshard_step *step, const int64_t *shape,
                                 int64_t index)
{
    size_t dim = (size_t)step->dim;
    struct span span = {.old_extent = shd_sharding_extent(&step->from, shape, dim)};

    span.origin = index * step->reach.by + step->reach.first;
    span.start = span.origin > 0 ? span.origin : 0;
    span.stop = span.origin + step->reach.extent;
    if (span.stop > shape[dim])
        span.stop = shape[dim];
    if (span.stop > span.start) {
        span.first = span.start / span.old_extent;
        span.n = (span.stop - 1) / span.old_extent - span.first + 1;
    } else {
        span.stop = span.start;
    }
    return span;
}

static struct span span_of(const struct shd_reshard_step *step, const int64_t *shape,
                           int32_t position, size_t dim)
{
    int64_t extent = shd_sharding_extent(&step->to, shape, dim);
    struct span span = {.old_extent = shd_sharding_extent(&step->from, shape, dim)};

    if (reaches(step, dim))
        return span_of_reach(step, shape, shd_sharding_index(&step->to, dim, position));
    span.start = extent * shd_sharding_index(&step->to, dim, position);
    if (extent > shape[dim] - span.start) /* the last interval, or one past the end */
        extent = span.start < shape[dim] ? shape[dim] - span.start : 0;
    span.start -= shift_of(step, dim);
    if (span.start < 0)
        span.start += shape[dim];
    span.origin = span.start;
    span.stop = span.start + extent;
    if (extent > 0) {
        span.first = span.start / span.old_extent;
        span.n = (span.stop - 1) / span.old_extent - span.first + 1;
    }
    return span;
}

int64_t shd_reshard_fetch_count(const struct shd_reshard_step *step, const int64_t *shape,
                                int32_t position)
{
    int64_t count = 1;

    for (size_t d = 0; d < step->from.rank; d++)
        count *= span_of(step, shape, position, d).n;
    return count;
}

void shd_reshard_fetch(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       int64_t i, struct shd_fetch *out)
{
    int64_t old[SHD_RANK_MAX]; /* interval numbers of the shard that contains the box */

    for (size_t d = step->from.rank; d-- > 0;) {
        struct span span = span_of(step, shape, position, d);

        int64_t number = span.first + i % span.n;
        int64_t old_start = number * span.old_extent;
        int64_t old_stop = old_start + span.old_extent;
        int64_t start = span.start > old_start ? span.start : old_start;
        int64_t stop = span.stop < old_stop ? span.stop : old_stop;

        i /= span.n;
        old[d] = number % shd_sharding_nshards(&step->from, d);
        out->extent[d] = stop - start;
        out->source_offset[d] = start - old_start;
        out->dest_offset[d] = start - span.origin;
    }
    out->source = reshard_source(step, shape, position, old);
    out->own = out->source == reshard_position_in(step->from.mesh, step->to.mesh, position);
}

/* Elements that a span shares with the old interval from `old_start` on. */
static int64_t common(const struct span *span, int64_t old_start)
{
    int64_t old_stop = old_start + span->old_extent;
    int64_t start = span->start > old_start ? span->start : old_start;
    int64_t stop = span->stop < old_stop ? span->stop : old_stop;

    return stop > start ? stop - start : 0;
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

        count *= (uint64_t)(span.stop - span.start);
    }
    return count;
}

uint64_t reshard_reached_by_others(const struct shd_reshard_step *step, const int64_t *shape,
                                   int32_t position)
{
    size_t dim = (size_t)step->dim;
    int64_t own = shd_sharding_index(&step->from, dim, position), along = 0;
    uint64_t count = 1;

    for (int64_t i = 0; i < shd_sharding_nshards(&step->from, dim); i++) {
        struct span span = span_of_reach(step, shape, i);

        along += i != own ? common(&span, own * span.old_extent) : 0;
    }
    for (size_t d = 0; d < step->from.rank; d++)
        count *= (uint64_t)(d == dim ? along : shd_sharding_extent(&step->from, shape, d));
    return count;
}

uint64_t shd_fetch_bytes(const struct shd_fetch *box, size_t rank, enum shd_dtype dtype)
{
    uint64_t bytes = shd_dtype_size(dtype);

    for (size_t d = 0; d < rank; d++)
        bytes *= (uint64_t)box->extent[d];
    return bytes;
}
