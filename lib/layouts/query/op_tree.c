/* Ops on the parameter trees of whole models, given as lists of names and shapes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/auto_shard.h>
#include <shd/match.h>
#include <shd/tree.h>

#include <stdlib.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

static int add_param(struct shd_tree *tree, const json_t *param, enum shd_dtype dtype,
                     struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf = {.name = json_string_value(json_array_get(param, 0)),
                            .dtype = dtype,
                            .shape = shape};
    int status;

    if (!leaf.name || json_array_size(param) != 2)
        return shd_error_set(err, SHD_ETYPE, "a parameter must be [name, shape]");
    status = layout_read_shape(shape, &leaf.rank, json_array_get(param, 1), err);
    return status == SHD_OK ? shd_tree_add(tree, &leaf, err) : status;
}

/* Read in["params"], all of type in["dtype"]. */
static int read_tree(struct shd_tree **out, const json_t *in, struct shd_error *err)
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
    for (size_t i = 0; status == SHD_OK && i < json_array_size(params); i++)
        status = add_param(tree, json_array_get(params, i), dtype, err);
    if (status == SHD_OK)
        *out = tree;
    else
        shd_tree_destroy(tree);
    return status;
}

static int write_specs(struct json_out *out, const struct shd_tree *tree,
                       const struct shd_match *matches, struct shd_error *err)
{
    int status = SHD_OK;

    json_out_begin_object(out);
    json_out_key(out, "specs");
    json_out_begin_object(out);
    for (size_t i = 0; status == SHD_OK && i < shd_tree_count(tree); i++) {
        struct shd_spec *spec;

        status = shd_match_spec(&spec, &matches[i], err);
        if (status != SHD_OK)
            break;
        write_spec_key(out, shd_tree_leaf(tree, i)->name, spec);
        shd_spec_destroy(spec);
    }
    json_out_end_object(out);
    json_out_end_object(out);
    return status;
}

static int match_tree(const json_t *in, const struct shd_tree *tree, const struct shd_rules *rules,
                      struct json_out *out, struct shd_error *err)
{
    struct shd_match_options options = shd_match_defaults();
    struct shd_match *matches = calloc(shd_tree_count(tree) + 1, sizeof *matches);
    int status = read_int(&options.min_elements, in, "min_sharding_size", options.min_elements,
                          err);

    if (status == SHD_OK)
        status = read_bool(&options.strict, in, "strict", false, err);
    if (status == SHD_OK && !matches)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for matches");
    if (status == SHD_OK)
        status = shd_match_tree(matches, rules, tree, &options, err);
    if (status == SHD_ENOTFOUND) /* a ValueError in the original */
        status = SHD_EINVAL;
    if (status == SHD_OK)
        status = write_specs(out, tree, matches, err);
    free(matches);
    return status;
}

static int answer_match(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_tree *tree = NULL;
    struct shd_rules *rules = NULL;
    int status = read_tree(&tree, in, err);

    if (status == SHD_OK)
        status = layout_read_rules(&rules, in, "rules", err);
    if (status == SHD_OK)
        status = match_tree(in, tree, rules, out, err);
    shd_rules_destroy(rules);
    shd_tree_destroy(tree);
    return status;
}

static int write_shape(struct json_out *out, const struct shd_leaf *leaf,
                       const struct shd_mesh *mesh, const struct shd_auto_options *options,
                       struct shd_error *err)
{
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    size_t n = shd_auto_methods(methods, mesh, leaf->shape, leaf->rank);
    struct shd_spec *spec;
    int status = shd_auto_spec(&spec, mesh, leaf->shape, leaf->rank, methods, n, options, err);

    if (status != SHD_OK)
        return status;
    json_out_begin_object(out);
    json_out_key(out, "shape");
    write_ints(out, leaf->shape, leaf->rank);
    json_out_key(out, "methods");
    layout_write_methods(out, methods, n);
    write_spec_key(out, "spec", spec);
    json_out_end_object(out);
    shd_spec_destroy(spec);
    return SHD_OK;
}

static int write_shapes(const json_t *in, struct json_out *out, const struct shd_tree *tree,
                        const struct shd_mesh *mesh, struct shd_error *err)
{
    struct shd_auto_options options = shd_auto_defaults();
    size_t *firsts = calloc(shd_tree_count(tree) + 1, sizeof *firsts), n = 0;
    int status = read_int(&options.min_elements, in, "min_shard_size", options.min_elements, err);

    if (status == SHD_OK)
        status = read_bool(&options.strict, in, "strict", false, err);
    if (status == SHD_OK && !firsts)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for shapes");
    if (status == SHD_OK)
        status = shd_auto_shapes(firsts, &n, tree, err);
    json_out_begin_array(out);
    for (size_t i = 0; status == SHD_OK && i < n; i++)
        status = write_shape(out, shd_tree_leaf(tree, firsts[i]), mesh, &options, err);
    json_out_end_array(out);
    free(firsts);
    return status;
}

static int answer_auto(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_tree *tree = NULL;
    struct shd_mesh *mesh = NULL;
    int status = read_tree(&tree, in, err);

    if (status == SHD_OK)
        status = read_mesh(&mesh, in, "mesh", err);
    if (status == SHD_OK)
        status = write_shapes(in, out, tree, mesh, err);
    shd_mesh_destroy(mesh);
    shd_tree_destroy(tree);
    return status;
}

const struct query_op query_tree_ops[] = {
    {.name = "tree.auto",
     .answer = answer_auto,
     .about = "The distinct shapes of parameters, the axes suggested for each, and the spec that "
              "comes of it, as eformer.auto_shard_pytree.",
     .in = QUERY_FIELDS({"params", "list", NULL, "[name, shape] of each parameter."},
                        {"dtype", "dtype", "\"float32\"", "Of all parameters."},
                        {"mesh", "mesh", NULL, "The axes named dp, fsdp, sp and tp are used."},
                        {"min_shard_size", "whole number of 64 bits", "1024",
                         "Elements that a dimension needs to be sharded."},
                        {"strict", "boolean", "false", "As in eformer.auto_shard_pytree."}),
     .gives = "list of objects",
     .out = QUERY_FIELDS({"shape", "shape", NULL, "One of the shapes."},
                         {"methods", "list", NULL, "Lists of axes that were tried, in order."},
                         {"spec", "spec", NULL, "How arrays of this shape are sharded."}),
     .errors = "duplicate-axis",
     .question = "{'params': [['mlp/up/kernel', [4096, 8192]]], 'mesh': [['fsdp', 4], ['tp', 2]]}",
     .reply = "'out':[{'shape':[4096,8192],'methods':[['tp'],['fsdp']],'spec':['tp','fsdp']}]"},
    {.name = "tree.match_rules",
     .answer = answer_match,
     .about = "The spec of every parameter by rules on its name, as eformer.match_partition_rules.",
     .in = QUERY_FIELDS(
         {"params", "list", NULL, "[name, shape] of each parameter."},
         {"dtype", "dtype", "\"float32\"", "Of all parameters."},
         {"rules", "rules", NULL,
          "Regular expressions with a spec each; the first that is found in a name counts."},
         {"min_sharding_size", "whole number of 64 bits", "16384",
          "Arrays of fewer elements are replicated."},
         {"strict", "boolean", "false",
          "A spec with more entries than the array has dimensions is an error, and is not cut."},
         {"rules_family", "text", "none", "Where the rules are from; has no effect."},
         {"rules_commit", "text", "none", "Where the rules are from; has no effect."}),
     .gives = "object",
     .out = QUERY_FIELDS({"specs", "object", NULL, "The spec of each parameter."}),
     .errors = "regex, spec-too-long, duplicate-axis",
     .question = "{'params': [['mlp/up/kernel', [256, 1024]], ['mlp/up/bias', [1024]]], 'rules': "
                 "[['kernel', ['fsdp', 'tp']], ['.*', []]]}",
     .reply = "'out':{'specs':{'mlp/up/kernel':['fsdp','tp'],'mlp/up/bias':[]}}"},
    {.name = NULL}};
