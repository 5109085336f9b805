/* Values that are lists of patterns: frozen, lora.targets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "scenario/rule_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static struct scenario_patterns *field_of(struct scenario *scenario, const struct option *option)
{
    return (struct scenario_patterns *)(void *)((char *)scenario + option->offset);
}

static void clear(struct scenario *scenario, const struct option *option)
{
    struct scenario_patterns *patterns = field_of(scenario, option);

    scenario_free_rules(patterns->list, patterns->n);
    *patterns = (struct scenario_patterns){.n = 0};
}

static void read_pattern(struct reader *r, const struct option *option,
                         const struct yaml_node *node)
{
    struct scenario_patterns *patterns = field_of(r->scenario, option);
    char *pattern = value_read_name(r, "a pattern", node);
    struct scenario_rule *rule = NULL;

    if (pattern && rules_check_pattern(r, option_path(option).text, pattern, node->place))
        rule =
            value_append(r, &patterns->list, &patterns->n, sizeof *rule, SCENARIO_RULES_MAX, node);
    if (rule)
        *rule = (struct scenario_rule){.pattern = pattern, .place = node->place};
    else
        free(pattern);
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    if (node->kind != YAML_LIST) {
        value_error(r, option, node);
        return;
    }
    clear(r->scenario, option);
    for (size_t i = 0; i < node->nitems; i++)
        read_pattern(r, option, node->items[i]);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_patterns *patterns =
        (const struct scenario_patterns *)(const void *)((const char *)scenario + option->offset);

    text_add_char(out, '[');
    for (size_t i = 0; i < patterns->n; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, patterns->list[i].pattern);
    }
    text_add_char(out, ']');
}

const struct value_type value_patterns = {
    .expected = "a list of patterns, such as [attn/q, mlp/.*]",
    .read = read,
    .print = print,
    .clear = clear,
    .keywords = SCHEMA_KEYWORDS({"type", "\"array\""}, {"items", SCHEMA_A_NAME}),
};
