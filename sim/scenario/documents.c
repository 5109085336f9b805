/* The value of context.documents: null, a map of mean and seed, or a list of lengths.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static void clear(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free(scenario->context.documents.lengths);
    scenario->context.documents = (struct scenario_documents){.seed = 0};
}

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    static const char *const keys[] = {"mean", "seed"};
    struct scenario_documents *d = &r->scenario->context.documents;
    int64_t value;

    if (d->nlengths > 0)
        clear(r->scenario, option);
    if (strcmp(key->text, "mean") == 0) {
        if (yaml_read_int(node, &value) && value >= 1 && value <= INT32_MAX)
            d->mean = value;
        else
            diag_error(r->diag, node->place,
                       "mean is %s; expected the mean length in tokens, at least 1",
                       yaml_describe(node).text);
    } else if (strcmp(key->text, "seed") == 0) {
        if (yaml_read_int(node, &value) && value >= 0 && value <= INT32_MAX)
            d->seed = value;
        else
            diag_error(r->diag, node->place, "seed is %s; expected a whole number from 0",
                       yaml_describe(node).text);
    } else {
        value_unknown_key(r, key, "documents", "mean or seed", keys, 2);
    }
}

static void read_length(struct reader *r, const struct yaml_node *node)
{
    struct scenario_documents *d = &r->scenario->context.documents;
    int64_t value, *length;

    if (!yaml_read_int(node, &value) || value < 1 || value > INT32_MAX) {
        diag_error(r->diag, node->place,
                   "a document is %s; expected its length in tokens, at least 1",
                   yaml_describe(node).text);
        return;
    }
    length =
        value_append(r, &d->lengths, &d->nlengths, sizeof(*length), SCENARIO_DOCUMENTS_MAX, node);
    if (length)
        *length = value;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    clear(r->scenario, option);
    if (yaml_is_null(node))
        return;
    if (node->kind == YAML_LIST && node->nitems > 0) {
        for (size_t i = 0; i < node->nitems; i++)
            read_length(r, node->items[i]);
    } else if (node->kind == YAML_MAP && node->nitems > 0) {
        for (size_t i = 0; i < node->nitems; i++)
            read_entry(r, option, node->keys[i], node->items[i]);
        if (!yaml_find(node, "mean"))
            diag_error(r->diag, node->place,
                       "documents have no mean; expected the mean length in tokens, at least 1");
    } else {
        value_error(r, option, node);
    }
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_documents *d = &scenario->context.documents;

    (void)option;
    for (size_t i = 0; i < d->nlengths; i++)
        text_addf(out, "%s%" PRId64, i == 0 ? "[" : ", ", d->lengths[i]);
    if (d->nlengths > 0)
        text_add_char(out, ']');
    else if (d->mean > 0)
        text_addf(out, "{mean: %" PRId64 ", seed: %" PRId64 "}", d->mean, d->seed);
    else
        text_add(out, "null");
}

const struct value_type value_documents = {
    .expected =
        "null, a map of mean and seed such as {mean: 64, seed: 1}, or a list of lengths: [100, 28]",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .clear = clear,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf",
         "[{\"type\": \"null\"}, {\"type\": \"array\", \"minItems\": 1, \"items\": " SCHEMA_A_SIZE
         "}, {\"type\": \"object\", \"required\": [\"mean\"], \"properties\": "
         "{\"mean\": " SCHEMA_A_SIZE
         ", \"seed\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 2147483647}}, "
         "\"additionalProperties\": false}]"}),
};
