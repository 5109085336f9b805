/* The value of zero.reshard_after_forward: a word of PyTorch's FSDP, or the number of neighbours
 * that parameters stay sharded over between the phases of a step.
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *word;
    int64_t value;
} words[] = {
    {"default", SCENARIO_RESHARD_DEFAULT},
    {"always", SCENARIO_RESHARD_ALWAYS},
    {"never", SCENARIO_RESHARD_NEVER},
};

/* Read a word.  PyTorch's own option also takes true and false. */
static bool read_word(const struct yaml_node *node, int64_t *out)
{
    bool yes;

    if (yaml_read_bool(node, &yes)) {
        *out = yes ? SCENARIO_RESHARD_ALWAYS : SCENARIO_RESHARD_NEVER;
        return true;
    }
    for (size_t w = 0; node->kind == YAML_TEXT && w < COUNT(words); w++)
        if (!strcmp(node->text, words[w].word)) {
            *out = words[w].value;
            return true;
        }
    return false;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    int64_t value;

    if (read_word(node, &value) ||
        (yaml_read_int(node, &value) && value >= 1 && value <= INT32_MAX))
        memcpy((char *)r->scenario + option->offset, &value, sizeof(value));
    else
        value_error(r, option, node);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    int64_t value;

    memcpy(&value, (const char *)scenario + option->offset, sizeof(value));
    for (size_t w = 0; w < COUNT(words); w++)
        if (words[w].value == value) {
            text_add(out, words[w].word);
            return;
        }
    text_addf(out, "%" PRId64, value);
}

const struct value_type value_reshard = {
    .expected = "default, always, never, or a number of neighbours",
    .read = read,
    .print = print,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf", "[{\"enum\": [\"default\", \"always\", \"never\", true, false]}, {\"type\": "
                  "\"integer\", \"minimum\": 1, \"maximum\": 2147483647}]"}),
};
