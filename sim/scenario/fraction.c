/* A fraction above 0 and at most 1: a number, or text such as 1/8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/yaml.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

#define DIGITS_MAX 9 /* of the denominator: it fits an int */

/* Parse "1/8". */
static bool read_reciprocal(const char *text, double *out)
{
    size_t digits = strncmp(text, "1/", 2) ? 0 : strspn(text + 2, "0123456789");
    int64_t n = 0;

    if (digits < 1 || digits > DIGITS_MAX || text[2] == '0' || text[2 + digits])
        return false;
    for (size_t i = 0; i < digits; i++)
        n = 10 * n + (text[2 + i] - '0');
    *out = 1 / (double)n;
    return true;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    double value;
    bool good = yaml_read_double(node, &value) ||
                (node->kind == YAML_TEXT && read_reciprocal(node->text, &value));

    if (!good || value <= 0 || value > 1)
        value_error(r, option, node);
    else
        memcpy((char *)r->scenario + option->offset, &value, sizeof(value));
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    double value;
    char buf[32];

    memcpy(&value, (const char *)scenario + option->offset, sizeof(value));
    text_add(out, json_out_print_double(buf, sizeof(buf), value));
}

const struct value_type value_fraction = {
    .expected = "a number above 0 and at most 1, or a fraction such as 1/8",
    .read = read,
    .print = print,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf", "[{\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1}, {\"type\": "
                  "\"string\", \"pattern\": \"^1/[1-9][0-9]{0,8}$\"}]"}),
};
