/* Values that are maps or lists of names: mesh, step, axes, algorithms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "scenario/check.h"
#include "scenario/schema.h"
#include "scenario/value.h"

#define DESCRIPTION_MAX 96
#define ENTRIES_MAX 256 /* of one map here */

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
    char found[DESCRIPTION_MAX];

    if (!is_axis_name(key)) {
        diag_error(r->diag, key->place,
                   "mesh axis %s; expected a name of letters, digits, '_', '-' and '.'",
                   yaml_describe(key, found, sizeof(found)));
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

/* With a bad size the axis is still there: the rest of the file may name it. */
static void read_axis(struct reader *r, const struct yaml_node *key, const struct yaml_node *node)
{
    char found[DESCRIPTION_MAX];
    int64_t size = 1;
    struct scenario_axis *axis = find_axis(r->scenario, key->text);

    if (!yaml_read_int(node, &size) || size < 1 || size > INT32_MAX)
        diag_error(r->diag, node->place,
                   "size of mesh axis '%s' is %s; expected a whole number from 1 to %d", key->text,
                   yaml_describe(node, found, sizeof(found)), INT32_MAX);
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

/* Only axes that are there already: their order gives the device ids, so none is added in passing. */
static void read_mesh_entry(struct reader *r, const struct option *option,
                            const struct yaml_node *key, const struct yaml_node *node)
{
    (void)option;
    if (find_axis(r->scenario, key->text))
        read_axis(r, key, node);
    else if (!r->mesh_unknown)
        check_report_no_axis(r, key->place, key->text, key->text);
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

static void schema_mesh(const struct option *option, struct json_out *out)
{
    (void)option;
    schema_add(out, "type", "\"object\"");
    schema_add(out, "propertyNames", "{\"pattern\": \"^[A-Za-z_][A-Za-z0-9_.-]*$\"}");
    json_out_key(out, "maxProperties");
    json_out_int(out, SHD_MESH_AXES_MAX);
    schema_add(out, "additionalProperties", "{\"$ref\": \"#/definitions/" SCHEMA_SIZE "\"}");
}

const struct value_type value_mesh = {
    .expected = "a map of axis names to sizes, such as {dp: 2, tp: 4}",
    .read = read_mesh,
    .read_entry = read_mesh_entry,
    .print = print_mesh,
    .clear = clear_mesh,
    .schema = schema_mesh,
};

/* Returns false for what is no phase or is there twice. */
static bool add_phase(struct scenario_step *step, const struct yaml_node *node)
{
    bool *phase = NULL;

    if (node->kind == YAML_TEXT && strcmp(node->text, "forward") == 0)
        phase = &step->forward;
    else if (node->kind == YAML_TEXT && strcmp(node->text, "backward") == 0)
        phase = &step->backward;
    if (!phase || *phase)
        return false;
    *phase = true;
    return true;
}

/* What is wrong in a list of phases, by itself. */
static void report_phase(struct reader *r, const struct yaml_node *node)
{
    static const char *const phases[] = {"forward", "backward"};
    char found[100], hint[NEAREST_HINT_MAX];
    struct nearest near;

    nearest_init(&near, node->kind == YAML_TEXT ? node->text : "");
    for (size_t i = 0; i < 2; i++)
        nearest_add(&near, phases[i]);
    if (near.best && !strcmp(near.best, node->text))
        near.best = NULL; /* it is there twice */
    diag_error(r->diag, node->place, "step has %s here; expected forward and backward, once each%s",
               yaml_describe(node, found, sizeof found), nearest_hint(&near, hint, sizeof hint));
}

static void read_step(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_step step = {false, false};
    const struct yaml_node *wrong = node->kind == YAML_MAP ? node : NULL;

    if (node->kind == YAML_TEXT && !add_phase(&step, node))
        wrong = node;
    for (size_t i = 0; node->kind == YAML_LIST && !wrong && i < node->nitems; i++)
        if (!add_phase(&step, node->items[i]))
            wrong = node->items[i];
    if (!wrong && !step.forward)
        wrong = node;
    if (!wrong)
        r->scenario->step = step;
    else if (wrong != node)
        report_phase(r, wrong);
    else
        value_error(r, option, node);
}

static void print_step(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    (void)option;
    text_add(out, scenario->step.backward ? "[forward, backward]" : "[forward]");
}

static void schema_step(const struct option *option, struct json_out *out)
{
    (void)option;
    schema_add(out, "anyOf",
               "[{\"const\": \"forward\"}, {\"type\": \"array\", \"items\": {\"enum\": [\"forward\", "
               "\"backward\"]}, \"contains\": {\"const\": \"forward\"}, \"uniqueItems\": true}]");
}

const struct value_type value_step = {
    .expected = "[forward] or [forward, backward]",
    .read = read_step,
    .print = print_step,
    .schema = schema_step,
};

static void free_axes(char **axes, size_t naxes)
{
    for (size_t i = 0; i < naxes; i++)
        free(axes[i]);
    free(axes);
}

void value_free_logical(struct scenario_logical *logical)
{
    free(logical->name);
    free_axes(logical->axes, logical->naxes);
    free_axes(logical->written, logical->nwritten);
}

static void clear_axes(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->nlogical; i++)
        value_free_logical(&scenario->logical[i]);
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

void value_read_logical(struct reader *r, struct scenario_logical *logical,
                        const struct yaml_node *key, const struct yaml_node *node)
{
    char found[DESCRIPTION_MAX];

    free_axes(logical->axes, logical->naxes);
    logical->axes = NULL;
    logical->naxes = 0;
    logical->key_place = key->place;
    logical->place = node->place;
    if (node->kind == YAML_MAP)
        diag_error(r->diag, node->place,
                   "logical axis '%.60s' is %s; expected a mesh axis, a list of them, or null",
                   key->text, yaml_describe(node, found, sizeof(found)));
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
        value_read_logical(r, logical, key, node);
}

void value_print_logical(const struct scenario_logical *logical, struct text *out)
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
        value_print_logical(&scenario->logical[i], out);
    }
    text_add_char(out, '}');
}

static void schema_axes(const struct option *option, struct json_out *out)
{
    (void)option;
    schema_add(out, "type", "\"object\"");
    schema_add(out, "additionalProperties", "{\"$ref\": \"#/definitions/" SCHEMA_LOGICAL "\"}");
}

const struct value_type value_axes = {
    .expected = "a map of logical axes to mesh axes, such as {batch: dp, seq: null}",
    .read = value_read_map,
    .read_entry = read_axes_entry,
    .print = print_axes,
    .clear = clear_axes,
    .schema = schema_axes,
};

static void clear_algorithms(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->nalgorithms; i++) {
        free(scenario->algorithms[i].kind);
        free(scenario->algorithms[i].name);
    }
    free(scenario->algorithms);
    scenario->algorithms = NULL;
    scenario->nalgorithms = 0;
}

static struct scenario_algorithm *find_or_add_algorithm(struct reader *r,
                                                        const struct yaml_node *key)
{
    struct scenario *s = r->scenario;

    for (size_t i = 0; i < s->nalgorithms; i++)
        if (strcmp(s->algorithms[i].kind, key->text) == 0)
            return &s->algorithms[i];
    return value_append(r, &s->algorithms, &s->nalgorithms, sizeof(s->algorithms[0]),
                        ENTRIES_MAX, key);
}

static void read_algorithms_entry(struct reader *r, const struct option *option,
                                  const struct yaml_node *key, const struct yaml_node *node)
{
    char *kind = value_read_name(r, "a kind of collective", key);
    char *name = value_read_name(r, "an algorithm", node);
    struct scenario_algorithm *algorithm = NULL;

    (void)option;
    if (kind && name)
        algorithm = find_or_add_algorithm(r, key);
    if (!algorithm) {
        free(kind);
        free(name);
        return;
    }
    free(algorithm->kind);
    free(algorithm->name);
    *algorithm = (struct scenario_algorithm){kind, name, key->place, node->place};
}

static void print_algorithms(const struct scenario *scenario, const struct option *option,
                             struct text *out)
{
    (void)option;
    text_add_char(out, '{');
    for (size_t i = 0; i < scenario->nalgorithms; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, scenario->algorithms[i].kind);
        text_add(out, ": ");
        yaml_print_string(out, scenario->algorithms[i].name);
    }
    text_add_char(out, '}');
}

static void schema_algorithms(const struct option *option, struct json_out *out)
{
    (void)option;
    schema_add(out, "type", "\"object\"");
    schema_add(out, "additionalProperties", "{\"$ref\": \"#/definitions/" SCHEMA_NAME "\"}");
}

const struct value_type value_algorithms = {
    .expected = "a map of collectives to algorithms, such as {all-reduce: ring}",
    .read = value_read_map,
    .read_entry = read_algorithms_entry,
    .print = print_algorithms,
    .clear = clear_algorithms,
    .schema = schema_algorithms,
};
