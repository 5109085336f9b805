/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/topology.h>

#include <string.h>

int shd_device_bounds(int64_t *out, size_t *ndims, const struct shd_topology_device *last,
                      int64_t nprocesses, int64_t nlocal, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, ndims, last))
        return SHD_EINVAL;

    int64_t bounds[SHD_GRID_DIMS_MAX] = {nprocesses, nlocal, 0, 0};

    if (!last->has_coords || last->ncoords != 3) {
        memcpy(out, bounds, 2 * sizeof(*out));
        *ndims = 2;
        return SHD_OK;
    }
    for (size_t d = 0; d < SHD_GRID_DIMS_MAX; d++) {
        int64_t coord = d < 3 ? last->coords[d] : last->core;

        if (coord == INT64_MAX)
            return shd_error_set(err, SHD_ERANGE, "device %lld has a coordinate of %lld",
                                 (long long)last->id, (long long)coord);
        bounds[d] = coord + 1;
    }
    memcpy(out, bounds, sizeof(bounds));
    *ndims = SHD_GRID_DIMS_MAX;
    return SHD_OK;
}

/* The remainder of a / b that has the sign of b, as Python's; b is not 0. */
static int64_t modulo(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;

    int64_t r = a % b;

    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int shd_device_coords(int64_t *out, size_t *ndims, const struct shd_topology_device *device,
                      int64_t nlocal, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, ndims, device))
        return SHD_EINVAL;
    if (device->has_coords) {
        memcpy(out, device->coords, device->ncoords * sizeof(*out));
        out[device->ncoords] = device->core;
        *ndims = device->ncoords + 1u;
        return SHD_OK;
    }
    if (nlocal == 0)
        return shd_error_set(err, SHD_EINVAL, "device %lld is in a process of 0 devices",
                             (long long)device->id);
    out[0] = device->process;
    out[1] = modulo(device->id, nlocal);
    *ndims = 2;
    return SHD_OK;
}

static int set_name(char *out, const char *name, struct shd_error *err)
{
    size_t size = strlen(name) + 1;

    if (size > SHD_TOPOLOGY_NAME_MAX)
        return shd_error_set(err, SHD_EINVAL, "'%.40s...' is too long a name for devices", name);
    memcpy(out, name, size);
    return SHD_OK;
}

/* Set the extents of a box, and the counts that follow from them. */
static int set_box(struct shd_topology *topology, const int64_t *bounds, const int64_t *host,
                   size_t ndims, struct shd_error *err)
{
    topology->ndims = (uint8_t)ndims;
    topology->ndevices = 1;
    topology->nprocesses = 1;
    topology->nlocal = 1;
    for (size_t d = 0; d < ndims; d++) {
        if (bounds[d] < 1 || host[d] < 1)
            return shd_error_set(err, SHD_EINVAL, "a box of devices has the extent %lld",
                                 (long long)(bounds[d] < 1 ? bounds[d] : host[d]));
        if (bounds[d] % host[d] != 0)
            return shd_error_set(err, SHD_EINDIVISIBLE,
                                 "hosts of extent %lld do not fill a box of extent %lld",
                                 (long long)host[d], (long long)bounds[d]);
        if (bounds[d] > INT32_MAX ||
            __builtin_mul_overflow(topology->ndevices, (int32_t)bounds[d], &topology->ndevices))
            return shd_error_set(err, SHD_ERANGE, "the box has more than 2^31 - 1 devices");
        topology->bounds[d] = (int32_t)bounds[d];
        topology->host[d] = (int32_t)host[d];
        topology->nprocesses *= (int32_t)(bounds[d] / host[d]);
        topology->nlocal *= (int32_t)host[d];
    }
    return SHD_OK;
}

int shd_topology_init_chips(struct shd_topology *out, const char *kind, const int64_t *bounds,
                            const int64_t *host, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, kind, bounds, host))
        return SHD_EINVAL;

    struct shd_topology topology = {.platform = "tpu"};
    int status = set_name(topology.kind, kind, err);

    if (!status)
        status = set_box(&topology, bounds, host, 4, err);
    if (!status)
        *out = topology;
    return status;
}

int shd_topology_init_hosts(struct shd_topology *out, const char *platform, int64_t nprocesses,
                            int64_t nlocal, int64_t nslices, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, platform))
        return SHD_EINVAL;

    const int64_t bounds[2] = {nprocesses, nlocal}, host[2] = {1, nlocal};
    struct shd_topology topology = {0};
    int status = set_name(topology.platform, platform, err);

    if (!status)
        status = set_name(topology.kind, platform, err);
    if (!status)
        status = set_box(&topology, bounds, host, 2, err);
    if (status)
        return status;
    if (nslices < 0 || nslices > nprocesses || (nslices > 0 && nprocesses % nslices != 0))
        return shd_error_set(err, SHD_EINVAL, "%lld processes cannot be split over %lld slices",
                             (long long)nprocesses, (long long)nslices);
    topology.nslices = (int32_t)nslices;
    *out = topology;
    return SHD_OK;
}

/* The order in which ids go through dimensions, the fastest first: cores, x, y, z; or the devices
 * of a process, then processes. */
static const uint8_t chip_order[4] = {3, 0, 1, 2};
static const uint8_t host_order[2] = {1, 0};

static const uint8_t *id_order(const struct shd_topology *topology)
{
    return topology->ndims == 4 ? chip_order : host_order;
}

static void get_coords(const struct shd_topology *topology, int32_t id, int32_t *coords)
{
    const uint8_t *order = id_order(topology);

    for (size_t i = 0; i < topology->ndims; i++) {
        coords[order[i]] = id % topology->bounds[order[i]];
        id /= topology->bounds[order[i]];
    }
}

int32_t shd_topology_process(const struct shd_topology *topology, int32_t id)
{
    if (!topology)
        return -1;

    const uint8_t *order = id_order(topology);
    int32_t coords[SHD_GRID_DIMS_MAX];
    int32_t process = 0;

    get_coords(topology, id, coords);
    for (size_t i = topology->ndims; i-- > 0;) {
        size_t d = order[i];

        process =
            process * (topology->bounds[d] / topology->host[d]) + coords[d] / topology->host[d];
    }
    return process;
}

void shd_topology_device(const struct shd_topology *topology, int32_t id,
                         struct shd_topology_device *out)
{
    if (!topology || !out)
        return;

    int32_t coords[SHD_GRID_DIMS_MAX];

    get_coords(topology, id, coords);
    *out = (struct shd_topology_device){
        .id = id, .process = shd_topology_process(topology, id), .slice = -1};
    if (topology->nslices > 0)
        out->slice = out->process / (topology->nprocesses / topology->nslices);
    if (topology->ndims == 4) {
        out->has_coords = true;
        out->ncoords = 3;
        for (size_t d = 0; d < 3; d++)
            out->coords[d] = coords[d];
        out->core = coords[3];
    }
}
