/* Laying a model's parameters over a mesh by rules (tree_layout.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show/tree_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shd/auto_shard.h>
#include <shd/match.h>
#include <shd/regex.h>
#include <shd/sharding.h>

#include "base/escape.h"
#include "base/json_mesh.h"
#include "base/json_out.h"
#include "base/nearest.h"
#include "base/units.h"
#include "base/yaml.h"
#include "command/asked.h"
#include "report/table.h"
#include "trees/import.h"

#define SCHEMA 1          /* version of the form of show tree --json */
#define SPEC_TEXT_MAX 256 /* bytes of a spec or a mesh in a line; a longer one is cut */

static SHD_PRINTF(2, 3) void warn(struct tree_layout *l, const char *fmt, ...) SHD_PRINTF(2, 3);

static SHD_PRINTF(2, 3) void warn(struct tree_layout *l, const char *fmt, ...)
{
    size_t from = l->warnings.length;
    va_list args;

    va_start(args, fmt);
    text_addv(&l->warnings, fmt, args);
    va_end(args);
    escape_from(&l->warnings, from);
    text_add_char(&l->warnings, '\n');
    l->nwarnings++;
}

/* ---- reading ---- */

/* A list of rules, or a scenario file, whose `params` they are; none of them for `rules: auto`. */
static int read_rules(struct tree_layout *l, const char *path, struct diag *diag)
{
    const struct yaml_node *node;
    int status = yaml_doc_load(&l->doc, path, diag);

    if (status != SHD_OK)
        return status;
    node = yaml_doc_root(l->doc);
    status = scenario_read_rules(&l->rules, &l->nrules, node, diag);
    if (status == SHD_OK && l->rules && l->nrules == 0) {
        diag_error(diag, node->place, "there are no rules");
        status = SHD_EINVAL;
    }
    return status;
}

static int allocate(struct tree_layout *l)
{
    size_t n = shd_tree_count(l->tree);

    l->nmatched = calloc(l->nrules + 1, sizeof(*l->nmatched));
    l->rule = calloc(n + 1, sizeof(*l->rule));
    l->specs = calloc(n + 1, sizeof(*l->specs));
    return l->nmatched && l->rule && l->specs ? SHD_OK : SHD_ENOMEM;
}

/* ---- matching ---- */

/* An axis that the mesh lacks is a fault of the rule, whether or not it matches anything. */
static void check_axes(const struct tree_layout *l, struct diag *diag)
{
    for (size_t r = 0; r < l->nrules; r++) {
        const struct shd_spec *spec = l->rules[r].spec;
        struct shd_sharding sharding;
        struct shd_error err;

        if (shd_sharding_bind(&sharding, l->mesh, spec, shd_spec_nentries(spec), &err) != SHD_OK)
            diag_failure(diag, l->rules[r].spec_place, err.status, "%s%s", err.text,
                         asked_axis_hint(spec, l->mesh).text);
    }
}

/* The place of the rule whose pattern fails when it is searched for in `name`; if the failure does
 * not occur again, that of the model. */
static struct place find_fault(const struct tree_layout *l, const char *name)
{
    struct place place = {l->model, 0, 0};

    for (size_t r = 0; r < l->nrules && place.line == 0; r++) {
        struct shd_regex *regex;
        struct shd_regex_match match;

        if (shd_regex_compile(&regex, l->rules[r].pattern, NULL) != SHD_OK)
            continue;
        if (shd_regex_search(&match, regex, name, NULL) != SHD_OK)
            place = l->rules[r].place;
        shd_regex_destroy(regex);
    }
    return place;
}

static int match_leaf(struct tree_layout *l, size_t i, const struct shd_rules *rules,
                      const struct shd_match_options *options, struct diag *diag)
{
    const struct shd_leaf *leaf = shd_tree_leaf(l->tree, i);
    struct shd_match match;
    struct shd_error err;
    int status = shd_match_leaf(&match, rules, leaf, options, &err);

    if (status == SHD_ENOTFOUND) {
        diag_error(
            diag, (struct place){l->model, 0, 0},
            "no rule matches '%.200s'; end the list with [.*, []] to replicate all other arrays",
            leaf->name);
        return SHD_OK; /* so that all errors are reported */
    }
    if (status == SHD_EREGEX) {
        diag_error(diag, find_fault(l, leaf->name), "%s", err.text);
        return status;
    }
    if (status == SHD_OK)
        status = shd_match_spec(&l->specs[i], &match, &err);
    if (status != SHD_OK) {
        diag_failure(diag, (struct place){l->model, 0, 0}, err.status, "'%.100s': %s", leaf->name,
                     err.text);
        return status;
    }
    l->rule[i] = match.rule;
    if (match.rule == SHD_NO_RULE)
        return SHD_OK;
    l->nmatched[match.rule]++;
    if (match.spec && match.nentries < shd_spec_nentries(match.spec))
        warn(l, "'%s' has %zu dimensions: the spec of rule '%s' is truncated to them", leaf->name,
             leaf->rank, l->rules[match.rule].pattern);
    return SHD_OK;
}

static int match_all(struct tree_layout *l, int64_t min_elements, struct diag *diag)
{
    struct shd_match_options options = {min_elements, false};
    struct shd_rules *rules = NULL;
    struct shd_error err;
    size_t before = diag->nerrors;
    int status;

    check_axes(l, diag);
    status = scenario_rules(&rules, l->rules, l->nrules, &err);
    if (status != SHD_OK)
        diag_failure(diag, (struct place){0}, err.status, "%s", err.text);
    for (size_t i = 0; !status && i < shd_tree_count(l->tree); i++)
        status = match_leaf(l, i, rules, &options, diag);
    shd_rules_destroy(rules);
    return status == SHD_OK ? diag_status(diag, before) : status;
}

static int by_shapes(struct tree_layout *l, int64_t min_elements, struct diag *diag)
{
    struct shd_auto_options options = {min_elements, true};
    struct shd_error err;
    int status = shd_auto_shard(l->specs, l->tree, l->mesh, &options, &err);

    for (size_t i = 0; i < shd_tree_count(l->tree); i++)
        l->rule[i] = SHD_NO_RULE;
    if (status != SHD_OK)
        diag_failure(diag, (struct place){l->model, 0, 0}, err.status, "%s", err.text);
    return status;
}

/* ---- warnings ---- */

static int find_in_some(bool *found, const struct scenario_rule *rule, const struct shd_tree *tree,
                        struct diag *diag)
{
    struct shd_regex *regex = NULL;
    struct shd_error err;
    int status = shd_regex_compile(&regex, rule->pattern, &err);

    *found = false;
    for (size_t i = 0; status == SHD_OK && !*found && i < shd_tree_count(tree); i++) {
        struct shd_regex_match match;

        status = shd_regex_search(&match, regex, shd_tree_leaf(tree, i)->name, &err);
        *found = status == SHD_OK && match.found;
    }
    if (status != SHD_OK)
        diag_failure(diag, rule->place, status, "'%.100s': %s", rule->pattern, err.text);
    shd_regex_destroy(regex);
    return status;
}

static int warn_of_rules(struct tree_layout *l, struct diag *diag)
{
    int status = SHD_OK;

    for (size_t r = 0; r < l->nrules && status == SHD_OK; r++) {
        const struct scenario_rule *rule = &l->rules[r];
        bool found;

        if (l->nmatched[r] > 0)
            continue;
        status = find_in_some(&found, rule, l->tree, diag);
        if (status == SHD_OK && found)
            warn(l, "%s:%d: rule '%s' is never reached: earlier rules match all its arrays",
                 rule->place.file, rule->place.line, rule->pattern);
        else if (status == SHD_OK)
            warn(l, "%s:%d: rule '%s' matches no parameter", rule->place.file, rule->place.line,
                 rule->pattern);
    }
    return status;
}

static void warn_of_leaves(struct tree_layout *l, uint64_t large_bytes)
{
    for (size_t i = 0; i < l->analysis->nleaves; i++) {
        const struct shd_leaf_stats *stats = &l->analysis->leaves[i];

        if (!stats->is_even)
            warn(l, "'%s' is not divisible by its axes: it cannot be placed",
                 shd_tree_leaf(l->tree, i)->name);
        if (!stats->is_sharded && stats->bytes >= large_bytes && shd_mesh_size(l->mesh) > 1)
            warn(l, "'%s' of %s is replicated on every device", shd_tree_leaf(l->tree, i)->name,
                 units_print_bytes(stats->bytes).text);
    }
}

int tree_layout_init(struct tree_layout *out, const char *model, const char *rules,
                     struct shd_mesh *mesh, int64_t min_elements, uint64_t large_bytes,
                     struct diag *diag)
{
    struct shd_error err;
    int status;

    *out = (struct tree_layout){.model = model, .mesh = mesh, .warnings = TEXT_INIT};
    status = import_model(&out->tree, model, diag);
    if (rules) {
        int rules_status = read_rules(out, rules, diag);

        status = status == SHD_OK ? rules_status : status;
    }
    if (status == SHD_OK)
        status = allocate(out);
    if (status == SHD_OK)
        status =
            out->rules ? match_all(out, min_elements, diag) : by_shapes(out, min_elements, diag);
    if (status != SHD_OK)
        return status;
    status = shd_analyze(&out->analysis, out->tree, (const struct shd_spec *const *)out->specs,
                         mesh, &err);
    if (status != SHD_OK) {
        diag_failure(diag, (struct place){model, 0, 0}, err.status, "%s", err.text);
        return status;
    }
    status = warn_of_rules(out, diag);
    if (status != SHD_OK)
        return status;
    warn_of_leaves(out, large_bytes);
    return out->warnings.failed ? SHD_ENOMEM : SHD_OK;
}

void tree_layout_fini(struct tree_layout *l)
{
    for (size_t i = 0; l->specs && i < shd_tree_count(l->tree); i++)
        shd_spec_destroy(l->specs[i]);
    free(l->specs);
    free(l->rule);
    free(l->nmatched);
    scenario_free_rules(l->rules, l->nrules);
    shd_analysis_destroy(l->analysis);
    shd_tree_destroy(l->tree);
    yaml_doc_destroy(l->doc);
    shd_mesh_destroy(l->mesh);
    text_fini(&l->warnings);
}

/* ---- for people ---- */

static const char *rule_of(const struct tree_layout *l, size_t i)
{
    if (l->nrules == 0)
        return "auto";
    return l->rule[i] == SHD_NO_RULE ? "-" : l->rules[l->rule[i]].pattern;
}

static void print_rows(const struct tree_layout *l, struct text *out)
{
    struct table table;

    table_init(&table, "llrlrrl");
    table_heads(&table, "parameter|type|shape|spec|shard|a device|rule");
    for (size_t i = 0; i < shd_tree_count(l->tree); i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(l->tree, i);
        const struct shd_leaf_stats *stats = &l->analysis->leaves[i];
        char text[SPEC_TEXT_MAX];

        table_add(&table, "%s", leaf->name);
        table_add(&table, "%s", shd_dtype_name(leaf->dtype));
        shd_shape_print(text, sizeof(text), leaf->shape, leaf->rank);
        table_add(&table, "%s", text);
        shd_spec_print(l->specs[i], SHD_SPEC_YAML, text, sizeof(text));
        table_add(&table, "%s", text);
        shd_shape_print(text, sizeof(text), stats->shard_shape, leaf->rank);
        table_add(&table, "%s", text);
        table_add(&table, "%s", units_print_bytes(stats->shard_bytes).text);
        table_add(&table, "%s", rule_of(l, i));
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static void print_totals(const struct tree_layout *l, struct text *out)
{
    const struct shd_analysis *a = l->analysis;
    char mesh[SPEC_TEXT_MAX];

    shd_mesh_print(l->mesh, mesh, sizeof(mesh));
    text_addf(out, "\n%zu array%s, %s parameters, %s in total\n", a->nleaves,
              a->nleaves == 1 ? "" : "s",
              units_print_count((uint64_t)a->totals.total_parameters).text,
              units_print_bytes(a->total_bytes).text);
    text_add(out, "mesh ");
    escape_add(out, mesh);
    text_addf(out, " (%" PRId32 " devices): %s at most on a device, balance %.3f\n",
              shd_mesh_size(l->mesh), units_print_bytes(a->device_bytes).text, a->balance);
    text_addf(
        out,
        "a device receives %s to all-gather all weights once, %s to reduce gradients of replicas\n",
        units_print_bytes(a->gather_bytes).text, units_print_bytes(a->sync_bytes).text);
}

void tree_layout_print(const struct tree_layout *l, struct text *out)
{
    print_rows(l, out);
    print_totals(l, out);
    for (const char *line = text_get(&l->warnings); *line; line += strcspn(line, "\n") + 1)
        text_addf(out, "warning: %.*s\n", (int)strcspn(line, "\n"), line);
}

/* ---- as JSON ---- */

static void put_shape(struct json_out *json, const char *key, const int64_t *shape, size_t rank)
{
    json_out_key_flat_array(json, key);
    for (size_t d = 0; d < rank; d++)
        json_out_int(json, shape[d]);
    json_out_end_array(json);
}

static void put_spec(struct json_out *json, const struct shd_spec *spec)
{
    json_out_key_flat_array(json, "spec");
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        size_t naxes = shd_spec_naxes(spec, e);

        if (naxes > 1)
            json_out_begin_array(json);
        for (size_t a = 0; a < naxes; a++)
            json_out_string(json, shd_spec_axis(spec, e, a));
        if (naxes > 1)
            json_out_end_array(json);
        if (naxes == 0)
            json_out_null(json);
    }
    json_out_end_array(json);
}

static void put_parameter(struct json_out *json, const struct tree_layout *l, size_t i)
{
    const struct shd_leaf *leaf = shd_tree_leaf(l->tree, i);
    const struct shd_leaf_stats *stats = &l->analysis->leaves[i];

    json_out_begin_object(json);
    json_out_key_string(json, "name", leaf->name);
    json_out_key_string(json, "dtype", shd_dtype_name(leaf->dtype));
    put_shape(json, "shape", leaf->shape, leaf->rank);
    put_spec(json, l->specs[i]);
    put_shape(json, "shard_shape", stats->shard_shape, leaf->rank);
    json_out_key_uint(json, "bytes", stats->bytes);
    json_out_key_uint(json, "device_bytes", stats->shard_bytes);
    json_out_key_string(
        json, "rule", l->nrules && l->rule[i] != SHD_NO_RULE ? l->rules[l->rule[i]].pattern : NULL);
    json_out_end_object(json);
}

static void put_rules(struct json_out *json, const struct tree_layout *l)
{
    json_out_key_array(json, "rules");
    for (size_t r = 0; r < l->nrules; r++) {
        json_out_begin_object(json);
        json_out_key_string(json, "pattern", l->rules[r].pattern);
        put_spec(json, l->rules[r].spec);
        json_out_key_uint(json, "parameters", l->nmatched[r]);
        json_out_end_object(json);
    }
    json_out_end_array(json);
}

static void put_totals(struct json_out *json, const struct tree_layout *l)
{
    const struct shd_analysis *a = l->analysis;

    json_out_key_object(json, "totals");
    json_out_key_uint(json, "arrays", a->nleaves);
    json_out_key_uint(json, "parameters", (uint64_t)a->totals.total_parameters);
    json_out_key_uint(json, "sharded_parameters", (uint64_t)a->totals.sharded_parameters);
    json_out_key_uint(json, "bytes", a->total_bytes);
    json_out_key_uint(json, "device_bytes", a->device_bytes);
    json_out_key_uint(json, "gather_bytes", a->gather_bytes);
    json_out_key_uint(json, "sync_bytes", a->sync_bytes);
    json_out_key_uint(json, "uneven", a->nuneven);
    json_out_key_double(json, "balance", a->balance);
    json_out_end_object(json);
}

int tree_layout_print_json(const struct tree_layout *l, struct text *out)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_PRETTY);
    json_out_begin_object(&json);
    json_out_key_int(&json, "schema", SCHEMA);
    json_out_key_string(&json, "model", l->model);
    json_out_key(&json, "mesh");
    json_mesh(&json, l->mesh);
    json_out_key_array(&json, "parameters");
    for (size_t i = 0; i < shd_tree_count(l->tree); i++)
        put_parameter(&json, l, i);
    json_out_end_array(&json);
    put_rules(&json, l);
    put_totals(&json, l);
    json_out_key_array(&json, "warnings");
    for (const char *line = text_get(&l->warnings); *line; line += strcspn(line, "\n") + 1)
        json_out_string_n(&json, line, strcspn(line, "\n"));
    json_out_end_array(&json);
    json_out_end_object(&json);
    json_out_newline(&json);
    return json_out_fini(&json);
}
