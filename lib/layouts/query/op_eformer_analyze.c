/* eformer.analyze_sharding_strategy: the original's result, and the result that its documentation
 * promises.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/analyze.h>

#include <stdlib.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/leaves.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/fields.h"
#include "question/read_field.h"

struct analyze_question {
    struct layout_leaves leaves;
    struct shd_mesh *mesh;
    struct shd_tree *tree;
    struct shd_spec **specs; /* by leaf of the tree; NULL: none given */
    bool strict;
};

static void fini(struct analyze_question *q)
{
    for (size_t i = 0; q->specs && i < q->leaves.n; i++)
        shd_spec_destroy(q->specs[i]);
    free(q->specs);
    shd_tree_destroy(q->tree);
    shd_mesh_destroy(q->mesh);
    layout_leaves_fini(&q->leaves);
}

static const struct query_field leaf_fields[] = {
    {"shape", "shape", NULL, "Extents."},
    {"dtype", "dtype", "\"float32\"", "Of its elements."},
    {NULL, NULL, NULL, NULL}};

static bool is_array_leaf(const json_t *node)
{
    return json_is_array(json_object_get(node, "shape"));
}

static int add_leaf(struct analyze_question *q, const struct layout_leaf *place,
                    struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf = {.name = place->path, .shape = shape};
    int status;

    if (!is_array_leaf(place->node))
        return shd_error_set(err, SHD_EINVAL, "'%.150s' is not an array {\"shape\", \"dtype\"}",
                             place->path);
    status = fields_check(leaf_fields, place->path, place->node, err);
    if (status == SHD_OK)
        status = layout_read_shape(shape, &leaf.rank, json_object_get(place->node, "shape"), err);
    if (status == SHD_OK)
        status = read_dtype(&leaf.dtype, place->node, "dtype", err);
    if (status == SHD_OK && !json_is_null(place->beside))
        status = read_spec_value(&q->specs[shd_tree_count(q->tree)], place->beside, err);
    return status == SHD_OK ? shd_tree_add(q->tree, &leaf, err) : status;
}

static int read_question(struct analyze_question *q, const json_t *in, struct shd_error *err)
{
    const json_t *specs = json_object_get(in, "specs");
    int status = layout_read_mesh(&q->mesh, in, "mesh", err);

    if (status == SHD_OK && !q->mesh)
        status = shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    if (status == SHD_OK && !specs)
        status = shd_error_set(err, SHD_ETYPE, "'specs' must be a tree of specs");
    if (status == SHD_OK)
        status = read_bool(&q->strict, in, "strict", false, err);
    if (status == SHD_OK)
        status = layout_collect(&q->leaves, json_object_get(in, "tree"), specs, is_array_leaf,
                                err);
    if (status == SHD_OK)
        status = shd_tree_create(&q->tree, err);
    if (status != SHD_OK)
        return status;
    q->specs = calloc(q->leaves.n + 1, sizeof(struct shd_spec *));
    if (!q->specs)
        return shd_error_set(err, SHD_ENOMEM, "no memory for specs");
    for (size_t i = 0; status == SHD_OK && i < q->leaves.n; i++)
        status = add_leaf(q, &q->leaves.leaves[i], err);
    return status;
}

static const struct shd_spec *const *specs_of(const struct analyze_question *q)
{
    return (const struct shd_spec *const *)q->specs;
}

static void write_totals(struct json_out *out, const struct shd_totals *totals)
{
    json_out_key_int(out, "total_parameters", totals->total_parameters);
    json_out_key_int(out, "sharded_parameters", totals->sharded_parameters);
}

static void write_empty(struct json_out *out, const char *key)
{
    json_out_key_object(out, key);
    json_out_end_object(out);
}

/* Write the original's result. */
static void write_original(struct json_out *out, const struct shd_totals *totals)
{
    json_out_key_object(out, "analysis");
    write_totals(out, totals);
    write_empty(out, "memory_per_device");
    json_out_key_double(out, "balance_score", 0);
    write_empty(out, "partition_stats");
    json_out_end_object(out);
}

static int write_floor_bytes(struct json_out *out, const struct analyze_question *q,
                             struct shd_error *err)
{
    int status = SHD_OK;

    json_out_key_object(out, "leaf_sharded_bytes");
    for (size_t i = 0; status == SHD_OK && i < shd_tree_count(q->tree); i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(q->tree, i);
        uint64_t bytes = 0;

        status = shd_analyze_floor_bytes(&bytes, leaf, q->specs[i], q->mesh, err);
        json_out_key_uint(out, leaf->name, bytes);
    }
    json_out_end_object(out);
    return status;
}

static void write_leaf_stats(struct json_out *out, const struct shd_leaf *leaf,
                             const struct shd_leaf_stats *stats)
{
    json_out_key_object(out, leaf->name);
    json_out_key_uint(out, "elements", (uint64_t)stats->nelements);
    json_out_key_uint(out, "bytes", stats->bytes);
    json_out_key(out, "shard_shape");
    write_ints(out, stats->shard_shape, leaf->rank);
    json_out_key_uint(out, "shard_bytes", stats->shard_bytes);
    json_out_key_uint(out, "shards", (uint64_t)stats->nshards);
    json_out_key_uint(out, "replicas", (uint64_t)stats->nreplicas);
    json_out_key_bool(out, "even", stats->is_even);
    json_out_key_uint(out, "gather_bytes", stats->gather_bytes);
    json_out_key_uint(out, "sync_bytes", stats->sync_bytes);
    json_out_end_object(out);
}

static void write_analysis(struct json_out *out, const struct shd_analysis *analysis,
                           const struct shd_tree *tree)
{
    write_totals(out, &analysis->totals);
    json_out_key_uint(out, "total_bytes", analysis->total_bytes);
    json_out_key_uint(out, "memory_per_device", analysis->device_bytes);
    json_out_key_double(out, "balance_score", analysis->balance);
    json_out_key_uint(out, "gather_bytes", analysis->gather_bytes);
    json_out_key_uint(out, "sync_bytes", analysis->sync_bytes);
    json_out_key_uint(out, "uneven_parameters", analysis->nuneven);
    json_out_key_object(out, "partition_stats");
    for (size_t i = 0; i < analysis->nleaves; i++)
        write_leaf_stats(out, shd_tree_leaf(tree, i), &analysis->leaves[i]);
    json_out_end_object(out);
}

/* Write the promised result.  If the specs cannot be bound the reason is written instead, unless
 * that is an error. */
static int write_strategy(struct json_out *out, const struct analyze_question *q,
                          struct shd_error *err)
{
    struct shd_analysis *analysis;
    struct shd_error why;
    int status = shd_analyze(&analysis, q->tree, specs_of(q), q->mesh, &why);

    if (status != SHD_OK && q->strict)
        return shd_error_set(err, status, "%s", why.text);
    json_out_key_object(out, "strategy");
    if (status == SHD_OK) {
        write_analysis(out, analysis, q->tree);
        shd_analysis_destroy(analysis);
    } else {
        json_out_key_string(out, "impossible", why.text);
    }
    json_out_end_object(out);
    return SHD_OK;
}

static int answer_question(const struct analyze_question *q, struct json_out *out,
                           struct shd_error *err)
{
    struct shd_totals totals;
    int status = SHD_OK;

    json_out_begin_object(out);
    if (!q->strict) {
        status = shd_analyze_totals(&totals, q->tree, specs_of(q), q->mesh, err);
        if (status == SHD_OK) {
            write_original(out, &totals);
            status = write_floor_bytes(out, q, err);
        }
    }
    if (status == SHD_OK)
        status = write_strategy(out, q, err);
    json_out_end_object(out);
    return status;
}

static int answer_analyze(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct analyze_question q = {.mesh = NULL};
    int status = read_question(&q, in, err);

    if (status == SHD_OK)
        status = answer_question(&q, out, err);
    fini(&q);
    return status;
}

const struct query_op query_eformer_analyze_ops[] = {
    {.name = "eformer.analyze_sharding_strategy",
     .answer = answer_analyze,
     .about = "Memory and gathered bytes of a sharded tree of arrays, and the totals that "
              "eformer's function of the same name returns.",
     .in = QUERY_FIELDS(
         {"tree", "tree", NULL,
          "Leaves are {\"shape\": shape, \"dtype\": dtype}; the dtype is float32 if not given."},
         {"specs", "tree", NULL, "A spec for each leaf, under the same keys."},
         {"mesh", "mesh", NULL, "Axes of the device mesh."},
         {"strict", "boolean", "false",
          "Return an error where a spec cannot be bound to its array, and omit the result of "
          "eformer's function."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"analysis", "object", NULL,
          "The result of eformer's function: total_parameters and sharded_parameters in elements; "
          "eformer leaves its other fields empty."},
         {"leaf_sharded_bytes", "object", NULL,
          "For each leaf the bytes of a shard, by division that rounds down at each axis."},
         {"strategy", "object", NULL,
          "The figures that eformer documents but does not compute: total_bytes; "
          "memory_per_device, bytes of the fullest device; balance_score, mean over maximum of the "
          "devices' bytes; gather_bytes, received by a device that gathers each array once; "
          "sync_bytes, received by a device that all-reduces gradients of replicas; "
          "uneven_parameters, arrays that do not divide; partition_stats for each leaf. If the "
          "specs cannot be bound: only impossible, the reason."}),
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible, not-found",
     .question = "{'tree': {'w': {'shape': [8, 4], 'dtype': 'float32'}}, 'specs': {'w': ['dp', "
                 "null]}, 'mesh': [['dp', 2], ['tp', 2]]}",
     .reply =
         "'out':{'analysis':{'total_parameters':32,'sharded_parameters':32,'memory_per_device':{},'"
         "balance_score':0.0,'partition_stats':{}},'leaf_sharded_bytes':{'w':64},'strategy':{'"
         "total_parameters':32,'sharded_parameters':32,'total_bytes':128,'memory_per_device':64,'"
         "balance_score':1.0,'gather_bytes':64,'sync_bytes':64,'uneven_parameters':0,'partition_"
         "stats':{'w':{'elements':32,'bytes':128,'shard_shape':[4,4],'shard_bytes':64,'shards':2,'"
         "replicas':2,'even':true,'gather_bytes':64,'sync_bytes':64}}}}"},
    {.name = NULL}};
