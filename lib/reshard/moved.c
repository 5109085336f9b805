/* reshard/moved.c - how many elements of the new shards are not in the devices' old ones.
 *
 * The part of its new shard that a device holds already is a box: the product, over dimensions, of
 * what the old and the new interval have in common.  Summed over all devices:
 *   - axes that lead a dimension both before and after cut it alike and drop out;
 *   - where then one of the two is not cut, the common part is the same for every device;
 *   - where both are cut, by axes that cut no other such dimension, each pair of intervals comes
 *     equally often, and all pairs together have the dimension's extent in common;
 *   - what is left, such as two dimensions that swap their axes, is counted by digits of
 *     coordinates (tangle.h), or, where intervals straddle, over all coordinates of its
 *     axes.
 * Meshes without a common one, and intervals of which the last are shorter, are gone through device
 * by device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "pair.h"
#include "step.h"
#include "tangle.h"

bool reshard_is_uneven(const struct shd_sharding *sharding, const int64_t *shape)
{
    for (size_t d = 0; d < sharding->rank; d++)
        if (shape[d] % shd_sharding_nshards(sharding, d) != 0)
            return true;
    return false;
}

uint64_t reshard_count_at(const struct shd_sharding *sharding, const int64_t *shape,
                          int32_t position)
{
    struct shd_box boxes[SHD_BOXES_MAX];
    uint64_t count = 1;

    if (!reshard_is_uneven(sharding, shape))
        return reshard_shard_count(sharding, shape);
    if (shd_sharding_boxes(sharding, shape, position, boxes) == 0)
        return 0;
    for (size_t d = 0; d < sharding->rank; d++)
        count *= (uint64_t)boxes[0].extent[d];
    return count;
}

uint64_t reshard_count_all(const struct shd_sharding *sharding, const int64_t *shape)
{
    uint64_t ndevices = (uint64_t)shd_mesh_size(sharding->mesh), count = 1;

    if (!reshard_is_uneven(sharding, shape))
        return reshard_mul(reshard_shard_count(sharding, shape), ndevices);
    for (size_t d = 0; d < sharding->rank; d++) {
        count = reshard_mul(count, (uint64_t)shape[d]);
        ndevices /= (uint64_t)shd_sharding_nshards(sharding, d); /* each element's holders */
    }
    return reshard_mul(count, ndevices);
}

uint64_t reshard_shard_count(const struct shd_sharding *sharding, const int64_t *shape)
{
    int64_t local[SHD_RANK_MAX];
    uint64_t count = 1;

    shd_sharding_shard_shape(sharding, shape, local);
    for (size_t d = 0; d < sharding->rank; d++)
        count *= (uint64_t)local[d];
    return count;
}

static uint64_t nintervals(const struct shd_mesh *mesh, const struct shd_dim_axes *dim,
                           size_t first)
{
    return (uint64_t)shd_mesh_size_of_axes(mesh, dim->axes + first, dim->naxes - first);
}

/* Dimension `d`, of `extent` elements, without the leading axes that both sides share. */
static struct cut cut_of(const struct shd_sharding *from, const struct shd_sharding *to, size_t d,
                         uint64_t extent)
{
    struct cut cut = {.from = &from->dims[d], .to = &to->dims[d]};

    cut.ncommon = reshard_common(cut.from, cut.to);
    cut.nfrom = nintervals(from->mesh, cut.from, cut.ncommon);
    cut.nto = nintervals(from->mesh, cut.to, cut.ncommon);
    cut.extent = extent / ((uint64_t)shd_sharding_nshards(from, d) / cut.nfrom);
    return cut;
}

/* The interval's number at some coordinates, without the axes that both sides share. */
static uint64_t interval(const struct shd_mesh *mesh, const struct shd_dim_axes *dim, size_t first,
                         const int32_t *coords)
{
    uint64_t index = 0;

    for (size_t i = first; i < dim->naxes; i++) {
        uint8_t a = dim->axes[i];

        index = index * (uint64_t)shd_mesh_axis_size(mesh, a) + (uint64_t)coords[a];
    }
    return index;
}

/* The elements that the old and the new interval at some coordinates share. */
static uint64_t overlap(const struct shd_mesh *mesh, const struct cut *cut, const int32_t *coords)
{
    uint64_t old_extent = cut->extent / cut->nfrom;
    uint64_t new_extent = cut->extent / cut->nto;
    uint64_t old_start = interval(mesh, cut->from, cut->ncommon, coords) * old_extent;
    uint64_t new_start = interval(mesh, cut->to, cut->ncommon, coords) * new_extent;
    uint64_t start = old_start > new_start ? old_start : new_start;
    uint64_t old_stop = old_start + old_extent;
    uint64_t new_stop = new_start + new_extent;
    uint64_t stop = old_stop < new_stop ? old_stop : new_stop;

    return stop > start ? stop - start : 0;
}

/* Advance to the next coordinates; false after the last. */
static bool next_coords(const struct tangle *tangle, int32_t *coords)
{
    for (size_t i = tangle->naxes; i-- > 0;) {
        uint8_t a = tangle->axes[i];

        if (++coords[a] < shd_mesh_axis_size(tangle->mesh, a))
            return true;
        coords[a] = 0;
    }
    return false;
}

/* The sum of the old and new intervals' overlaps over all coordinates. */
static uint64_t count_tangle(const struct tangle *tangle)
{
    int32_t coords[SHD_MESH_AXES_MAX] = {0};
    uint64_t sum = 0;

    if (reshard_count_nested(tangle, &sum))
        return sum;
    do {
        uint64_t product = 1;

        for (size_t i = 0; i < tangle->ncuts && product > 0; i++)
            product *= overlap(tangle->mesh, &tangle->cuts[i], coords);
        sum += product;
    } while (next_coords(tangle, coords));
    return sum;
}

/* Add the axes that cut a dimension before or after, except the common ones, to the mask *seen; and
 * to *twice the axes already in *seen, or cutting the dimension both before and after. */
static void collect(const struct cut *cut, uint32_t *seen, uint32_t *twice)
{
    const struct shd_dim_axes *const sides[] = {cut->from, cut->to};

    for (size_t s = 0; s < 2; s++) {
        for (size_t i = cut->ncommon; i < sides[s]->naxes; i++) {
            uint32_t bit = UINT32_C(1) << sides[s]->axes[i];

            *twice |= *seen & bit;
            *seen |= bit;
        }
    }
}

/* Take the dimensions that share no axis with others out of the tangle.  Returns the factor that
 * they contribute to the sum.  *nothers, the number of coordinates that are left to multiply the
 * sum by, is divided by the coordinates on all axes that cut these dimensions and those that stay.
 */
static uint64_t untangle(struct tangle *tangle, uint64_t *nothers)
{
    uint32_t seen = 0;
    uint32_t twice = 0;
    uint32_t axes = 0;
    uint64_t product = 1;
    size_t kept = 0;

    for (size_t i = 0; i < tangle->ncuts; i++)
        collect(&tangle->cuts[i], &seen, &twice);
    for (size_t i = 0; i < tangle->ncuts; i++) {
        const struct cut *cut = &tangle->cuts[i];
        uint32_t own = 0;
        uint32_t unused = 0;

        collect(cut, &own, &unused);
        if (own & twice) {
            axes |= own;
            tangle->cuts[kept++] = *cut;
        } else {
            product *= cut->extent;
            *nothers /= cut->nfrom * cut->nto;
        }
    }
    tangle->ncuts = kept;
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++) {
        if (!(axes >> a & 1))
            continue;
        tangle->axes[tangle->naxes++] = a;
        *nothers /= (uint64_t)shd_mesh_axis_size(tangle->mesh, a);
    }
    return product;
}

/* Elements of new shards that devices already hold in their old shards, summed over all devices. */
static uint64_t count_held(const struct shd_sharding *from, const struct shd_sharding *to,
                           const int64_t *shape)
{
    struct tangle tangle;
    uint64_t same = 1; /* the factor that is equal on all devices */

    tangle.mesh = from->mesh;
    tangle.ncuts = 0;
    tangle.naxes = 0;
    for (size_t d = 0; d < from->rank; d++) {
        struct cut cut = cut_of(from, to, d, (uint64_t)shape[d]);

        if (cut.nfrom == 1 || cut.nto == 1)
            same *= cut.extent / (cut.nfrom * cut.nto);
        else
            tangle.cuts[tangle.ncuts++] = cut;
    }

    uint64_t nothers = (uint64_t)shd_mesh_size(from->mesh);

    if (tangle.ncuts == 0)
        return same * nothers;
    same *= untangle(&tangle, &nothers);
    return same * nothers * (tangle.ncuts > 0 ? count_tangle(&tangle) : 1);
}

/* count_held() computed device by device. */
static uint64_t count_held_each(const struct shd_sharding *from, const struct shd_sharding *to,
                                const int64_t *shape)
{
    struct shd_reshard_step step = {.from = *from, .to = *to};
    uint64_t held = 0;

    for (int32_t p = 0; p < shd_mesh_size(to->mesh); p++)
        held += reshard_held(&step, shape, p);
    return held;
}

uint64_t reshard_moved(const struct shd_sharding *from, const struct shd_sharding *to,
                       const int64_t *shape)
{
    uint64_t all = reshard_count_all(to, shape);
    struct reshard_pair pair;

    if (all == 0 || all == UINT64_MAX)
        return all;
    if (reshard_is_uneven(from, shape) || reshard_is_uneven(to, shape))
        return all - count_held_each(from, to, shape);
    reshard_pair_init(&pair, from, to, NULL);
    /* The held elements are at most all elements, so they fit, too. */
    return all -
           (pair.from ? count_held(pair.from, pair.to, shape) : count_held_each(from, to, shape));
}
