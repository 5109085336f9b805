/* The value of recompute: a word, a list of patterns, or a map with the layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "scenario/rule_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static const char *const words[] = {[SCENARIO_RECOMPUTE_NONE] = "none",
                                    [SCENARIO_RECOMPUTE_SELECTIVE] = "selective",
                                    [SCENARIO_RECOMPUTE_FULL] = "full"};

#define ALL_LAYERS(kind) ((struct scenario_recompute){kind, 1, 1, 0, 0, NULL, false, 0, NULL})

/* Read one of the words from `first` on; false for any other text. */
static bool read_word(struct scenario_recompute *out, const struct yaml_node *node,
                      enum scenario_recompute_kind first)
{
    for (int kind = first; kind <= SCENARIO_RECOMPUTE_FULL; kind++)
        if (node->kind == YAML_TEXT && strcmp(node->text, words[kind]) == 0) {
            out->kind = (enum scenario_recompute_kind)kind;
            return true;
        }
    return false;
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

/* Read the list of kept patterns, replacing any earlier list. */
static void read_kept(struct reader *r, const struct yaml_node *node)
{
    struct scenario_recompute *recompute = &r->scenario->recompute;

    scenario_free_rules(recompute->kept, recompute->nkept);
    recompute->kept = NULL;
    recompute->nkept = 0;
    if (node->kind != YAML_LIST)
        diag_error(r->diag, node->place, "keep is %s; expected a list of patterns",
                   yaml_describe(node).text);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++)
        rules_read_pattern(r, &recompute->kept, &recompute->nkept, node->items[i]);
}

static void read_whole(struct reader *r, const struct yaml_node *node)
{
    if (!yaml_read_bool(node, &r->scenario->recompute.whole))
        diag_error(r->diag, node->place, "whole is %s; expected true or false",
                   yaml_describe(node).text);
}

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    static const char *const keys[] = {"kind", "group", "every", "first", "whole", "keep"};
    struct scenario_recompute *recompute = &r->scenario->recompute;

    if (recompute->kind == SCENARIO_RECOMPUTE_NONE || recompute->kind == SCENARIO_RECOMPUTE_NAMED) {
        clear(r->scenario, option);
        recompute->kind = SCENARIO_RECOMPUTE_FULL;
    }
    if (strcmp(key->text, "kind") == 0) {
        if (!read_word(recompute, node, SCENARIO_RECOMPUTE_SELECTIVE))
            diag_error(r->diag, node->place, "kind is %s; expected selective or full",
                       yaml_describe(node).text);
    } else if (strcmp(key->text, "group") == 0) {
        read_count(r, &recompute->group, key->text, node);
    } else if (strcmp(key->text, "every") == 0) {
        read_count(r, &recompute->every, key->text, node);
    } else if (strcmp(key->text, "first") == 0) {
        recompute->first = 0;
        if (!yaml_is_null(node))
            read_count(r, &recompute->first, key->text, node);
    } else if (strcmp(key->text, "whole") == 0) {
        read_whole(r, node);
    } else if (strcmp(key->text, "keep") == 0) {
        read_kept(r, node);
    } else {
        value_unknown_key(r, key, "recompute", "kind, group, every, first, whole or keep", keys, 6);
    }
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_recompute *recompute = &r->scenario->recompute;

    clear(r->scenario, option);
    if (node->kind == YAML_LIST && node->nitems > 0) {
        recompute->kind = SCENARIO_RECOMPUTE_NAMED;
        for (size_t i = 0; i < node->nitems; i++)
            rules_read_pattern(r, &recompute->patterns, &recompute->npatterns, node->items[i]);
    } else if (node->kind == YAML_MAP && node->nitems > 0) {
        for (size_t i = 0; i < node->nitems; i++)
            read_entry(r, option, node->keys[i], node->items[i]);
    } else if (!read_word(recompute, node, SCENARIO_RECOMPUTE_NONE)) {
        value_error(r, option, node);
    }
}

static void print_layers(const struct scenario_recompute *recompute, struct text *out)
{
    text_addf(out,
              "{kind: %s, group: %" PRId64 ", every: %" PRId64 ", first: ", words[recompute->kind],
              recompute->group, recompute->every);
    if (recompute->first > 0)
        text_addf(out, "%" PRId64, recompute->first);
    else
        text_add(out, "null");
    text_addf(out, ", whole: %s, keep: ", recompute->whole ? "true" : "false");
    rules_print_patterns(recompute->kept, recompute->nkept, out);
    text_add_char(out, '}');
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_recompute *recompute = &scenario->recompute;

    (void)option;
    if (recompute->kind == SCENARIO_RECOMPUTE_NAMED)
        rules_print_patterns(recompute->patterns, recompute->npatterns, out);
    else if (recompute->group == 1 && recompute->every == 1 && recompute->first == 0 &&
             !recompute->whole && recompute->nkept == 0)
        text_add(out, words[recompute->kind]);
    else
        print_layers(recompute, out);
}

const struct value_type value_recompute = {
    .expected = "none, selective, full, a list of patterns such as [mlp/gelu], or a map of kind, "
                "group, every, first, whole and keep such as {kind: full, every: 2}",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .clear = clear,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf",
         "[{\"enum\": [\"none\", \"selective\", \"full\"]}, {\"type\": \"array\", \"minItems\": 1, "
         "\"items\": " SCHEMA_A_NAME
         "}, {\"type\": \"object\", \"minProperties\": 1, \"properties\": {\"kind\": {\"enum\": "
         "[\"selective\", \"full\"]}, \"group\": " SCHEMA_A_SIZE ", \"every\": " SCHEMA_A_SIZE
         ", \"first\": {\"anyOf\": [{\"type\": \"null\"}, " SCHEMA_A_SIZE
         "]}, \"whole\": {\"type\": \"boolean\"}, \"keep\": {\"type\": \"array\", "
         "\"items\": " SCHEMA_A_NAME "}}, \"additionalProperties\": false}]"}),
};
