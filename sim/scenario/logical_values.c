/* Values that map logical axes to mesh axes (scenario/logical_values.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/logical_values.h"

#include <stdlib.h>
#include <string.h>

#include "scenario/schema_part.h"
#include "scenario/types.h"

/* entries of `axes:`; presets have eight logical axes, and a graph written by hand has fewer than
 * this */
#define ENTRIES_MAX 256

static void free_axes(char **axes, size_t naxes)
{
    for (size_t i = 0; i < naxes; i++)
        free(axes[i]);
    free(axes);
}

void logical_free(struct scenario_logical *logical)
{
    free(logical->name);
    free_axes(logical->axes, logical->naxes);
    free_axes(logical->written, logical->nwritten);
}

static void clear_axes(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->nlogical; i++)
        logical_free(&scenario->logical[i]);
    free(scenario->logical);
    scenario->logical = NULL;
    scenario->nlogical = 0;
}

static void add_logical_axis(struct reader *r, struct scenario_logical *logical,
                             const struct yaml_node *node)
{
    char *name = value_read_name(r, "a mesh axis", node);

    if (!name)
        return;
    char **axis =
        value_append(r, &logical->axes, &logical->naxes, sizeof(*axis), SHD_MESH_AXES_MAX, node);
    if (axis)
        *axis = name;
    else
        free(name);
}

static struct scenario_logical *find_or_add_logical(struct reader *r, const struct yaml_node *key)
{
    struct scenario *s = r->scenario;

    for (size_t i = 0; i < s->nlogical; i++)
        if (strcmp(s->logical[i].name, key->text) == 0)
            return &s->logical[i];
    char *name = value_read_name(r, "a logical axis", key);
    if (!name)
        return NULL;
    struct scenario_logical *logical =
        value_append(r, &s->logical, &s->nlogical, sizeof(*logical), ENTRIES_MAX, key);
    if (logical)
        logical->name = name;
    else
        free(name);
    return logical;
}

void logical_read(struct reader *r, struct scenario_logical *logical,
                        const struct yaml_node *key, const struct yaml_node *node)
{
    free_axes(logical->axes, logical->naxes);
    logical->axes = NULL;
    logical->naxes = 0;
    logical->key_place = key->place;
    logical->place = node->place;
    if (node->kind == YAML_MAP)
        diag_error(r->diag, node->place,
                   "logical axis '%.60s' is %s; expected a mesh axis, a list of them, or null",
                   key->text, yaml_describe(node).text);
    else if (node->kind == YAML_TEXT && !yaml_is_null(node))
        add_logical_axis(r, logical, node);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++)
        add_logical_axis(r, logical, node->items[i]);
}

static void read_axes_entry(struct reader *r, const struct option *option,
                            const struct yaml_node *key, const struct yaml_node *node)
{
    struct scenario_logical *logical = find_or_add_logical(r, key);

    (void)option;
    if (logical)
        logical_read(r, logical, key, node);
}

void logical_print(const struct scenario_logical *logical, struct text *out)
{
    char *const *axes = logical->written ? logical->written : logical->axes;
    size_t naxes = logical->written ? logical->nwritten : logical->naxes;

    yaml_print_string(out, logical->name);
    text_add(out, ": ");
    if (naxes == 0)
        text_add(out, "null");
    else if (naxes > 1)
        text_add_char(out, '[');
    for (size_t i = 0; i < naxes; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, axes[i]);
    }
    if (naxes > 1)
        text_add_char(out, ']');
}

static void print_axes(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    (void)option;
    text_add_char(out, '{');
    for (size_t i = 0; i < scenario->nlogical; i++) {
        text_add(out, i ? ", " : "");
        logical_print(&scenario->logical[i], out);
    }
    text_add_char(out, '}');
}

const struct value_type value_axes = {
    .expected = "a map of logical axes to mesh axes, such as {batch: dp, seq: null}",
    .read = value_read_map,
    .read_entry = read_axes_entry,
    .print = print_axes,
    .clear = clear_axes,
    .keywords = SCHEMA_KEYWORDS({"type", "\"object\""},
                                {"additionalProperties", SCHEMA_REF(SCHEMA_LOGICAL)}),
};
