/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/tpu_mesh.h>

#include <stdlib.h>
#include <string.h>

/* The hardware: its devices by their coordinates, and the box of the local ones. */
struct grid {
    size_t ndims;
    int64_t global[SHD_GRID_DIMS_MAX];
    int64_t local[SHD_GRID_DIMS_MAX];
    int32_t size;
    int32_t *ids; /* row-major by coordinates */
};

/* A way through the grid: each dimension d of the way is dimension dims[d] of the grid, cut into
 * parts (data hosts, data devices, model hosts, model devices), the first the most major. */
enum { NPARTS = 4 };

struct way {
    uint8_t dims[SHD_GRID_DIMS_MAX];
    int64_t parts[SHD_GRID_DIMS_MAX][NPARTS];
};

static const char *const axis_names[] = {"data", "model"};

static int alloc_ids(struct grid *grid, struct shd_error *err)
{
    grid->ids = malloc((size_t)grid->size * sizeof(*grid->ids));
    if (!grid->ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", (int)grid->size);
    return SHD_OK;
}

static size_t grid_index(const struct grid *grid, const int64_t *coords)
{
    int64_t index = 0;

    for (size_t d = 0; d < grid->ndims; d++)
        index = index * grid->global[d] + coords[d];
    return (size_t)index;
}

/* Set the extents of the local devices: what shd_device_bounds() tells of the far corner of their
 * process or, strictly, the extents of a host. */
static void set_local(struct grid *grid, const struct shd_topology *t, int32_t process, bool strict)
{
    static const uint8_t order[4] = {3, 0, 1, 2};

    for (size_t i = 0; i < t->ndims; i++) {
        size_t d = t->ndims == 4 ? order[i] : i;
        int32_t nhosts = t->bounds[d] / t->host[d];
        int32_t host = t->ndims == 4 ? process % nhosts : nhosts - 1;

        grid->local[d] = (int64_t)t->host[d] * (strict && t->ndims == 4 ? 1 : host + 1);
        process /= nhosts;
    }
}

static int grid_init(struct grid *grid, const struct shd_topology *t,
                     const struct shd_tpu_mesh_opts *opts, struct shd_error *err)
{
    if (opts->local_process < 0 || opts->local_process >= t->nprocesses)
        return shd_error_set(err, SHD_EINVAL, "there is no process %lld among %d",
                             (long long)opts->local_process, (int)t->nprocesses);
    *grid = (struct grid){.ndims = t->ndims, .size = t->ndevices};
    for (size_t d = 0; d < t->ndims; d++)
        grid->global[d] = t->bounds[d];
    set_local(grid, t, (int32_t)opts->local_process, opts->strict);

    int status = alloc_ids(grid, err);

    for (int32_t id = 0; !status && id < t->ndevices; id++) {
        int64_t coords[SHD_DEVICE_COORDS_MAX + 1];
        struct shd_topology_device device;
        size_t ndims;

        shd_topology_device(t, id, &device);
        status = shd_device_coords(coords, &ndims, &device, t->nlocal, err);
        if (!status)
            grid->ids[grid_index(grid, coords)] = id;
    }
    return status;
}

/* -1, 0 or 1 as a comes before b, is equal to it, or comes after it, in the order of tuples. */
static int compare_coords(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
    for (size_t d = 0; d < na && d < nb; d++) {
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    }
    return (na > nb) - (na < nb);
}

/* What shd_device_bounds() says of the device with the largest coordinates. */
static int list_bounds(int64_t *bounds, size_t *ndims, const struct shd_topology_device *devices,
                       size_t n, const struct shd_device_list *list, struct shd_error *err)
{
    const struct shd_topology_device *last = NULL;
    int64_t last_coords[SHD_DEVICE_COORDS_MAX + 1], coords[SHD_DEVICE_COORDS_MAX + 1];
    size_t nlast = 0, ncoords;

    for (size_t i = 0; i < n; i++) {
        int status =
            shd_device_coords(coords, &ncoords, &devices[i], list->local_device_count, err);

        if (status)
            return status;
        if (!last || compare_coords(coords, ncoords, last_coords, nlast) >= 0) {
            last = &devices[i];
            nlast = ncoords;
            memcpy(last_coords, coords, ncoords * sizeof(*coords));
        }
    }
    if (!last)
        return shd_error_set(err, SHD_EINVAL, "there are no devices to make a mesh of");
    return shd_device_bounds(bounds, ndims, last, list->nprocesses, list->local_device_count, err);
}

static int put_device(struct grid *grid, const struct shd_topology_device *device,
                      const struct shd_device_list *list, struct shd_error *err)
{
    int64_t coords[SHD_DEVICE_COORDS_MAX + 1];
    size_t ndims;
    int status = shd_device_coords(coords, &ndims, device, list->local_device_count, err);

    if (status)
        return status;
    if (device->id < 0 || device->id > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL, "a device has the id %lld", (long long)device->id);
    for (size_t d = 0; ndims == grid->ndims && d < ndims; d++) {
        if (coords[d] < 0 || coords[d] >= grid->global[d])
            ndims = 0;
    }
    if (ndims != grid->ndims)
        return shd_error_set(err, SHD_EINVAL, "device %lld is outside the box of the others",
                             (long long)device->id);
    grid->ids[grid_index(grid, coords)] = (int32_t)device->id;
    return SHD_OK;
}

/* Set the size of the box that devices must fill: it has no more places than there are devices. */
static int grid_size(struct grid *grid, size_t ndevices, struct shd_error *err)
{
    int64_t size = 1;

    for (size_t d = 0; d < grid->ndims; d++) {
        if (grid->global[d] < 1 || __builtin_mul_overflow(size, grid->global[d], &size) ||
            (uint64_t)size > ndevices || size > INT32_MAX)
            return shd_error_set(err, SHD_EINVAL, "%zu devices do not fill their box", ndevices);
    }
    grid->size = (int32_t)size;
    return SHD_OK;
}

static int grid_init_list(struct grid *grid, const struct shd_device_list *list,
                          struct shd_error *err)
{
    size_t nlocal_dims;

    *grid = (struct grid){0};

    int status = list_bounds(grid->global, &grid->ndims, list->devices, list->ndevices, list, err);

    if (!status)
        status = list_bounds(grid->local, &nlocal_dims, list->local, list->nlocal, list, err);
    if (!status && nlocal_dims != grid->ndims)
        status = shd_error_set(err, SHD_EINVAL, "only some of the devices have coordinates");
    if (!status)
        status = grid_size(grid, list->ndevices, err);
    if (!status)
        status = alloc_ids(grid, err);
    if (!status)
        memset(grid->ids, 0xff, (size_t)grid->size * sizeof(*grid->ids));
    for (size_t i = 0; !status && i < list->ndevices; i++)
        status = put_device(grid, &list->devices[i], list, err);
    for (int32_t i = 0; !status && i < grid->size; i++) {
        if (grid->ids[i] < 0)
            status = shd_error_set(err, SHD_EINVAL, "the devices do not fill their box");
    }
    return status;
}

static int check_factor(const char *what, int64_t global, int64_t part, struct shd_error *err)
{
    if (part == 0)
        return shd_error_set(err, SHD_EINVAL, "%s has an extent of 0", what);
    if (part != -1 && global % part != 0) /* INT64_MIN % -1 is undefined */
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "%s has the extent %lld, which does not divide the hardware's %lld",
                             what, (long long)part, (long long)global);
    return SHD_OK;
}

static int check_submesh(const struct grid *grid, const int64_t *submesh, size_t nsubmesh,
                         struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t d = 0; !status && d < grid->ndims && d < nsubmesh; d++)
        status = check_factor("the model-parallel submesh", grid->global[d], submesh[d], err);
    for (size_t d = 0; !status && d < grid->ndims; d++)
        status = check_factor("the host", grid->global[d], grid->local[d], err);
    if (status)
        return status;
    if (nsubmesh < grid->ndims || (grid->ndims == 4 && nsubmesh != 4))
        return shd_error_set(err, SHD_EINVAL, "the submesh has %zu extents, the hardware %zu",
                             nsubmesh, grid->ndims);
    for (size_t d = 0; d < grid->ndims; d++) {
        if (submesh[d] < 1)
            return shd_error_set(err, SHD_EINVAL,
                                 "the model-parallel submesh has an extent of %lld",
                                 (long long)submesh[d]);
    }
    return SHD_OK;
}

/* Whether the submesh fills dimension `a` and has one device of the other two, or fills the other
 * two and has one device of `a`. */
static bool fills(const int64_t *global, const int64_t *submesh, size_t a, size_t b, size_t c)
{
    return (submesh[a] == global[a] && global[a] > 1 && submesh[b] == 1 && submesh[c] == 1) ||
           (submesh[a] == 1 && submesh[b] == global[b] && global[b] > 1 &&
            submesh[c] == global[c] && global[c] > 1);
}

/* Make z major over y, or over x, where a host's chips stay together by that without tiling.  Sets
 * *swapped to whether it was done. */
static int make_z_major(struct way *way, bool *swapped, const struct grid *grid,
                        const int64_t *submesh, struct shd_error *err)
{
    bool zy = fills(grid->global, submesh, 0, 1, 2);
    bool zx = fills(grid->global, submesh, 1, 0, 2);

    *swapped = zy || zx;
    if (!*swapped)
        return SHD_OK;
    if (submesh[3] != grid->global[3])
        return shd_error_set(err, SHD_EINVAL,
                             "the model-parallel submesh has %lld cores of each chip's %lld",
                             (long long)submesh[3], (long long)grid->global[3]);
    way->dims[2] = zy ? 1 : 0;
    way->dims[zy ? 1 : 0] = 2;
    return SHD_OK;
}

/* Cut an extent of the hardware into the parts of a way that keeps each host's devices together. */
static int cut_tiled(int64_t *parts, int64_t global, int64_t model, int64_t host,
                     struct shd_error *err)
{
    int64_t data = global / model;
    bool spans = model >= host; /* a model spans hosts; else a host spans models */

    if (spans ? model % host != 0 : host % model != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "to tile by hosts, the submesh's extent %lld must divide the host's "
                             "%lld or be a multiple of it",
                             (long long)model, (long long)host);
    parts[0] = spans ? data : data / (host / model);
    parts[1] = spans ? 1 : host / model;
    parts[2] = spans ? model / host : 1;
    parts[3] = spans ? host : model;
    for (size_t p = 0; p < NPARTS; p++) {
        if (parts[p] < 1)
            return shd_error_set(err, SHD_EINVAL, "a host of extent %lld does not fit in %lld",
                                 (long long)host, (long long)global);
    }
    return SHD_OK;
}

static int plan_way(struct way *way, const struct grid *grid, const int64_t *submesh, bool tile,
                    struct shd_error *err)
{
    bool swapped = false;
    int status = SHD_OK;

    for (size_t d = 0; d < grid->ndims; d++)
        way->dims[d] = (uint8_t)d;
    if (grid->ndims == 4)
        status = make_z_major(way, &swapped, grid, submesh, err);
    for (size_t d = 0; !status && d < grid->ndims; d++) {
        size_t g = way->dims[d];
        int64_t *parts = way->parts[d];

        parts[0] = grid->global[g] / submesh[g];
        parts[1] = parts[2] = 1;
        parts[3] = submesh[g];
        if (tile && !swapped)
            status = cut_tiled(parts, grid->global[g], submesh[g], grid->local[g], err);
    }
    return status;
}

/* The device at a place of the way: the place's digits are, from the most major one, the first part
 * of every dimension, then the second, and so on. */
static int32_t device_at(const struct way *way, const struct grid *grid, int32_t place)
{
    int64_t digits[SHD_GRID_DIMS_MAX][NPARTS];
    int64_t coords[SHD_GRID_DIMS_MAX];

    for (size_t p = NPARTS; p-- > 0;) {
        for (size_t d = grid->ndims; d-- > 0;) {
            digits[d][p] = place % way->parts[d][p];
            place = (int32_t)(place / way->parts[d][p]);
        }
    }
    for (size_t d = 0; d < grid->ndims; d++) {
        int64_t coord = 0;

        for (size_t p = 0; p < NPARTS; p++)
            coord = coord * way->parts[d][p] + digits[d][p];
        coords[way->dims[d]] = coord;
    }
    return grid->ids[grid_index(grid, coords)];
}

/* The sizes of the mesh.  Extents of the submesh beyond the dimensions of the hardware count as
 * well: with processes and their devices, (1, 2, 2, 1) makes groups of 4. */
static int shape_mesh(int32_t *sizes, const struct grid *grid, const int64_t *submesh,
                      size_t nsubmesh, struct shd_error *err)
{
    int64_t model = 1;
    bool fits = true;

    for (size_t d = 0; d < nsubmesh; d++)
        fits = fits && !__builtin_mul_overflow(model, submesh[d], &model);
    if (!fits || model < 1 || grid->size % model != 0)
        return shd_error_set(err, SHD_EINVAL, "%d devices cannot be grouped by the submesh",
                             (int)grid->size);
    sizes[0] = (int32_t)(grid->size / model);
    sizes[1] = (int32_t)model;
    return SHD_OK;
}

static int create_from_grid(struct shd_mesh **out, const struct grid *grid, const int64_t *submesh,
                            size_t nsubmesh, bool tile, struct shd_error *err)
{
    struct way way;
    int32_t sizes[2];
    int status = check_submesh(grid, submesh, nsubmesh, err);

    if (!status)
        status = plan_way(&way, grid, submesh, tile, err);
    if (!status)
        status = shape_mesh(sizes, grid, submesh, nsubmesh, err);
    if (status)
        return status;

    int32_t *ids = malloc((size_t)grid->size * sizeof(*ids));

    if (!ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", (int)grid->size);
    for (int32_t place = 0; place < grid->size; place++)
        ids[place] = device_at(&way, grid, place);
    status = shd_mesh_create_with_ids(out, axis_names, sizes, 2, ids, err);
    free(ids);
    return status;
}

int shd_tpu_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                        const int64_t *submesh, size_t nsubmesh,
                        const struct shd_tpu_mesh_opts *opts, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology) || !SHD_GIVEN_ARRAY(err, submesh, nsubmesh))
        return SHD_EINVAL;

    const struct shd_tpu_mesh_opts usual = SHD_TPU_MESH_OPTS_INIT;
    struct grid grid = {0};
    int status = grid_init(&grid, topology, opts ? opts : &usual, err);

    if (!status)
        status = create_from_grid(out, &grid, submesh, nsubmesh,
                                  opts ? opts->tile_by_host : usual.tile_by_host, err);
    free(grid.ids);
    return status;
}

int shd_tpu_mesh_create_from(struct shd_mesh **out, const struct shd_device_list *list,
                             const int64_t *submesh, size_t nsubmesh,
                             const struct shd_tpu_mesh_opts *opts, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, list) || !SHD_GIVEN_ARRAY(err, submesh, nsubmesh))
        return SHD_EINVAL;

    struct grid grid;
    int status = grid_init_list(&grid, list, err);

    if (!status)
        status = create_from_grid(out, &grid, submesh, nsubmesh, !opts || opts->tile_by_host, err);
    free(grid.ids);
    return status;
}
