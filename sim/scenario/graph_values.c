/* Values of the `graph:` section: dims, inputs and params, ops, outputs.
 *
 * Names are read and checked here; the model parses the ops' lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

/* Whether a name may occur in an op's line: letters, digits, '_' and '.'. */
static bool is_identifier(const char *name)
{
    if (*name >= '0' && *name <= '9')
        return false;
    for (const char *c = name; *c; c++)
        if (!((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
              *c == '_' || (*c == '.' && c > name)))
            return false;
    return *name != '\0';
}

static char *read_identifier(struct reader *r, const char *what, const struct yaml_node *node)
{
    if (node->kind == YAML_TEXT && !yaml_is_null(node) && is_identifier(node->text))
        return value_read_name(r, what, node);
    diag_error(r->diag, node->place, "%s is %s; expected a name of letters, digits, '_' and '.'",
               what, yaml_describe(node).text);
    return NULL;
}

/* ---- dims ---- */

static void clear_dims(struct scenario *scenario, const struct option *option)
{
    struct scenario_graph *g = &scenario->graph;

    (void)option;
    for (size_t i = 0; i < g->ndims; i++)
        free(g->dims[i].name);
    free(g->dims);
    g->dims = NULL;
    g->ndims = 0;
}

static struct scenario_dim *find_or_add_dim(struct reader *r, const struct yaml_node *key)
{
    struct scenario_graph *g = &r->scenario->graph;

    for (size_t i = 0; i < g->ndims; i++)
        if (strcmp(g->dims[i].name, key->text) == 0)
            return &g->dims[i];
    char *name = read_identifier(r, "a dim", key);
    if (!name)
        return NULL;
    struct scenario_dim *dim =
        value_append(r, &g->dims, &g->ndims, sizeof(*dim), SCENARIO_GRAPH_MAX, key);
    if (dim)
        *dim = (struct scenario_dim){name, 1, key->place, key->place};
    else
        free(name);
    return dim;
}

static void read_dim(struct reader *r, const struct option *option, const struct yaml_node *key,
                     const struct yaml_node *node)
{
    int64_t size = 1;
    struct scenario_dim *dim = find_or_add_dim(r, key);

    (void)option;
    if (!yaml_read_int(node, &size) || size < 1 || size > INT32_MAX) {
        diag_error(r->diag, node->place,
                   "size of dim '%s' is %s; expected a whole number from 1 to %d", key->text,
                   yaml_describe(node).text, INT32_MAX);
        return;
    }
    if (!dim)
        return;
    dim->size = size;
    dim->place = node->place;
}

static void print_dims(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    (void)option;
    text_add_char(out, '{');
    for (size_t i = 0; i < scenario->graph.ndims; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, scenario->graph.dims[i].name);
        text_addf(out, ": %" PRId64, scenario->graph.dims[i].size);
    }
    text_add_char(out, '}');
}

const struct value_type value_dims = {
    .expected = "a map of names to sizes, such as {b: 8, s: 64}",
    .read = value_read_map,
    .read_entry = read_dim,
    .print = print_dims,
    .clear = clear_dims,
    .keywords = SCHEMA_KEYWORDS({"type", "\"object\""}, {"propertyNames", SCHEMA_AN_IDENTIFIER},
                                {"additionalProperties", SCHEMA_A_SIZE}),
};

/* ---- inputs and params ---- */

static struct scenario_arrays *arrays_of(struct scenario *scenario, const struct option *option)
{
    void *field = (char *)scenario + option->offset;

    return field;
}

static const struct scenario_arrays *const_arrays_of(const struct scenario *scenario,
                                                     const struct option *option)
{
    const void *field = (const char *)scenario + option->offset;

    return field;
}

/* Free all fields of an array except its name. */
static void clear_array(struct scenario_array *array)
{
    for (size_t d = 0; d < array->ndims; d++)
        free(array->dims[d]);
    free(array->below);
    free(array->values);
    *array = (struct scenario_array){.name = array->name};
}

static void clear_arrays(struct scenario *scenario, const struct option *option)
{
    struct scenario_arrays *arrays = arrays_of(scenario, option);

    for (size_t i = 0; i < arrays->count; i++) {
        clear_array(&arrays->list[i]);
        free(arrays->list[i].name);
    }
    free(arrays->list);
    map_fini(&arrays->names);
    *arrays = (struct scenario_arrays){.list = NULL};
}

static void read_array_dims(struct reader *r, struct scenario_array *array,
                            const struct yaml_node *node)
{
    if (node->kind != YAML_LIST || node->nitems > SCENARIO_ARRAY_RANK_MAX) {
        diag_error(r->diag, node->place,
                   "dims of '%s' are %s%s; expected a list of at most %d dims, such as [b, s]",
                   array->name, yaml_describe(node).text,
                   node->kind == YAML_LIST ? " that is too long" : "", SCENARIO_ARRAY_RANK_MAX);
        return;
    }
    for (size_t i = 0; i < node->nitems; i++) {
        char *dim = read_identifier(r, "a dim", node->items[i]);
        if (!dim)
            continue;
        array->dim_places[array->ndims] = node->items[i]->place;
        array->dims[array->ndims++] = dim;
    }
}

/* The types that the runtime computes with. */
static void read_array_type(struct reader *r, struct scenario_array *array,
                            const struct yaml_node *node)
{
    for (int t = 0; node->kind == YAML_TEXT && t < SHD_NCOMPUTE_DTYPES; t++) {
        if (strcmp(shd_dtype_name((enum shd_dtype)t), node->text) != 0)
            continue;
        array->typed = true;
        array->dtype = (enum shd_dtype)t;
        array->dtype_place = node->place;
        return;
    }
    diag_error(r->diag, node->place,
               "dtype of '%s' is %s; expected float32, float64, bfloat16, float16 or int32",
               array->name, yaml_describe(node).text);
}

/* `true`: the array has the same name in the file. */
static void read_array_values(struct reader *r, struct scenario_array *array,
                              const struct yaml_node *node)
{
    bool own = false;

    array->values_place = node->place;
    if (!yaml_read_bool(node, &own)) {
        array->values = value_read_name(r, "values", node);
    } else if (own) {
        array->values = strdup(array->name);
        if (!array->values)
            value_no_memory(r);
    }
}

static void read_array_map(struct reader *r, struct scenario_array *array,
                           const struct yaml_node *node)
{
    for (size_t i = 0; i < node->nitems; i++) {
        const struct yaml_node *key = node->keys[i];
        const struct yaml_node *value = node->items[i];
        if (strcmp(key->text, "dims") == 0) {
            read_array_dims(r, array, value);
        } else if (strcmp(key->text, "below") == 0) {
            array->below = read_identifier(r, "below", value);
            array->below_place = value->place;
        } else if (strcmp(key->text, "scale") == 0) {
            if (!yaml_read_double(value, &array->scale) || array->scale <= 0)
                diag_error(r->diag, value->place, "scale is %s; expected a number above 0",
                           yaml_describe(value).text);
        } else if (strcmp(key->text, "dtype") == 0) {
            read_array_type(r, array, value);
        } else if (strcmp(key->text, "values") == 0) {
            read_array_values(r, array, value);
        } else {
            static const char *const keys[] = {"dims", "below", "scale", "dtype", "values"};
            value_unknown_key(r, key, "an array", "dims, below, scale, dtype or values", keys, 5);
        }
    }
    if (!yaml_find(node, "dims"))
        diag_error(r->diag, node->place, "'%s' has no dims; expected dims: [...] in it",
                   array->name);
}

static uint64_t hash_of(const char *name)
{
    return hash_bytes(HASH_BEGIN, name, strlen(name));
}

static struct scenario_array *find_or_add_array(struct reader *r, struct scenario_arrays *arrays,
                                                const struct yaml_node *key)
{
    struct map_walk walk = map_find(&arrays->names, hash_of(key->text));
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (strcmp(arrays->list[i].name, key->text) == 0)
            return &arrays->list[i];
    char *name = read_identifier(r, "an array", key);
    if (!name)
        return NULL;
    struct scenario_array *array =
        value_append(r, &arrays->list, &arrays->count, sizeof(*array), SCENARIO_GRAPH_MAX, key);
    if (array)
        array->name = name;
    else
        free(name);
    if (array && !map_add(&arrays->names, hash_of(name), (uint32_t)arrays->count - 1))
        value_no_memory(r);
    return array;
}

static void read_array(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    struct scenario_array *array = find_or_add_array(r, arrays_of(r->scenario, option), key);

    if (!array)
        return;
    clear_array(array);
    array->place = key->place;
    if (node->kind == YAML_MAP)
        read_array_map(r, array, node);
    else
        read_array_dims(r, array, node);
}

static void print_array(const struct scenario_array *array, struct text *out)
{
    bool map = array->below || array->scale > 0 || array->typed || array->values;
    char buf[32];

    yaml_print_string(out, array->name);
    text_add(out, map ? ": {dims: [" : ": [");
    for (size_t d = 0; d < array->ndims; d++) {
        text_add(out, d ? ", " : "");
        yaml_print_string(out, array->dims[d]);
    }
    text_add_char(out, ']');
    if (array->below) {
        text_add(out, ", below: ");
        yaml_print_string(out, array->below);
    }
    if (array->scale > 0)
        text_addf(out, ", scale: %s", json_out_print_double(buf, sizeof(buf), array->scale));
    if (array->typed)
        text_addf(out, ", dtype: %s", shd_dtype_name(array->dtype));
    if (array->values) {
        text_add(out, ", values: ");
        if (strcmp(array->values, array->name) == 0)
            text_add(out, "true");
        else
            yaml_print_string(out, array->values);
    }
    text_add(out, map ? "}" : "");
}

static void print_arrays(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    const struct scenario_arrays *arrays = const_arrays_of(scenario, option);

    text_add_char(out, '{');
    for (size_t i = 0; i < arrays->count; i++) {
        text_add(out, i ? ", " : "");
        print_array(&arrays->list[i], out);
    }
    text_add_char(out, '}');
}

#define RANK_DIGITS SCHEMA_NUMBER(SCENARIO_ARRAY_RANK_MAX)
#define ARRAY_DIMS                                  \
    "{\"type\": \"array\", \"items\": " SCHEMA_REF( \
        SCHEMA_IDENTIFIER) ", \"maxItems\": " RANK_DIGITS "}"

const struct value_type value_arrays = {
    .expected = "a map of names to dims, such as {x: [b, s], ids: {dims: [b], below: v}}",
    .read = value_read_map,
    .read_entry = read_array,
    .print = print_arrays,
    .clear = clear_arrays,
    .keywords = SCHEMA_KEYWORDS(
        {"type", "\"object\""}, {"propertyNames", SCHEMA_AN_IDENTIFIER},
        {"additionalProperties",
         "{\"anyOf\": [" ARRAY_DIMS
         ", {\"type\": \"object\", \"required\": [\"dims\"], \"properties\": {\"dims\": " ARRAY_DIMS
         ", \"below\": " SCHEMA_AN_IDENTIFIER
         ", \"scale\": {\"type\": \"number\", \"exclusiveMinimum\": 0}, \"dtype\": {\"enum\": "
         "[\"float32\", \"float64\", \"bfloat16\", \"float16\", \"int32\"]}, \"values\": "
         "{\"anyOf\": [{\"type\": \"boolean\"}, " SCHEMA_A_NAME "]}}, \"additionalProperties\": "
         "false}]}"}),
};

/* ---- ops and outputs ---- */

static void free_lines(struct scenario_line *lines, size_t nlines)
{
    for (size_t i = 0; i < nlines; i++)
        free(lines[i].text);
    free(lines);
}

static void read_lines(struct reader *r, const struct option *option, const struct yaml_node *node,
                       struct scenario_line **lines, size_t *nlines)
{
    free_lines(*lines, *nlines);
    *lines = NULL;
    *nlines = 0;
    if (node->kind != YAML_LIST) {
        value_error(r, option, node);
        return;
    }
    for (size_t i = 0; i < node->nitems; i++) {
        const struct yaml_node *item = node->items[i];
        if (item->kind != YAML_TEXT || strlen(item->text) > SCENARIO_OP_BYTES_MAX) {
            diag_error(r->diag, item->place, "%s in %s; expected a text of at most %d bytes",
                       yaml_describe(item).text, option->key, SCENARIO_OP_BYTES_MAX);
            continue;
        }
        char *text = strdup(item->text);
        if (!text)
            value_no_memory(r);
        struct scenario_line *line =
            text ? value_append(r, lines, nlines, sizeof(*line), SCENARIO_GRAPH_MAX, item) : NULL;
        if (!line) {
            free(text);
            return;
        }
        *line = (struct scenario_line){text, item->place};
        line->place.column += item->quoted;
    }
}

static void print_lines(const struct scenario_line *lines, size_t nlines, const char *before,
                        const char *between, struct text *out)
{
    for (size_t i = 0; i < nlines; i++) {
        text_add(out, i ? between : before);
        yaml_print_string(out, lines[i].text);
    }
}

static void read_ops(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    read_lines(r, option, node, &r->scenario->graph.ops, &r->scenario->graph.nops);
    if (node->kind == YAML_LIST && node->nitems == 0)
        value_error(r, option, node);
}

static void print_ops(const struct scenario *scenario, const struct option *option,
                      struct text *out)
{
    (void)option;
    print_lines(scenario->graph.ops, scenario->graph.nops, "\n    - ", "\n    - ", out);
}

static void clear_ops(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free_lines(scenario->graph.ops, scenario->graph.nops);
    scenario->graph.ops = NULL;
    scenario->graph.nops = 0;
}

#define LINE_DIGITS SCHEMA_NUMBER(SCENARIO_OP_BYTES_MAX)
/* Any text: the model checks the lines. */
#define LINE                                                                                     \
    "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"], \"maxLength\": " SCHEMA_NUMBER( \
        SCENARIO_OP_BYTES_MAX) "}"

const struct value_type value_ops = {
    .expected = "a list of at least one line, for example [y = gelu(x)]",
    .read = read_ops,
    .print = print_ops,
    .clear = clear_ops,
    .keywords = SCHEMA_KEYWORDS({"type", "\"array\""}, {"items", LINE}, {"minItems", "1"}),
};

static void read_outputs(struct reader *r, const struct option *option,
                         const struct yaml_node *node)
{
    read_lines(r, option, node, &r->scenario->graph.outputs, &r->scenario->graph.noutputs);
}

static void print_outputs(const struct scenario *scenario, const struct option *option,
                          struct text *out)
{
    (void)option;
    text_add_char(out, '[');
    print_lines(scenario->graph.outputs, scenario->graph.noutputs, "", ", ", out);
    text_add_char(out, ']');
}

static void clear_outputs(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free_lines(scenario->graph.outputs, scenario->graph.noutputs);
    scenario->graph.outputs = NULL;
    scenario->graph.noutputs = 0;
}

const struct value_type value_outputs = {
    .expected = "a list of names: [y, z]",
    .read = read_outputs,
    .print = print_outputs,
    .clear = clear_outputs,
    .keywords = SCHEMA_KEYWORDS({"type", "\"array\""}, {"items", LINE}),
};
