/* Device meshes (shd/mesh.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/mesh.h>

#include <stdlib.h>
#include <string.h>

#include "mesh_parts.h"
#include "print.h"

static int check_axes(const char *const *names, const int32_t *sizes, size_t naxes,
                      struct shd_error *err)
{
    int32_t product = 1;

    if (naxes > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_ERANGE, "a mesh of %zu axes: at most %d are possible", naxes,
                             SHD_MESH_AXES_MAX);
    for (size_t i = 0; i < naxes; i++) {
        if (!names[i] || names[i][0] == '\0')
            return shd_error_set(err, SHD_EINVAL, "mesh axis %zu has an empty name", i);
        if (sizes[i] < 1)
            return shd_error_set(err, SHD_EINVAL, "mesh axis '%.100s' has size %d", names[i],
                                 (int)sizes[i]);
        for (size_t j = 0; j < i; j++) {
            if (!strcmp(names[i], names[j]))
                return shd_error_set(err, SHD_EDUPAXIS, "two mesh axes have the name '%.100s'",
                                     names[i]);
        }
        if (__builtin_mul_overflow(product, sizes[i], &product))
            return shd_error_set(err, SHD_ERANGE, "the mesh has more than 2^31 - 1 devices");
    }
    return SHD_OK;
}

static int compare_ids(const void *a, const void *b)
{
    int32_t x = ((const struct mesh_placed *)a)->id;
    int32_t y = ((const struct mesh_placed *)b)->id;

    return (x > y) - (x < y);
}

/* Whether the ids equal the positions 0, 1, 2, ..., so that they need not be stored. */
static bool are_positions(const int32_t *ids, int32_t size)
{
    int32_t p = 0;

    while (p < size && ids[p] == p)
        p++;
    return p == size;
}

static int set_ids(struct shd_mesh *mesh, const int32_t *ids, struct shd_error *err)
{
    size_t size = (size_t)mesh->size;

    mesh->ids = malloc(size * sizeof(*mesh->ids));
    mesh->by_id = malloc(size * sizeof(*mesh->by_id));
    if (!mesh->ids || !mesh->by_id)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu device ids", size);

    for (size_t p = 0; p < size; p++) {
        if (ids[p] < 0)
            return shd_error_set(err, SHD_EINVAL, "the device at position %zu has id %d", p,
                                 (int)ids[p]);
        mesh->ids[p] = ids[p];
        mesh->by_id[p] = (struct mesh_placed){ids[p], (int32_t)p};
    }
    qsort(mesh->by_id, size, sizeof(*mesh->by_id), compare_ids);
    for (size_t i = 1; i < size; i++) {
        if (mesh->by_id[i].id == mesh->by_id[i - 1].id)
            return shd_error_set(err, SHD_EINVAL, "device id %d is in the mesh twice",
                                 (int)mesh->by_id[i].id);
    }
    return SHD_OK;
}

static int set_axes(struct shd_mesh *mesh, const char *const *names, const int32_t *sizes,
                    size_t naxes, struct shd_error *err)
{
    mesh->naxes = naxes;
    mesh->size = 1;
    for (size_t i = naxes; i-- > 0;) {
        mesh->names[i] = strdup(names[i]);
        if (!mesh->names[i])
            return shd_error_set(err, SHD_ENOMEM, "no memory for a mesh");
        mesh->sizes[i] = sizes[i];
        mesh->strides[i] = mesh->size;
        mesh->size *= sizes[i];
    }
    return SHD_OK;
}

int shd_mesh_create(struct shd_mesh **out, const char *const *names, const int32_t *sizes,
                    size_t naxes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, names, naxes) ||
        !SHD_GIVEN_ARRAY(err, sizes, naxes))
        return SHD_EINVAL;
    return shd_mesh_create_with_ids(out, names, sizes, naxes, NULL, err);
}

int shd_mesh_create_with_ids(struct shd_mesh **out, const char *const *names, const int32_t *sizes,
                             size_t naxes, const int32_t *device_ids, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, names, naxes) ||
        !SHD_GIVEN_ARRAY(err, sizes, naxes))
        return SHD_EINVAL;

    int status = check_axes(names, sizes, naxes, err);

    if (status)
        return status;

    struct shd_mesh *mesh = calloc(1, sizeof(*mesh));

    if (!mesh)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a mesh");
    status = set_axes(mesh, names, sizes, naxes, err);
    if (!status && device_ids && !are_positions(device_ids, mesh->size))
        status = set_ids(mesh, device_ids, err);
    if (status) {
        shd_mesh_destroy(mesh);
        return status;
    }
    *out = mesh;
    return SHD_OK;
}

void shd_mesh_destroy(struct shd_mesh *mesh)
{
    if (!mesh)
        return;
    for (size_t i = 0; i < mesh->naxes; i++)
        free(mesh->names[i]);
    free(mesh->ids);
    free(mesh->by_id);
    free(mesh);
}

size_t shd_mesh_naxes(const struct shd_mesh *mesh)
{
    if (!mesh)
        return 0;
    return mesh->naxes;
}

int32_t shd_mesh_size(const struct shd_mesh *mesh)
{
    if (!mesh)
        return 0;
    return mesh->size;
}

const char *shd_mesh_axis_name(const struct shd_mesh *mesh, size_t axis)
{
    if (!mesh || axis >= mesh->naxes)
        return NULL;
    return mesh->names[axis];
}

int32_t shd_mesh_axis_size(const struct shd_mesh *mesh, size_t axis)
{
    if (!mesh || axis >= mesh->naxes)
        return 0;
    return mesh->sizes[axis];
}

int64_t shd_mesh_size_along(const struct shd_mesh *mesh, uint32_t axes)
{
    if (!mesh)
        return 0;

    int64_t n = 1;

    for (size_t a = 0; a < mesh->naxes; a++)
        n *= axes >> a & 1 ? mesh->sizes[a] : 1;
    return n;
}

int64_t shd_mesh_size_of_axes(const struct shd_mesh *mesh, const uint8_t *axes, size_t naxes)
{
    if ((!mesh || !axes) && naxes > 0)
        return 0;

    int64_t n = 1;

    for (size_t i = 0; i < naxes; i++)
        n *= axes[i] < mesh->naxes ? mesh->sizes[axes[i]] : 0;
    return n;
}

int shd_mesh_find_axis(const struct shd_mesh *mesh, const char *name)
{
    if (!mesh || !name)
        return -1;
    for (size_t i = 0; i < mesh->naxes; i++) {
        if (!strcmp(mesh->names[i], name))
            return (int)i;
    }
    return -1;
}

void shd_mesh_coords(const struct shd_mesh *mesh, int32_t position, int32_t *coords)
{
    if (!mesh || !coords)
        return;
    for (size_t i = 0; i < mesh->naxes; i++)
        coords[i] = shd_mesh_coord(mesh, position, i);
}

int32_t shd_mesh_position(const struct shd_mesh *mesh, const int32_t *coords)
{
    if (!mesh || !coords)
        return -1;

    int32_t position = 0;

    for (size_t i = 0; i < mesh->naxes; i++)
        position += coords[i] * mesh->strides[i];
    return position;
}

int32_t shd_mesh_coord(const struct shd_mesh *mesh, int32_t position, size_t axis)
{
    if (!mesh || axis >= mesh->naxes || position < 0 || position >= mesh->size)
        return -1;
    return position / mesh->strides[axis] % mesh->sizes[axis];
}

int32_t shd_mesh_device_id(const struct shd_mesh *mesh, int32_t position)
{
    if (!mesh || position < 0 || position >= mesh->size)
        return -1;
    return mesh->ids ? mesh->ids[position] : position;
}

int32_t shd_mesh_find_device(const struct shd_mesh *mesh, int32_t device_id)
{
    if (!mesh)
        return -1;
    if (!mesh->by_id)
        return device_id >= 0 && device_id < mesh->size ? device_id : -1;

    const struct mesh_placed key = {device_id, 0};
    const struct mesh_placed *found =
        bsearch(&key, mesh->by_id, (size_t)mesh->size, sizeof(key), compare_ids);

    return found ? found->position : -1;
}

bool shd_mesh_equal(const struct shd_mesh *a, const struct shd_mesh *b)
{
    if (a == b)
        return true;
    if (!a || !b)
        return false;
    if (a->naxes != b->naxes || memcmp(a->sizes, b->sizes, sizeof(a->sizes)) != 0)
        return false;
    for (size_t i = 0; i < a->naxes; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0)
            return false;
    }
    if (!a->ids || !b->ids) /* ids that equal the positions are never stored */
        return a->ids == b->ids;
    return !memcmp(a->ids, b->ids, (size_t)a->size * sizeof(*a->ids));
}

size_t shd_mesh_print(const struct shd_mesh *mesh, char *buf, size_t size)
{
    if (!mesh || (!buf && size > 0))
        return 0;

    struct print print;

    print_init(&print, buf, size);
    for (size_t i = 0; i < mesh->naxes; i++)
        print_add(&print, "%s%s=%d", i > 0 ? ", " : "", mesh->names[i], (int)mesh->sizes[i]);
    return print.length;
}
