/* Ops of eformer that extract shardings from trees of values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/extract.h>
#include <shd/mesh_axes.h>

#include <stdlib.h>
#include <string.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/leaves.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/fields.h"
#include "question/read_field.h"

/* Kinds of leaves by their names in questions. */
static const struct {
    const char *name;
    enum shd_value_kind kind;
} kinds[] = {
    {"jax_named", SHD_VALUE_PLACED}, {"jax_single", SHD_VALUE_ON_DEVICE},
    {"sds_named", SHD_VALUE_PLANNED}, {"duck_pspec", SHD_VALUE_BARE},
    {"int", SHD_VALUE_NUMBER},        {"float", SHD_VALUE_NUMBER},
    {"bool", SHD_VALUE_NUMBER},       {"numpy", SHD_VALUE_OTHER},
    {"str", SHD_VALUE_OTHER},         {"duck_none", SHD_VALUE_OTHER},
    {"sds", SHD_VALUE_OTHER},         {"none", SHD_VALUE_NONE},
};

static const struct query_field leaf_fields[] = {
    {"leaf", "text", NULL, "Its kind."},
    {"spec", "spec", NULL, "Of a kind that has one."},
    {"shape", "shape", "none", "Has no effect."},
    {NULL, NULL, NULL, NULL}};

struct extract_question {
    struct layout_leaves leaves;
    struct shd_value *values;
    struct shd_spec **specs;      /* of the values */
    const struct shd_spec **found; /* the answer */
    struct shd_spec *empty;
    struct shd_mesh *mesh;
};

static void fini(struct extract_question *q)
{
    for (size_t i = 0; q->specs && i < q->leaves.n; i++)
        shd_spec_destroy(q->specs[i]);
    free(q->specs);
    free(q->values);
    free(q->found);
    shd_spec_destroy(q->empty);
    shd_mesh_destroy(q->mesh);
    layout_leaves_fini(&q->leaves);
}

static bool is_value(const json_t *node)
{
    return json_is_string(json_object_get(node, "leaf"));
}

static int find_kind(enum shd_value_kind *kind, const char *name, struct shd_error *err)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!strcmp(kinds[k].name, name)) {
            *kind = kinds[k].kind;
            return SHD_OK;
        }
    }
    return shd_error_set(err, SHD_EINVAL, "there is no kind of leaf '%.60s'", name);
}

static int read_value(struct extract_question *q, size_t i, struct shd_error *err)
{
    const struct layout_leaf *place = &q->leaves.leaves[i];
    const char *name = json_string_value(json_object_get(place->node, "leaf"));
    struct shd_value *value = &q->values[i];
    int status;

    *value = (struct shd_value){SHD_VALUE_NONE, place->path, NULL};
    if (json_is_null(place->node))
        return SHD_OK;
    if (!name)
        return shd_error_set(err, SHD_ETYPE, "'%.150s' is not a leaf {\"leaf\"}", place->path);
    status = fields_check(leaf_fields, place->path, place->node, err);
    if (status == SHD_OK)
        status = find_kind(&value->kind, name, err);
    if (status != SHD_OK || (value->kind != SHD_VALUE_PLACED && value->kind != SHD_VALUE_PLANNED &&
                             value->kind != SHD_VALUE_BARE))
        return status;
    status = read_spec_value(&q->specs[i], json_object_get(place->node, "spec"), err);
    value->spec = q->specs[i];
    return status;
}

static int read_values(struct extract_question *q, const json_t *in, struct shd_error *err)
{
    int status = layout_collect(&q->leaves, json_object_get(in, "tree"), NULL, is_value, err);

    if (status != SHD_OK)
        return status;
    q->values = calloc(q->leaves.n + 1, sizeof *q->values);
    q->specs = calloc(q->leaves.n + 1, sizeof(struct shd_spec *));
    q->found = calloc(q->leaves.n + 1, sizeof(struct shd_spec *));
    if (!q->values || !q->specs || !q->found)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu leaves", q->leaves.n);
    for (size_t i = 0; status == SHD_OK && i < q->leaves.n; i++)
        status = read_value(q, i, err);
    return status;
}

static void write_found(struct json_out *out, const struct extract_question *q)
{
    json_out_begin_object(out);
    for (size_t i = 0; i < q->leaves.n; i++)
        write_spec_key(out, q->leaves.leaves[i].path, q->found[i]);
    json_out_end_object(out);
}

/* Read the mesh, if the question says that one is an argument or in context. */
static int read_mesh_used(struct extract_question *q, const json_t *in, struct shd_error *err)
{
    bool given, context;
    int status = read_bool(&given, in, "mesh_argument_given", true, err);

    if (status == SHD_OK)
        status = read_bool(&context, in, "context_mesh", false, err);
    if (status == SHD_OK && (given || context))
        status = layout_read_mesh(&q->mesh, in, "mesh", err);
    return status;
}

static int answer_shardings(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct extract_question q = {.mesh = NULL};
    int status = read_mesh_used(&q, in, err);

    if (status == SHD_OK)
        status = read_values(&q, in, err);
    if (status == SHD_OK)
        status = shd_extract_shardings(q.found, q.values, q.leaves.n, q.mesh, err);
    if (status == SHD_OK)
        write_found(out, &q);
    fini(&q);
    return status;
}

static int answer_structure(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct extract_question q = {.mesh = NULL};
    int status = read_values(&q, in, err);

    if (status == SHD_OK) {
        shd_extract_structure(q.found, q.values, q.leaves.n);
        write_found(out, &q);
    }
    fini(&q);
    return status;
}

static int answer_specs(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct extract_question q = {.mesh = NULL};
    int status = read_values(&q, in, err);

    if (status == SHD_OK)
        status = shd_spec_create(&q.empty, NULL, 0, err);
    if (status == SHD_OK)
        status = shd_extract_specs(q.found, q.values, q.leaves.n, q.empty, err);
    if (status == SHD_OK)
        write_found(out, &q);
    fini(&q);
    return status;
}

#define LEAVES_FIELD                                                                          \
    {                                                                                         \
        "tree", "tree", NULL,                                                                 \
            "Leaves are {\"leaf\": kind}: jax_named, sds_named and duck_pspec, which have a " \
            "'spec' too; jax_single, int, float, bool, numpy, str, duck_none, sds, none. A "  \
            "'shape' has no effect."                                                          \
    }

#define UNUSED_MESH_FIELD                                                \
    {                                                                    \
        "mesh", "mesh", "none", "Has no effect: specs are not bound."    \
    }

const struct query_op query_eformer_extract_ops[] = {
    {.name = "eformer.extract_sharding_structure",
     .answer = answer_structure,
     .about = "The spec of each device array of a tree of values, null for other values.",
     .in = QUERY_FIELDS(LEAVES_FIELD, UNUSED_MESH_FIELD),
     .gives = "object, by leaf",
     .out = QUERY_FIELDS(
         {"", "spec or null", NULL, "Only of jax_named: device arrays with a NamedSharding."}),
     .question = "{'tree': {'w': {'leaf': 'jax_named', 'spec': ['tp']}, 'n': {'leaf': 'int'}}}",
     .reply = "'out':{'n':null,'w':['tp']}"},
    {.name = "eformer.extract_shardings",
     .answer = answer_shardings,
     .about = "The spec of each value that has a sharding; a bare spec is bound to the mesh.",
     .in = QUERY_FIELDS(
         LEAVES_FIELD,
         {"mesh", "mesh", "none",
          "The mesh that is given or in context; without it the error is no-mesh."},
         {"mesh_argument_given", "boolean", "true", "Whether the mesh is an argument."},
         {"context_mesh", "boolean", "false", "Whether the mesh is in context."}),
     .gives = "object, by leaf",
     .out = QUERY_FIELDS(
         {"", "spec or null", NULL, "Of jax_named, sds_named and duck_pspec; null for others."}),
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh",
     .question = "{'tree': {'w': {'leaf': 'duck_pspec', 'spec': ['tp']}, 'n': {'leaf': 'int'}}, "
                 "'mesh': [['tp', 2]]}",
     .reply = "'out':{'n':null,'w':['tp']}"},
    {.name = "eformer.get_partition_spec",
     .answer = answer_specs,
     .about = "The spec of every value of a tree: that of a device array, [] for a number; for "
              "anything else an error.",
     .in = QUERY_FIELDS(LEAVES_FIELD, UNUSED_MESH_FIELD),
     .gives = "object, by leaf",
     .out = QUERY_FIELDS({"", "spec", NULL, "Its spec."}),
     .question =
         "{'tree': {'w': {'leaf': 'jax_named', 'spec': ['tp', null]}, 'n': {'leaf': 'int'}}}",
     .reply = "'out':{'n':[],'w':['tp',null]}"},
    {.name = "eformer.get_shardings_with_structure",
     .answer = answer_structure,
     .about = "Equal to eformer.extract_sharding_structure.",
     .in = QUERY_FIELDS(LEAVES_FIELD, UNUSED_MESH_FIELD),
     .gives = "object, by leaf",
     .out = QUERY_FIELDS({"", "spec or null", NULL, "Only of jax_named."}),
     .question = "{'tree': {'w': {'leaf': 'jax_named', 'spec': ['tp']}, 'b': {'leaf': 'numpy'}}}",
     .reply = "'out':{'b':null,'w':['tp']}"},
    {.name = NULL}};
