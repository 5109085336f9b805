/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/create_mesh.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const int64_t default_dims[SHD_DEFAULT_MESH_AXES] = {1, -1, 1, 1, 1};
static const char *const default_names[SHD_DEFAULT_MESH_AXES] = {"dp", "fsdp", "ep", "tp", "sp"};

const int64_t *shd_default_mesh_dims(void)
{
    return default_dims;
}

const char *const *shd_default_mesh_names(void)
{
    return default_names;
}

static int check_ndims(size_t ndims, struct shd_error *err)
{
    if (ndims > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_ERANGE, "a mesh of %zu axes: at most %d are possible", ndims,
                             SHD_MESH_AXES_MAX);
    return SHD_OK;
}

/* Multiply a product that is only to be compared with an int32_t: once it is larger it stays so,
 * unless a factor is 0. */
static void multiply(int64_t *product, int64_t factor)
{
    if (__builtin_mul_overflow(*product, factor, product) || *product > INT32_MAX)
        *product = INT64_C(1) << 32;
}

int shd_mesh_dims_fill(int32_t *out, const int64_t *dims, size_t ndims, int32_t total,
                       struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, dims, ndims))
        return SHD_EINVAL;

    int64_t product = 1;
    size_t open = ndims;
    int status = check_ndims(ndims, err);

    if (status)
        return status;
    for (size_t d = 0; d < ndims; d++) {
        if (dims[d] < 0 && open < ndims)
            return shd_error_set(err, SHD_EINVAL, "dimensions %zu and %zu are both left open", open,
                                 d);
        if (dims[d] < 0)
            open = d;
        else if (dims[d] == 0)
            return shd_error_set(err, SHD_EINDIVISIBLE, "dimension %zu of the mesh is 0", d);
        else
            multiply(&product, dims[d]);
    }
    if (open == ndims ? product != total : total % product != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "the dimensions of the mesh do not multiply to %d devices",
                             (int)total);
    for (size_t d = 0; d < ndims; d++)
        out[d] = (int32_t)(d == open ? total / product : dims[d]);
    return SHD_OK;
}

int shd_host_mesh_shape(int32_t *out, const int32_t *dims, size_t ndims, int32_t ndevices,
                        int32_t nprocesses, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, dims, ndims))
        return SHD_EINVAL;

    int64_t whole = 1, part = 1;
    int32_t rest = nprocesses;
    int status = check_ndims(ndims, err);

    if (status)
        return status;
    for (size_t d = 0; d < ndims; d++) {
        if (dims[d] < 1)
            return shd_error_set(err, SHD_EINVAL, "dimension %zu of the mesh is %d", d,
                                 (int)dims[d]);
        multiply(&whole, dims[d]);
    }
    if (ndevices < 1 || nprocesses < 1 || whole != (int64_t)ndevices * nprocesses)
        return shd_error_set(err, SHD_EINVAL,
                             "the mesh's size differs from %d processes with %d devices each",
                             (int)nprocesses, (int)ndevices);
    for (size_t d = 0; d < ndims; d++) {
        int32_t size = dims[d];

        out[d] = rest == 1 ? size : size >= rest ? size / rest : 1;
        rest = size >= rest ? 1 : rest / size;
        multiply(&part, out[d]);
    }
    if (part != ndevices)
        return shd_error_set(err, SHD_EINVAL,
                             "%d processes do not factor the mesh: each would have %lld devices, "
                             "not %d",
                             (int)nprocesses, (long long)part, (int)ndevices);
    return SHD_OK;
}

/* Fill in the -1 of the given spread over slices or processes. */
static int fill_dcn(int32_t *out, const int64_t *dcn, size_t ndcn, int32_t total,
                    struct shd_error *err)
{
    struct shd_error why;
    int status;

    for (size_t d = 0; d < ndcn; d++) {
        if (dcn[d] < -1 || dcn[d] == 0)
            return shd_error_set(err, SHD_EINVAL,
                                 "entry %zu of the spread over slices or processes is %lld", d,
                                 (long long)dcn[d]);
    }
    status = shd_mesh_dims_fill(out, dcn, ndcn, total, &why);
    if (status)
        return shd_error_set(err, status, "the spread over slices or processes: %.150s", why.text);
    return SHD_OK;
}

/* A mesh put together of equal parts. */
struct plan {
    size_t ndims;
    int32_t ici[SHD_MESH_AXES_MAX]; /* devices along each dimension of one part */
    int32_t dcn[SHD_MESH_AXES_MAX]; /* parts along each dimension */
};

/* Put ones in front of `n` sizes, to make them `ndims`. */
static void align(int32_t *sizes, size_t n, size_t ndims)
{
    memmove(sizes + (ndims - n), sizes, n * sizeof(*sizes));
    for (size_t d = 0; d < ndims - n; d++)
        sizes[d] = 1;
}

/* Bring the sizes inside a part, `nici` of them, and those over parts, `ndcn` of them, to the same
 * number of dimensions. */
static void set_ndims(struct plan *plan, size_t nici, size_t ndcn)
{
    plan->ndims = nici > ndcn ? nici : ndcn;
    align(plan->ici, nici, plan->ndims);
    align(plan->dcn, ndcn, plan->ndims);
}

/* Cut a mesh of the sizes `whole` into slices. */
static int plan_slices(struct plan *plan, const struct shd_cluster *cluster, int32_t nslices,
                       const int32_t *whole, size_t ndims, const int64_t *dcn, size_t ndcn,
                       struct shd_error *err)
{
    size_t cut = 0;

    while (cut < ndims && whole[cut] % nslices != 0)
        cut++;
    if (cut == ndims)
        return shd_error_set(err, SHD_EINVAL, "no dimension of the mesh divides by %d slices",
                             (int)nslices);
    if (cluster->nslices != nslices)
        return shd_error_set(err, SHD_EINVAL, "%d slices are requested, but devices are in %d",
                             (int)nslices, (int)cluster->nslices);
    for (size_t d = 0; d < ndims; d++) {
        plan->ici[d] = d == cut ? whole[d] / nslices : whole[d];
        plan->dcn[d] = d == cut ? nslices : 1;
    }

    int status = dcn ? fill_dcn(plan->dcn, dcn, ndcn, nslices, err) : SHD_OK;

    if (!status)
        set_ndims(plan, ndims, dcn ? ndcn : ndims);
    return status;
}

/* Cut a mesh of the sizes `whole` into the parts of processes. */
static int plan_processes(struct plan *plan, const struct shd_cluster *cluster,
                          const int32_t *whole, size_t ndims, const int64_t *dcn, size_t ndcn,
                          struct shd_error *err)
{
    int64_t parts = 1;
    int status = shd_host_mesh_shape(
        plan->ici, whole, ndims, cluster->ndevices / cluster->nprocesses, cluster->nprocesses, err);

    for (size_t d = 0; !status && d < ndims; d++) {
        plan->dcn[d] = whole[d] / plan->ici[d];
        multiply(&parts, plan->dcn[d]);
    }
    if (!status && parts != cluster->nprocesses) {
        for (size_t d = 0; d < ndims; d++)
            plan->dcn[d] = d == 0 ? cluster->nprocesses : 1;
    }
    if (!status && dcn)
        status = fill_dcn(plan->dcn, dcn, ndcn, cluster->nprocesses, err);
    if (!status)
        set_ndims(plan, ndims, dcn ? ndcn : ndims);
    return status;
}

/* Whether device ids are positions.  They are unless a dimension with several devices of a part
 * comes before one with several parts. */
static bool is_row_major(const struct plan *plan)
{
    bool inside = false;

    for (size_t d = 0; d < plan->ndims; d++) {
        if (inside && plan->dcn[d] > 1)
            return false;
        inside |= plan->ici[d] > 1;
    }
    return true;
}

/* The id of the device at a position of the whole mesh. */
static int32_t find_device(const struct plan *plan, const int32_t *sizes, int32_t position,
                           int32_t part_size)
{
    int32_t part = 0, inside = 0, part_stride = 1, inside_stride = 1;

    for (size_t d = plan->ndims; d-- > 0;) {
        int32_t index = position % sizes[d];

        position /= sizes[d];
        part += index / plan->ici[d] * part_stride;
        inside += index % plan->ici[d] * inside_stride;
        part_stride *= plan->dcn[d];
        inside_stride *= plan->ici[d];
    }
    return part * part_size + inside;
}

static int build(struct shd_mesh_grid *out, const struct plan *plan, int32_t ndevices,
                 struct shd_error *err)
{
    struct shd_mesh_grid grid = {.ndims = plan->ndims};
    int32_t part_size = 1;

    for (size_t d = 0; d < plan->ndims; d++) {
        grid.sizes[d] = plan->ici[d] * plan->dcn[d];
        part_size *= plan->ici[d];
    }
    if (!is_row_major(plan)) {
        grid.device_ids = malloc((size_t)ndevices * sizeof(*grid.device_ids));
        if (!grid.device_ids)
            return shd_error_set(err, SHD_ENOMEM, "no memory for %d device ids", (int)ndevices);
        for (int32_t p = 0; p < ndevices; p++)
            grid.device_ids[p] = find_device(plan, grid.sizes, p, part_size);
    }
    *out = grid;
    return SHD_OK;
}

static int check_cluster(const struct shd_cluster *cluster, struct shd_error *err)
{
    int32_t nslices = cluster->nslices ? cluster->nslices : 1;

    if (cluster->ndevices < 1 || cluster->nprocesses < 1 || nslices < 1 ||
        cluster->nslices_asked < 0)
        return shd_error_set(err, SHD_EINVAL, "invalid: %d devices, %d processes, %d slices",
                             (int)cluster->ndevices, (int)cluster->nprocesses,
                             (int)cluster->nslices);
    if (cluster->ndevices % cluster->nprocesses != 0 || cluster->ndevices % nslices != 0)
        return shd_error_set(err, SHD_EINVAL, "%d devices do not divide by %d processes, %d slices",
                             (int)cluster->ndevices, (int)cluster->nprocesses, (int)nslices);
    return SHD_OK;
}

int shd_mesh_grid_init(struct shd_mesh_grid *out, const struct shd_cluster *cluster,
                       const int64_t *dims, size_t ndims, const int64_t *dcn, size_t ndcn,
                       struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, cluster) || !SHD_GIVEN_ARRAY(err, dims, ndims))
        return SHD_EINVAL;

    struct plan plan = {.ndims = ndims};
    int32_t whole[SHD_MESH_AXES_MAX];
    int32_t nslices = cluster->nslices > 1 ? cluster->nslices : cluster->nslices_asked;
    int status = check_cluster(cluster, err);

    if (!status)
        status = shd_mesh_dims_fill(whole, dims, ndims, cluster->ndevices, err);
    if (!status && dcn)
        status = check_ndims(ndcn, err);
    if (status)
        return status;

    if (nslices > 1) {
        status = plan_slices(&plan, cluster, nslices, whole, ndims, dcn, ndcn, err);
    } else if (cluster->nprocesses > 1) {
        status = plan_processes(&plan, cluster, whole, ndims, dcn, ndcn, err);
    } else {
        memcpy(plan.ici, whole, ndims * sizeof(*whole));
        for (size_t d = 0; d < ndims; d++)
            plan.dcn[d] = 1;
    }
    return status ? status : build(out, &plan, cluster->ndevices, err);
}

void shd_mesh_grid_fini(struct shd_mesh_grid *grid)
{
    if (!grid)
        return;
    free(grid->device_ids);
}

int shd_mesh_create_by_dims(struct shd_mesh **out, const struct shd_cluster *cluster,
                            const int64_t *dims, size_t ndims, const char *const *names,
                            size_t nnames, const int64_t *dcn, size_t ndcn, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, cluster) || !SHD_GIVEN_ARRAY(err, dims, ndims) ||
        !SHD_GIVEN_ARRAY(err, names, nnames))
        return SHD_EINVAL;

    struct shd_mesh_grid grid;
    int status = shd_mesh_grid_init(&grid, cluster, dims, ndims, dcn, ndcn, err);

    if (status)
        return status;
    if (grid.ndims != nnames)
        status = shd_error_set(err, SHD_EINVAL, "%zu names for a mesh of %zu dimensions", nnames,
                               grid.ndims);
    else
        status = shd_mesh_create_with_ids(out, names, grid.sizes, nnames, grid.device_ids, err);
    shd_mesh_grid_fini(&grid);
    return status;
}
