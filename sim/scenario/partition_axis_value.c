/* The value of partition_axis, and the mesh axes that it gives to names in specs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/partition_axis_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/logical_values.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"

static const char *const modes[] = {
    [SHD_MODE_TRAINING] = "training",
    [SHD_MODE_GENERATION] = "generation",
};

/* ---- the value ---- */

static void clear(struct scenario *scenario, const struct option *option)
{
    struct scenario_partition_axis *p = &scenario->partition_axis;

    (void)option;
    for (size_t i = 0; i < p->nfields; i++)
        logical_free(&p->fields[i]);
    free(p->fields);
    shd_partition_axis_destroy(p->axis);
    *p = (struct scenario_partition_axis){0};
}

static void read_mode(struct reader *r, const struct yaml_node *node)
{
    for (int m = 0; node->kind == YAML_TEXT && m < 2; m++)
        if (strcmp(modes[m], node->text) == 0) {
            r->scenario->partition_axis.mode = (enum shd_axis_mode)m;
            return;
        }
    diag_error(r->diag, node->place, "mode is %s; expected training or generation%s",
               yaml_describe(node).text,
               node->kind == YAML_TEXT && nearest_find(node->text, modes, 2) == modes[1]
                   ? "; did you mean 'generation'?"
                   : "");
}

static void offer_fields(struct nearest *nearest, struct partition_axis_names *names)
{
    for (int f = 0; f < SHD_NAXIS_FIELDS; f++) {
        const char *name = shd_axis_field_name((enum shd_axis_field)f);
        size_t length = strlen(name) - strlen("_axis");

        memcpy(names->names[f], name, length);
        names->names[f][length] = '\0';
        nearest_add(nearest, names->names[f]);
        nearest_add(nearest, name);
    }
}

static void report_no_field(struct reader *r, const struct yaml_node *key)
{
    struct partition_axis_names names;
    struct nearest nearest;

    nearest_init(&nearest, key->text);
    nearest_add(&nearest, "mode");
    offer_fields(&nearest, &names);
    diag_error(r->diag, key->place,
               "unknown key %s in partition_axis; expected mode, or an axis of a model such as "
               "batch or head%s",
               yaml_describe(key).text, nearest_hint(&nearest).text);
}

/* The entry of a field, found by any of its names. */
static struct scenario_logical *find_or_add(struct reader *r, int field,
                                            const struct yaml_node *key)
{
    struct scenario_partition_axis *p = &r->scenario->partition_axis;
    const char *name = shd_axis_field_name((enum shd_axis_field)field);

    for (size_t i = 0; i < p->nfields; i++)
        if (strcmp(p->fields[i].name, name) == 0)
            return &p->fields[i];
    char *copy = strdup(name);
    struct scenario_logical *entry =
        copy ? value_append(r, &p->fields, &p->nfields, sizeof(*entry), SHD_NAXIS_FIELDS, key)
             : NULL;
    if (entry)
        entry->name = copy;
    else
        free(copy);
    if (!copy)
        value_no_memory(r);
    return entry;
}

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    int field = shd_axis_field_find(key->text);

    (void)option;
    r->scenario->partition_axis.used = true;
    if (strcmp(key->text, "mode") == 0) {
        read_mode(r, node);
    } else if (field < 0) {
        report_no_field(r, key);
    } else if (field < SHD_NMESH_AXIS_FIELDS && node->kind == YAML_LIST) {
        diag_error(r->diag, node->place, "'%.60s' is a list; expected one mesh axis, or null",
                   key->text);
    } else {
        struct scenario_logical *entry = find_or_add(r, field, key);
        if (entry)
            logical_read(r, entry, key, node);
    }
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    clear(r->scenario, option);
    if (yaml_is_null(node))
        return;
    if (node->kind != YAML_MAP) {
        value_error(r, option, node);
        return;
    }
    r->scenario->partition_axis.used = true;
    for (size_t i = 0; i < node->nitems; i++)
        read_entry(r, option, node->keys[i], node->items[i]);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_partition_axis *p = &scenario->partition_axis;

    (void)option;
    if (!p->used) {
        text_add(out, "null");
        return;
    }
    text_addf(out, "{mode: %s", modes[p->mode]);
    for (size_t i = 0; i < p->nfields; i++) {
        text_add(out, ", ");
        logical_print(&p->fields[i], out);
    }
    text_add_char(out, '}');
}

/* Write the schema of a field under both its names. */
static void schema_field(struct json_out *out, enum shd_axis_field field)
{
    const char *name = shd_axis_field_name(field);
    const char *form =
        field < SHD_NMESH_AXIS_FIELDS
            ? "{\"anyOf\": [{\"type\": \"null\"}, {\"$ref\": \"#/definitions/" SCHEMA_NAME "\"}]}"
            : "{\"$ref\": \"#/definitions/" SCHEMA_LOGICAL "\"}";
    char plain[PARTITION_AXIS_NAME_MAX];

    snprintf(plain, sizeof(plain), "%.*s", (int)(strlen(name) - strlen("_axis")), name);
    schema_add(out, plain, form);
    schema_add(out, name, form);
}

static void schema(const struct option *option, struct json_out *out)
{
    (void)option;
    schema_add(out, "type", "[\"object\", \"null\"]");
    json_out_key_object(out, "properties");
    schema_add(out, "mode", "{\"enum\": [\"training\", \"generation\"]}");
    for (int f = 0; f < SHD_NAXIS_FIELDS; f++)
        schema_field(out, (enum shd_axis_field)f);
    json_out_end_object(out);
    schema_add(out, "additionalProperties", "false");
}

const struct value_type value_partition_axis = {
    .expected = "null or a map of axes of a model to mesh axes, such as {batch: dp, head: tp}",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .clear = clear,
    .schema = schema,
};

/* ---- names in specs ---- */

size_t partition_axis_find(const char **axes, const struct scenario *scenario, const char *name)
{
    const struct scenario_partition_axis *p = &scenario->partition_axis;
    const struct shd_axis_value *value =
        p->axis ? shd_partition_axis_find(p->axis, name, p->mode) : NULL;
    size_t n = 0;

    if (p->axis && strcmp(name, "_") == 0)
        return 0;
    if (!value) {
        axes[0] = name;
        return 1;
    }
    for (size_t a = 0; a < value->naxes; a++)
        if (value->axes[a])
            axes[n++] = value->axes[a];
    return n;
}

void partition_axis_offer(struct nearest *nearest, struct partition_axis_names *names,
                          const struct scenario *scenario)
{
    if (scenario->partition_axis.used)
        offer_fields(nearest, names);
}
