/* Ops of eformer's MeshPartitionHelper; tree.auto asks it about the parameters of whole models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/auto_shard.h>
#include <shd/shape.h>

#include <stdlib.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/leaves.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/answer.h"
#include "question/read_field.h"

#define METHODS_MAX 64     /* of one question; eformer has a handful */
#define METHOD_AXES_MAX 16 /* axes of one method; a mesh has no more (SHD_MESH_AXES_MAX) */

static int read_options(struct shd_auto_options *out, const json_t *in, struct shd_error *err)
{
    *out = shd_auto_defaults();

    int status = read_int(&out->min_elements, in, "min_shard_size", out->min_elements, err);

    return status == SHD_OK ? read_bool(&out->strict, in, "strict", false, err) : status;
}

static int answer_suggest(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    int64_t shape[SHD_RANK_MAX];
    struct shd_mesh *mesh;
    size_t rank;
    int status = read_mesh(&mesh, in, "mesh", err);

    if (status != SHD_OK)
        return status;
    status = read_shape(shape, &rank, in, "shape", err);
    if (status == SHD_OK)
        layout_write_methods(out, methods, shd_auto_methods(methods, mesh, shape, rank));
    shd_mesh_destroy(mesh);
    return status;
}

struct methods {
    struct shd_spec_entry entries[METHODS_MAX];
    const char *axes[METHODS_MAX][METHOD_AXES_MAX];
    size_t n;
};

static int read_methods(struct methods *out, const json_t *list, struct shd_error *err)
{
    out->n = json_array_size(list);
    if (!json_is_array(list) || out->n > METHODS_MAX)
        return shd_error_set(err, SHD_ETYPE, "'methods' must be a list of at most %d lists of axes",
                             METHODS_MAX);
    for (size_t m = 0; m < out->n; m++) {
        int status = layout_read_names(out->axes[m], &out->entries[m].naxes, METHOD_AXES_MAX,
                                       json_array_get(list, m), "a method", err);

        if (status != SHD_OK)
            return status;
        out->entries[m].axes = out->axes[m];
    }
    return SHD_OK;
}

static int answer_spec_on_mesh(const json_t *in, const struct shd_mesh *mesh, struct json_out *out,
                               struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_auto_options options;
    struct methods methods;
    struct shd_spec *spec;
    size_t rank;
    int status = read_shape(shape, &rank, in, "shape", err);

    if (status == SHD_OK)
        status = read_methods(&methods, json_object_get(in, "methods"), err);
    if (status == SHD_OK)
        status = read_options(&options, in, err);
    if (status == SHD_OK)
        status = shd_auto_spec(&spec, mesh, shape, rank, methods.entries, methods.n, &options,
                               err);
    if (status != SHD_OK)
        return status;
    write_spec(out, spec);
    shd_spec_destroy(spec);
    return SHD_OK;
}

static int answer_spec(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh;
    int status = read_mesh(&mesh, in, "mesh", err);

    if (status != SHD_OK)
        return status;
    status = answer_spec_on_mesh(in, mesh, out, err);
    shd_mesh_destroy(mesh);
    return status;
}

static bool is_shape(const json_t *node)
{
    return json_is_array(node);
}

/* Build a tree of the leaves that are shapes. */
static int build_tree(struct shd_tree **out, const struct layout_leaves *leaves,
                      struct shd_error *err)
{
    struct shd_tree *tree;
    int status = shd_tree_create(&tree, err);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; status == SHD_OK && i < leaves->n; i++) {
        int64_t shape[SHD_RANK_MAX];
        struct shd_leaf leaf = {.name = leaves->leaves[i].path, .dtype = SHD_BOOL, .shape = shape};

        if (!is_shape(leaves->leaves[i].node))
            continue;
        status = layout_read_shape(shape, &leaf.rank, leaves->leaves[i].node, err);
        if (status == SHD_OK)
            status = shd_tree_add(tree, &leaf, err);
    }
    if (status == SHD_OK)
        *out = tree;
    else
        shd_tree_destroy(tree);
    return status;
}

/* Write a shape with its methods, and with the spec that comes of them if there are options. */
static int write_shape(struct json_out *out, const struct shd_leaf *leaf,
                       const struct shd_mesh *mesh, const struct shd_auto_options *options,
                       struct shd_error *err)
{
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    size_t n = shd_auto_methods(methods, mesh, leaf->shape, leaf->rank);
    struct shd_spec *spec = NULL;
    int status = SHD_OK;

    if (options)
        status = shd_auto_spec(&spec, mesh, leaf->shape, leaf->rank, methods, n, options, err);
    if (status != SHD_OK)
        return status;
    json_out_begin_object(out);
    json_out_key(out, "shape");
    write_ints(out, leaf->shape, leaf->rank);
    json_out_key(out, "methods");
    layout_write_methods(out, methods, n);
    if (options)
        write_spec_key(out, "spec", spec);
    json_out_end_object(out);
    shd_spec_destroy(spec);
    return SHD_OK;
}

/* Write the distinct shapes of a tree, in the order of their first leaf. */
static int write_shapes(struct json_out *out, const struct shd_tree *tree,
                        const struct shd_mesh *mesh, const struct shd_auto_options *options,
                        struct shd_error *err)
{
    size_t *firsts = calloc(shd_tree_count(tree) + 1, sizeof *firsts), n = 0;
    int status = firsts ? shd_auto_shapes(firsts, &n, tree, err)
                        : shd_error_set(err, SHD_ENOMEM, "no memory for shapes");

    json_out_begin_array(out);
    for (size_t i = 0; status == SHD_OK && i < n; i++)
        status = write_shape(out, shd_tree_leaf(tree, firsts[i]), mesh, options, err);
    json_out_end_array(out);
    free(firsts);
    return status;
}

static void write_shard(struct json_out *out, const struct shd_mesh *mesh,
                        const struct shd_spec *spec, const struct shd_leaf *leaf)
{
    int64_t shard[SHD_RANK_MAX];
    int status = shd_auto_shard_shape(shard, mesh, spec, leaf->shape, leaf->rank, NULL);

    json_out_begin_object(out);
    write_spec_key(out, "spec", spec);
    json_out_key(out, "shard_shape");
    if (status == SHD_OK) /* placed successfully before */
        write_ints(out, shard, leaf->rank);
    else
        json_out_null(out);
    json_out_end_object(out);
}

static void write_unchanged(struct json_out *out, const json_t *node)
{
    if (json_is_null(node)) {
        json_out_null(out);
    } else {
        json_out_begin_object(out);
        json_out_key(out, "unchanged");
        answer_copy(out, node);
        json_out_end_object(out);
    }
}

static int write_shards(struct json_out *out, const struct layout_leaves *leaves,
                        const struct shd_tree *tree, const struct shd_mesh *mesh,
                        const struct shd_auto_options *options, struct shd_error *err)
{
    struct shd_spec **specs = calloc(shd_tree_count(tree) + 1, sizeof(struct shd_spec *));
    int status = specs ? shd_auto_shard(specs, tree, mesh, options, err)
                       : shd_error_set(err, SHD_ENOMEM, "no memory for specs");
    size_t n = 0; /* leaves of the tree: those of `leaves` that are shapes, in order */

    if (status == SHD_OK) {
        json_out_begin_object(out);
        for (size_t i = 0; i < leaves->n; i++) {
            json_out_key(out, leaves->leaves[i].path);
            if (is_shape(leaves->leaves[i].node)) {
                write_shard(out, mesh, specs[n], shd_tree_leaf(tree, n));
                shd_spec_destroy(specs[n++]);
            } else {
                write_unchanged(out, leaves->leaves[i].node);
            }
        }
        json_out_end_object(out);
    }
    free(specs);
    return status;
}

/* Read a question about a tree, and answer in one of two ways. */
static int answer_tree(const json_t *in, bool place, struct json_out *out, struct shd_error *err)
{
    struct layout_leaves leaves = {0, NULL};
    struct shd_auto_options options;
    struct shd_tree *tree = NULL;
    struct shd_mesh *mesh = NULL;
    int status = read_mesh(&mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = read_options(&options, in, err);
    if (status == SHD_OK)
        status = layout_collect(&leaves, json_object_get(in, "tree"), NULL, is_shape, err);
    if (status == SHD_OK)
        status = build_tree(&tree, &leaves, err);
    if (status == SHD_OK)
        status = place ? write_shards(out, &leaves, tree, mesh, &options, err)
                       : write_shapes(out, tree, mesh, NULL, err);
    shd_tree_destroy(tree);
    shd_mesh_destroy(mesh);
    layout_leaves_fini(&leaves);
    return status;
}

static int answer_analyze(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_tree(in, false, out, err);
}

static int answer_auto_shard(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_tree(in, true, out, err);
}

static int answer_params(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_auto_options options;
    struct shd_tree *tree = NULL;
    struct shd_mesh *mesh = NULL;
    int status = read_params(&tree, in, err);

    if (status == SHD_OK)
        status = read_mesh(&mesh, in, "mesh", err);
    if (status == SHD_OK)
        status = read_options(&options, in, err);
    if (status == SHD_OK)
        status = write_shapes(out, tree, mesh, &options, err);
    shd_mesh_destroy(mesh);
    shd_tree_destroy(tree);
    return status;
}

const struct query_op query_eformer_auto_ops[] = {
    {.name = "eformer.analyze_pytree",
     .answer = answer_analyze,
     .about = "The distinct shapes of a tree, in the order of their first leaf, and the mesh axes "
              "suggested for each.",
     .in =
         QUERY_FIELDS({"mesh", "mesh", NULL, "Suggestions use its axes named dp, fsdp, sp and tp."},
                      {"tree", "tree", NULL, "Leaves are shapes."},
                      {"min_shard_size", "whole number of 64 bits", "1024",
                       "Read and checked as for eformer.auto_shard_pytree; has no effect here."},
                      {"strict", "boolean", "false", "Has no effect here."}),
     .gives = "list of objects",
     .out = QUERY_FIELDS({"shape", "shape", NULL, "One of the shapes."},
                         {"methods", "list", NULL, "Lists of axes to try on the shape, in order."}),
     .errors = "duplicate-axis",
     .question =
         "{'mesh': [['fsdp', 4], ['tp', 2]], 'tree': {'a': {'w': [64, 32]}, 'b': {'w': [64, 32]}}}",
     .reply = "'out':[{'shape':[64,32],'methods':[['tp'],['fsdp']]}]"},
    {.name = "eformer.auto_shard_pytree",
     .answer = answer_auto_shard,
     .about = "A spec for every array of a tree, from shapes alone.",
     .in = QUERY_FIELDS(
         {"mesh", "mesh", NULL, "The axes named dp, fsdp, sp and tp are used."},
         {"tree", "tree", NULL, "Leaves are shapes; other leaves are returned unchanged."},
         {"min_shard_size", "whole number of 64 bits", "1024",
          "Elements that a dimension needs to be sharded."},
         {"strict", "boolean", "false",
          "Shard a dimension by two axes only if both divide it; use no axis twice."}),
     .gives = "object, by leaf",
     .out = QUERY_FIELDS(
         {"spec", "spec", NULL, "How the leaf is sharded."},
         {"shard_shape", "shape", NULL, "What a device holds of it."},
         {"unchanged", "anything", NULL, "Instead of these two: a leaf that is not a shape."}),
     .errors = "duplicate-axis, axis-not-in-mesh, indivisible",
     .question =
         "{'mesh': [['fsdp', 4], ['tp', 2]], 'tree': {'mlp': {'up': [2048, 8192]}, 'step': 7}}",
     .reply = "'out':{'mlp/"
              "up':{'spec':['tp','fsdp'],'shard_shape':[1024,2048]},'step':{'unchanged':7}}"},
    {.name = "eformer.create_partition_spec",
     .answer = answer_spec,
     .about = "A spec for one shape, by trying lists of axes in order.",
     .in = QUERY_FIELDS({"mesh", "mesh", NULL, "Axes of the device mesh."},
                        {"shape", "shape", NULL, "Extents of the array."},
                        {"methods", "list of lists of names", NULL,
                         "At most 64 lists of axes, of one or two each."},
                        {"min_shard_size", "whole number of 64 bits", "1024",
                         "Elements that a dimension needs to be sharded."},
                        {"strict", "boolean", "false", "As in eformer.auto_shard_pytree."}),
     .gives = "spec",
     .errors = "duplicate-axis, axis-not-in-mesh",
     .question =
         "{'mesh': [['fsdp', 4], ['tp', 2]], 'shape': [4096, 4096], 'methods': [['fsdp'], ['tp']]}",
     .reply = "'out':['fsdp','tp']"},
    {.name = "eformer.suggest_methods",
     .answer = answer_suggest,
     .about = "The lists of mesh axes that eformer suggests to try on a shape.",
     .in =
         QUERY_FIELDS({"mesh", "mesh", NULL, "Suggestions use its axes named dp, fsdp, sp and tp."},
                      {"shape", "shape", NULL, "Extents of the array."}),
     .gives = "list of lists of names",
     .errors = "duplicate-axis",
     .question = "{'mesh': [['fsdp', 4], ['tp', 2]], 'shape': [64, 32]}",
     .reply = "'out':[['tp'],['fsdp']]"},
    {.name = "tree.auto",
     .answer = answer_params,
     .about = "The distinct shapes of parameters, the axes suggested for each, and the resulting "
              "spec, as eformer.auto_shard_pytree.",
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
    {.name = NULL}};
