/* The value of mesh, and messages about its axes (scenario/mesh_value.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/mesh_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/utf8.h"
#include "scenario/partition_axis_value.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"

#define MESH_TEXT_MAX 160 /* bytes of a mesh in a message; further axes are left out */

/* ---- the mesh in messages ---- */

bool mesh_has(const struct scenario *s, const char *name)
{
    for (size_t i = 0; i < s->nmesh; i++)
        if (strcmp(s->mesh[i].name, name) == 0)
            return true;
    return false;
}

void mesh_describe(const struct scenario *s, struct text *out)
{
    text_add(out, "mesh ");
    if (strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY) != 0)
        text_addf(out, "of strategy '%s' ", s->strategy);
    text_add_char(out, '(');
    for (size_t i = 0; i < s->nmesh && out->length < MESH_TEXT_MAX; i++)
        text_addf(out, "%s%s=%d", i ? ", " : "", s->mesh[i].name, (int)s->mesh[i].size);
    text_add_char(out, ')');
}

void mesh_describe_source(const char *name, const char *of, struct text *out)
{
    if (strcmp(name, of) != 0)
        text_addf(out, ", the value of '%.*s',", (int)utf8_cut(of, strlen(of), 60), of);
}

static void report_no_axis(struct reader *r, struct place place, const char *name, const char *of,
                           const char *remedy)
{
    const struct scenario *s = r->scenario;
    struct text mesh = TEXT_INIT, source = TEXT_INIT;
    struct partition_axis_names names;
    struct nearest nearest;
    int shown = (int)utf8_cut(name, strlen(name), 60);

    nearest_init(&nearest, name);
    for (size_t i = 0; i < s->nmesh; i++)
        nearest_add(&nearest, s->mesh[i].name);
    partition_axis_offer(&nearest, &names, s);
    nearest_add(&nearest, "null");
    mesh_describe(s, &mesh);
    mesh_describe_source(name, of, &source);
    r->diag->no_memory |= mesh.failed || source.failed;
    diag_error(r->diag, place, "axis '%.*s'%s is not in the %s%s%s", shown, name, text_get(&source),
               text_get(&mesh), remedy, nearest_hint(&nearest).text);
    text_fini(&mesh);
    text_fini(&source);
}

void mesh_report_no_axis(struct reader *r, struct place place, const char *name, const char *of)
{
    report_no_axis(r, place, name, of, "");
}

/* ---- the value ---- */

static bool is_axis_name(const struct yaml_node *node)
{
    const char *name = node->text;

    if (yaml_is_null(node) || !(name[0] == '_' || (name[0] >= 'A' && name[0] <= 'Z') ||
                                (name[0] >= 'a' && name[0] <= 'z')))
        return false;
    for (; *name; name++)
        if (!((*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') ||
              (*name >= '0' && *name <= '9') || strchr("_-.", *name)))
            return false;
    return true;
}

static struct scenario_axis *find_axis(struct scenario *scenario, const char *name)
{
    for (size_t i = 0; i < scenario->nmesh; i++)
        if (strcmp(scenario->mesh[i].name, name) == 0)
            return &scenario->mesh[i];
    return NULL;
}

static void clear_mesh(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->nmesh; i++)
        free(scenario->mesh[i].name);
    free(scenario->mesh);
    scenario->mesh = NULL;
    scenario->nmesh = 0;
}

static struct scenario_axis *add_axis(struct reader *r, const struct yaml_node *key)
{
    if (!is_axis_name(key)) {
        diag_error(r->diag, key->place,
                   "mesh axis %s; expected a name of letters, digits, '_', '-' and '.' with its "
                   "size, such as {dp: 2, tp: 4}",
                   yaml_describe(key).text);
        return NULL;
    }
    char *name = value_read_name(r, "a mesh axis", key);
    if (!name)
        return NULL;
    struct scenario_axis *axis = value_append(r, &r->scenario->mesh, &r->scenario->nmesh,
                                              sizeof(*axis), SHD_MESH_AXES_MAX, key);
    if (axis)
        axis->name = name;
    else
        free(name);
    return axis;
}

/* Add an axis.  An axis with a bad size is added as well, so that its name elsewhere is not
 * reported as unknown. */
static void read_axis(struct reader *r, const struct yaml_node *key, const struct yaml_node *node)
{
    int64_t size = 1;
    struct scenario_axis *axis = find_axis(r->scenario, key->text);

    if (!yaml_read_int(node, &size) || size < 1 || size > INT32_MAX)
        diag_error(r->diag, node->place,
                   "size of mesh axis '%s' is %s; expected a whole number from 1 to %d", key->text,
                   yaml_describe(node).text, INT32_MAX);
    if (!axis)
        axis = add_axis(r, key);
    if (!axis) {
        r->mesh_unknown = true;
        return;
    }
    axis->size = size >= 1 && size <= INT32_MAX ? (int32_t)size : 1;
    axis->place = node->place;
}

static void read_mesh(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    clear_mesh(r->scenario, option);
    r->mesh_unknown = node->kind != YAML_MAP;
    if (r->mesh_unknown)
        value_error(r, option, node);
    for (size_t i = 0; node->kind == YAML_MAP && i < node->nitems; i++)
        read_axis(r, node->keys[i], node->items[i]);
}

/* Change the size of an existing axis.  No axis can be added, as the order of axes determines the
 * device ids. */
static void read_mesh_entry(struct reader *r, const struct option *option,
                            const struct yaml_node *key, const struct yaml_node *node)
{
    (void)option;
    if (find_axis(r->scenario, key->text))
        read_axis(r, key, node);
    else if (!r->mesh_unknown)
        report_no_axis(r, key->place, key->text, key->text,
                       ", and is added by the whole mesh, as in --set 'mesh={dp: 2, tp: 4}'");
}

static void print_mesh(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    (void)option;
    text_add_char(out, '{');
    for (size_t i = 0; i < scenario->nmesh; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, scenario->mesh[i].name);
        text_addf(out, ": %d", (int)scenario->mesh[i].size);
    }
    text_add_char(out, '}');
}

const struct value_type value_mesh = {
    .expected = "a map of axis names to sizes, such as {dp: 2, tp: 4}",
    .read = read_mesh,
    .read_entry = read_mesh_entry,
    .print = print_mesh,
    .clear = clear_mesh,
    .keywords = SCHEMA_KEYWORDS({"type", "\"object\""},
                                {"propertyNames", "{\"pattern\": \"^[A-Za-z_][A-Za-z0-9_.-]*$\"}"},
                                {"maxProperties", SCHEMA_NUMBER(SHD_MESH_AXES_MAX)},
                                {"additionalProperties", SCHEMA_A_SIZE}),
};
