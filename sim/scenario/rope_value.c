/* The value of model.rope: null, or a map of theta and interleaved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

#define THETA 10000 /* the default, as in the paper on rotary embedding (Su et al. 2021) */

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    struct scenario_rope *rope = &r->scenario->model.rope;
    double theta;

    (void)option;
    if (!rope->used)
        *rope = (struct scenario_rope){.used = true, .theta = THETA};
    if (strcmp(key->text, "theta") == 0) {
        if (yaml_read_double(node, &theta) && theta > 1)
            rope->theta = theta;
        else
            diag_error(r->diag, node->place, "theta is %s; expected a number above 1",
                       yaml_describe(node).text);
    } else if (strcmp(key->text, "interleaved") == 0) {
        if (!yaml_read_bool(node, &rope->interleaved))
            diag_error(r->diag, node->place, "interleaved is %s; expected true or false",
                       yaml_describe(node).text);
    } else {
        static const char *const keys[] = {"theta", "interleaved"};
        value_unknown_key(r, key, "rope", "theta or interleaved", keys, 2);
    }
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    r->scenario->model.rope = (struct scenario_rope){.used = false};
    if (yaml_is_null(node))
        return;
    if (node->kind != YAML_MAP) {
        value_error(r, option, node);
        return;
    }
    r->scenario->model.rope = (struct scenario_rope){.used = true, .theta = THETA};
    for (size_t i = 0; i < node->nitems; i++)
        read_entry(r, option, node->keys[i], node->items[i]);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_rope *rope = &scenario->model.rope;
    char buf[32];

    (void)option;
    if (rope->used)
        text_addf(out, "{theta: %s, interleaved: %s}",
                  json_out_print_double(buf, sizeof(buf), rope->theta),
                  rope->interleaved ? "true" : "false");
    else
        text_add(out, "null");
}

const struct value_type value_rope = {
    .size = sizeof(struct scenario_rope),
    .expected = "null or a map, such as {theta: 10000, interleaved: false}",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .keywords =
        SCHEMA_KEYWORDS({"type", "[\"object\", \"null\"]"},
                        {"properties", "{\"theta\": {\"type\": \"number\", \"exclusiveMinimum\": "
                                       "1}, \"interleaved\": {\"type\": \"boolean\"}}"},
                        {"additionalProperties", "false"}),
};
