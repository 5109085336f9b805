/* The value of recompute: a word, a list of patterns, or a map with the layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "scenario/recompute_policies.h"
#include "scenario/rule_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static const char *const words[] = {[SCENARIO_RECOMPUTE_NONE] = "none",
                                    [SCENARIO_RECOMPUTE_SELECTIVE] = "selective",
                                    [SCENARIO_RECOMPUTE_FULL] = "full"};

/* The rows of recompute_policies.c, as the schema has them; tests/scenario/schema.sh tries each. */
#define POLICY_WORDS                                                                             \
    "\"selective_op\", \"minimal\", \"minimal_with_context\", "                                  \
    "\"save_dot_with_context_except_mlp\", \"save_dot_except_mlp\", \"save_dot_except_mlpwi\", " \
    "\"save_qkv_proj\", \"save_out_proj\", \"qkv_proj_offloaded\", \"minimal_offloaded\""
#define MODULE_WORDS                                                                    \
    "\"core_attn\", \"layernorm\", \"mlp\", \"moe\", \"moe_act\", \"shared_experts\", " \
    "\"mla_up_proj\""

static const char *const counts[] = {"model", "stage"}; /* by by_stage */

#define ALL_LAYERS(what) ((struct scenario_recompute){.kind = (what), .group = 1, .every = 1})

/* Read one of the words from `first` on, or the name of a policy; false for any other text. */
static bool read_word(struct scenario_recompute *out, const struct yaml_node *node,
                      enum scenario_recompute_kind first)
{
    const struct recompute_policy *policy;

    if (node->kind != YAML_TEXT)
        return false;
    for (int kind = first; kind <= SCENARIO_RECOMPUTE_FULL; kind++)
        if (strcmp(node->text, words[kind]) == 0) {
            out->kind = (enum scenario_recompute_kind)kind;
            out->policy = NULL;
            return true;
        }
    policy = recompute_policy_find(node->text);
    if (policy) {
        out->kind = SCENARIO_RECOMPUTE_FULL;
        out->policy = policy;
    }
    return policy != NULL;
}

static void clear(struct scenario *scenario, const struct option *option)
{
    (void)option;
    scenario_free_rules(scenario->recompute.patterns, scenario->recompute.npatterns);
    scenario_free_rules(scenario->recompute.kept, scenario->recompute.nkept);
    scenario->recompute = ALL_LAYERS(SCENARIO_RECOMPUTE_NONE);
}

static void read_count(struct reader *r, int64_t *out, const char *key,
                       const struct yaml_node *node)
{
    int64_t value;

    if (yaml_read_int(node, &value) && value >= 1 && value <= INT32_MAX)
        *out = value;
    else
        diag_error(r->diag, node->place, "%s is %s; expected a number of layers, at least 1", key,
                   yaml_describe(node).text);
}

/* Whether an entry of a list is a pattern that compiles, or an op, of which only `keep` has any. */
static bool check_entry(struct reader *r, const char *entry, bool keeps, struct place place)
{
    struct recompute_kept_op op;

    if (!recompute_is_op(entry))
        return rules_check_pattern(r, "recompute", entry, place);
    if (keeps && recompute_read_op(&op, entry))
        return true;
    diag_error(r->diag, place, "unknown op '%.60s'; expected %s", entry,
               keeps ? RECOMPUTE_OPS_EXPECTED
                     : "a pattern of names; ops are accepted in recompute.keep only");
    return false;
}

static void read_pattern(struct reader *r, struct scenario_rule **list, size_t *n, bool keeps,
                         const struct yaml_node *node)
{
    char *pattern = value_read_name(r, "a pattern", node);
    struct scenario_rule *rule = NULL;

    if (pattern && check_entry(r, pattern, keeps, node->place))
        rule = value_append(r, list, n, sizeof(*rule), SCENARIO_RULES_MAX, node);
    if (rule)
        *rule = (struct scenario_rule){.pattern = pattern, .place = node->place};
    else
        free(pattern);
}

/* Read the list of kept patterns, replacing any earlier list. */
static void read_kept(struct reader *r, const struct yaml_node *node)
{
    struct scenario_recompute *recompute = &r->scenario->recompute;

    scenario_free_rules(recompute->kept, recompute->nkept);
    recompute->kept = NULL;
    recompute->nkept = 0;
    if (node->kind != YAML_LIST)
        diag_error(r->diag, node->place, "keep is %s; expected a list of patterns and ops",
                   yaml_describe(node).text);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++)
        read_pattern(r, &recompute->kept, &recompute->nkept, true, node->items[i]);
}

/* Read the names of parts of a layer, replacing earlier ones. */
static void read_modules(struct reader *r, const struct yaml_node *node)
{
    struct scenario_recompute *recompute = &r->scenario->recompute;

    recompute->modules = 0;
    if (node->kind != YAML_LIST)
        diag_error(r->diag, node->place, "modules is %s; expected a list of " RECOMPUTE_MODULES,
                   yaml_describe(node).text);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++) {
        const struct yaml_node *item = node->items[i];
        int module =
            item->kind == YAML_TEXT ? recompute_module_find(item->text, strlen(item->text)) : -1;

        if (module >= 0)
            recompute->modules |= UINT32_C(1) << module;
        else
            diag_error(r->diag, item->place, "modules has %s; expected some of " RECOMPUTE_MODULES,
                       yaml_describe(item).text);
    }
}

static void read_offset(struct reader *r, const struct yaml_node *node)
{
    int64_t value;

    if (yaml_read_int(node, &value) && value >= 0 && value < INT32_MAX)
        r->scenario->recompute.offset = value;
    else
        diag_error(r->diag, node->place, "offset is %s; expected a number from 0 to below every",
                   yaml_describe(node).text);
}

static void read_counted(struct reader *r, const struct yaml_node *node)
{
    for (int by = 0; by < 2; by++)
        if (node->kind == YAML_TEXT && strcmp(node->text, counts[by]) == 0) {
            r->scenario->recompute.by_stage = by;
            return;
        }
    diag_error(r->diag, node->place, "count is %s; expected model or stage",
               yaml_describe(node).text);
}

static void read_flag(struct reader *r, bool *out, const char *key, const struct yaml_node *node)
{
    if (!yaml_read_bool(node, out))
        diag_error(r->diag, node->place, "%s is %s; expected true or false", key,
                   yaml_describe(node).text);
}

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    static const char *const keys[] = {"kind",  "modules", "group", "every", "offset",
                                       "first", "count",   "whole", "hold",  "keep"};
    struct scenario_recompute *recompute = &r->scenario->recompute;

    if (recompute->kind == SCENARIO_RECOMPUTE_NONE || recompute->kind == SCENARIO_RECOMPUTE_NAMED) {
        clear(r->scenario, option);
        recompute->kind = SCENARIO_RECOMPUTE_FULL;
    }
    if (strcmp(key->text, "kind") == 0) {
        if (!read_word(recompute, node, SCENARIO_RECOMPUTE_SELECTIVE))
            diag_error(r->diag, node->place,
                       "kind is %s; expected selective, full or a policy such as selective_op",
                       yaml_describe(node).text);
    } else if (strcmp(key->text, "modules") == 0) {
        read_modules(r, node);
    } else if (strcmp(key->text, "group") == 0) {
        read_count(r, &recompute->group, key->text, node);
    } else if (strcmp(key->text, "every") == 0) {
        read_count(r, &recompute->every, key->text, node);
    } else if (strcmp(key->text, "offset") == 0) {
        read_offset(r, node);
    } else if (strcmp(key->text, "count") == 0) {
        read_counted(r, node);
    } else if (strcmp(key->text, "first") == 0) {
        recompute->first = 0;
        if (!yaml_is_null(node))
            read_count(r, &recompute->first, key->text, node);
    } else if (strcmp(key->text, "whole") == 0) {
        read_flag(r, &recompute->whole, key->text, node);
    } else if (strcmp(key->text, "hold") == 0) {
        read_flag(r, &recompute->hold, key->text, node);
    } else if (strcmp(key->text, "keep") == 0) {
        read_kept(r, node);
    } else {
        value_unknown_key(r, key, "recompute",
                          "kind, modules, group, every, offset, first, count, whole, hold or keep",
                          keys, sizeof keys / sizeof *keys);
    }
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_recompute *recompute = &r->scenario->recompute;

    clear(r->scenario, option);
    if (node->kind == YAML_LIST && node->nitems > 0) {
        recompute->kind = SCENARIO_RECOMPUTE_NAMED;
        for (size_t i = 0; i < node->nitems; i++)
            read_pattern(r, &recompute->patterns, &recompute->npatterns, false, node->items[i]);
    } else if (node->kind == YAML_MAP && node->nitems > 0) {
        for (size_t i = 0; i < node->nitems; i++)
            read_entry(r, option, node->keys[i], node->items[i]);
    } else if (!read_word(recompute, node, SCENARIO_RECOMPUTE_NONE)) {
        value_error(r, option, node);
    }
}

/* The word for what is recomputed of a layer. */
static const char *kind_word(const struct scenario_recompute *recompute)
{
    return recompute->policy ? recompute->policy->name : words[recompute->kind];
}

static void print_modules(uint32_t modules, struct text *out)
{
    const char *between = "";

    text_add(out, ", modules: [");
    for (int i = 0; recompute_modules[i].name; i++)
        if (modules >> i & 1) {
            text_addf(out, "%s%s", between, recompute_modules[i].name);
            between = ", ";
        }
    text_add_char(out, ']');
}

static void print_layers(const struct scenario_recompute *recompute, struct text *out)
{
    text_addf(out, "{kind: %s", kind_word(recompute));
    if (recompute->modules)
        print_modules(recompute->modules, out);
    text_addf(out, ", group: %" PRId64 ", every: %" PRId64, recompute->group, recompute->every);
    if (recompute->offset > 0)
        text_addf(out, ", offset: %" PRId64, recompute->offset);
    text_add(out, ", first: ");
    if (recompute->first > 0)
        text_addf(out, "%" PRId64, recompute->first);
    else
        text_add(out, "null");
    if (recompute->by_stage)
        text_addf(out, ", count: %s", counts[1]);
    text_addf(out, ", whole: %s, %skeep: ", recompute->whole ? "true" : "false",
              recompute->hold ? "hold: true, " : "");
    rules_print_patterns(recompute->kept, recompute->nkept, out);
    text_add_char(out, '}');
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_recompute *recompute = &scenario->recompute;

    (void)option;
    if (recompute->kind == SCENARIO_RECOMPUTE_NAMED)
        rules_print_patterns(recompute->patterns, recompute->npatterns, out);
    else if (recompute->group == 1 && recompute->every == 1 && recompute->offset == 0 &&
             recompute->first == 0 && !recompute->by_stage && !recompute->whole &&
             !recompute->hold && recompute->nkept == 0 && recompute->modules == 0)
        text_add(out, kind_word(recompute));
    else
        print_layers(recompute, out);
}

const struct value_type value_recompute = {
    .expected = "none, selective, full, a policy such as selective_op, a list of patterns such as "
                "[mlp/gelu], or a map of kind, modules, group, every, offset, first, count, "
                "whole, hold and keep such as {kind: full, every: 2}",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .clear = clear,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf",
         "[{\"enum\": [\"none\", \"selective\", \"full\", " POLICY_WORDS
         "]}, {\"type\": \"array\", \"minItems\": 1, \"items\": " SCHEMA_A_NAME
         "}, {\"type\": \"object\", \"minProperties\": 1, \"properties\": {\"kind\": {\"enum\": "
         "[\"selective\", \"full\", " POLICY_WORDS
         "]}, \"modules\": {\"type\": \"array\", \"items\": {\"enum\": [" MODULE_WORDS
         "]}}, \"group\": " SCHEMA_A_SIZE ", \"every\": " SCHEMA_A_SIZE
         ", \"offset\": {\"type\": \"integer\", \"minimum\": 0}, \"count\": {\"enum\": [\"model\", "
         "\"stage\"]}, \"first\": {\"anyOf\": [{\"type\": \"null\"}, " SCHEMA_A_SIZE
         "]}, \"whole\": {\"type\": \"boolean\"}, \"hold\": {\"type\": \"boolean\"}, \"keep\": "
         "{\"type\": \"array\", "
         "\"items\": " SCHEMA_A_NAME "}}, \"additionalProperties\": false}]"}),
};
