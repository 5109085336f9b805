/* Ops on T5X's logical axes and partitioner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/context.h>
#include <shd/partitioner.h>

#include "base/text.h"
#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/answer.h"
#include "question/read_field.h"

static void write_rule(struct json_out *out, const struct shd_logical_rules *rules, size_t i)
{
    const struct shd_spec_entry *axes = shd_logical_rules_axes(rules, i);

    json_out_begin_array(out);
    json_out_string(out, shd_logical_rules_name(rules, i));
    write_entry(out, axes->axes, axes->naxes);
    json_out_end_array(out);
}

static int read_standard(struct shd_logical_rules **out, const json_t *in,
                         const struct shd_logical_rules *additional, struct shd_error *err)
{
    int64_t activations, parameters;
    int status = read_int(&activations, in, "activation_partitioning_dims", 1, err);

    if (status == SHD_OK)
        status = read_int(&parameters, in, "parameter_partitioning_dims", 1, err);
    return status == SHD_OK
               ? shd_logical_rules_standard(out, activations, parameters, additional, err)
               : status;
}

/* Answer with the standard rules; additional rules are returned as given. */
static int answer_standard(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *more = json_object_get(in, "additional_rules");
    struct shd_logical_rules *additional = NULL, *rules = NULL;
    int status = read_logical_rules(&additional, more, err);

    if (status == SHD_OK)
        status = read_standard(&rules, in, additional, err);
    if (status == SHD_OK) {
        size_t n = shd_logical_rules_count(rules) - shd_logical_rules_count(additional);

        json_out_begin_array(out);
        for (size_t i = 0; i < n; i++)
            write_rule(out, rules, i);
        for (size_t i = 0; i < json_array_size(more); i++)
            answer_copy(out, json_array_get(more, i));
        json_out_end_array(out);
    }
    shd_logical_rules_destroy(additional);
    shd_logical_rules_destroy(rules);
    return status;
}

static int answer_logical(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *axes = json_object_get(in, "logical_axes");
    struct shd_logical_rules *rules = NULL;
    struct shd_spec *spec = NULL;
    const char **names = NULL;
    size_t n = 0;
    int status = SHD_OK;

    if (!axes || json_is_null(axes)) {
        json_out_null(out);
        return SHD_OK;
    }
    if (json_is_array(axes))
        status = read_names_value(&names, &n, axes, err);
    else
        status = shd_error_set(err, SHD_ETYPE, "'logical_axes' must be a list of names");
    if (status == SHD_OK)
        status = read_logical_rules(&rules, json_object_get(in, "rules"), err);
    if (status == SHD_OK)
        status = shd_logical_rules_spec(&spec, rules, names, n, err);
    if (status == SHD_OK)
        write_spec(out, spec);
    shd_spec_destroy(spec);
    shd_logical_rules_destroy(rules);
    free(names);
    return status;
}

/* Write rules as given, except for those that the partitioner changes: the rule for "batch" on a
 * hybrid mesh. */
static void write_rules(struct json_out *out, const struct shd_partitioner *partitioner,
                        const json_t *given, bool hybrid)
{
    const struct shd_logical_rules *rules = shd_partitioner_rules(partitioner);
    size_t named = 0;

    json_out_begin_array(out);
    if (!json_is_array(given))
        for (size_t i = 0; i < shd_logical_rules_count(rules); i++)
            write_rule(out, rules, i);
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *name = json_string_value(json_array_get(json_array_get(given, i), 0));

        if (hybrid && name && !strcmp(name, "batch"))
            write_rule(out, rules, named);
        else
            answer_copy(out, json_array_get(given, i));
        named += name != NULL;
    }
    json_out_end_array(out);
}

static void write_partitioner(struct json_out *out, const struct shd_partitioner *partitioner,
                              const json_t *given, bool hybrid)
{
    const struct shd_spec_entry *axes = shd_partitioner_data_axes(partitioner);

    json_out_begin_object(out);
    json_out_key(out, "data_axis");
    write_entry(out, axes->axes, axes->naxes);
    write_spec_key(out, "data_partition_spec", shd_partitioner_data_spec(partitioner));
    json_out_key(out, "logical_axis_rules");
    write_rules(out, partitioner, given, hybrid);
    json_out_end_object(out);
}

static int answer_init(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *given = json_object_get(in, "logical_axis_rules");
    struct shd_partitioner_opts opts = {.kind = SHD_PARTITIONER_LOGICAL};
    struct shd_partitioner *partitioner = NULL;
    struct shd_logical_rules *rules = NULL;
    int status = read_mesh_request(&opts.mesh, in, 0, err);

    if (status == SHD_OK)
        status = read_bool(&opts.strict, in, "strict", false, err);
    if (status == SHD_OK && given && !json_is_null(given))
        status = read_logical_rules(&rules, given, err);
    opts.rules = rules;
    if (status == SHD_OK)
        status = shd_partitioner_create(&partitioner, &opts, err);
    if (status == SHD_OK)
        write_partitioner(out, partitioner, given, opts.mesh.ici && opts.mesh.dcn);
    shd_partitioner_destroy(partitioner);
    shd_logical_rules_destroy(rules);
    free_mesh_request(&opts.mesh);
    return status;
}

/* Add a leaf with logical axes (null: none).  If the question has no shape it is all ones: the axes
 * do not depend on it. */
static int add_leaf(struct shd_tree *tree, const char *name, const json_t *axes,
                    const int64_t *shape, size_t rank, struct shd_error *err)
{
    const int64_t ones[SHD_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct shd_leaf leaf = {.name = name, .dtype = SHD_F32, .shape = shape, .rank = rank};
    const char **names = NULL;
    size_t n = 0;
    int status = SHD_OK;

    if (axes && !json_is_null(axes) && !json_is_array(axes))
        return shd_error_set(err, SHD_ETYPE, "the logical axes of '%.100s' must be a list", name);
    if (json_is_array(axes))
        status = read_names_value(&names, &n, axes, err);
    if (status == SHD_OK && names && (shape ? n != rank : n > SHD_RANK_MAX))
        status = shd_error_set(err, SHD_EINVAL, "'%.100s' has %zu logical axes for %zu dimensions",
                               name, n, shape ? rank : (size_t)SHD_RANK_MAX);
    leaf.logical_axes = names;
    if (!shape) {
        leaf.shape = ones;
        leaf.rank = n;
    }
    if (status == SHD_OK)
        status = shd_tree_add(tree, &leaf, err);
    free(names);
    return status;
}

/* Add the leaves of nested objects, in order, with `path` in front of their names. */
static int add_leaves(struct shd_tree *tree, const json_t *value, struct text *path,
                      struct shd_error *err)
{
    size_t length = path->length;
    int status = SHD_OK;
    const char *key;
    json_t *item;

    if (!json_is_object(value))
        return add_leaf(tree, text_get(path), value, NULL, 0, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        text_addf(path, "%s%s", length > 0 ? "/" : "", key);
        if (path->failed)
            return shd_error_set(err, SHD_ENOMEM, "no memory for a name in the tree");
        status = add_leaves(tree, item, path, err);
        path->length = length;
        if (path->data)
            path->data[length] = '\0';
        if (status != SHD_OK)
            break;
    }
    return status;
}

static void write_leaves(struct json_out *out, const struct shd_tree *tree,
                         struct shd_spec *const *specs)
{
    json_out_begin_object(out);
    for (size_t i = 0; i < shd_tree_count(tree); i++)
        write_spec_key(out, shd_tree_leaf(tree, i)->name, specs[i]);
    json_out_end_object(out);
}

/* Write the specs of all leaves by rules; under the key "specs" of an object if `key` says so. */
static int answer_tree(const struct shd_tree *tree, const struct shd_logical_rules *rules,
                       const char *key, struct json_out *out, struct shd_error *err)
{
    const struct shd_partitioner_opts opts = {.mesh = {.num_partitions = 1}, .rules = rules};
    struct shd_partitioner *partitioner = NULL;
    size_t n = shd_tree_count(tree);
    struct shd_spec **specs = calloc(n + 1, sizeof(struct shd_spec *));
    int status = specs ? shd_partitioner_create(&partitioner, &opts, err)
                       : shd_error_set(err, SHD_ENOMEM, "no memory for %zu specs", n);

    if (status == SHD_OK)
        status = shd_partitioner_mesh_axes(specs, partitioner, tree, err);
    if (status == SHD_OK && key) {
        json_out_begin_object(out);
        json_out_key(out, key);
    }
    if (status == SHD_OK)
        write_leaves(out, tree, specs);
    if (status == SHD_OK && key)
        json_out_end_object(out);
    for (size_t i = 0; specs && i < n; i++)
        shd_spec_destroy(specs[i]);
    free(specs);
    shd_partitioner_destroy(partitioner);
    return status;
}

/* Read in.standard_rules = [activation dims, parameter dims], or in.rules. */
static int read_tree_rules(struct shd_logical_rules **out, const json_t *in, struct shd_error *err)
{
    int64_t *dims = NULL;
    size_t n;
    int status;

    if (json_is_array(json_object_get(in, "rules")))
        return read_logical_rules(out, json_object_get(in, "rules"), err);
    status = read_ints(&dims, &n, in, "standard_rules", err);
    if (status == SHD_OK && dims && n != 2)
        status = shd_error_set(err, SHD_EINVAL, "'standard_rules' must be two numbers");
    if (status == SHD_OK)
        status = shd_logical_rules_standard(out, dims ? dims[0] : 1, dims ? dims[1] : 1, NULL, err);
    free(dims);
    return status;
}

static int answer_mesh_axes(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *root = json_object_get(in, "tree");
    struct shd_logical_rules *rules = NULL;
    struct shd_tree *tree = NULL;
    struct text path = TEXT_INIT;
    int status = read_tree_rules(&rules, in, err);

    if (status == SHD_OK && !json_is_object(root))
        status = shd_error_set(err, SHD_ETYPE, "'tree' must be an object");
    if (status == SHD_OK)
        status = shd_tree_create(&tree, err);
    if (status == SHD_OK)
        status = add_leaves(tree, root, &path, err);
    if (status == SHD_OK)
        status = answer_tree(tree, rules, NULL, out, err);
    text_fini(&path);
    shd_tree_destroy(tree);
    shd_logical_rules_destroy(rules);
    return status;
}

/* Read in.params = [[name, shape], ...], in.logical_axes = {name: [...]}. */
static int read_axes_of_params(struct shd_tree *tree, const json_t *in, struct shd_error *err)
{
    const json_t *params = json_object_get(in, "params");
    const json_t *axes = json_object_get(in, "logical_axes");
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf;
    int status = SHD_OK;

    if (!json_is_array(params))
        return shd_error_set(err, SHD_ETYPE, "'params' must be a list of [name, shape]");
    for (size_t i = 0; status == SHD_OK && i < json_array_size(params); i++) {
        status = read_param(&leaf, shape, json_array_get(params, i), err);
        if (status == SHD_OK)
            status =
                add_leaf(tree, leaf.name, json_object_get(axes, leaf.name), shape, leaf.rank, err);
    }
    return status;
}

static int answer_params(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_logical_rules *rules = NULL;
    struct shd_tree *tree = NULL;
    int status = read_standard(&rules, in, NULL, err);

    if (status == SHD_OK)
        status = shd_tree_create(&tree, err);
    if (status == SHD_OK)
        status = read_axes_of_params(tree, in, err);
    if (status == SHD_OK)
        status = answer_tree(tree, rules, "specs", out, err);
    shd_tree_destroy(tree);
    shd_logical_rules_destroy(rules);
    return status;
}

/* Make a context with an arbitrary mesh of one axis, or without a mesh. */
static int read_context(struct shd_context *out, struct shd_mesh **mesh, const json_t *in,
                        const char *key, struct shd_error *err)
{
    static const char *const names[] = {"data"};
    static const int32_t sizes[] = {1};
    bool inside;
    int status = read_bool(&inside, in, key, false, err);

    *mesh = NULL;
    if (status == SHD_OK && inside)
        status = shd_mesh_create(mesh, names, sizes, 1, err);
    *out = (struct shd_context){.mesh = *mesh};
    return status;
}

static int answer_defined(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_context context;
    struct shd_mesh *mesh;
    int status = read_context(&context, &mesh, in, "inside_mesh_context", err);

    if (status == SHD_OK)
        json_out_bool(out, shd_context_has_mesh(&context));
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_constraint(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_context context;
    struct shd_mesh *mesh;
    const char *platform;
    int status = read_context(&context, &mesh, in, "global_mesh_defined", err);

    if (status == SHD_OK)
        status = read_string(&platform, in, "platform_of_first_device", "cpu", err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        json_out_key_bool(out, "applied", shd_context_constrains(&context, platform));
        json_out_end_object(out);
    }
    shd_mesh_destroy(mesh);
    return status;
}

#define DIMS_FIELDS                                                   \
    {"activation_partitioning_dims", "whole number", "1", "1 or 2."}, \
    {                                                                 \
        "parameter_partitioning_dims", "whole number", "1", "1 or 2." \
    }

const struct query_op query_t5x_ops[] = {
    {.name = "t5x.get_mesh_axes",
     .answer = answer_mesh_axes,
     .about = "The spec of every array of a tree, from logical axes.",
     .in =
         QUERY_FIELDS({"tree", "tree", NULL, "Leaves are lists of logical axes, or null."},
                      {"rules", "logical rules", "none", "Rules; without them the standard ones."},
                      {"standard_rules", "[activations, parameters]", "[1, 1]",
                       "Partitioning dimensions of the standard rules."}),
     .gives = "object, by path",
     .out = QUERY_FIELDS({"", "spec or null", NULL, "Its spec."}),
     .errors = "duplicate-axis",
     .question = "{'tree': {'mlp': {'wi': ['embed', 'mlp']}, 'scale': ['embed']}}",
     .reply = "'out':{'mlp/wi':[null,'model'],'scale':[null]}"},
    {.name = "t5x.global_mesh_defined",
     .answer = answer_defined,
     .about = "Whether there is a mesh in context.",
     .in = QUERY_FIELDS(
         {"inside_mesh_context", "boolean", "false", "Whether a mesh context was entered."}),
     .gives = "boolean",
     .question = "{'inside_mesh_context': true}",
     .reply = "'out':true"},
    {.name = "t5x.logical_to_mesh_axes",
     .answer = answer_logical,
     .about = "The spec of an array from its logical axes, by rules.",
     .in = QUERY_FIELDS(
         {"logical_axes", "list of names or null", "null",
          "For each dimension its logical axis; null: the array has none, and no spec."},
         {"rules", "logical rules", "[]",
          "Rules in order. One applies if its name is among the axes, not assigned yet, and none "
          "of its mesh axes is taken."},
         {"rules_name", "text", "none", "What the rules are called; has no effect."}),
     .gives = "spec or null",
     .errors = "duplicate-axis",
     .question = "{'logical_axes': ['batch', 'embed', 'mlp'], 'rules': [['batch', 'data'], ['mlp', "
                 "'model'], ['embed', null]]}",
     .reply = "'out':['data',null,'model']"},
    {.name = "t5x.partitioner_init",
     .answer = answer_init,
     .about = "The fields of a new PjitPartitioner.",
     .in = QUERY_FIELDS(
         {"num_partitions", "whole number", "0",
          "Devices of a model-parallel submesh; or model_parallel_submesh."},
         {"model_parallel_submesh", "list of whole numbers", "none", "Extents of the submesh."},
         {"ici_mesh_shape", "list of whole numbers", "none", "With dcn_mesh_shape: a hybrid mesh."},
         {"dcn_mesh_shape", "list of whole numbers", "none", "With ici_mesh_shape: a hybrid mesh."},
         {"logical_axis_rules", "logical rules", "the standard ones", "Rules of the partitioner."},
         {"strict", "boolean", "false",
          "Partitions beside a submesh, or a submesh without 4 extents, are an error."}),
     .gives = "object",
     .out = QUERY_FIELDS({"data_axis", "null, name or names", NULL, "What shards the batch."},
                         {"data_partition_spec", "spec", NULL, "The spec of a batch."},
                         {"logical_axis_rules", "logical rules", NULL,
                          "The rules; on a hybrid mesh batch is over replica and data."}),
     .question =
         "{'num_partitions': 2, 'logical_axis_rules': [['batch', 'data'], ['embed', null]]}",
     .reply = "'out':{'data_axis':'data','data_partition_spec':['data'],'logical_axis_rules':[['"
              "batch','data'],['embed',null]]}"},
    {.name = "t5x.standard_logical_axis_rules",
     .answer = answer_standard,
     .about = "T5X's standard rules from logical axes to mesh axes.",
     .in = QUERY_FIELDS(DIMS_FIELDS,
                        {"additional_rules", "logical rules", "[]", "Rules to add behind them."}),
     .gives = "logical rules",
     .question = "{'additional_rules': [['expert', 'data']]}",
     .reply = "'out':[['batch','data'],['vocab','model'],['embed',null],['mlp','model'],['heads','"
              "model'],['kv',null],['joined_kv','model'],['relpos_buckets',null],['abspos_buckets',"
              "null],['length',null],['layers',null],['stack',null],['mlp_activations',null],['"
              "expert','data']]"},
    {.name = "t5x.with_sharding_constraint",
     .answer = answer_constraint,
     .about = "Whether T5X's sharding constraint has an effect.",
     .in = QUERY_FIELDS(
         {"platform_of_first_device", "text", "\"cpu\"", "cpu, gpu or tpu; on cpu there is none."},
         {"global_mesh_defined", "boolean", "false", "Whether there is a mesh."}),
     .gives = "object",
     .out = QUERY_FIELDS({"applied", "boolean", NULL, "Whether it has an effect."}),
     .question = "{'platform_of_first_device': 'tpu', 'global_mesh_defined': true}",
     .reply = "'out':{'applied':true}"},
    {.name = "tree.mesh_axes",
     .answer = answer_params,
     .about = "The spec of every parameter of a list, from logical axes and the standard rules.",
     .in =
         QUERY_FIELDS({"params", "list", NULL, "[name, shape] of each parameter."},
                      {"logical_axes", "object", "{}", "Logical axes by name."},
                      {"dtype", "dtype", "none", "Of all parameters; has no effect."}, DIMS_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS({"specs", "object", NULL, "The spec of each parameter."}),
     .errors = "duplicate-axis",
     .question = "{'params': [['wi', [512, 2048]], ['scale', [512]]], 'logical_axes': {'wi': "
                 "['embed', 'mlp'], 'scale': ['embed']}}",
     .reply = "'out':{'specs':{'wi':[null,'model'],'scale':[null]}}"},
    {.name = NULL}};
