/* Values in a single field: names, numbers, quantities with a unit, words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static void *field_of(struct scenario *scenario, const struct option *option)
{
    return (char *)scenario + option->offset;
}

static const void *const_field_of(const struct scenario *scenario, const struct option *option)
{
    return (const char *)scenario + option->offset;
}

static void read_name(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    char **field = field_of(r->scenario, option);
    char *name = value_read_name(r, option->key, node);

    if (name) {
        free(*field);
        *field = name;
    }
}

static void print_name(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    yaml_print_string(out, *(char *const *)const_field_of(scenario, option));
}

static void clear_name(struct scenario *scenario, const struct option *option)
{
    char **field = field_of(scenario, option);

    free(*field);
    *field = NULL;
}

static void read_axis(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    char **field = field_of(r->scenario, option), *name = NULL;

    if (!yaml_is_null(node) && !(name = value_read_name(r, option->key, node)))
        return;
    free(*field);
    *field = name;
}

static void print_axis(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    const char *name = *(char *const *)const_field_of(scenario, option);

    if (name)
        yaml_print_string(out, name);
    else
        text_add(out, "null");
}

static void clear_axis_list(struct scenario *scenario, const struct option *option)
{
    struct scenario_axis_list *list = field_of(scenario, option);

    for (size_t i = 0; i < list->n; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct scenario_axis_list){.n = 0};
}

static void add_axis(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_axis_list *list = field_of(r->scenario, option);
    char *name = value_read_name(r, option->key, node), **added;

    if (!name)
        return;
    added = value_append(r, &list->names, &list->n, sizeof *added, SHD_MESH_AXES_MAX, node);
    if (added)
        *added = name;
    else
        free(name);
}

static void read_axis_list(struct reader *r, const struct option *option,
                           const struct yaml_node *node)
{
    if (node->kind == YAML_MAP) {
        value_error(r, option, node);
        return;
    }
    clear_axis_list(r->scenario, option);
    if (node->kind == YAML_TEXT && !yaml_is_null(node))
        add_axis(r, option, node);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++)
        add_axis(r, option, node->items[i]);
}

static void print_axis_list(const struct scenario *scenario, const struct option *option,
                            struct text *out)
{
    const struct scenario_axis_list *list = const_field_of(scenario, option);

    text_add(out, list->n == 0 ? "null" : list->n > 1 ? "[" : "");
    for (size_t i = 0; i < list->n; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, list->names[i]);
    }
    text_add(out, list->n > 1 ? "]" : "");
}

static void read_int(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    int64_t value;

    if (!yaml_read_int(node, &value) || value < option->min || value > option->max)
        value_error(r, option, node);
    else
        memcpy(field_of(r->scenario, option), &value, sizeof(value));
}

static void print_int(const struct scenario *scenario, const struct option *option,
                      struct text *out)
{
    text_addf(out, "%" PRId64, *(const int64_t *)const_field_of(scenario, option));
}

static void print_int_range(const struct option *option, struct text *out)
{
    if (option->max == INT64_MAX)
        text_addf(out, ", at least %" PRId64, option->min);
    else
        text_addf(out, " from %" PRId64 " to %" PRId64, option->min, option->max);
}

static void schema_int(const struct option *option, struct json_out *out)
{
    json_out_key_int(out, "minimum", option->min);
    if (option->max < INT64_MAX)
        json_out_key_int(out, "maximum", option->max);
}

static void print_amount(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    char buf[32];

    text_add(out, json_out_print_double(buf, sizeof(buf),
                                        *(const double *)const_field_of(scenario, option)));
}

static void read_number(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    double value = 0;

    if (!yaml_is_null(node) &&
        (!yaml_read_double(node, &value) || value <= 0 || value > (double)option->max))
        value_error(r, option, node);
    else
        memcpy(field_of(r->scenario, option), &value, sizeof(value));
}

static void print_number(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    if (*(const double *)const_field_of(scenario, option) > 0)
        print_amount(scenario, option, out);
    else
        text_add(out, "null");
}

static void print_number_range(const struct option *option, struct text *out)
{
    text_addf(out, " above 0, at most %" PRId64 ", or null", option->max);
}

static void schema_max(const struct option *option, struct json_out *out)
{
    json_out_key_int(out, "maximum", option->max);
}

static void read_amount(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    double value;

    if (!yaml_read_double(node, &value) || !(value >= 0 && value <= (double)option->max))
        value_error(r, option, node);
    else
        memcpy(field_of(r->scenario, option), &value, sizeof(value));
}

static void print_amount_range(const struct option *option, struct text *out)
{
    text_addf(out, " from 0 to %" PRId64, option->max);
}

static void read_bool(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    if (!yaml_read_bool(node, field_of(r->scenario, option)))
        value_error(r, option, node);
}

static void print_bool(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    text_add(out, *(const bool *)const_field_of(scenario, option) ? "true" : "false");
}

static void refuse(const struct reader *r, const struct option *option,
                   const struct yaml_node *node, const struct shd_error *err)
{
    diag_failure(r->diag, node->place, err->status, "%s: %s", option_path(option).text, err->text);
}

/* Parse an unsigned quantity; false, reported, if it is none. */
static bool parse(struct reader *r, const struct option *option, const struct yaml_node *node,
                  int (*units_parse)(uint64_t *, const char *, struct shd_error *), uint64_t *out)
{
    struct shd_error err;

    if (node->kind != YAML_TEXT)
        value_error(r, option, node);
    else if (units_parse(out, node->text, &err) != SHD_OK)
        refuse(r, option, node, &err);
    else
        return true;
    return false;
}

/* Read "90%" of a memory, from 1 to 100; false: it is no such text. */
static bool read_percent(double *part, const struct yaml_node *node)
{
    const char *text = node->kind == YAML_TEXT ? node->text : "";
    size_t n = strspn(text, "0123456789."), whole = strspn(text, "0123456789");
    double percent = strtod(text, NULL);

    if (n == 0 || strcmp(text + n, "%") != 0 || *text == '0' || text[n - 1] == '.' ||
        strchr(text + whole, '.') != strrchr(text, '.') || percent < 1 || percent > 100)
        return false;
    *part = percent / 100;
    return true;
}

static void read_memory(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_memory_limit limit = {.bytes = 0};

    if (yaml_is_null(node) || read_percent(&limit.part, node) ||
        parse(r, option, node, units_parse_bytes, &limit.bytes))
        memcpy(field_of(r->scenario, option), &limit, sizeof(limit));
}

static void print_memory(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    const struct scenario_memory_limit *limit = const_field_of(scenario, option);

    if (limit->part > 0)
        text_addf(out, "%.6g%%", 100 * limit->part);
    else
        text_add(out, limit->bytes ? units_print_bytes_exact(limit->bytes).text : "null");
}

static void print_memory_pattern(struct text *out)
{
    units_print_bytes_pattern(out);
    text_add(out, "|^(100([.]0+)?|[1-9][0-9]?([.][0-9]+)?)%$");
}

static void add_pattern(struct json_out *out, void (*print)(struct text *out))
{
    struct text pattern = TEXT_INIT;

    print(&pattern);
    json_out_key(out, "pattern");
    json_out_join(out, &pattern);
}

static void schema_memory(const struct option *option, struct json_out *out)
{
    (void)option;
    add_pattern(out, print_memory_pattern);
    json_out_key_int(out, "minimum", 0);
}

static void read_rate(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    uint64_t value;

    if (!parse(r, option, node, units_parse_rate, &value))
        return;
    if (value == 0)
        value_error(r, option, node);
    else
        memcpy(field_of(r->scenario, option), &value, sizeof(value));
}

static void print_rate(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    text_add(out, units_print_rate_exact(*(const uint64_t *)const_field_of(scenario, option)).text);
}

static void schema_rate(const struct option *option, struct json_out *out)
{
    (void)option;
    add_pattern(out, units_print_rate_pattern);
}

static void read_time(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    int64_t value;
    struct shd_error err;

    if (node->kind != YAML_TEXT)
        value_error(r, option, node);
    else if (units_parse_ns(&value, node->text, &err) != SHD_OK)
        refuse(r, option, node, &err);
    else
        memcpy(field_of(r->scenario, option), &value, sizeof(value));
}

static void print_time(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    text_add(out, units_print_ns_exact(*(const int64_t *)const_field_of(scenario, option)).text);
}

/* Without a unit only 0 is a time. */
static void schema_time(const struct option *option, struct json_out *out)
{
    (void)option;
    add_pattern(out, units_print_ns_pattern);
    json_out_key_int(out, "minimum", 0);
    json_out_key_int(out, "maximum", 0);
}

static void read_word(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    for (unsigned i = 0; node->kind == YAML_TEXT && option->words[i]; i++)
        if (strcmp(option->words[i], node->text) == 0) {
            memcpy(field_of(r->scenario, option), &i, sizeof(i));
            return;
        }
    value_error(r, option, node);
}

static void print_word(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    text_add(out, option->words[*(const unsigned *)const_field_of(scenario, option)]);
}

static void schema_word(const struct option *option, struct json_out *out)
{
    json_out_key_array(out, "enum");
    for (size_t i = 0; option->words[i]; i++)
        if (!strcmp(option->words[i], "true") || !strcmp(option->words[i], "false"))
            json_out_bool(out, option->words[i][0] == 't'); /* YAML reads it so */
        else
            json_out_string(out, option->words[i]);
    json_out_end_array(out);
}

/* Words are stored as unsigned: their enums must have the same size. */
_Static_assert(sizeof(enum scenario_kind) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_activation) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_norm) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_software) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_fusion) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_frozen) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_gathered) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_placement) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_uneven) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_price) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_optimizer_kind) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_type) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_loss_scale_kind) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_decay) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_zero_layout) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum scenario_rules_from) == sizeof(unsigned), "enum size");
_Static_assert(sizeof(enum shd_dtype) == sizeof(unsigned), "enum size");

#define TYPE(what) .read = read_##what, .print = print_##what
#define OF_TYPE(json) .keywords = SCHEMA_KEYWORDS({"type", json})

const struct value_type value_name = {TYPE(name), .clear = clear_name, .expected = "printable text",
                                      .keywords =
                                          SCHEMA_KEYWORDS({"allOf", "[" SCHEMA_A_NAME "]"})};
const struct value_type value_int = {TYPE(int),
                                     .size = sizeof(int64_t),
                                     .expected = "a whole number",
                                     .print_range = print_int_range,
                                     OF_TYPE("\"integer\""),
                                     .schema = schema_int};
const struct value_type value_number = {
    TYPE(number),
    .size = sizeof(double),
    .expected = "a number",
    .print_range = print_number_range,
    .keywords = SCHEMA_KEYWORDS({"type", "[\"number\", \"null\"]"}, {"exclusiveMinimum", "0"}),
    .schema = schema_max};
const struct value_type value_amount = {
    TYPE(amount),
    .size = sizeof(double),
    .expected = "a number",
    .print_range = print_amount_range,
    .keywords = SCHEMA_KEYWORDS({"type", "\"number\""}, {"minimum", "0"}),
    .schema = schema_max};
const struct value_type value_axis = {
    TYPE(axis), .clear = clear_name, .expected = "the name of a mesh axis, or null",
    .keywords = SCHEMA_KEYWORDS({"anyOf", "[{\"type\": \"null\"}, " SCHEMA_A_NAME "]"})};
const struct value_type value_axis_list = {
    TYPE(axis_list), .clear = clear_axis_list, .expected = "a mesh axis, a list of them, or null",
    .keywords = SCHEMA_KEYWORDS({"allOf", "[" SCHEMA_REF(SCHEMA_LOGICAL) "]"})};
const struct value_type value_bool = {TYPE(bool), .size = sizeof(bool), .expected = "true or false",
                                      OF_TYPE("\"boolean\"")};
const struct value_type value_memory = {
    TYPE(memory), .size = sizeof(struct scenario_memory_limit),
    .expected = "a size (64MiB), a fraction of the cluster's memory (90%), or null",
    OF_TYPE("[\"string\", \"integer\", \"null\"]"), .schema = schema_memory};
const struct value_type value_rate = {TYPE(rate), .expected = "a rate above 0, for example 200GB/s",
                                      OF_TYPE("\"string\""), .schema = schema_rate};
const struct value_type value_time = {TYPE(time), .expected = "a time such as 5us",
                                      OF_TYPE("[\"string\", \"integer\"]"), .schema = schema_time};
const struct value_type value_word = {TYPE(word), .size = sizeof(unsigned), .expected = "one of ",
                                      .schema = schema_word};
