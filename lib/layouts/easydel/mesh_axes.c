/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/mesh_axes.h>

#include <string.h>

int shd_mesh_find(const struct shd_mesh **out, const struct shd_mesh *given,
                  const struct shd_mesh *context, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    const struct shd_mesh *mesh = given ? given : context;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    *out = mesh;
    return SHD_OK;
}

static int find_axis(size_t *out, const struct shd_mesh *mesh, const char *name,
                     struct shd_error *err)
{
    int axis = shd_mesh_find_axis(mesh, name);

    if (axis < 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.100s'", name);
    *out = (size_t)axis;
    return SHD_OK;
}

/* The product of the sizes of axes, and the index of a position among all coordinates on them. */
static int count(int64_t *size, int64_t *index, const struct shd_mesh *mesh,
                 const char *const *axes, size_t naxes, int32_t position, struct shd_error *err)
{
    int64_t product = 1, number = 0;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    for (size_t i = 0; i < naxes; i++) {
        size_t axis = 0;
        int status = find_axis(&axis, mesh, axes[i], err);

        if (status)
            return status;
        int32_t n = shd_mesh_axis_size(mesh, axis);

        if (__builtin_mul_overflow(product, n, &product))
            return shd_error_set(err, SHD_ERANGE, "the sizes of %zu axes multiply to over 2^63",
                                 naxes);
        number = number * n + shd_mesh_coord(mesh, position, axis);
    }
    *size = product;
    *index = number;
    return SHD_OK;
}

int shd_mesh_axes_size(int64_t *out, const struct shd_mesh *mesh, const char *const *axes,
                       size_t naxes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, axes, naxes))
        return SHD_EINVAL;

    int64_t index;

    return count(out, &index, mesh, axes, naxes, 0, err);
}

int shd_mesh_axes_index(int64_t *out, const struct shd_mesh *mesh, const char *const *axes,
                        size_t naxes, int32_t position, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, axes, naxes))
        return SHD_EINVAL;

    int64_t size;

    if (mesh && (position < 0 || position >= shd_mesh_size(mesh)))
        return shd_error_set(err, SHD_ERANGE, "position %d is not in a mesh of %d devices",
                             (int)position, (int)shd_mesh_size(mesh));
    return count(&size, out, mesh, axes, naxes, position, err);
}

bool shd_mesh_has_axes(const struct shd_mesh *mesh, const char *const *axes, size_t naxes)
{
    if (!axes && naxes > 0)
        return false;
    for (size_t i = 0; i < naxes; i++) {
        if (!mesh || shd_mesh_find_axis(mesh, axes[i]) < 0)
            return false;
    }
    return true;
}

/* Insert a name among `n` sorted ones, unless it is there already or there is no room.  Returns how
 * many there are then. */
static size_t insert(const char **names, size_t n, size_t size, const char *name)
{
    size_t i = n;

    while (i > 0 && strcmp(names[i - 1], name) > 0)
        i--;
    if ((i > 0 && !strcmp(names[i - 1], name)) || n == size)
        return n;
    memmove(&names[i + 1], &names[i], (n - i) * sizeof(*names));
    names[i] = name;
    return n + 1;
}

size_t shd_specs_axis_names(const char **names, size_t size, const struct shd_spec *const *specs,
                            size_t nspecs)
{
    if (!names || (!specs && nspecs > 0))
        return 0;

    size_t n = 0;

    for (size_t s = 0; s < nspecs; s++) {
        for (size_t e = 0; specs[s] && e < shd_spec_nentries(specs[s]); e++) {
            for (size_t a = 0; a < shd_spec_naxes(specs[s], e); a++)
                n = insert(names, n, size, shd_spec_axis(specs[s], e, a));
        }
    }
    return n;
}

size_t shd_specs_count_axes(const struct shd_spec *const *specs, size_t nspecs)
{
    if (!specs && nspecs > 0)
        return 0;

    size_t n = 0;

    for (size_t s = 0; s < nspecs; s++) {
        for (size_t e = 0; specs[s] && e < shd_spec_nentries(specs[s]); e++)
            n += shd_spec_naxes(specs[s], e);
    }
    return n;
}

/* The first axis of a spec that a mesh does not have; NULL where it has them all.  No mesh has no
 * axes. */
static const char *missing_axis(const struct shd_spec *spec, const struct shd_mesh *mesh)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        for (size_t a = 0; a < shd_spec_naxes(spec, e); a++) {
            const char *name = shd_spec_axis(spec, e, a);

            if (!mesh || shd_mesh_find_axis(mesh, name) < 0)
                return name;
        }
    }
    return NULL;
}

int shd_constraint_applies(bool *out, bool is_device_array, const struct shd_spec *spec,
                           const struct shd_mesh *sharding_mesh, const struct shd_mesh *context,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;
    if (is_device_array) {
        const struct shd_mesh *mesh;
        int status = shd_mesh_find(&mesh, sharding_mesh, context, err);

        if (status)
            return status;
    }
    *out = is_device_array && !missing_axis(spec, context);
    return SHD_OK;
}

int shd_constraint_applies_strict(bool *out, bool is_device_array, const struct shd_spec *spec,
                                  const struct shd_mesh *sharding_mesh,
                                  const struct shd_mesh *context, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;
    if (is_device_array) {
        const struct shd_mesh *mesh;
        int status = shd_mesh_find(&mesh, sharding_mesh, context, err);
        const char *missing = status ? NULL : missing_axis(spec, mesh);

        if (missing)
            status = shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.100s'", missing);
        if (status)
            return status;
    }
    *out = is_device_array;
    return SHD_OK;
}
