/* Printing the JSON Schema of scenario files (scenario/schema.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <shd/mesh.h>
#include <shd/shape.h>

#include "scenario/scenario.h"
#include "scenario/schema_part.h"
#include "scenario/table.h"

/* ---- options ---- */

static void print_description(const struct option *option, struct json_out *out)
{
    struct text text = TEXT_INIT;

    text_add(&text, option->help);
    if (option->unit)
        text_addf(&text, " In %s.", option->unit);
    if (option->standard)
        text_addf(&text, " The default is %s.", option->standard);
    json_out_key(out, "description");
    json_out_join(out, &text);
}

static void print_option(const struct option *option, struct json_out *out)
{
    json_out_key_flat_object(out, option->key);
    print_description(option, out);
    for (const struct schema_keyword *k = option->type->keywords; k && k->key; k++)
        schema_add(out, k->key, k->json);
    if (option->type->schema)
        option->type->schema(option, out);
    json_out_end_object(out);
}

static void print_section(const struct option_section *section, struct json_out *out)
{
    json_out_key_object(out, section->key);
    json_out_key_string(out, "description", section->help);
    schema_add(out, "type", "\"object\"");
    json_out_key_object(out, "properties");
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section->key))
            print_option(&option_table[i], out);
    json_out_end_object(out);
    schema_add(out, "additionalProperties", "false");
    json_out_end_object(out);
}

/* A file, a strategy and a rule set have the same options; a rule set has lists of mesh sizes. */
static void print_references(struct json_out *out, const char *mesh)
{
    char ref[64];

    for (size_t i = 0; i < option_count + option_section_count; i++) {
        const char *key = i < option_count ? option_table[i].key
                                           : option_sections[i - option_count].key;

        if (i < option_count && option_table[i].section)
            continue;
        snprintf(ref, sizeof ref, "{\"$ref\": \"#/definitions/%s\"}",
                 strcmp(key, "mesh") == 0 ? mesh : key);
        schema_add(out, key, ref);
    }
}

/* ---- definitions ---- */

static void add_type(struct json_out *out, const char *key, const char *fmt, ...) SHD_PRINTF(3, 4);

static void add_type(struct json_out *out, const char *key, const char *fmt, ...)
{
    struct text text = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&text, fmt, args);
    va_end(args);
    schema_add(out, key, text_get(&text));
    out->text->failed |= text.failed;
    text_fini(&text);
}

static void print_types(struct json_out *out)
{
    add_type(
        out, SCHEMA_NAME,
        "{\"type\": [\"string\", \"number\", \"boolean\"], \"minLength\": 1, \"maxLength\": %d, "
        "\"pattern\": \"^[^\\u0000-\\u001f\\u007f]*$\"}",
        SCENARIO_NAME_MAX);
    add_type(out, SCHEMA_IDENTIFIER,
             "{\"type\": [\"string\", \"boolean\"], \"pattern\": \"^[A-Za-z_][A-Za-z0-9_.]*$\"}");
    add_type(out, SCHEMA_LOGICAL,
             "{\"anyOf\": [{\"type\": \"null\"}, " SCHEMA_REF(
                 SCHEMA_NAME) ", {\"type\": \"array\", \"items\": " SCHEMA_REF(SCHEMA_NAME) "}]}");
    add_type(out, SCHEMA_SIZE, "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": %d}",
             INT32_MAX);
    add_type(out, SCHEMA_RULES,
             "{\"type\": \"array\", \"maxItems\": %d, \"items\": " SCHEMA_REF("type-rule") "}",
             SCENARIO_RULES_MAX);
    add_type(
        out, "type-rule",
        "{\"description\": \"[pattern, spec], and of a traced program the source, step.py:7\", "
        "\"type\": \"array\", \"minItems\": 2, \"maxItems\": 3, \"items\": [" SCHEMA_REF(
            SCHEMA_NAME) ", " SCHEMA_REF("type-spec") ", " SCHEMA_REF("type-source") "]}");
    add_type(out, "type-source",
             "{\"type\": \"string\", \"minLength\": 3, \"maxLength\": %d, \"pattern\": "
             "\"^[^\\u0000-\\u001f\\u007f]+:[1-9][0-9]{0,8}$\"}",
             SCENARIO_NAME_MAX);
    add_type(out, "type-spec",
             "{\"description\": \"a mesh axis, a list of them or null for each dimension; [] to "
             "replicate\", \"type\": [\"array\", \"string\"], \"maxItems\": %d, \"items\": "
             "{\"anyOf\": [{\"type\": \"null\"}, " SCHEMA_REF(
                 "type-axis") ", {\"type\": \"array\", "
                              "\"maxItems\": %d, \"items\": " SCHEMA_REF("type-axis") "}]}}",
             SHD_RANK_MAX, SHD_MESH_AXES_MAX);
    add_type(out, "type-axis",
             "{\"type\": [\"string\", \"number\", \"boolean\"], \"minLength\": 1}");
}

static void print_sweep_types(struct json_out *out)
{
    add_type(out, "type-sizes",
             "{\"anyOf\": [" SCHEMA_REF(SCHEMA_SIZE) ", {\"type\": \"array\", \"minItems\": 1, "
                                                     "\"items\": " SCHEMA_REF(SCHEMA_SIZE) "}]}");
    add_type(out, "type-sweep-mesh",
             "{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": %d, "
             "\"additionalProperties\": " SCHEMA_REF("type-sizes") "}",
             SHD_MESH_AXES_MAX);
    add_type(out, "type-sweep-meshes",
             "{\"anyOf\": [" SCHEMA_REF(
                 "type-sweep-mesh") ", {\"type\": \"array\", \"items\": " SCHEMA_REF("type-sweep-"
                                                                                     "mesh") "}]}");
}

/* Write the definition of a strategy or a rule set. */
static void print_overriding(struct json_out *out, const char *definition, const char *mesh,
                             const char *required)
{
    json_out_key_object(out, definition);
    schema_add(out, "type", "\"object\"");
    schema_add(out, "required", required);
    json_out_key_object(out, "properties");
    print_references(out, mesh);
    if (!strcmp(definition, "type-strategy"))
        schema_add(out, "prefill", SCHEMA_REF("type-prefill"));
    json_out_end_object(out);
    schema_add(out, "additionalProperties", "false");
    json_out_end_object(out);
}

static void print_definitions(struct json_out *out)
{
    json_out_key_object(out, "definitions");
    for (size_t i = 0; i < option_count; i++)
        if (!option_table[i].section)
            print_option(&option_table[i], out);
    for (size_t i = 0; i < option_section_count; i++)
        print_section(&option_sections[i], out);
    print_overriding(out, "type-strategy", "mesh", "[\"name\"]");
    print_overriding(out, "type-prefill", "mesh", "[]");
    print_overriding(out, "type-rule-set", "type-sweep-meshes", "[]");
    print_types(out);
    print_sweep_types(out);
    json_out_end_object(out);
}

/* ---- what a model of a kind needs and has not ---- */

/* Write the keys of a section, or of the top level, that a kind needs whatever its size; the kind
 * itself is required elsewhere. */
static void print_required(struct json_out *out, const char *section, unsigned kind)
{
    json_out_key_flat_array(out, "required");
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section) && option_table[i].required &&
            option_is_of(&option_table[i], kind) && strcmp(option_table[i].key, "kind") != 0 &&
            !(option_table[i].sized >> kind & 1))
            json_out_string(out, option_table[i].key);
    json_out_end_array(out);
}

/* Write the keys that a kind needs unless a published size or a config provides them. */
static void print_sized(struct json_out *out, const char *section, unsigned kind)
{
    struct text keys = TEXT_INIT;

    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section) && option_table[i].sized >> kind & 1)
            text_addf(&keys, "%s\"%s\"", keys.length ? ", " : "", option_table[i].key);
    if (keys.length > 0)
        add_type(out, "anyOf",
                 "[{\"required\": [\"size\"], \"properties\": {\"size\": {\"not\": {\"const\": "
                 "\"custom\"}}}}, {\"required\": [\"from\"], \"properties\": {\"from\": {\"not\": "
                 "{\"type\": \"null\"}}}}, {\"required\": [%s]}]",
                 text_get(&keys));
    out->text->failed |= keys.failed;
    text_fini(&keys);
}

static bool needs_section(const char *section, unsigned kind)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section) && option_table[i].required &&
            option_table[i].kinds && option_is_of(&option_table[i], kind))
            return true;
    return false;
}

static void print_kind_section(struct json_out *out, const char *section, unsigned kind)
{
    json_out_key_flat_object(out, section);
    print_required(out, section, kind);
    print_sized(out, section, kind);
    json_out_key_flat_object(out, "properties");
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section) && !option_is_of(&option_table[i], kind))
            schema_add(out, option_table[i].key, "false");
    json_out_end_object(out);
    json_out_end_object(out);
}

#define KIND_IS "\"required\": [\"model\"], \"properties\": {\"model\": {\"required\": [\"kind\"]"

/* Write "if" the model is of this kind, by its key or by a graph section, "then" what it needs. */
static void print_kind(struct json_out *out, unsigned kind)
{
    json_out_begin_object(out);
    if (kind == SCENARIO_GRAPH)
        add_type(out, "if",
                 "{\"anyOf\": [{" KIND_IS
                 ", \"properties\": {\"kind\": {\"const\": \"graph\"}}}}}, "
                 "{\"required\": [\"graph\"], \"not\": {" KIND_IS "}}}}]}");
    else
        add_type(out, "if", "{" KIND_IS ", \"properties\": {\"kind\": {\"const\": \"%s\"}}}}}",
                 scenario_kind_name(kind));
    json_out_key_object(out, "then");
    json_out_key_flat_array(out, "required");
    for (size_t i = 0; i < option_section_count; i++)
        if (needs_section(option_sections[i].key, kind))
            json_out_string(out, option_sections[i].key);
    json_out_end_array(out);
    json_out_key_object(out, "properties");
    for (size_t i = 0; i < option_section_count; i++)
        print_kind_section(out, option_sections[i].key, kind);
    for (size_t i = 0; i < option_count; i++)
        if (!option_table[i].section && !option_is_of(&option_table[i], kind))
            schema_add(out, option_table[i].key, "false");
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

/* Write what a file of one strategy requires.  In other files each strategy may provide any
 * part. */
static void print_whole(struct json_out *out)
{
    schema_add(
        out, "if",
        "{\"not\": {\"anyOf\": [{\"required\": [\"strategies\"]}, {\"required\": [\"sweep\"]}]}}");
    json_out_key_object(out, "then");
    print_required(out, NULL, SCENARIO_MLP);
    schema_add(out, "if", "{\"not\": {\"required\": [\"graph\"]}}");
    schema_add(
        out, "then",
        "{\"required\": [\"model\"], \"properties\": {\"model\": {\"anyOf\": [{\"required\": [\"kind\"]}, "
        "{\"required\": [\"size\"]}, {\"required\": [\"from\"]}]}}}");
    json_out_key_array(out, "allOf");
    for (unsigned kind = 0; kind < SCENARIO_NKINDS; kind++)
        print_kind(out, kind);
    json_out_end_array(out);
    json_out_end_object(out);
}

/* ---- the file ---- */

static const char *file_key_type(const char *key)
{
    static const struct {
        const char *key, *schema;
    } types[] = {
        {"strategies",
         "\"type\": \"array\", \"minItems\": 1, \"items\": " SCHEMA_REF("type-strategy")},
        {"prefill", "\"allOf\": [" SCHEMA_REF("type-prefill") "]"},
        {"sweep",
         "\"type\": \"object\", \"properties\": {\"devices\": " SCHEMA_REF(
             "type-sizes") ", \"mesh\": " SCHEMA_REF("type-sweep-meshes") ", \"rules\": "
                                                                          "{\"type\": "
                                                                          "\"object\", "
                                                                          "\"minProperties"
                                                                          "\": 1, "
                                                                          "\"additionalProp"
                                                                          "erties\":"
                                                                          " " SCHEMA_REF(
                                                                              "type-rule-"
                                                                              "set") "}}, "
                                                                                     "\"add"
                                                                                     "ition"
                                                                                     "alPro"
                                                                                     "perti"
                                                                                     "es\":"
                                                                                     " fals"
                                                                                     "e"},
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].key, key) == 0)
            return types[i].schema;
    return NULL;
}

static void print_file_keys(struct json_out *out)
{
    for (size_t i = 0; i < option_file_key_count; i++) {
        const struct option_section *key = &option_file_keys[i];
        const char *type = file_key_type(key->key);

        if (type)
            add_type(out, key->key, "{\"description\": \"%s\", %s}", key->help, type);
        else /* the version */
            add_type(out, key->key, "{\"description\": \"%s\", \"const\": %d}", key->help,
                     SCENARIO_VERSION);
    }
}

void schema_print(struct text *text)
{
    struct json_out out;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    schema_add(&out, "$schema", "\"http://json-schema.org/draft-07/schema#\"");
    schema_add(&out, "title", "\"shardsim scenario\"");
    schema_add(&out, "type", "\"object\"");
    schema_add(&out, "required", "[\"version\"]");
    json_out_key_object(&out, "properties");
    print_file_keys(&out);
    print_references(&out, "mesh");
    json_out_end_object(&out);
    schema_add(&out, "additionalProperties", "false");
    print_whole(&out);
    print_definitions(&out);
    json_out_end_object(&out);
    json_out_newline(&out);
    (void)json_out_fini(&out); /* a lack of memory is recorded in the text */
}
