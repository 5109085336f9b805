/* Reading fields of questions (read_field.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "question/read_field.h"

int read_mesh(struct shd_mesh **out, const json_t *in, const char *key, struct shd_error *err)
{
    const json_t *axes = json_object_get(in, key);
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    size_t n = json_array_size(axes);

    if (!json_is_array(axes))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of [name, size]", key);
    if (n > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_ERANGE, "a mesh has at most %d axes, not %zu",
                             SHD_MESH_AXES_MAX, n);
    for (size_t a = 0; a < n; a++) {
        const json_t *axis = json_array_get(axes, a), *size = json_array_get(axis, 1);

        names[a] = json_string_value(json_array_get(axis, 0));
        if (json_array_size(axis) != 2 || !names[a] || !json_is_integer(size))
            return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of [name, size]", key);
        if (json_integer_value(size) < 1 || json_integer_value(size) > INT32_MAX)
            return shd_error_set(err, SHD_EINVAL, "mesh axis '%s' has size %lld", names[a],
                                 (long long)json_integer_value(size));
        sizes[a] = (int32_t)json_integer_value(size);
    }
    return shd_mesh_create(out, names, sizes, n, err);
}

/* Read one entry of a spec: null, "a" or ["a", "b"]; `names` has room for a tuple. */
static int read_entry(struct shd_spec_entry *out, const char **names, const json_t *value,
                      struct shd_error *err)
{
    *out = (struct shd_spec_entry){names, 0};
    if (json_is_null(value))
        return SHD_OK;
    if (json_is_string(value)) {
        names[out->naxes++] = json_string_value(value);
        return SHD_OK;
    }
    if (!json_is_array(value) || json_array_size(value) > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_ETYPE,
                             "an entry of a spec must be null, an axis or a list of axes");
    for (size_t a = 0; a < json_array_size(value); a++) {
        names[a] = json_string_value(json_array_get(value, a));
        if (!names[a])
            return shd_error_set(err, SHD_ETYPE, "an axis in a spec must be a name");
        out->naxes++;
    }
    return SHD_OK;
}

int read_spec_value(struct shd_spec **out, const json_t *value, struct shd_error *err)
{
    struct shd_spec_entry entries[64];
    const char *names[64][SHD_MESH_AXES_MAX];
    size_t n = json_array_size(value);

    if (!json_is_array(value))
        return shd_error_set(err, SHD_ETYPE, "a spec must be a list");
    if (n > 64)
        return shd_error_set(err, SHD_ERANGE, "a spec of %zu entries is too long", n);
    for (size_t e = 0; e < n; e++) {
        int status = read_entry(&entries[e], names[e], json_array_get(value, e), err);

        if (status != SHD_OK)
            return status;
    }
    return shd_spec_create(out, entries, n, err);
}

int read_sharding_spec(struct shd_sharding *out, const json_t *value, const struct shd_mesh *mesh,
                       size_t rank, struct shd_error *err)
{
    struct shd_spec *spec;
    int status = read_spec_value(&spec, value, err);

    if (status != SHD_OK)
        return status;
    status = shd_sharding_bind(out, mesh, spec, rank, err);
    shd_spec_destroy(spec);
    return status;
}

int read_sharding_value(struct shd_sharding *out, const json_t *value, const struct shd_mesh *mesh,
                        const int64_t *shape, size_t rank, struct shd_error *err)
{
    int status = read_sharding_spec(out, value, mesh, rank, err);

    return status == SHD_OK ? shd_sharding_check(out, shape, err) : status;
}

int read_shape(int64_t *out, size_t *rank, const json_t *in, const char *key, struct shd_error *err)
{
    const json_t *shape = json_object_get(in, key);
    size_t n = json_array_size(shape);

    if (!json_is_array(shape))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of extents", key);
    if (n > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "an array has at most %d dimensions, not %zu",
                             SHD_RANK_MAX, n);
    for (size_t d = 0; d < n; d++) {
        const json_t *extent = json_array_get(shape, d);

        if (!json_is_integer(extent))
            return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of whole numbers", key);
        out[d] = json_integer_value(extent);
        if (out[d] < 0)
            return shd_error_set(err, SHD_EINVAL, "'%s' has an extent of %lld", key,
                                 (long long)out[d]);
    }
    *rank = n;
    return SHD_OK;
}

int read_dtype(enum shd_dtype *out, const json_t *in, const char *key, struct shd_error *err)
{
    const char *name = NULL;
    int status = read_string(&name, in, key, "float32", err);

    return status == SHD_OK ? shd_dtype_parse(out, name, err) : status;
}

int read_int(int64_t *out, const json_t *in, const char *key, int64_t fallback,
             struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    if (value && !json_is_null(value) && !json_is_integer(value))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a whole number", key);
    *out = json_is_integer(value) ? json_integer_value(value) : fallback;
    return SHD_OK;
}

int read_number(double *out, const json_t *in, const char *key, double fallback,
                struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    if (value && !json_is_null(value) && !json_is_number(value))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a number", key);
    *out = json_is_number(value) ? json_number_value(value) : fallback;
    return SHD_OK;
}

int read_string(const char **out, const json_t *in, const char *key, const char *fallback,
                struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    if (value && !json_is_null(value) && !json_is_string(value))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a string", key);
    *out = json_is_string(value) ? json_string_value(value) : fallback;
    return SHD_OK;
}

int read_bool(bool *out, const json_t *in, const char *key, bool fallback, struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    if (value && !json_is_null(value) && !json_is_boolean(value))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be true or false", key);
    *out = json_is_boolean(value) ? json_is_true(value) : fallback;
    return SHD_OK;
}

int read_size_up_to(int64_t *out, const json_t *in, const char *key, int64_t most,
                    struct shd_error *err)
{
    int status = read_int(out, in, key, 0, err);

    if (status != SHD_OK)
        return status;
    if (*out < 1 || *out > most)
        return shd_error_set(err, SHD_ERANGE, "'%s' is %lld; expected at least 1 and at most %lld",
                             key, (long long)*out, (long long)most);
    return SHD_OK;
}
