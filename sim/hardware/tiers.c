/* tiers.c - the placement of devices on tiers: slices of a torus, groups, pairs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <string.h>

#include <shd/group.h>

/* ---- slices ---- */

static int64_t product(const int64_t *dims, int ndims)
{
    int64_t all = 1;

    for (int d = 0; d < ndims; d++)
        all *= dims[d];
    return all;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Find lengths for `devices` as near to a cube as possible, none above `most`: with the smallest
 * longest one, then the smallest sum; shorter ones first.  False: there are none. */
static bool find_shape(int64_t *shape, const int64_t *most, int64_t devices)
{
    int64_t best_longest = INT64_MAX, best_sum = INT64_MAX, dims[HARDWARE_TORUS_MAX];

    for (dims[0] = 1; dims[0] <= most[0]; dims[0]++) {
        int64_t left = devices / dims[0];

        for (dims[1] = 1; devices % dims[0] == 0 && dims[1] <= most[1]; dims[1]++) {
            int64_t longest, sum;

            dims[2] = left / dims[1];
            if (left % dims[1] || dims[2] > most[2])
                continue;
            longest = larger(larger(dims[0], dims[1]), dims[2]);
            sum = dims[0] + dims[1] + dims[2];
            if (longest > best_longest || (longest == best_longest && sum >= best_sum))
                continue;
            best_longest = longest;
            best_sum = sum;
            memcpy(shape, dims, sizeof dims);
        }
    }
    return best_sum < INT64_MAX;
}

/* Find a slice of `devices` in a pod.  If the lengths of the pod's axes allow none, but the pod has
 * enough devices, the slice may be longer than the pod along an axis: in a pod of 16 x 20 x 28 two
 * boxes count as one of 16 x 16 x 32. */
static bool find_slice(int64_t *shape, const struct hardware_tier *pod, int64_t devices)
{
    int64_t most[HARDWARE_TORUS_MAX] = {1, 1, 1}, all = product(pod->pod, pod->ndims);
    int64_t found[HARDWARE_TORUS_MAX];

    if (devices > all)
        return false;
    memcpy(most + HARDWARE_TORUS_MAX - pod->ndims, pod->pod, (size_t)pod->ndims * sizeof *pod->pod);
    if (!find_shape(found, most, devices)) {
        for (int d = HARDWARE_TORUS_MAX - pod->ndims; d < HARDWARE_TORUS_MAX; d++)
            most[d] = 2 * larger(most[d], 1);
        if (!find_shape(found, most, devices))
            return false;
    }
    memcpy(shape, found + HARDWARE_TORUS_MAX - pod->ndims, (size_t)pod->ndims * sizeof *pod->dims);
    return true;
}

static bool fits(const struct hardware_tier *pod, const int64_t *shape, int64_t devices)
{
    for (int d = 0; d < pod->ndims; d++)
        if (shape[d] < 1 || shape[d] > pod->pod[d])
            return false;
    return product(shape, pod->ndims) == devices;
}

int hardware_lay_out(struct hardware *hardware, int64_t devices, int64_t slices,
                     const int64_t *shape, struct shd_error *err)
{
    struct hardware_tier *pod = &hardware->tiers[0];
    int64_t dims[HARDWARE_TORUS_MAX];

    if (devices < 1 || slices < 1 || devices % slices)
        return shd_error_set(err, SHD_EINVAL, "%lld devices cannot form %lld equal slices",
                             (long long)devices, (long long)slices);
    if (!pod->torus)
        return SHD_OK;
    if (pod->pod[0] == 0)
        memcpy(pod->pod, pod->dims, sizeof pod->pod);
    devices /= slices;
    if (shape && fits(pod, shape, devices))
        memcpy(dims, shape, (size_t)pod->ndims * sizeof *shape);
    else if (!find_slice(dims, pod, devices))
        return shd_error_set(err, SHD_EINVAL,
                             "%s has no slice of %lld devices in its pod of %lld; expected more "
                             "slices, or a product of axis lengths",
                             hardware->name, (long long)devices,
                             (long long)product(pod->pod, pod->ndims));
    for (int d = 0; d < pod->ndims; d++) {
        pod->dims[d] = dims[d];
        pod->wrap[d] = pod->wrap_multiple > 0 && dims[d] % pod->wrap_multiple == 0;
    }
    pod->devices = devices;
    return SHD_OK;
}

/* ---- groups ---- */

/* The members of a run of `size` devices at distance `stride` in one domain of `devices`. */
static int64_t inside(int64_t size, int64_t stride, int64_t devices)
{
    int64_t many = devices == 0 ? size : (devices + stride - 1) / stride;

    return many < 1 ? 1 : many > size ? size : many;
}

/* Add a mesh axis to the group on the torus: it covers the torus axis in which its stride falls,
 * then the next outer one. */
static void add_along(struct hardware_group *out, const struct hardware_tier *tier, int64_t size,
                      int64_t stride)
{
    int64_t below = 1;

    for (int d = tier->ndims - 1; d >= 0 && size > 1; d--) {
        int64_t length = tier->dims[d], step = stride / below, many;

        below *= length;
        if (stride >= below)
            continue;
        many = length / step > size ? size : length / step;
        if (many > 1 && (out->along[d] == 1 || step < out->step[d]))
            out->step[d] = step;
        out->along[d] *= many;
        size = (size + many - 1) / many;
        stride = below;
    }
}

void hardware_group_of(struct hardware_group *out, const struct hardware *hardware,
                       const struct shd_mesh *mesh, const uint8_t *axes, size_t naxes)
{
    *out = (struct hardware_group){.members = 1, .along = {1, 1, 1}, .step = {1, 1, 1}};
    for (int t = 0; t < hardware->ntiers; t++)
        out->inside[t] = 1;
    for (size_t i = 0; i < naxes; i++) {
        int64_t size = shd_mesh_axis_size(mesh, axes[i]), stride = 1;

        for (size_t a = axes[i] + (size_t)1; a < shd_mesh_naxes(mesh); a++)
            stride *= shd_mesh_axis_size(mesh, a);
        out->members *= size;
        for (int t = 0; t < hardware->ntiers; t++)
            out->inside[t] *= inside(size, stride, hardware->tiers[t].devices);
        if (hardware->tiers[0].torus)
            add_along(out, &hardware->tiers[0], size, stride);
    }
}

void hardware_suppose(struct hardware *hardware, double links, double memory)
{
    for (int i = 0; i < hardware->ntiers; i++)
        hardware->tiers[i].bytes_per_s *= links;
    hardware->memory_bytes *= memory;
}

/* ---- pairs ---- */

int hardware_tier_between(const struct hardware *hardware, int64_t from, int64_t to)
{
    int t = 0;

    while (t + 1 < hardware->ntiers && hardware->tiers[t].devices > 0 &&
           from / hardware->tiers[t].devices != to / hardware->tiers[t].devices)
        t++;
    return t;
}

int64_t hardware_hops(const struct hardware *hardware, int64_t from, int64_t to)
{
    const struct hardware_tier *tier = &hardware->tiers[hardware_tier_between(hardware, from, to)];
    int64_t hops = 0;

    if (!tier->torus)
        return 1;
    for (int d = tier->ndims - 1; d >= 0; d--) {
        int64_t length = tier->dims[d], apart = from % length - to % length;

        apart = apart < 0 ? -apart : apart;
        if (tier->wrap[d] && apart > length - apart)
            apart = length - apart;
        hops += apart;
        from /= length;
        to /= length;
    }
    return hops;
}
