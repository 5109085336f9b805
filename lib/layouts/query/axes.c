/* Reading and writing axes, rules, specs and meshes (axes.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "layouts/query/axes.h"

#include <stdlib.h>
#include <string.h>

#include "question/json_memory.h"

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

void write_entry(struct json_out *out, const char *const *axes, size_t naxes)
{
    if (naxes == 0)
        json_out_null(out);
    if (naxes > 1)
        json_out_begin_array(out);
    for (size_t a = 0; a < naxes; a++)
        json_out_string(out, axes[a]);
    if (naxes > 1)
        json_out_end_array(out);
}

void write_spec(struct json_out *out, const struct shd_spec *spec)
{
    if (!spec) {
        json_out_null(out);
        return;
    }
    json_out_begin_array(out);
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        size_t n = shd_spec_naxes(spec, e);

        if (n == 0)
            json_out_null(out);
        if (n > 1)
            json_out_begin_array(out);
        for (size_t a = 0; a < n; a++)
            json_out_string(out, shd_spec_axis(spec, e, a));
        if (n > 1)
            json_out_end_array(out);
    }
    json_out_end_array(out);
}

void write_ints(struct json_out *out, const int64_t *numbers, size_t n)
{
    json_out_begin_array(out);
    for (size_t i = 0; i < n; i++)
        json_out_int(out, numbers[i]);
    json_out_end_array(out);
}

void write_verbatim(struct json_out *out, const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (text)
        json_out_raw(out, text, strlen(text));
    else
        json_out_null(out);
    json_memory_free(text);
}

void write_mesh_keys(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_key(out, "axis_names");
    json_out_begin_array(out);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        json_out_string(out, shd_mesh_axis_name(mesh, a));
    json_out_end_array(out);
    json_out_key(out, "shape");
    json_out_begin_array(out);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        json_out_int(out, shd_mesh_axis_size(mesh, a));
    json_out_end_array(out);
    json_out_key(out, "device_ids");
    json_out_begin_array(out);
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++)
        json_out_int(out, shd_mesh_device_id(mesh, p));
    json_out_end_array(out);
}

void write_int_key(struct json_out *out, const char *key, int64_t value)
{
    json_out_key(out, key);
    json_out_int(out, value);
}

void write_bool_key(struct json_out *out, const char *key, bool value)
{
    json_out_key(out, key);
    json_out_bool(out, value);
}
