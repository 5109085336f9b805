/* Ops of eformer that find specs by names: rules and patterns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/match.h>
#include <shd/pattern.h>
#include <shd/shape.h>

#include <stdlib.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/leaves.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/answer.h"
#include "question/fields.h"
#include "question/read_field.h"

static const struct query_field leaf_fields[] = {
    {"$shape", "shape", NULL, "Extents."},
    {"$scalar", "anything", NULL, "Instead: a number."},
    {NULL, NULL, NULL, NULL}};

static bool is_array_leaf(const json_t *node)
{
    return json_object_get(node, "$shape") || json_object_get(node, "$scalar");
}

/* Write the spec of a place in the tree; an empty place stays empty, a scalar has the spec []. */
static int write_leaf(struct json_out *out, const struct layout_leaf *place,
                      const struct shd_rules *rules, const struct shd_match_options *options,
                      struct shd_error *err)
{
    const json_t *value = json_object_get(place->node, "$shape");
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf = {.name = place->path, .dtype = SHD_F32, .shape = shape};
    struct shd_match match;
    struct shd_spec *spec;
    int status;

    if (json_is_null(place->node)) {
        json_out_null(out);
        return SHD_OK;
    }
    status = fields_check(leaf_fields, place->path, place->node, err);
    if (status == SHD_OK && value)
        status = layout_read_shape(shape, &leaf.rank, value, err);
    if (status == SHD_OK)
        status = shd_match_leaf(&match, rules, &leaf, options, err);
    if (status == SHD_ENOTFOUND) /* a ValueError in the original */
        return shd_error_set(err, SHD_EINVAL, "no rule matches '%.200s'", place->path);
    if (status == SHD_OK)
        status = shd_match_spec(&spec, &match, err);
    if (status == SHD_OK) {
        write_spec(out, spec);
        shd_spec_destroy(spec);
    }
    return status;
}

static int write_leaves(struct json_out *out, const struct layout_leaves *leaves,
                        const struct shd_rules *rules, const struct shd_match_options *options,
                        struct shd_error *err)
{
    int status = SHD_OK;

    json_out_begin_object(out);
    for (size_t i = 0; status == SHD_OK && i < leaves->n; i++) {
        json_out_key(out, leaves->leaves[i].path);
        status = write_leaf(out, &leaves->leaves[i], rules, options, err);
        if (status != SHD_OK)
            json_out_null(out);
    }
    json_out_end_object(out);
    return status;
}

static int read_options(struct shd_match_options *out, const json_t *in, struct shd_error *err)
{
    *out = shd_match_defaults();

    int status = read_int(&out->min_elements, in, "min_sharding_size", out->min_elements, err);

    return status == SHD_OK ? read_bool(&out->strict, in, "strict", false, err) : status;
}

static int answer_match(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct layout_leaves leaves = {0, NULL};
    struct shd_match_options options;
    struct shd_rules *rules = NULL;
    int status = read_options(&options, in, err);

    if (status == SHD_OK)
        status = layout_read_rules(&rules, in, "rules", err);
    if (status == SHD_OK)
        status = layout_collect(&leaves, json_object_get(in, "tree"), NULL, is_array_leaf, err);
    if (status == SHD_OK)
        status = write_leaves(out, &leaves, rules, &options, err);
    layout_leaves_fini(&leaves);
    shd_rules_destroy(rules);
    return status;
}

static int write_specs(struct json_out *out, const struct shd_tree *tree,
                       const struct shd_match *matches, struct shd_error *err)
{
    int status = SHD_OK;

    json_out_begin_object(out);
    json_out_key_object(out, "specs");
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

static int match_params(const json_t *in, const struct shd_tree *tree,
                        const struct shd_rules *rules, struct json_out *out, struct shd_error *err)
{
    struct shd_match *matches = calloc(shd_tree_count(tree) + 1, sizeof *matches);
    struct shd_match_options options;
    int status = read_options(&options, in, err);

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

static int answer_params(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_tree *tree = NULL;
    struct shd_rules *rules = NULL;
    int status = read_params(&tree, in, err);

    if (status == SHD_OK)
        status = layout_read_rules(&rules, in, "rules", err);
    if (status == SHD_OK)
        status = match_params(in, tree, rules, out, err);
    shd_rules_destroy(rules);
    shd_tree_destroy(tree);
    return status;
}

/* Write {"out": spec} or {"err": {"kind", "message"}} for one name; an error of the pattern has its
 * Python name. */
static void write_name(struct json_out *out, const struct shd_pattern *pattern, const char *name)
{
    const struct shd_spec *spec;
    struct shd_error why;
    int status = shd_pattern_find(&spec, pattern, name, &why);

    json_out_begin_object(out);
    if (status == SHD_OK) {
        write_spec_key(out, "out", spec);
    } else {
        answer_error(out, status == SHD_EREGEX ? "re.error" : shd_status_name(status), why.text);
    }
    json_out_end_object(out);
}

static int write_by_name(struct json_out *out, const struct shd_pattern *pattern,
                         const json_t *names, struct shd_error *err)
{
    int status = SHD_OK;

    json_out_begin_object(out);
    for (size_t i = 0; status == SHD_OK && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (name) {
            json_out_key(out, name);
            write_name(out, pattern, name);
        } else {
            status = shd_error_set(err, SHD_ETYPE, "'names' must be a list of names");
        }
    }
    json_out_end_object(out);
    return status;
}

/* Read the mesh, which is required but unused: if the question only says that there is one, any
 * mesh will do. */
static int read_pattern_mesh(struct shd_mesh **out, const json_t *in, struct shd_error *err)
{
    static const char *const names[] = {"data", "model"};
    static const int32_t sizes[] = {1, 1};
    bool given;
    int status = read_bool(&given, in, "mesh_given", true, err);

    if (status != SHD_OK)
        return status;
    *out = NULL;
    if (json_is_array(json_object_get(in, "mesh")))
        return read_mesh(out, in, "mesh", err);
    return given ? shd_mesh_create(out, names, sizes, 2, err) : SHD_OK;
}

static int create_pattern(struct shd_pattern **out, const json_t *in, const struct shd_mesh *mesh,
                          struct shd_error *err)
{
    const json_t *value = json_object_get(in, "default_spec");
    struct shd_spec *fallback = NULL;
    const char *text;
    bool strict;
    int status = read_string(&text, in, "pattern", "", err);

    if (status == SHD_OK)
        status = read_bool(&strict, in, "strict", false, err);
    if (status == SHD_OK && value && !json_is_null(value))
        status = read_spec_value(&fallback, value, err);
    if (status == SHD_OK)
        status = strict ? shd_pattern_create_strict(out, text, mesh, fallback, err)
                        : shd_pattern_create(out, text, mesh, fallback, err);
    shd_spec_destroy(fallback);
    return status;
}

static int answer_pattern(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_pattern *pattern = NULL;
    struct shd_mesh *mesh = NULL;
    int status = read_pattern_mesh(&mesh, in, err);

    if (status == SHD_OK)
        status = create_pattern(&pattern, in, mesh, err);
    if (status == SHD_OK)
        status = write_by_name(out, pattern, json_object_get(in, "names"), err);
    shd_pattern_destroy(pattern);
    shd_mesh_destroy(mesh);
    return status;
}

#define RULES_FIELD                                                                           \
    {                                                                                         \
        "rules", "rules", NULL,                                                               \
            "Regular expressions, each with a spec; the first that matches in a name counts." \
    }

#define MATCH_FIELDS                                                                      \
    {"min_sharding_size", "whole number of 64 bits", "16384",                             \
     "Arrays of fewer elements are replicated."},                                         \
    {                                                                                     \
        "strict", "boolean", "false",                                                     \
            "A spec with more entries than dimensions is an error, and is not truncated." \
    }

const struct query_op query_eformer_match_ops[] = {
    {.name = "eformer.create_pattern_based_partition_spec",
     .answer = answer_pattern,
     .about = "Specs of names by rules in one line of text, such as "
              "'attention|mlp->data,hidden->model.sp': commas separate rules, bars separate "
              "regular expressions, and dots separate the axes of successive dimensions.",
     .in = QUERY_FIELDS(
         {"pattern", "text", "\"\"", "The line."},
         {"names", "names", "[]", "Names to find specs for."},
         {"default_spec", "spec", "[]", "The spec of a name that no expression matches."},
         {"mesh", "mesh", "none", "The mesh in context; it is needed, and used only if strict."},
         {"mesh_given", "boolean", "true", "Without 'mesh': whether a mesh exists anyway."},
         {"strict", "boolean", "false",
          "An expression that does not compile, a part without arrow, or an axis that is not in "
          "the mesh is an error."}),
     .gives = "object, by name",
     .out = QUERY_FIELDS({"out", "spec", NULL, "Its spec."},
                         {"err", "object", NULL, "Or 'kind' and 'message' of an error."}),
     .errors = "no-mesh, duplicate-axis, axis-not-in-mesh, regex",
     .question = "{'pattern': 'attention|mlp->data,embed->model.data', 'names': ['mlp/up', "
                 "'embed', 'norm']}",
     .reply =
         "'out':{'mlp/up':{'out':['data']},'embed':{'out':['model','data']},'norm':{'out':[]}}"},
    {.name = "eformer.match_partition_rules",
     .answer = answer_match,
     .about = "The spec of every array of a tree by rules on its path. Every array of rank 1 or "
              "more must match a rule; scalars are replicated.",
     .in = QUERY_FIELDS(RULES_FIELD,
                        {"tree", "tree", NULL,
                         "Leaves are {\"$shape\": shape} or {\"$scalar\": number}; {\"$list\": "
                         "[...]} is a list; null stays null."},
                        MATCH_FIELDS),
     .gives = "object, by path",
     .out = QUERY_FIELDS(
         {"", "spec or null", NULL, "The leaf's spec; keys of a path are joined with '/'."}),
     .errors = "regex, spec-too-long, duplicate-axis",
     .question = "{'rules': [['up/kernel', ['fsdp', 'tp']], ['.*', []]], 'tree': {'mlp': {'up': "
                 "{'kernel': {'$shape': [256, 1024]}, 'bias': {'$shape': [1024]}}}}}",
     .reply = "'out':{'mlp/up/bias':[],'mlp/up/kernel':['fsdp','tp']}"},
    {.name = "tree.match_rules",
     .answer = answer_params,
     .about = "The spec of every parameter by rules on its name, as eformer.match_partition_rules.",
     .in = QUERY_FIELDS(
         {"params", "list", NULL, "[name, shape] of each parameter."},
         {"dtype", "dtype", "\"float32\"", "Of all parameters."}, RULES_FIELD, MATCH_FIELDS,
         {"rules_family", "text", "none", "Where the rules are from; has no effect."},
         {"rules_commit", "text", "none", "Where the rules are from; has no effect."}),
     .gives = "object",
     .out = QUERY_FIELDS({"specs", "object", NULL, "The spec of each parameter."}),
     .errors = "regex, spec-too-long, duplicate-axis",
     .question = "{'params': [['mlp/up/kernel', [256, 1024]], ['mlp/up/bias', [1024]]], 'rules': "
                 "[['kernel', ['fsdp', 'tp']], ['.*', []]]}",
     .reply = "'out':{'specs':{'mlp/up/kernel':['fsdp','tp'],'mlp/up/bias':[]}}"},
    {.name = NULL}};
