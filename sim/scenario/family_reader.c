/* Reading single values of a config.json (family_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/family_reader.h"

#include <stdio.h>
#include <string.h>

const struct yaml_node *family_find(const struct yaml_node *map, const char *key)
{
    const char *dot = strchr(key, '.');
    const struct yaml_node *node;
    char outer[64];

    if (dot) {
        snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
        map = family_find(map, outer);
        key = dot + 1;
    }
    node = map && map->kind == YAML_MAP ? yaml_find(map, key) : NULL;
    return node && !yaml_is_null(node) ? node : NULL;
}

bool family_read_number(double *out, const struct family_reader *c, const struct yaml_node *map,
                        const char *key)
{
    const struct yaml_node *node = family_find(map, key);
    double value;

    if (!node)
        return true;
    if (yaml_read_double(node, &value) && value > 0) {
        *out = value;
        return true;
    }
    diag_error(c->diag, node->place, "%s is %s; expected a number above 0", key,
               yaml_describe(node).text);
    return false;
}

bool family_read_flag(bool *out, const struct family_reader *c, const char *key)
{
    const struct yaml_node *node = family_find(c->root, key);

    if (!node || yaml_read_bool(node, out))
        return true;
    diag_error(c->diag, node->place, "%s is %s; expected true or false", key,
               yaml_describe(node).text);
    return false;
}

bool family_read_count(int64_t *out, const struct family_reader *c, const struct yaml_node *map,
                       const char *key)
{
    const struct yaml_node *node = family_find(map, key);
    int64_t value;

    if (!node)
        return true;
    if (yaml_read_int(node, &value) && value >= 0 && value <= INT32_MAX) {
        *out = value;
        return true;
    }
    diag_error(c->diag, node->place, "%s is %s; expected a whole number of at least 0", key,
               yaml_describe(node).text);
    return false;
}

bool family_find_equal(const struct yaml_node **node, const struct family_reader *c,
                       const char *key)
{
    const struct yaml_node *list = *node;

    if (!list || list->kind != YAML_LIST || list->nitems == 0)
        return true;
    *node = list->items[0];
    for (size_t i = 1; i < list->nitems; i++) {
        const struct yaml_node *item = list->items[i];

        if (item->kind == YAML_TEXT && (*node)->kind == YAML_TEXT &&
            !strcmp(item->text, (*node)->text))
            continue;
        diag_error(c->diag, item->place,
                   "%s is %s of layer %zu and %s of layer 0; expected one value for all layers; "
                   "different layers are not modelled",
                   key, yaml_describe(item).text, i, yaml_describe(*node).text);
        return false;
    }
    return true;
}
