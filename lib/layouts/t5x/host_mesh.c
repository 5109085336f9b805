/* host_mesh.c - default meshes, and those of processes and slices: the rest of shd/tpu_mesh.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/tpu_mesh.h>

#include <stdlib.h>
#include <string.h>

static const char *const data_model[] = {"data", "model"};
static const char *const replica_data_model[] = {"replica", "data", "model"};

int shd_cpu_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                        struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology))
        return SHD_EINVAL;

    const int32_t sizes[] = {topology->nprocesses, topology->nlocal};

    return shd_mesh_create(out, data_model, sizes, 2, err);
}

/* Whether all extents are at least 1 and their product is `size`. */
static bool product_is(const int64_t *extents, size_t n, int64_t size)
{
    int64_t product = 1;

    for (size_t i = 0; i < n; i++) {
        if (extents[i] < 1 || __builtin_mul_overflow(product, extents[i], &product))
            return false;
    }
    return product == size;
}

static int check_granules(const struct shd_topology *topology, int32_t ngranules,
                          const int64_t *ici, size_t nici, const int64_t *dcn, size_t ndcn,
                          struct shd_error *err)
{
    if (ngranules == 0)
        return shd_error_set(err, SHD_EINVAL, "the devices know no slice");
    if (!product_is(dcn, ndcn, ngranules))
        return shd_error_set(err, SHD_EINVAL,
                             "the mesh over granules does not have %d places, one for each of them",
                             (int)ngranules);
    if (!product_is(ici, nici, topology->ndevices / ngranules))
        return shd_error_set(err, SHD_EINVAL,
                             "the mesh inside a granule does not have %d places, one for each of "
                             "its devices",
                             (int)(topology->ndevices / ngranules));
    if (topology->ndims != 2)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "hybrid meshes of chips with coordinates are not supported");
    return SHD_OK;
}

/* Copy `n` extents to `naxes` of them, the leading ones of which are 1. */
static void align(int32_t *to, size_t naxes, const int64_t *from, size_t n)
{
    for (size_t a = 0; a < naxes; a++)
        to[a] = a + n < naxes ? 1 : (int32_t)from[a + n - naxes];
}

/* The id of the device at a position of the whole mesh.  Along each axis the coordinate of the
 * granule is the major part, that inside the granule the minor part. */
static int32_t hybrid_device(int32_t position, const int32_t *ici, const int32_t *dcn, size_t naxes,
                             int32_t granule_size)
{
    int32_t granule = 0, device = 0, granule_stride = 1, device_stride = 1;

    for (size_t a = naxes; a-- > 0;) {
        int32_t coord = position % (ici[a] * dcn[a]);

        position /= ici[a] * dcn[a];
        granule += coord / ici[a] * granule_stride;
        device += coord % ici[a] * device_stride;
        granule_stride *= dcn[a];
        device_stride *= ici[a];
    }
    return granule * granule_size + device;
}

static int create_hybrid(struct shd_mesh **out, const struct shd_topology *topology,
                         int32_t ngranules, const char *const *names, size_t naxes,
                         const int32_t *ici, const int32_t *dcn, struct shd_error *err)
{
    int32_t sizes[SHD_MESH_AXES_MAX];
    int32_t *ids = malloc((size_t)topology->ndevices * sizeof(*ids));

    if (!ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", (int)topology->ndevices);
    for (size_t a = 0; a < naxes; a++)
        sizes[a] = ici[a] * dcn[a];
    for (int32_t p = 0; p < topology->ndevices; p++)
        ids[p] = hybrid_device(p, ici, dcn, naxes, topology->ndevices / ngranules);

    int status = shd_mesh_create_with_ids(out, names, sizes, naxes, ids, err);

    free(ids);
    return status;
}

int shd_hybrid_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                           enum shd_granule granule, const char *const *names, size_t naxes,
                           const int64_t *ici, size_t nici, const int64_t *dcn, size_t ndcn,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology) || !SHD_GIVEN_ARRAY(err, names, naxes) ||
        !SHD_GIVEN_ARRAY(err, ici, nici) || !SHD_GIVEN_ARRAY(err, dcn, ndcn))
        return SHD_EINVAL;
    if (granule != SHD_GRANULE_SLICE && granule != SHD_GRANULE_PROCESS)
        return shd_error_set(err, SHD_EINVAL, "%d is not a kind of granule", (int)granule);

    int32_t ngranules = granule == SHD_GRANULE_PROCESS ? topology->nprocesses : topology->nslices;
    int32_t inside[SHD_MESH_AXES_MAX], over[SHD_MESH_AXES_MAX];
    int status = check_granules(topology, ngranules, ici, nici, dcn, ndcn, err);

    if (status)
        return status;
    if ((nici > ndcn ? nici : ndcn) != naxes || naxes > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_EINVAL, "a hybrid mesh of %zu axes has shapes of %zu and %zu",
                             naxes, nici, ndcn);
    align(inside, naxes, ici, nici);
    align(over, naxes, dcn, ndcn);
    return create_hybrid(out, topology, ngranules, names, naxes, inside, over, err);
}

int shd_gpu_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                        int64_t num_partitions, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology))
        return SHD_EINVAL;

    int64_t nlocal = topology->nlocal;
    int64_t inside = num_partitions < nlocal ? num_partitions : nlocal;

    if (nlocal < 1)
        return shd_error_set(err, SHD_EINVAL, "the topology has no devices");
    if (num_partitions < 1)
        return shd_error_set(err, SHD_EINVAL, "a mesh has %lld partitions",
                             (long long)num_partitions);
    if (nlocal % inside != 0 || num_partitions % inside != 0)
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "%lld partitions neither divide the %lld devices of a process nor are "
                             "a multiple of them",
                             (long long)num_partitions, (long long)nlocal);

    int64_t over = num_partitions / inside;
    const int64_t ici[] = {nlocal / inside, inside};
    const int64_t dcn[] = {topology->nprocesses / over, over};

    return shd_hybrid_mesh_create(out, topology, SHD_GRANULE_PROCESS, data_model, 2, ici, 2, dcn, 2,
                                  err);
}

/* A row of T5X's table of default submeshes, of which there is one for each kind of TPU.  The first
 * row applies that has the number of partitions asked for, and in whose dimension `dim` the
 * hardware has an extent of at least `least`.  A row of 0 partitions ends the table. */
struct tpu_row {
    int64_t num_partitions;
    uint8_t dim;
    int32_t least;
    int64_t submesh[4];
};

static const struct tpu_row tpu_v3[] = {
    {1, 0, 1, {1, 1, 1, 1}}, {2, 0, 1, {1, 1, 1, 2}},  {4, 0, 1, {2, 1, 1, 2}},
    {8, 0, 1, {2, 2, 1, 2}}, {16, 0, 1, {4, 2, 1, 2}}, {0, 0, 0, {0}},
};

static const struct tpu_row tpu_v4[] = {
    {1, 0, 1, {1, 1, 1, 1}},    {2, 0, 1, {1, 2, 1, 1}},  {4, 0, 4, {4, 1, 1, 1}},
    {4, 0, 1, {2, 2, 1, 1}},    {8, 2, 8, {1, 1, 8, 1}},  {8, 0, 1, {4, 2, 1, 1}},
    {16, 2, 16, {1, 1, 16, 1}}, {16, 0, 8, {8, 2, 1, 1}}, {16, 0, 4, {4, 4, 1, 1}},
    {16, 0, 1, {2, 2, 4, 1}},   {0, 0, 0, {0}},
};

static const struct tpu_row *tpu_table(const struct shd_topology *topology)
{
    const char *kind = topology->kind;

    if (!strcmp(kind, "TPU v2") || !strcmp(kind, "TPU v3"))
        return tpu_v3;
    if ((!strcmp(kind, "TPU v4") || !strcmp(kind, "TPU v4 lite")) && topology->ndims == 4 &&
        topology->bounds[3] == 1)
        return tpu_v4;
    return NULL;
}

static int create_by_table(struct shd_mesh **out, const struct shd_topology *topology,
                           int64_t num_partitions, struct shd_error *err)
{
    const struct tpu_row *row = tpu_table(topology);

    for (; row && row->num_partitions > 0; row++) {
        if (row->num_partitions == num_partitions && topology->bounds[row->dim] >= row->least)
            return shd_tpu_mesh_create(out, topology, row->submesh, 4, NULL, err);
    }
    return shd_error_set(err, SHD_EINVAL,
                         "there is no default mesh of %lld partitions for '%s': give the submesh",
                         (long long)num_partitions, topology->kind);
}

int shd_default_mesh_create(struct shd_mesh **out, const struct shd_topology *topology,
                            const struct shd_mesh_request *request, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, topology, request))
        return SHD_EINVAL;
    if (request->ici && request->dcn)
        return shd_hybrid_mesh_create(out, topology, SHD_GRANULE_SLICE, replica_data_model, 3,
                                      request->ici, request->nici, request->dcn, request->ndcn,
                                      err);
    if (request->nsubmesh > 0)
        return shd_tpu_mesh_create(out, topology, request->submesh, request->nsubmesh, NULL, err);
    if (!strcmp(topology->platform, "cpu"))
        return shd_cpu_mesh_create(out, topology, err);
    if (!strcmp(topology->platform, "gpu"))
        return shd_gpu_mesh_create(out, topology, request->num_partitions, err);
    return create_by_table(out, topology, request->num_partitions, err);
}
