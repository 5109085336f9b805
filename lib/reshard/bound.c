/* reshard/bound.c - a lower bound on the bytes that any method moves; shd/reshard_figures.h
 * explains it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard_figures.h>

#include "bound.h"
#include "pair.h"
#include "step.h"

static uint64_t ndevices_along(const struct shd_mesh *mesh, uint32_t axes)
{
    return (uint64_t)shd_mesh_size_along(mesh, axes);
}

/* Numbers of devices along the axes of partial values, by what happens to these. */
struct sums {
    uint64_t nparts;  /* axes whose parts are summed */
    uint64_t nkept;   /* axes that are partial before and after */
    uint64_t nbecome; /* axes that become partial */
};

static struct sums sums_of(const struct shd_sharding *from, const struct shd_sharding *to)
{
    uint32_t kept = shd_mesh_equal(from->mesh, to->mesh) ? from->partial & to->partial : 0;

    return (struct sums){ndevices_along(from->mesh, from->partial & ~kept),
                         ndevices_along(to->mesh, kept),
                         ndevices_along(to->mesh, to->partial & ~kept)};
}

/* ---- total, and for one device ---- */

/* The number of elements of the array of which some device both holds a part and needs the sum:
 * exact where the meshes have a common one, else an upper limit. */
static uint64_t count_met(const struct shd_sharding *from, const struct shd_sharding *to,
                          const int64_t *shape, uint64_t nelements)
{
    uint64_t n = (uint64_t)shd_mesh_size(to->mesh);
    uint64_t held = reshard_count_all(to, shape) - reshard_moved(from, to, shape);
    struct reshard_pair pair;

    reshard_pair_init(&pair, from, to, NULL);
    if (!pair.from)
        return held < nelements ? held : nelements;
    /* Devices that agree on all axes that shard before or after have counted the same elements. */
    return held / (n / ndevices_along(pair.to->mesh,
                                      shd_sharding_axes(pair.from) | shd_sharding_axes(pair.to)));
}

static uint64_t bound_elements(const struct shd_sharding *from, const struct shd_sharding *to,
                               const int64_t *shape, struct sums sums)
{
    uint64_t nelements = 1;

    if (sums.nbecome > 1)
        return 0;
    if (sums.nparts == 1)
        return reshard_moved(from, to, shape);
    for (size_t d = 0; d < from->rank; d++)
        nelements *= (uint64_t)shape[d];

    uint64_t ncopies = (uint64_t)shd_mesh_size(to->mesh) /
                       ndevices_along(to->mesh, shd_sharding_axes(to)) / sums.nkept;
    uint64_t all = reshard_mul(nelements, sums.nparts - 1 + ncopies);

    if (all == UINT64_MAX)
        return all;
    return reshard_mul(sums.nkept, all - count_met(from, to, shape, nelements));
}

uint64_t shd_reshard_bound_at(const struct shd_sharding *from, const struct shd_sharding *to,
                              const int64_t *shape, enum shd_dtype dtype, int32_t position)
{
    if (!sharding_is_bound(from) || !sharding_is_bound(to) || (!shape && from->rank > 0))
        return 0;

    struct shd_reshard_step step = {.from = *from, .to = *to};
    struct sums sums = sums_of(from, to);
    uint64_t count = reshard_count_at(to, shape, position);

    if (sums.nbecome > 1)
        return 0;
    if (sums.nparts == 1)
        count -= reshard_held(&step, shape, position);
    return count * shd_dtype_size(dtype);
}

/* ---- into groups of devices ---- */

/* A sharding on a mesh of consecutive device ids, no axis of which straddles groups of devices. */
struct grouped {
    struct shd_mesh mesh;                /* the given mesh without its ids */
    struct shd_sharding plain;           /* the sharding on `mesh` */
    struct reshard_pair pair;            /* on a mesh where no axis straddles groups */
    const struct shd_sharding *sharding; /* the sharding on the pair's mesh; NULL: there is no
                                            such mesh */
    int32_t first_id;                    /* of the device at position 0 */
    int32_t ndevices;
};

static int group_devices(struct grouped *out, const struct shd_sharding *sharding, int32_t ndevices,
                         struct shd_error *err)
{
    const int32_t near[SHD_LINK_TIERS_MAX] = {ndevices};
    int32_t size = shd_mesh_size(sharding->mesh);

    out->first_id = shd_mesh_device_id(sharding->mesh, 0);
    out->ndevices = ndevices;
    out->mesh = *sharding->mesh;
    out->mesh.ids = NULL;
    out->plain = *sharding;
    out->plain.mesh = &out->mesh;
    reshard_pair_init(&out->pair, &out->plain, &out->plain, near);
    out->sharding = out->pair.from;
    for (int32_t p = 0; p < size; p++) {
        if (shd_mesh_device_id(sharding->mesh, p) != out->first_id + p)
            out->sharding = NULL;
    }
    if (out->first_id % ndevices != 0 &&
        out->first_id / ndevices != (out->first_id + size - 1) / ndevices)
        out->sharding = NULL;
    if (!out->sharding)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "groups of %d devices do not align with the mesh's axes",
                             (int)ndevices);
    return SHD_OK;
}

/* The position of the first device of a group; -1 where the mesh has no device of that group. */
static int32_t first_of(const struct grouped *g, int32_t group)
{
    int32_t first = group * g->ndevices - g->first_id;

    if (g->first_id / g->ndevices == group)
        return 0;
    return first >= 0 && first < g->mesh.size ? first : -1;
}

/* Whether all devices along an axis are in one group. */
static bool is_inside(const struct grouped *g, uint8_t axis)
{
    return g->sharding->mesh->strides[axis] < g->ndevices;
}

/* The number of different intervals along a dimension that a group's devices have together. */
static int64_t ninside(const struct grouped *g, size_t dim)
{
    const struct shd_dim_axes *axes = &g->sharding->dims[dim];
    int64_t n = 1;

    for (size_t i = 0; i < axes->naxes; i++)
        n *= is_inside(g, axes->axes[i]) ? shd_mesh_axis_size(g->sharding->mesh, axes->axes[i]) : 1;
    return n;
}

/* Interval number `i` of a group: it has the group's coordinates on the axes outside, and the
 * digits of `i` on the axes inside. */
static int64_t interval_inside(const struct grouped *g, size_t dim, int32_t first, int64_t i)
{
    const struct shd_dim_axes *axes = &g->sharding->dims[dim];
    int64_t stride = 1;
    int64_t interval = 0;

    for (size_t k = axes->naxes; k-- > 0;) {
        uint8_t a = axes->axes[k];
        int64_t size = shd_mesh_axis_size(g->sharding->mesh, a);
        int64_t digit = shd_mesh_coord(g->sharding->mesh, first, a);

        if (is_inside(g, a)) {
            digit = i % size;
            i /= size;
        }
        interval += digit * stride;
        stride *= size;
    }
    return interval;
}

/* Whether some device of the group has an interval. */
static bool has_interval(const struct grouped *g, size_t dim, int32_t first, int64_t interval)
{
    const struct shd_dim_axes *axes = &g->sharding->dims[dim];

    for (size_t k = axes->naxes; k-- > 0;) {
        uint8_t a = axes->axes[k];
        int32_t size = shd_mesh_axis_size(g->sharding->mesh, a);

        if (!is_inside(g, a) && interval % size != shd_mesh_coord(g->sharding->mesh, first, a))
            return false;
        interval /= size;
    }
    return true;
}

/* The part of the extent needed by a group along a dimension that its devices already hold. */
static int64_t extent_held(const struct grouped *old, int32_t old_first, const struct grouped *new,
                           int32_t first, size_t dim, int64_t extent)
{
    int64_t old_extent = extent / shd_sharding_nshards(old->sharding, dim);
    int64_t new_extent = extent / shd_sharding_nshards(new->sharding, dim);
    int64_t n = ninside(new, dim);
    int64_t held = 0;

    if (extent == 0)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t start = interval_inside(new, dim, first, i) * new_extent;
        int64_t stop = start + new_extent;

        for (int64_t k = start / old_extent; k * old_extent < stop; k++) {
            int64_t low = k * old_extent > start ? k * old_extent : start;
            int64_t high = (k + 1) * old_extent < stop ? (k + 1) * old_extent : stop;

            held += has_interval(old, dim, old_first, k) ? high - low : 0;
        }
    }
    return held;
}

/* Number of elements needed by a group but not held by any device of the group. */
static uint64_t entering(const struct grouped *old, const struct grouped *new, int32_t first,
                         const int64_t *shape)
{
    int32_t old_first = first_of(old, (new->first_id + first) / new->ndevices);
    uint64_t needed = 1;
    uint64_t held = old_first >= 0;

    for (size_t d = 0; d < new->sharding->rank; d++) {
        needed *= (uint64_t)(shape[d] / shd_sharding_nshards(new->sharding, d) * ninside(new, d));
        if (held > 0)
            held *= (uint64_t)extent_held(old, old_first, new, first, d, shape[d]);
    }
    return needed - held;
}

static int bound_entering(uint64_t *out, const struct shd_sharding *from,
                          const struct shd_sharding *to, const int64_t *shape, int32_t ndevices,
                          struct shd_error *err)
{
    struct grouped old;
    struct grouped new;
    int status;

    if (reshard_is_uneven(from, shape) || reshard_is_uneven(to, shape))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "bounds for groups of devices with shards of different sizes");
    status = group_devices(&old, from, ndevices, err);

    if (!status)
        status = group_devices(&new, to, ndevices, err);
    if (status)
        return status;
    *out = 0;
    for (int32_t p = 0; p < new.mesh.size; p += ndevices)
        *out += entering(&old, &new, p, shape);
    return SHD_OK;
}

int shd_reshard_bound(struct shd_reshard_bound *out, const struct shd_sharding *from,
                      const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                      const struct shd_reshard_opts *opts, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || check_bound(from, "from", err) || check_bound(to, "to", err) ||
        !SHD_GIVEN_ARRAY(err, shape, from->rank))
        return SHD_EINVAL;

    struct shd_reshard_bound bound = {.ntiers = opts ? opts->ntiers : 0};
    struct reshard_ask ask;
    int status = reshard_ask(&ask, from, to, shape, dtype, opts, err);

    if (status)
        return status;

    struct sums sums = sums_of(&ask.from, &ask.to);

    bound.received_bytes =
        reshard_mul(bound_elements(&ask.from, &ask.to, shape, sums), shd_dtype_size(dtype));
    if (bound.received_bytes == UINT64_MAX)
        return shd_error_set(err, SHD_ERANGE, "the reshard moves more than 2^64 - 1 bytes");
    for (int32_t p = 0; p < shd_mesh_size(to->mesh); p++) {
        uint64_t bytes = shd_reshard_bound_at(&ask.from, &ask.to, shape, dtype, p);

        bound.largest_bytes = bytes > bound.largest_bytes ? bytes : bound.largest_bytes;
    }
    for (size_t t = 0; t < bound.ntiers && sums.nparts == 1 && sums.nbecome == 1; t++) {
        if (ask.near[t] > 0)
            status = bound_entering(&bound.entering_bytes[t], &ask.from, &ask.to, shape,
                                    ask.near[t], err);
        if (status)
            return status;
        bound.entering_bytes[t] *= shd_dtype_size(dtype);
    }
    *out = bound;
    return SHD_OK;
}
