/* Values that are rules, [pattern, spec]: params and constraints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>
#include <shd/shape.h>

#include "scenario/rule_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"

#define SOURCE_LINES_MAX 999999999

static void free_rules(struct scenario_rule *rules, size_t nrules)
{
    for (size_t i = 0; i < nrules; i++) {
        free(rules[i].pattern);
        shd_spec_destroy(rules[i].spec);
        shd_spec_destroy(rules[i].written);
        free(rules[i].entry_places);
        free(rules[i].source);
    }
    free(rules);
}

/* Read the names of one entry of a spec, as pointers into the YAML tree.  On failure it reports and
 * returns false. */
static bool read_entry(struct reader *r, struct shd_spec_entry *out, const struct yaml_node *node,
                       const char **names)
{
    const struct yaml_node *const *items = node->kind == YAML_LIST ? node->items : &node;
    size_t nitems = node->kind == YAML_LIST ? node->nitems : 1;

    *out = (struct shd_spec_entry){names, 0};
    if (yaml_is_null(node))
        return true;
    if (nitems > SHD_MESH_AXES_MAX) {
        diag_error(r->diag, node->place, "a spec entry of %zu axes; expected at most %d", nitems,
                   SHD_MESH_AXES_MAX);
        return false;
    }
    for (size_t i = 0; i < nitems; i++) {
        if (items[i]->kind != YAML_TEXT || yaml_is_null(items[i]) || !items[i]->text[0]) {
            diag_error(r->diag, items[i]->place,
                       "%s in a spec; expected a mesh axis, a list of them, or null",
                       yaml_describe(items[i]).text);
            return false;
        }
        names[out->naxes++] = items[i]->text;
    }
    return true;
}

/* Read a spec that is a list of entries. */
static bool read_spec_list(struct reader *r, struct shd_spec **out, const struct yaml_node *node)
{
    const char *names[SHD_RANK_MAX][SHD_MESH_AXES_MAX];
    struct shd_spec_entry entries[SHD_RANK_MAX];
    struct shd_error err;

    if (node->nitems > SHD_RANK_MAX) {
        diag_error(r->diag, node->place, "a spec of %zu entries; expected at most %d", node->nitems,
                   SHD_RANK_MAX);
        return false;
    }
    for (size_t i = 0; i < node->nitems; i++)
        if (!read_entry(r, &entries[i], node->items[i], names[i]))
            return false;
    if (shd_spec_create(out, entries, node->nitems, &err) == SHD_OK)
        return true;
    diag_failure(r->diag, node->place, err.status, "%s", err.text);
    return false;
}

/* Read a spec: a list, or text in Python's notation, P('dp', None). */
static bool read_spec(struct reader *r, struct shd_spec **out, const struct yaml_node *node)
{
    struct shd_error err;

    if (node->kind == YAML_LIST)
        return read_spec_list(r, out, node);
    if (node->kind == YAML_MAP || yaml_is_null(node)) {
        diag_error(r->diag, node->place,
                   "%s as a partition spec; expected a list such as [dp, null], or [] to replicate",
                   yaml_describe(node).text);
        return false;
    }
    if (shd_spec_parse(out, node->text, &err) != SHD_OK) {
        diag_failure(r->diag, node->place, err.status,
                     "%s; expected a list such as [null, tp], with an entry for each dimension",
                     err.text);
        return false;
    }
    if (shd_spec_nentries(*out) <= SHD_RANK_MAX)
        return true;
    diag_error(r->diag, node->place, "a spec of %zu entries; expected at most %d",
               shd_spec_nentries(*out), SHD_RANK_MAX);
    return false;
}

/* The place of each entry of a spec; in a text, the start of the text for all. */
static struct place *entry_places(const struct shd_spec *spec, const struct yaml_node *node)
{
    size_t nentries = shd_spec_nentries(spec);
    struct place *places = calloc(nentries + 1, sizeof(*places));

    for (size_t i = 0; places && i < nentries; i++)
        places[i] = node->kind == YAML_LIST ? node->items[i]->place : node->place;
    return places;
}

/* Report a pattern that does not compile.  It is compiled again when there are names to match. */
bool rules_check_pattern(struct reader *r, const char *option, const char *pattern,
                         struct place place)
{
    struct shd_regex *regex;
    struct shd_error err;

    if (r->replay)
        return true;
    if (shd_regex_compile(&regex, pattern, &err) != SHD_OK) {
        diag_failure(r->diag, place, err.status, "%s: '%.60s' is not a valid pattern: %s", option,
                     pattern, err.text);
        return false;
    }
    shd_regex_destroy(regex);
    return true;
}

/* The line of "step.py:7", from 1; 0: a node is no such text. */
static int source_line(const struct yaml_node *node)
{
    const char *colon = node->kind == YAML_TEXT ? strrchr(node->text, ':') : NULL;
    char *end;
    long line;

    if (!colon || colon == node->text || colon[1] < '1' || colon[1] > '9')
        return 0;
    line = strtol(colon + 1, &end, 10);
    return *end || line > SOURCE_LINES_MAX ? 0 : (int)line;
}

/* Let a rule be where the program has it that it was traced from. */
static bool read_source(struct reader *r, struct scenario_rule *rule, const struct yaml_node *node)
{
    struct place place = {NULL, source_line(node), 1};

    rule->source = value_read_name(r, "a source", node);
    if (!rule->source)
        return false;
    *strrchr(rule->source, ':') = '\0';
    place.file = rule->source;
    rule->place = rule->spec_place = place;
    for (size_t i = 0; i < shd_spec_nentries(rule->spec); i++)
        rule->entry_places[i] = place;
    return true;
}

static bool read_rule(struct reader *r, struct scenario_rule *rule, const struct option *option,
                      const struct yaml_node *node)
{
    if (node->kind != YAML_LIST ||
        (node->nitems != 2 && (node->nitems != 3 || source_line(node->items[2]) == 0))) {
        diag_error(r->diag, node->place,
                   "a rule of %s is %s%s; expected [pattern, spec], such as [mlp/up, [null, tp]]",
                   option->key, yaml_describe(node).text,
                   node->kind == YAML_LIST ? " without exactly two entries" : "");
        return false;
    }
    rule->place = node->items[0]->place;
    rule->spec_place = node->items[1]->place;
    rule->pattern = value_read_name(r, "a pattern", node->items[0]);
    bool has_pattern =
        rule->pattern && rules_check_pattern(r, option->key, rule->pattern, rule->place);
    bool has_spec = read_spec(r, &rule->spec, node->items[1]);
    if (!has_pattern || !has_spec)
        return false;
    rule->entry_places = entry_places(rule->spec, node->items[1]);
    if (!rule->entry_places)
        value_no_memory(r);
    return rule->entry_places && (node->nitems == 2 || read_source(r, rule, node->items[2]));
}

/* Read rules; faulty ones are reported and left out. */
static void read_rules(struct reader *r, const struct option *option, const struct yaml_node *node,
                       struct scenario_rule **rules, size_t *nrules)
{
    free_rules(*rules, *nrules);
    *rules = NULL;
    *nrules = 0;
    if (node->kind != YAML_LIST) {
        value_error(r, option, node);
        return;
    }
    if (node->nitems > SCENARIO_RULES_MAX) {
        diag_error(r->diag, node->place, "%s has %zu rules; expected at most %d", option->key,
                   node->nitems, SCENARIO_RULES_MAX);
        return;
    }
    struct scenario_rule *list = calloc(node->nitems + 1, sizeof(*list));
    if (!list) {
        value_no_memory(r);
        return;
    }
    *rules = list;
    for (size_t i = 0; i < node->nitems; i++) {
        struct scenario_rule rule = {0};
        if (read_rule(r, &rule, option, node->items[i])) {
            list[(*nrules)++] = rule;
        } else {
            free(rule.pattern);
            free(rule.entry_places);
            free(rule.source);
            shd_spec_destroy(rule.spec);
        }
    }
}

void rules_check_sources(struct reader *r, const struct yaml_node *node)
{
    const struct yaml_node *rules = yaml_find(node, "rules");
    const struct yaml_node *params = yaml_find(node, "params");

    if (rules && params && rules->kind == YAML_TEXT && strcmp(rules->text, "auto") == 0 &&
        params->kind == YAML_LIST && params->nitems > 0)
        diag_error(r->diag, rules->place,
                   "both rules: auto and %zu rules in params; expected only one", params->nitems);
}

void rules_settle(struct reader *r)
{
    if (r->scenario->rules == SCENARIO_RULES_AUTO)
        value_params.clear(r->scenario, NULL);
}

void scenario_free_rules(struct scenario_rule *rules, size_t nrules)
{
    free_rules(rules, nrules);
}

int scenario_rules(struct shd_rules **out, const struct scenario_rule *rules, size_t nrules,
                   struct shd_error *err)
{
    struct shd_rules *built = NULL;

    int status = shd_rules_create(&built, err);
    for (size_t i = 0; status == SHD_OK && i < nrules; i++)
        status = shd_rules_add(built, rules[i].pattern, rules[i].spec, err);
    if (status == SHD_OK)
        *out = built;
    else
        shd_rules_destroy(built);
    return status;
}

void rules_print_spec(const struct scenario_rule *rule, struct text *out)
{
    const struct shd_spec *spec = rule->written ? rule->written : rule->spec;

    text_add_char(out, '[');
    for (size_t i = 0; i < shd_spec_nentries(spec); i++) {
        size_t naxes = shd_spec_naxes(spec, i);
        text_add(out, i ? ", " : "");
        text_add(out, naxes == 0 ? "null" : naxes > 1 ? "[" : "");
        for (size_t a = 0; a < naxes; a++) {
            text_add(out, a ? ", " : "");
            yaml_print_string(out, shd_spec_axis(spec, i, a));
        }
        text_add(out, naxes > 1 ? "]" : "");
    }
    text_add_char(out, ']');
}

static void print_rules(const struct scenario_rule *rules, size_t nrules, struct text *out)
{
    if (nrules == 0)
        text_add(out, "[]");
    for (size_t i = 0; i < nrules; i++) {
        text_add(out, "\n  - [");
        yaml_print_string(out, rules[i].pattern);
        text_add(out, ", ");
        rules_print_spec(&rules[i], out);
        if (rules[i].source) {
            struct text source = TEXT_INIT;

            text_addf(&source, "%s:%d", rules[i].source, rules[i].place.line);
            text_add(out, ", ");
            yaml_print_string(out, text_get(&source));
            out->failed |= source.failed;
            text_fini(&source);
        }
        text_add_char(out, ']');
    }
}

static void read_params(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    read_rules(r, option, node, &r->scenario->params, &r->scenario->nparams);
    if (node->kind == YAML_LIST && node->nitems > 0)
        r->scenario->rules = SCENARIO_RULES_PARAMS;
}

static void print_params(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    (void)option;
    print_rules(scenario->params, scenario->nparams, out);
}

static void clear_params(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free_rules(scenario->params, scenario->nparams);
    scenario->params = NULL;
    scenario->nparams = 0;
}

static const struct schema_keyword rules_keywords[] = {{"allOf", "[" SCHEMA_REF(SCHEMA_RULES) "]"},
                                                       {NULL, NULL}};

const struct value_type value_params = {
    .expected = "a list of rules [pattern, spec], such as [[mlp/up, [null, tp]]]",
    .read = read_params,
    .print = print_params,
    .clear = clear_params,
    .keywords = rules_keywords,
};

void rules_read_pattern(struct reader *r, const char *option, struct scenario_rule **list,
                        size_t *n, const struct yaml_node *node)
{
    char *pattern = value_read_name(r, "a pattern", node);
    struct scenario_rule *rule = NULL;

    if (pattern && rules_check_pattern(r, option, pattern, node->place))
        rule = value_append(r, list, n, sizeof(*rule), SCENARIO_RULES_MAX, node);
    if (rule)
        *rule = (struct scenario_rule){.pattern = pattern, .place = node->place};
    else
        free(pattern);
}

void rules_print_patterns(const struct scenario_rule *list, size_t n, struct text *out)
{
    text_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, list[i].pattern);
    }
    text_add_char(out, ']');
}

static void read_constraints(struct reader *r, const struct option *option,
                             const struct yaml_node *node)
{
    read_rules(r, option, node, &r->scenario->constraints, &r->scenario->nconstraints);
}

static void print_constraints(const struct scenario *scenario, const struct option *option,
                              struct text *out)
{
    (void)option;
    print_rules(scenario->constraints, scenario->nconstraints, out);
}

static void clear_constraints(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free_rules(scenario->constraints, scenario->nconstraints);
    scenario->constraints = NULL;
    scenario->nconstraints = 0;
}

const struct value_type value_constraints = {
    .expected = "a list of rules [pattern, spec], such as [[mlp/out, [dp, null, null]]]",
    .read = read_constraints,
    .print = print_constraints,
    .clear = clear_constraints,
    .keywords = rules_keywords,
};
