/* The value of an option that names values of the forward phase: none, all, or a list of patterns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "scenario/rule_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static struct scenario_values *values_at(struct scenario *scenario, const struct option *option)
{
    return (struct scenario_values *)(void *)((char *)scenario + option->offset);
}

static void clear(struct scenario *scenario, const struct option *option)
{
    struct scenario_values *values = values_at(scenario, option);

    scenario_free_rules(values->patterns, values->npatterns);
    *values = (struct scenario_values){.all = false};
}

static bool is_word(const struct yaml_node *node, const char *word)
{
    return node->kind == YAML_TEXT && strcmp(node->text, word) == 0;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_values *values = values_at(r->scenario, option);

    clear(r->scenario, option);
    if (node->kind == YAML_LIST && node->nitems > 0)
        for (size_t i = 0; i < node->nitems; i++)
            rules_read_pattern(r, option_path(option).text, &values->patterns, &values->npatterns,
                               node->items[i]);
    else if (is_word(node, "all"))
        values->all = true;
    else if (!is_word(node, "none"))
        value_error(r, option, node);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_values *values =
        (const struct scenario_values *)(const void *)((const char *)scenario + option->offset);

    if (values->npatterns > 0)
        rules_print_patterns(values->patterns, values->npatterns, out);
    else
        text_add(out, values->all ? "all" : "none");
}

const struct value_type value_values = {
    .expected = "none, all, or a list of patterns such as [mlp/gelu]",
    .read = read,
    .print = print,
    .clear = clear,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf", "[{\"enum\": [\"none\", \"all\"]}, {\"type\": \"array\", \"minItems\": 1, "
                  "\"items\": " SCHEMA_A_NAME "}]"}),
};
