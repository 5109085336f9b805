/* Ops of eformer on axes and meshes: names, sizes, indexes, the context mesh.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/mesh_axes.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

#define AXES_MAX 64           /* in a list, known or not; a mesh has at most 16 */
#define DEVICES_MAX 65536 /* an answer lists every device */

/* Read in[key]: "a" or ["a", "b"].  List items that are not names match no mesh axis. */
static int read_axes(const char **axes, size_t *n, const json_t *in, const char *key,
                     struct shd_error *err)
{
    const json_t *value = json_object_get(in, key);

    *n = 1;
    if (json_is_string(value)) {
        axes[0] = json_string_value(value);
        return SHD_OK;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);

        if (json_is_number(item) || json_is_boolean(item) || json_is_null(item))
            return shd_error_set(err, SHD_ENOAXIS, "entry %zu of '%s' is not an axis of the mesh", i,
                                 key);
    }
    return layout_read_names(axes, n, AXES_MAX, value, key, err);
}

/* Read the mesh in[key], which is required. */
static int read_context(struct shd_mesh **out, const json_t *in, const char *key,
                        struct shd_error *err)
{
    const struct shd_mesh *mesh;
    int status = layout_read_mesh(out, in, key, err);

    return status == SHD_OK ? shd_mesh_find(&mesh, NULL, *out, err) : status;
}

static int answer_size(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const char *axes[AXES_MAX];
    struct shd_mesh *mesh = NULL;
    int64_t size;
    size_t n;
    int status = read_context(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = read_axes(axes, &n, in, "axis_names", err);
    if (status == SHD_OK)
        status = shd_mesh_axes_size(&size, mesh, axes, n, err);
    if (status == SHD_OK)
        json_out_int(out, size);
    shd_mesh_destroy(mesh);
    return status;
}

static int write_indexes(struct json_out *out, const struct shd_mesh *mesh,
                         const char *const *axes, size_t n, struct shd_error *err)
{
    int status = SHD_OK;

    if (shd_mesh_size(mesh) > DEVICES_MAX)
        return shd_error_set(err, SHD_EUNSUPPORTED, "%d devices are too many to list",
                             (int)shd_mesh_size(mesh));
    json_out_begin_array(out);
    for (int32_t p = 0; status == SHD_OK && p < shd_mesh_size(mesh); p++) {
        int64_t index = 0;

        status = shd_mesh_axes_index(&index, mesh, axes, n, p, err);
        json_out_int(out, index);
    }
    json_out_end_array(out);
    return status;
}

static int answer_index(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const char *axes[AXES_MAX];
    struct shd_mesh *mesh = NULL;
    size_t n;
    int status = read_context(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = read_axes(axes, &n, in, "axis_names", err);
    if (status == SHD_OK)
        status = write_indexes(out, mesh, axes, n, err);
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_axis_names(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    int status = read_context(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        write_axis_names(out, mesh);
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_context_mesh(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    int status = read_context(&mesh, in, "context_mesh", err);

    if (status == SHD_OK) {
        json_out_begin_object(out);
        json_out_key(out, "axis_names");
        write_axis_names(out, mesh);
        json_out_end_object(out);
    }
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_names_in_mesh(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const char *names[AXES_MAX];
    struct shd_mesh *mesh = NULL;
    size_t n;
    int status = layout_read_mesh(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = layout_read_names(names, &n, AXES_MAX, json_object_get(in, "names"), "'names'",
                                   err);
    if (status == SHD_OK)
        json_out_bool(out, shd_mesh_has_axes(mesh, names, n));
    shd_mesh_destroy(mesh);
    return status;
}

/* Names collected from any nesting of lists and objects. */
struct name_set {
    struct {
        const char *start; /* a name may be one character of a string */
        size_t length;
    } * names;
    size_t n;
};

static int compare_names(const char *a, size_t na, const char *b, size_t nb)
{
    int order = memcmp(a, b, na < nb ? na : nb);

    return order ? order : (na > nb) - (na < nb);
}

static int add_name(struct name_set *set, const char *start, size_t length, struct shd_error *err)
{
    size_t i = set->n;

    while (i > 0 &&
           compare_names(set->names[i - 1].start, set->names[i - 1].length, start, length) > 0)
        i--;
    if (i > 0 && !compare_names(set->names[i - 1].start, set->names[i - 1].length, start, length))
        return SHD_OK;
    if (!array_make_room(&set->names, set->n, sizeof *set->names))
        return shd_error_set(err, SHD_ENOMEM, "no memory for names");
    memmove(&set->names[i + 1], &set->names[i], (set->n - i) * sizeof *set->names);
    set->names[i].start = start;
    set->names[i].length = length;
    set->n++;
    return SHD_OK;
}

/* Add each character of a string as a name, as Python iterates over strings. */
static int add_characters(struct name_set *set, const char *string, struct shd_error *err)
{
    int status = SHD_OK;

    while (status == SHD_OK && *string) {
        size_t length = 1;

        while (((unsigned char)string[length] & 0xc0) == 0x80)
            length++;
        status = add_name(set, string, length, err);
        string += length;
    }
    return status;
}

static int add_names(struct name_set *set, const json_t *value, bool is_spec,
                     struct shd_error *err);

static int add_item(struct name_set *set, const json_t *item, bool is_spec, struct shd_error *err)
{
    if (json_is_null(item))
        return SHD_OK;
    if (json_is_string(item)) {
        if (is_spec && json_string_length(item) == 0) /* a spec has no empty names */
            return SHD_OK;
        return add_name(set, json_string_value(item), json_string_length(item), err);
    }
    return add_names(set, item, is_spec, err);
}

static int add_names(struct name_set *set, const json_t *value, bool is_spec,
                     struct shd_error *err)
{
    int status = SHD_OK;

    if (json_is_array(value)) {
        for (size_t i = 0; status == SHD_OK && i < json_array_size(value); i++)
            status = add_item(set, json_array_get(value, i), is_spec, err);
        return status;
    }
    if (json_is_object(value)) {
        for (void *i = json_object_iter((json_t *)value); status == SHD_OK && i;
             i = json_object_iter_next((json_t *)value, i))
            status = add_item(set, json_object_iter_value(i), is_spec, err);
        return status;
    }
    if (json_is_string(value))
        return add_characters(set, json_string_value(value), err);
    return shd_error_set(err, SHD_ETYPE, "axis names are looked for in specs, lists and maps only");
}

static int answer_spec_names(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct name_set set = {NULL, 0};
    const char *kind;
    int status = read_string(&kind, in, "kind", "spec", err);

    if (status == SHD_OK)
        status = add_names(&set, json_object_get(in, "value"),
                           !strcmp(kind, "spec") || !strcmp(kind, "dict"), err);
    if (status == SHD_OK) {
        json_out_begin_array(out);
        for (size_t i = 0; i < set.n; i++)
            json_out_string_n(out, set.names[i].start, set.names[i].length);
        json_out_end_array(out);
    }
    free(set.names);
    return status;
}

static int check_constraint(bool *applied, const json_t *in, const struct shd_spec *spec,
                            const struct shd_mesh *own, const struct shd_mesh *context,
                            struct shd_error *err)
{
    const char *array;
    bool strict;
    int status = read_string(&array, in, "array", "jax", err);

    if (status == SHD_OK)
        status = read_bool(&strict, in, "strict", false, err);
    if (status != SHD_OK)
        return status;
    if (strict)
        return shd_constraint_applies_strict(applied, !strcmp(array, "jax"), spec, own, context,
                                             err);
    return shd_constraint_applies(applied, !strcmp(array, "jax"), spec, own, context, err);
}

static int answer_constraint(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *context = NULL, *own = NULL;
    struct shd_spec *spec = NULL;
    const char *kind;
    bool applied = false;
    int status = layout_read_mesh(&context, in, "context_mesh", err);

    if (status == SHD_OK)
        status = read_string(&kind, in, "kind", "spec", err);
    if (status == SHD_OK && !strcmp(kind, "named"))
        status = layout_read_mesh(&own, in, "sharding_mesh", err);
    if (status == SHD_OK)
        status = read_spec_value(&spec, json_object_get(in, "spec"), err);
    if (status == SHD_OK)
        status = check_constraint(&applied, in, spec, own, context, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        json_out_key_bool(out, "applied", applied);
        write_spec_key(out, "spec", applied ? spec : NULL);
        json_out_end_object(out);
    }
    shd_spec_destroy(spec);
    shd_mesh_destroy(own);
    shd_mesh_destroy(context);
    return status;
}

#define AXES_FIELDS                                                                          \
    {                                                                                        \
        "axis_names", "name or names", NULL, "An axis of the mesh, or a list of at most 64." \
    }

#define CONTEXT_FIELDS                                                                          \
    {                                                                                           \
        "mesh", "mesh", "none", "Axes of the mesh in context; without it the error is no-mesh." \
    }

const struct query_op query_eformer_axes_ops[] = {
    {.name = "eformer.get_axes_size_in_mesh",
     .answer = answer_size,
     .about = "The number of devices along axes: the product of their sizes.",
     .in = QUERY_FIELDS(AXES_FIELDS, CONTEXT_FIELDS),
     .gives = "whole number",
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh",
     .question = "{'axis_names': ['dp', 'tp'], 'mesh': [['dp', 2], ['tp', 4]]}",
     .reply = "'out':8"},
    {.name = "eformer.get_incontext_mesh",
     .answer = answer_context_mesh,
     .about = "The mesh in context, or the error no-mesh.",
     .in = QUERY_FIELDS({"context_mesh", "mesh", "none", "The mesh in context."}),
     .gives = "object",
     .out = QUERY_FIELDS({"axis_names", "names", NULL, "Names of its axes."}),
     .errors = "no-mesh, duplicate-axis",
     .question = "{'context_mesh': [['dp', 2], ['tp', 4]]}",
     .reply = "'out':{'axis_names':['dp','tp']}"},
    {.name = "eformer.get_mesh_axis_names",
     .answer = answer_axis_names,
     .about = "The names of a mesh's axes.",
     .in = QUERY_FIELDS(CONTEXT_FIELDS),
     .gives = "names",
     .errors = "no-mesh, duplicate-axis",
     .question = "{'mesh': [['dp', 2], ['tp', 4]]}",
     .reply = "'out':['dp','tp']"},
    {.name = "eformer.get_mesh_axis_size",
     .answer = answer_size,
     .about = "Equal to eformer.get_axes_size_in_mesh.",
     .in = QUERY_FIELDS(AXES_FIELDS, CONTEXT_FIELDS),
     .gives = "whole number",
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh",
     .question = "{'axis_names': 'tp', 'mesh': [['dp', 2], ['tp', 4]]}",
     .reply = "'out':4"},
    {.name = "eformer.get_names_from_partition_spec",
     .answer = answer_spec_names,
     .about =
         "The names of axes in a spec or in any nesting of lists and objects, sorted, each once.",
     .in = QUERY_FIELDS({"value", "anything", NULL, "A spec, a list or an object."},
                        {"kind", "text", "\"spec\"",
                         "The kind of value: with spec or dict, empty names are ignored; with any "
                         "other word they count."}),
     .gives = "names",
     .question = "{'value': ['tp', null, ['fsdp', 'dp']]}",
     .reply = "'out':['dp','fsdp','tp']"},
    {.name = "eformer.get_submesh_device_index",
     .answer = answer_index,
     .about = "The index of every device along axes, the first axis the most major.",
     .in = QUERY_FIELDS(AXES_FIELDS, CONTEXT_FIELDS),
     .gives = "list of whole numbers",
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh",
     .question = "{'axis_names': 'dp', 'mesh': [['dp', 2], ['tp', 2]]}",
     .reply = "'out':[0,0,1,1]"},
    {.name = "eformer.names_in_current_mesh",
     .answer = answer_names_in_mesh,
     .about = "Whether all names are axes of the mesh in context.",
     .in = QUERY_FIELDS({"names", "names", NULL, "At most 64 names."},
                        {"mesh", "mesh", "none", "The mesh in context; optional."}),
     .gives = "boolean",
     .errors = "duplicate-axis",
     .question = "{'names': ['dp', 'ep'], 'mesh': [['dp', 2], ['tp', 2]]}",
     .reply = "'out':false"},
    {.name = "eformer.with_sharding_constraint",
     .answer = answer_constraint,
     .about = "Whether a sharding constraint has an effect.",
     .in = QUERY_FIELDS(
         {"spec", "spec", NULL, "The spec of the constraint."},
         {"context_mesh", "mesh", "none", "The mesh in context."},
         {"kind", "text", "\"spec\"", "spec, or named: the constraint is a NamedSharding."},
         {"sharding_mesh", "mesh", "none", "The mesh of a NamedSharding."},
         {"array", "text", "\"jax\"",
          "The kind of value: jax, a device array; other values are left unchanged."},
         {"strict", "boolean", "false",
          "Use the NamedSharding's own mesh; an axis outside that mesh is an error."}),
     .gives = "object",
     .out = QUERY_FIELDS({"applied", "boolean", NULL, "Whether the constraint has an effect."},
                         {"spec", "spec or null", NULL, "The spec; null where it has none."}),
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh",
     .question = "{'spec': ['dp'], 'context_mesh': [['dp', 2], ['tp', 2]]}",
     .reply = "'out':{'applied':true,'spec':['dp']}"},
    {.name = NULL}};
