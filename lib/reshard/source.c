/* Choosing the source of each fetched box (reshard/source.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "source.h"

#include <stdbool.h>
#include <string.h>

#include "pair.h"
#include "step.h"

/* The device that requests a box, and the box's old shard.  Both shardings are on one mesh,
 * unless they have no common one.  For counting what a device sends, that device itself is the
 * requester. */
struct asking {
    const struct shd_sharding *from;
    const struct shd_sharding *to;
    const int64_t *shape;
    int32_t position;   /* of the requester */
    const int64_t *old; /* interval numbers of the old shard, by dimension */
    int32_t own[SHD_MESH_AXES_MAX]; /* the requester's coordinates */
    /* Coordinates of a holder: initially the one with the requester's coordinates on all axes that
     * do not shard the array. */
    int32_t held[SHD_MESH_AXES_MAX];
};

/* The new intervals along a dimension that overlap the old shard's interval. */
struct range {
    uint64_t first;
    uint64_t end; /* after the last number */
    uint64_t own; /* the requester's interval */
};

int32_t reshard_position_in(const struct shd_mesh *mesh, const struct shd_mesh *other,
                            int32_t position)
{
    if (mesh == other)
        return position;
    return shd_mesh_find_device(mesh, shd_mesh_device_id(other, position));
}

/* No extent is 0 here: nobody requests a box of an empty array. */
static struct range range_of(const struct asking *q, size_t dim)
{
    int64_t old_extent = shd_sharding_extent(q->from, q->shape, dim);
    int64_t extent = shd_sharding_extent(q->to, q->shape, dim);
    int64_t start = q->old[dim] * old_extent, last = start + old_extent - 1;

    if (last >= q->shape[dim])
        last = q->shape[dim] - 1;
    return (struct range){(uint64_t)(start / extent), (uint64_t)(last / extent) + 1,
                          (uint64_t)shd_sharding_index(q->to, dim, q->position)};
}

void reshard_set_coords(const struct shd_sharding *sharding, size_t dim, int64_t index,
                        int32_t *coords)
{
    const struct shd_dim_axes *axes = &sharding->dims[dim];

    for (size_t i = axes->naxes; i-- > 0;) {
        int32_t size = shd_mesh_axis_size(sharding->mesh, axes->axes[i]);

        coords[axes->axes[i]] = (int32_t)(index % size);
        index /= size;
    }
}

/* How many of the first `end` new intervals along a dimension belong to devices with the holder's
 * coordinates on the axes of the mask `fixed`.  An interval's number has a digit for each axis of
 * the dimension; the loop starts at the most significant. */
static uint64_t matching_below(const struct asking *q, size_t dim, uint64_t end, uint32_t fixed)
{
    const struct shd_dim_axes *axes = &q->to->dims[dim];
    uint64_t stride = (uint64_t)shd_sharding_nshards(q->to, dim);
    uint64_t below = 0;
    bool tied = true;

    for (size_t i = 0; i < axes->naxes; i++) {
        uint8_t a = axes->axes[i];
        uint64_t size = (uint64_t)shd_mesh_axis_size(q->to->mesh, a);
        uint64_t digit = end / (stride /= size);
        uint64_t want = (uint64_t)q->held[a];

        end %= stride;
        if (fixed >> a & 1) {
            below += tied && want < digit;
            tied = tied && want == digit;
        } else {
            below = below * size + (tied ? digit : 0);
        }
    }
    return below + (axes->naxes == 0 && end > 0);
}

/* How many devices precede the requester, among those that need part of the shard and have the
 * holder's coordinates on the axes of the mask `fixed`.  Devices are ordered by their coordinates
 * on the axes that shard only before, then by their new intervals.  Only devices with the
 * requester's coordinates on the axes that shard neither before nor after count. */
static uint64_t count_before(const struct asking *q, uint32_t fixed)
{
    uint32_t only_before = shd_sharding_axes(q->from) & ~shd_sharding_axes(q->to);
    uint64_t before = 0;
    bool tied = true;

    for (size_t a = 0; a < shd_mesh_naxes(q->from->mesh); a++) {
        if (!(only_before >> a & 1))
            continue;
        if (fixed >> a & 1) {
            before += tied && q->held[a] < q->own[a];
            tied = tied && q->held[a] == q->own[a];
        } else {
            before = before * (uint64_t)shd_mesh_axis_size(q->from->mesh, a) +
                     (tied ? (uint64_t)q->own[a] : 0);
        }
    }
    for (size_t d = 0; d < q->to->rank; d++) {
        struct range range = range_of(q, d);
        uint64_t first = matching_below(q, d, range.first, fixed);
        uint64_t own = matching_below(q, d, range.own, fixed);

        before *= matching_below(q, d, range.end, fixed) - first;
        if (!tied)
            continue;
        before += own - first;
        tied = matching_below(q, d, range.own + 1, fixed) > own;
    }
    return before;
}

/* Mask of the axes along which neighbours are in different groups of `near` devices. 0 if there are
 * no groups (`near` is 0). */
static uint32_t axes_above(const struct shd_mesh *mesh, int32_t near)
{
    uint32_t axes = 0;

    for (size_t a = 0; near > 0 && a < mesh->naxes; a++) {
        if (mesh->strides[a] >= near)
            axes |= UINT32_C(1) << a;
    }
    return axes;
}

/* Whether the requester has the holder's coordinates on the masked axes. */
static bool match(const struct asking *q, uint32_t axes)
{
    for (size_t a = 0; a < shd_mesh_naxes(q->from->mesh); a++) {
        if (axes >> a & 1 && q->own[a] != q->held[a])
            return false;
    }
    return true;
}

/* Set q->held to the holder whose turn it is, among the nearest ones. */
static void take_turns(struct asking *q, const int32_t *near)
{
    uint32_t sharding = shd_sharding_axes(q->from);
    uint32_t spread = shd_sharding_axes(q->to) & ~sharding;
    uint32_t above = 0;
    uint32_t nearer = sharding; /* axes to agree on: a holder that agrees with the requester only on
                                   these is not the nearest */

    if (!spread)
        return;
    for (size_t t = 0; t < SHD_LINK_TIERS_MAX; t++) {
        above = axes_above(q->from->mesh, near[t]);
        if (near[t] == 0 || match(q, sharding & above))
            break;
        nearer = sharding & above;
        above = 0;
    }

    uint64_t turn = count_before(q, above) - count_before(q, above | nearer);
    int32_t first[SHD_MESH_AXES_MAX] = {0}; /* the first new interval, where turns begin */

    for (size_t d = 0; d < q->to->rank; d++)
        reshard_set_coords(q->to, d, (int64_t)range_of(q, d).first, first);
    for (size_t a = shd_mesh_naxes(q->from->mesh); a-- > 0;) {
        uint64_t size = (uint64_t)shd_mesh_axis_size(q->from->mesh, a);

        if (!((spread & ~above) >> a & 1))
            continue;
        turn += (uint64_t)first[a];
        q->held[a] = (int32_t)(turn % size);
        turn /= size;
    }
}

/* ---- meshes without a common one ---- */

/* The index in `near` of the smallest groups with both devices in one group; the number of sizes in
 * `near` if there are none. */
static size_t distance(const int32_t *near, int32_t a, int32_t b)
{
    size_t t = 0;

    while (t < SHD_LINK_TIERS_MAX && near[t] > 0 && a / near[t] != b / near[t])
        t++;
    return t;
}

/* The position of holder number `n` of the shard: the digits of `n` are its coordinates on the axes
 * that do not shard.  On axes that are and stay partial, which only one mesh allows, a holder has
 * the requester's coordinates. */
static int32_t holder(const struct asking *q, uint64_t n)
{
    uint32_t sharding = shd_sharding_axes(q->from);
    int32_t coords[SHD_MESH_AXES_MAX] = {0};

    if (q->from->partial)
        shd_mesh_coords(q->from->mesh, q->position, coords);
    for (size_t d = 0; d < q->from->rank; d++)
        reshard_set_coords(q->from, d, q->old[d], coords);
    for (size_t a = shd_mesh_naxes(q->from->mesh); a-- > 0;) {
        uint64_t size = (uint64_t)shd_mesh_axis_size(q->from->mesh, a);

        if ((sharding | q->from->partial) >> a & 1)
            continue;
        coords[a] = (int32_t)(n % size);
        n /= size;
    }
    return shd_mesh_position(q->from->mesh, coords);
}

/* The requester's index among all devices that need part of the shard, including its holders. */
static uint64_t number_of(const struct asking *q)
{
    uint32_t fixed = shd_sharding_axes(q->to) | q->to->partial;
    uint64_t number = 0;

    for (size_t a = 0; a < shd_mesh_naxes(q->to->mesh); a++) {
        if (!(fixed >> a & 1))
            number = number * (uint64_t)shd_mesh_axis_size(q->to->mesh, a) +
                     (uint64_t)shd_mesh_coord(q->to->mesh, q->position, a);
    }
    for (size_t d = 0; d < q->to->rank; d++) {
        struct range range = range_of(q, d);

        number = number * (range.end - range.first) + range.own - range.first;
    }
    return number;
}

static bool holds(const struct asking *q, int32_t position)
{
    for (size_t d = 0; d < q->from->rank; d++) {
        if (shd_sharding_index(q->from, d, position) != q->old[d])
            return false;
    }
    return true;
}

/* The source if the two meshes have no common one.  With links it checks all holders, to find the
 * nearest. */
static int32_t source_elsewhere(const struct asking *q, const int32_t *near)
{
    int32_t id = shd_mesh_device_id(q->to->mesh, q->position);
    int32_t self = shd_mesh_find_device(q->from->mesh, id);
    uint64_t nholders = (uint64_t)shd_mesh_size(q->from->mesh);
    uint64_t nnearest = 0;
    size_t best = SHD_LINK_TIERS_MAX + 1;

    if (self >= 0 && holds(q, self))
        return self;
    for (size_t d = 0; d < q->from->rank; d++)
        nholders /= (uint64_t)shd_sharding_nshards(q->from, d);
    for (size_t a = 0; a < shd_mesh_naxes(q->from->mesh); a++)
        nholders /= q->from->partial >> a & 1 ? (uint64_t)shd_mesh_axis_size(q->from->mesh, a) : 1;
    if (near[0] == 0)
        return holder(q, number_of(q) % nholders);
    for (uint64_t n = 0; n < nholders; n++) {
        size_t far = distance(near, id, shd_mesh_device_id(q->from->mesh, holder(q, n)));

        nnearest = far < best ? 1 : nnearest + (far == best);
        best = far < best ? far : best;
    }

    uint64_t turn = number_of(q) % nnearest;
    uint64_t n = 0;

    for (;; n++) {
        if (distance(near, id, shd_mesh_device_id(q->from->mesh, holder(q, n))) == best &&
            turn-- == 0)
            return holder(q, n);
    }
}

int32_t reshard_source(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       const int64_t *old)
{
    struct asking q = {.shape = shape, .position = position, .old = old};
    struct reshard_pair pair;

    if (step->reach.extent > 0) { /* a neighbour along one dimension, equal in all else */
        shd_mesh_coords(step->from.mesh, position, q.held);
        reshard_set_coords(&step->from, (size_t)step->dim, old[step->dim], q.held);
        return shd_mesh_position(step->from.mesh, q.held);
    }

    reshard_pair_init(&pair, &step->from, &step->to, step->near);
    if (!pair.from) {
        q.from = &step->from;
        q.to = &step->to;
        return source_elsewhere(&q, step->near);
    }
    q.from = pair.from;
    q.to = pair.to;
    shd_mesh_coords(q.from->mesh, position, q.own);
    shd_mesh_coords(q.from->mesh, position, q.held);
    for (size_t d = 0; d < q.from->rank; d++)
        reshard_set_coords(q.from, d, old[d], q.held);
    if (!match(&q, shd_sharding_axes(q.from)))
        take_turns(&q, step->near);
    return shd_mesh_position(q.from->mesh, q.held);
}

/* ---- what a device sends ---- */

/* How many devices need part of the shard and have the holder's coordinates on the axes of the mask
 * `fixed`. */
static uint64_t count_asking(const struct asking *q, uint32_t fixed)
{
    uint32_t varied = shd_sharding_axes(q->from) & ~shd_sharding_axes(q->to) & ~fixed;
    uint64_t n = (uint64_t)shd_mesh_size_along(q->from->mesh, varied);

    for (size_t d = 0; d < q->to->rank; d++) {
        struct range range = range_of(q, d);

        n *= matching_below(q, d, range.end, fixed) - matching_below(q, d, range.first, fixed);
    }
    return n;
}

/* How many boxes this holder sends.  Turns cycle through the holders, beginning with the one that
 * has the coordinates of the first new interval, until every device that needs part of the shard
 * without holding it was served. */
static uint64_t count_turns(const struct asking *q)
{
    uint32_t sharding = shd_sharding_axes(q->from);
    uint32_t spread = shd_sharding_axes(q->to) & ~sharding;
    uint64_t nturns = count_asking(q, 0) - count_asking(q, sharding);
    uint64_t nholders = 1, own = 0, first = 0;
    int32_t coords[SHD_MESH_AXES_MAX] = {0};

    for (size_t d = 0; d < q->to->rank; d++)
        reshard_set_coords(q->to, d, (int64_t)range_of(q, d).first, coords);
    for (size_t a = 0; a < shd_mesh_naxes(q->from->mesh); a++) {
        uint64_t size = (uint64_t)shd_mesh_axis_size(q->from->mesh, a);

        if (!(spread >> a & 1))
            continue;
        nholders *= size;
        own = own * size + (uint64_t)q->own[a];
        first = first * size + (uint64_t)coords[a];
    }
    own = (own + nholders - first) % nholders;
    return nturns > own ? (nturns - own - 1) / nholders + 1 : 0;
}

/* The extent that every box has along a dimension if each shorter interval, old or new, lies within
 * a longer one; 0 if some straddle two. */
static uint64_t extent_nested(const struct asking *q, size_t dim)
{
    uint64_t a = (uint64_t)shd_sharding_extent(q->from, q->shape, dim);
    uint64_t b = (uint64_t)shd_sharding_extent(q->to, q->shape, dim);

    if (reshard_is_uneven(q->from, q->shape) || reshard_is_uneven(q->to, q->shape))
        return 0;
    if (a > b)
        return a % b ? 0 : b;
    return b % a ? 0 : a;
}

/* The position of device number `n` among those that need part of the shard; *count is the number
 * of elements that it needs. */
static int32_t asker(const struct asking *q, uint64_t n, uint64_t *count)
{
    uint32_t only_before = shd_sharding_axes(q->from) & ~shd_sharding_axes(q->to);
    int32_t coords[SHD_MESH_AXES_MAX];

    memcpy(coords, q->own, sizeof coords);
    *count = 1;
    for (size_t d = q->to->rank; d-- > 0;) {
        struct range range = range_of(q, d);
        int64_t interval = (int64_t)(range.first + n % (range.end - range.first));
        int64_t old_extent = shd_sharding_extent(q->from, q->shape, d);
        int64_t extent = shd_sharding_extent(q->to, q->shape, d);
        int64_t start = interval * extent, old_start = q->old[d] * old_extent;
        int64_t stop = start + extent, old_stop = old_start + old_extent;

        stop = stop < q->shape[d] ? stop : q->shape[d];

        n /= range.end - range.first;
        reshard_set_coords(q->to, d, interval, coords);
        *count *= (uint64_t)((stop < old_stop ? stop : old_stop) -
                             (start > old_start ? start : old_start));
    }
    for (size_t a = shd_mesh_naxes(q->from->mesh); a-- > 0;) {
        uint64_t size = (uint64_t)shd_mesh_axis_size(q->from->mesh, a);

        if (!(only_before >> a & 1))
            continue;
        coords[a] = (int32_t)(n % size);
        n /= size;
    }
    return shd_mesh_position(q->from->mesh, coords);
}

/* What a device sends if intervals straddle: visits the devices that need part of its shard, and
 * finds the source of each. */
static uint64_t given_straddling(const struct shd_reshard_step *step, const struct asking *q)
{
    uint64_t n = count_asking(q, 0), given = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t count;
        int32_t position = asker(q, i, &count);

        if (position != q->position &&
            reshard_source(step, q->shape, position, q->old) == q->position)
            given += count;
    }
    return given;
}

/* What a device sends if links count, or if the meshes have no common one: visits the boxes of all
 * devices. */
static uint64_t given_anywhere(const struct shd_reshard_step *step, const int64_t *shape,
                               int32_t position)
{
    uint64_t given = 0;

    for (int32_t p = 0; p < shd_mesh_size(step->to.mesh); p++) {
        int64_t n = shd_reshard_fetch_count(step, shape, p);

        for (int64_t i = 0; i < n; i++) {
            struct shd_fetch box;

            shd_reshard_fetch(step, shape, p, i, &box);
            if (box.source == position && !box.own)
                given += shd_fetch_bytes(&box, step->to.rank, SHD_I8);
        }
    }
    return given;
}

uint64_t reshard_given(const struct shd_reshard_step *step, const int64_t *shape, int32_t position)
{
    int64_t old[SHD_RANK_MAX];
    struct asking q = {.shape = shape, .position = position, .old = old};
    struct reshard_pair pair;
    uint64_t count = 1;

    for (size_t d = 0; d < step->from.rank; d++) {
        old[d] = shd_sharding_index(&step->from, d, position);
        if (old[d] * shd_sharding_extent(&step->from, shape, d) >= shape[d])
            return 0; /* it holds no elements */
    }
    reshard_pair_init(&pair, &step->from, &step->to, step->near);
    if (!pair.from || step->near[0] > 0)
        return given_anywhere(step, shape, position);
    q.from = pair.from;
    q.to = pair.to;
    shd_mesh_coords(q.from->mesh, position, q.own);
    memcpy(q.held, q.own, sizeof q.held);
    for (size_t d = 0; d < step->from.rank; d++)
        count *= extent_nested(&q, d);
    return count ? count * count_turns(&q) : given_straddling(step, &q);
}
