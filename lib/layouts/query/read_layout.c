/* Reading layouts from questions (read_layout.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "layouts/query/read_layout.h"

#include <shd/shape.h>

#include <stdlib.h>

#include "question/read_field.h"

int layout_read_mesh(struct shd_mesh **out, const json_t *in, const char *key,
                     struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    *out = NULL;
    return !value || json_is_null(value) ? SHD_OK : read_mesh(out, in, key, err);
}

int layout_read_ints(int64_t *out, size_t *n, size_t room, const json_t *value, const char *what,
                     struct shd_error *err)
{
    if (!json_is_array(value))
        return shd_error_set(err, SHD_ETYPE, "%s must be a list of whole numbers", what);
    *n = json_array_size(value);
    if (*n > room)
        return shd_error_set(err, SHD_ERANGE, "%s has %zu numbers: at most %zu are possible", what,
                             *n, room);
    for (size_t i = 0; i < *n; i++) {
        const json_t *item = json_array_get(value, i);

        if (!json_is_integer(item))
            return shd_error_set(err, SHD_ETYPE, "%s must be a list of whole numbers", what);
        out[i] = json_integer_value(item);
    }
    return SHD_OK;
}

int layout_read_shape(int64_t *out, size_t *rank, const json_t *value, struct shd_error *err)
{
    int status = layout_read_ints(out, rank, SHD_RANK_MAX, value, "a shape", err);

    for (size_t d = 0; !status && d < *rank; d++) {
        if (out[d] < 0)
            status = shd_error_set(err, SHD_EINVAL, "a shape has an extent of %lld",
                                   (long long)out[d]);
    }
    return status;
}

int layout_read_names(const char **out, size_t *n, size_t room, const json_t *value,
                      const char *what, struct shd_error *err)
{
    if (!json_is_array(value))
        return shd_error_set(err, SHD_ETYPE, "%s must be a list of names", what);
    *n = json_array_size(value);
    if (*n > room)
        return shd_error_set(err, SHD_ERANGE, "%s has %zu names: at most %zu are possible", what,
                             *n, room);
    for (size_t i = 0; i < *n; i++) {
        out[i] = json_string_value(json_array_get(value, i));
        if (!out[i])
            return shd_error_set(err, SHD_ETYPE, "%s must be a list of names", what);
    }
    return SHD_OK;
}

int read_param(struct shd_leaf *out, int64_t *shape, const json_t *param, struct shd_error *err)
{
    out->name = json_string_value(json_array_get(param, 0));
    out->shape = shape;
    if (!out->name || json_array_size(param) != 2)
        return shd_error_set(err, SHD_ETYPE, "a parameter must be [name, shape]");
    return layout_read_shape(shape, &out->rank, json_array_get(param, 1), err);
}

static int add_params(struct shd_tree *tree, const json_t *params, enum shd_dtype dtype,
                      struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf = {.dtype = dtype};
    int status = SHD_OK;

    for (size_t i = 0; status == SHD_OK && i < json_array_size(params); i++) {
        status = read_param(&leaf, shape, json_array_get(params, i), err);
        if (status == SHD_OK)
            status = shd_tree_add(tree, &leaf, err);
    }
    return status;
}

int read_params(struct shd_tree **out, const json_t *in, struct shd_error *err)
{
    const json_t *params = json_object_get(in, "params");
    struct shd_tree *tree;
    enum shd_dtype dtype;
    int status = read_dtype(&dtype, in, "dtype", err);

    if (status == SHD_OK && !json_is_array(params))
        status = shd_error_set(err, SHD_ETYPE, "'params' must be a list of [name, shape]");
    if (status == SHD_OK)
        status = shd_tree_create(&tree, err);
    if (status != SHD_OK)
        return status;
    status = add_params(tree, params, dtype, err);
    if (status == SHD_OK)
        *out = tree;
    else
        shd_tree_destroy(tree);
    return status;
}

static int add_rule(struct shd_rules *rules, const json_t *rule, struct shd_error *err)
{
    const char *pattern = json_string_value(json_array_get(rule, 0));
    const json_t *value = json_array_get(rule, 1);
    struct shd_spec *spec = NULL;
    int status = SHD_OK;

    if (!pattern || json_array_size(rule) != 2)
        return shd_error_set(err, SHD_ETYPE, "a rule must be [regex, spec]");
    if (!json_is_null(value))
        status = read_spec_value(&spec, value, err);
    if (status == SHD_OK)
        status = shd_rules_add_late(rules, pattern, spec, err);
    shd_spec_destroy(spec);
    return status;
}

int layout_read_rules(struct shd_rules **out, const json_t *in, const char *key,
                      struct shd_error *err)
{
    const json_t *list = json_object_get(in, key);
    struct shd_rules *rules;
    int status;

    if (!json_is_array(list))
        return shd_error_set(err, SHD_ETYPE, "'%s' must be a list of [regex, spec]", key);
    status = shd_rules_create(&rules, err);
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; status == SHD_OK && i < json_array_size(list); i++)
        status = add_rule(rules, json_array_get(list, i), err);
    if (status == SHD_OK)
        *out = rules;
    else
        shd_rules_destroy(rules);
    return status;
}

int read_ints(int64_t **out, size_t *n, const json_t *in, const char *key, struct shd_error *err)
{
    const json_t *list = json_object_get(in, key);
    size_t count = json_array_size(list);
    int64_t *numbers;

    if (list && !json_is_null(list) && !json_is_array(list))
        return shd_error_set(err, SHD_EINVAL, "'%s' must be a list of whole numbers", key);
    for (size_t i = 0; i < count; i++)
        if (!json_is_integer(json_array_get(list, i)))
            return shd_error_set(err, SHD_EINVAL, "'%s' must be a list of whole numbers", key);
    *out = NULL;
    *n = count;
    if (!json_is_array(list))
        return SHD_OK;
    numbers = malloc((count + 1) * sizeof *numbers);
    if (!numbers)
        return shd_error_set(err, SHD_ENOMEM, "no memory for '%s'", key);
    for (size_t i = 0; i < count; i++)
        numbers[i] = json_integer_value(json_array_get(list, i));
    *out = numbers;
    return SHD_OK;
}

int read_names_value(const char ***out, size_t *n, const json_t *value, struct shd_error *err)
{
    size_t count = json_is_string(value) ? 1 : json_array_size(value);
    const char **names;

    if (!json_is_string(value) && !json_is_array(value))
        return shd_error_set(err, SHD_ETYPE, "axes must be a name or a list of names");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)) && !json_is_null(json_array_get(value, i)))
            return shd_error_set(err, SHD_ETYPE, "an axis must be a name or null");
    names = calloc(count + 1, sizeof *names);
    if (!names)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu names", count);
    if (json_is_string(value))
        names[0] = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        names[i] = json_string_value(json_array_get(value, i)); /* NULL for null */
    *out = names;
    *n = count;
    return SHD_OK;
}

static int read_rule(struct shd_logical_rules *rules, const json_t *rule, struct shd_error *err)
{
    const json_t *name = json_array_get(rule, 0), *value = json_array_get(rule, 1);
    const char **axes = NULL;
    struct shd_spec_entry entry = {NULL, 0};
    int status = SHD_OK;

    if (json_array_size(rule) != 2 || (!json_is_string(name) && !json_is_null(name)))
        return shd_error_set(err, SHD_EINVAL, "a rule must be a pair of a name and mesh axes");
    if (!json_is_null(value))
        status = read_names_value(&axes, &entry.naxes, value, err);
    for (size_t a = 0; status == SHD_OK && a < entry.naxes; a++)
        if (!axes[a])
            status = shd_error_set(err, SHD_EINVAL, "a mesh axis in a rule must be a name");
    entry.axes = axes;
    if (status == SHD_OK && json_is_string(name))
        status = shd_logical_rules_add(rules, json_string_value(name), &entry, err);
    free(axes);
    return status;
}

int read_logical_rules(struct shd_logical_rules **out, const json_t *value, struct shd_error *err)
{
    struct shd_logical_rules *rules;
    int status;

    if (value && !json_is_null(value) && !json_is_array(value))
        return shd_error_set(err, SHD_EINVAL, "logical axis rules must be a list");
    status = shd_logical_rules_create(&rules, err);
    for (size_t i = 0; status == SHD_OK && i < json_array_size(value); i++)
        status = read_rule(rules, json_array_get(value, i), err);
    if (status == SHD_OK)
        *out = rules;
    else
        shd_logical_rules_destroy(rules);
    return status;
}

/* Check that sizes[a] of axis a fit and each has a name. */
static int to_sizes(int32_t *out, const char *const *names, const int64_t *sizes, size_t n,
                    const char *noun, struct shd_error *err)
{
    for (size_t a = 0; a < n; a++) {
        if (!names[a] || sizes[a] < 1 || sizes[a] > INT32_MAX)
            return shd_error_set(err, SHD_EINVAL, "mesh %s %zu has size %lld or no name", noun, a,
                                 (long long)sizes[a]);
        out[a] = (int32_t)sizes[a];
    }
    return SHD_OK;
}

int read_named_mesh(struct shd_mesh **out, const json_t *in, const char *names_key,
                    const char *noun, struct shd_error *err)
{
    int32_t sizes[SHD_MESH_AXES_MAX];
    const char **names = NULL;
    int64_t *shape = NULL;
    size_t n = 0, nnames = 0;
    int status = read_ints(&shape, &n, in, "mesh_shape", err);

    if (status == SHD_OK)
        status = read_names_value(&names, &nnames, json_object_get(in, names_key), err);
    if (status == SHD_OK && (n != nnames || n > SHD_MESH_AXES_MAX))
        status = shd_error_set(err, SHD_EINVAL, "a mesh of %zu names and %zu extents", nnames, n);
    if (status == SHD_OK)
        status = to_sizes(sizes, names, shape, n, noun, err);
    if (status == SHD_OK)
        status = shd_mesh_create(out, names, sizes, n, err);
    free(names);
    free(shape);
    return status;
}

int read_mesh_request(struct shd_mesh_request *out, const json_t *in, int64_t num_partitions,
                      struct shd_error *err)
{
    int64_t *submesh = NULL, *ici = NULL, *dcn = NULL;
    int status;

    *out = (struct shd_mesh_request){0};
    status = read_int(&out->num_partitions, in, "num_partitions", num_partitions, err);
    if (status == SHD_OK)
        status = read_ints(&submesh, &out->nsubmesh, in, "model_parallel_submesh", err);
    if (status == SHD_OK)
        status = read_ints(&ici, &out->nici, in, "ici_mesh_shape", err);
    if (status == SHD_OK)
        status = read_ints(&dcn, &out->ndcn, in, "dcn_mesh_shape", err);
    out->submesh = submesh;
    out->ici = ici;
    out->dcn = dcn;
    return status;
}

void free_mesh_request(struct shd_mesh_request *request)
{
    free((int64_t *)request->submesh);
    free((int64_t *)request->ici);
    free((int64_t *)request->dcn);
}
