/* Helpers for reading values (scenario/value_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/value_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"

static void hint_word(const struct option *option, const struct yaml_node *node, struct text *out)
{
    struct nearest nearest;

    if (!option->words || node->kind != YAML_TEXT)
        return;
    nearest_init(&nearest, node->text);
    for (size_t i = 0; option->words[i]; i++)
        nearest_add(&nearest, option->words[i]);
    text_add(out, nearest_hint(&nearest).text);
}

/* Whether a quoted text would be a number, a bool or null without its quotes; messages point that
 * out, as it otherwise looks right. */
static bool is_quoted_plain(const struct option *option, const struct yaml_node *node)
{
    struct yaml_node plain = *node;
    int64_t whole;
    double number;
    bool truth;

    if (option->words || node->kind != YAML_TEXT || !node->quoted)
        return false;
    plain.quoted = false;
    return yaml_read_int(&plain, &whole) || yaml_read_double(&plain, &number) ||
           yaml_read_bool(&plain, &truth) || yaml_is_null(&plain);
}

void value_error(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct text expected = TEXT_INIT;

    option_expect(option, &expected);
    hint_word(option, node, &expected);
    if (is_quoted_plain(option, node))
        text_add(&expected, ", without quotes");
    r->diag->no_memory |= expected.failed;
    diag_error(r->diag, node->place, "%s is %s; expected %s", option_path(option).text,
               yaml_describe(node).text, text_get(&expected));
    text_fini(&expected);
}

void value_unknown_key(struct reader *r, const struct yaml_node *key, const char *map,
                       const char *expected, const char *const *keys, size_t nkeys)
{
    struct nearest nearest;

    nearest_init(&nearest, key->text);
    for (size_t i = 0; i < nkeys; i++)
        nearest_add(&nearest, keys[i]);
    diag_error(r->diag, key->place, "unknown key %s in %s; expected %s%s", yaml_describe(key).text,
               map, expected, nearest_hint(&nearest).text);
}

void value_no_memory(struct reader *r)
{
    diag_no_memory(r->diag);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

char *value_read_name(struct reader *r, const char *what, const struct yaml_node *node)
{
    if (node->kind != YAML_TEXT || yaml_is_null(node) || node->text[0] == '\0' ||
        has_control(node->text)) {
        diag_error(r->diag, node->place, "%s is %s; expected printable text", what,
                   yaml_describe(node).text);
        return NULL;
    }
    if (strlen(node->text) > SCENARIO_NAME_MAX) {
        diag_error(r->diag, node->place, "%s has %zu bytes; expected at most %d", what,
                   strlen(node->text), SCENARIO_NAME_MAX);
        return NULL;
    }
    char *name = strdup(node->text);
    if (!name)
        value_no_memory(r);
    return name;
}

void *value_append(struct reader *r, void *array, size_t *count, size_t item_size, size_t max,
                   const struct yaml_node *node)
{
    char *item;

    if (*count >= max) {
        diag_error(r->diag, node->place, "too many entries; expected at most %zu", max);
        return NULL;
    }
    if (!array_make_room(array, *count, item_size)) {
        value_no_memory(r);
        return NULL;
    }
    memcpy(&item, array, sizeof item);
    item += *count * item_size;
    memset(item, 0, item_size);
    ++*count;
    return item;
}

void value_read_map(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    const struct value_type *type = option->type;

    type->clear(r->scenario, option);
    if (node->kind != YAML_MAP)
        value_error(r, option, node);
    for (size_t i = 0; node->kind == YAML_MAP && i < node->nitems; i++)
        type->read_entry(r, option, node->keys[i], node->items[i]);
}
