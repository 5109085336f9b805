/* The value of model.rope: null, or a map of theta, interleaved, part, local_theta and scaling.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

#define THETA 10000 /* the default, as in the paper on rotary embedding (Su et al. 2021) */

static const char *const kinds[SCENARIO_NROPE_SCALINGS] = {
    [SCENARIO_ROPE_LINEAR] = "linear",     [SCENARIO_ROPE_DYNAMIC] = "dynamic",
    [SCENARIO_ROPE_LLAMA3] = "llama3",     [SCENARIO_ROPE_YARN] = "yarn",
    [SCENARIO_ROPE_LONGROPE] = "longrope",
};

/* ---- numbers of the map, and of its scaling ---- */

enum form { ABOVE_ONE, ABOVE_ZERO, PART, WHOLE, FLAG, FACTORS };

#define OF(kind) (1u << (kind))
#define LONGER (OF(SCENARIO_ROPE_DYNAMIC) | OF(SCENARIO_ROPE_LLAMA3) | OF(SCENARIO_ROPE_YARN))
#define STRETCHED (OF(SCENARIO_ROPE_YARN) | OF(SCENARIO_ROPE_LONGROPE))

struct field {
    const char *key;
    enum form form;
    size_t offset;
    unsigned kinds, needed; /* bits of scaling kinds: may have the field, must have the field */
};

static const struct field fields[] = {
    {"theta", ABOVE_ONE, offsetof(struct scenario_rope, theta), 0, 0},
    {"interleaved", FLAG, offsetof(struct scenario_rope, interleaved), 0, 0},
    {"part", PART, offsetof(struct scenario_rope, part), 0, 0},
    {"local_theta", ABOVE_ONE, offsetof(struct scenario_rope, local_theta), 0, 0},
};

#define AT(field) offsetof(struct scenario_rope_scaling, field)

static const struct field scaling_fields[] = {
    {"factor", ABOVE_ZERO, AT(factor), UINT32_MAX, LONGER | OF(SCENARIO_ROPE_LINEAR)},
    {"original", WHOLE, AT(original), LONGER | STRETCHED, LONGER | STRETCHED},
    {"low", ABOVE_ZERO, AT(low), OF(SCENARIO_ROPE_LLAMA3), OF(SCENARIO_ROPE_LLAMA3)},
    {"high", ABOVE_ZERO, AT(high), OF(SCENARIO_ROPE_LLAMA3), OF(SCENARIO_ROPE_LLAMA3)},
    {"beta_fast", ABOVE_ZERO, AT(beta_fast), OF(SCENARIO_ROPE_YARN), 0},
    {"beta_slow", ABOVE_ZERO, AT(beta_slow), OF(SCENARIO_ROPE_YARN), 0},
    {"mscale", ABOVE_ZERO, AT(mscale), OF(SCENARIO_ROPE_YARN), 0},
    {"mscale_all", ABOVE_ZERO, AT(mscale_all), OF(SCENARIO_ROPE_YARN), 0},
    {"attention_factor", ABOVE_ZERO, AT(attention_factor), STRETCHED, 0},
    {"short_factors", FACTORS, AT(short_factors), OF(SCENARIO_ROPE_LONGROPE),
     OF(SCENARIO_ROPE_LONGROPE)},
    {"long_factors", FACTORS, AT(long_factors), OF(SCENARIO_ROPE_LONGROPE),
     OF(SCENARIO_ROPE_LONGROPE)},
    {"untruncated", FLAG, AT(untruncated), OF(SCENARIO_ROPE_YARN), 0},
};

#define NFIELDS (sizeof fields / sizeof fields[0])
#define NSCALING (sizeof scaling_fields / sizeof scaling_fields[0])

static const char *const expected[] = {
    [ABOVE_ONE] = "a number above 1",
    [ABOVE_ZERO] = "a number above 0",
    [PART] = "a number above 0, at most 1",
    [WHOLE] = "a whole number, at least 1",
    [FLAG] = "true or false",
    [FACTORS] = "a list of numbers above 0",
};

static const struct field *find(const struct field *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].key, key) == 0)
            return &list[i];
    return NULL;
}

static bool read_factors(double *out, const struct yaml_node *node)
{
    if (node->kind != YAML_LIST || node->nitems == 0 || node->nitems > SCENARIO_ROPE_FACTORS_MAX)
        return false;
    memset(out, 0, SCENARIO_ROPE_FACTORS_MAX * sizeof *out);
    for (size_t i = 0; i < node->nitems; i++)
        if (!yaml_read_double(node->items[i], &out[i]) || !(out[i] > 0))
            return false;
    return true;
}

/* Read a field of the struct at `base`; false if the node is no such value. */
static bool read_field(void *base, const struct field *field, const struct yaml_node *node)
{
    void *at = (char *)base + field->offset;
    double number;
    int64_t whole;

    if (field->form == FLAG)
        return yaml_read_bool(node, at);
    if (field->form == FACTORS)
        return read_factors(at, node);
    if (field->form == WHOLE) {
        if (!yaml_read_int(node, &whole) || whole < 1 || whole > INT32_MAX)
            return false;
        memcpy(at, &whole, sizeof whole);
        return true;
    }
    if (!yaml_read_double(node, &number) || !(number > (field->form == ABOVE_ONE ? 1 : 0)) ||
        number > (field->form == PART ? 1 : 1e15))
        return false;
    memcpy(at, &number, sizeof number);
    return true;
}

static void refuse(struct reader *r, const struct field *field, const struct yaml_node *node)
{
    diag_error(r->diag, node->place, "%s is %s; expected %s", field->key, yaml_describe(node).text,
               expected[field->form]);
}

/* ---- scaling ---- */

static const struct yaml_node *item_of(const struct yaml_node *map, const char *key)
{
    for (size_t i = 0; i < map->nitems; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

/* The kind, of which the other keys depend; SCENARIO_ROPE_UNSCALED, reported: none. */
static enum scenario_rope_scaling_kind read_kind(struct reader *r, const struct yaml_node *map)
{
    const struct yaml_node *node = item_of(map, "kind");

    for (int k = SCENARIO_ROPE_LINEAR; node && k < SCENARIO_NROPE_SCALINGS; k++)
        if (node->kind == YAML_TEXT && strcmp(node->text, kinds[k]) == 0)
            return (enum scenario_rope_scaling_kind)k;
    diag_error(r->diag, node ? node->place : map->place,
               "kind of scaling is %s; expected linear, dynamic, llama3, yarn or longrope",
               node ? yaml_describe(node).text : "not given");
    return SCENARIO_ROPE_UNSCALED;
}

static void read_scaling_entry(struct reader *r, struct scenario_rope_scaling *out,
                               const struct yaml_node *key, const struct yaml_node *node)
{
    const struct field *field = find(scaling_fields, NSCALING, key->text);
    const char *keys[NSCALING + 1] = {"kind"};

    for (size_t i = 0; i < NSCALING; i++)
        keys[i + 1] = scaling_fields[i].key;
    if (!field)
        value_unknown_key(r, key, "scaling", "kind, factor, original and the kind's own keys", keys,
                          NSCALING + 1);
    else if (!(field->kinds & OF(out->kind)))
        diag_error(r->diag, key->place, "scaling of kind %s has no %s", kinds[out->kind],
                   field->key);
    else if (!read_field(out, field, node))
        refuse(r, field, node);
}

/* Report what is missing, and what does not fit together. */
static void check_scaling(struct reader *r, struct scenario_rope_scaling *out,
                          const struct yaml_node *map)
{
    const struct yaml_node *list = item_of(map, "long_factors"),
                           *other = item_of(map, "short_factors");

    for (size_t i = 0; i < NSCALING; i++)
        if (scaling_fields[i].needed & OF(out->kind) && !item_of(map, scaling_fields[i].key))
            diag_error(r->diag, map->place, "no '%s' in a scaling of kind %s; expected %s",
                       scaling_fields[i].key, kinds[out->kind], expected[scaling_fields[i].form]);
    if (out->kind == SCENARIO_ROPE_LLAMA3 && out->high > 0 && out->low > out->high)
        diag_error(r->diag, map->place, "low %g exceeds high %g", out->low, out->high);
    if (list && other && list->nitems != other->nitems)
        diag_error(r->diag, list->place,
                   "%zu long_factors and %zu short_factors; expected equal numbers", list->nitems,
                   other->nitems);
    out->nfactors = list ? (uint32_t)list->nitems : 0;
}

static void read_scaling(struct reader *r, const struct yaml_node *node)
{
    struct scenario_rope_scaling scaling = {.kind = SCENARIO_ROPE_UNSCALED};

    if (node->kind == YAML_MAP) {
        scaling.kind = read_kind(r, node);
        for (size_t i = 0; scaling.kind && i < node->nitems; i++)
            if (strcmp(node->keys[i]->text, "kind") != 0)
                read_scaling_entry(r, &scaling, node->keys[i], node->items[i]);
        if (scaling.kind)
            check_scaling(r, &scaling, node);
    } else if (!yaml_is_null(node)) {
        diag_error(r->diag, node->place,
                   "scaling is %s; expected null or a map, for example {kind: linear, factor: 4}",
                   yaml_describe(node).text);
    }
    r->scenario->model.rope.scaling = scaling;
}

/* ---- rope ---- */

static void read_entry(struct reader *r, const struct option *option, const struct yaml_node *key,
                       const struct yaml_node *node)
{
    static const char *const keys[] = {"theta", "interleaved", "part", "local_theta", "scaling"};
    struct scenario_rope *rope = &r->scenario->model.rope;
    const struct field *field = find(fields, NFIELDS, key->text);

    (void)option;
    if (!rope->used)
        *rope = (struct scenario_rope){.used = true, .theta = THETA};
    if (strcmp(key->text, "scaling") == 0)
        read_scaling(r, node);
    else if (!field)
        value_unknown_key(r, key, "rope", "theta, interleaved, part, local_theta or scaling", keys,
                          5);
    else if (!read_field(rope, field, node))
        refuse(r, field, node);
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    r->scenario->model.rope = (struct scenario_rope){.used = false};
    if (yaml_is_null(node))
        return;
    if (node->kind != YAML_MAP) {
        value_error(r, option, node);
        return;
    }
    r->scenario->model.rope = (struct scenario_rope){.used = true, .theta = THETA};
    for (size_t i = 0; i < node->nitems; i++)
        read_entry(r, option, node->keys[i], node->items[i]);
}

static void print_factors(struct text *out, const double *factors, uint32_t n)
{
    char buf[32];

    for (uint32_t i = 0; i < n; i++)
        text_addf(out, "%s%s", i ? ", " : "[", json_out_print_double(buf, sizeof buf, factors[i]));
    text_add_char(out, ']');
}

/* Print ", key: value", unless the value is 0 or false. */
static void print_field(struct text *out, const void *base, const struct field *field,
                        uint32_t nfactors)
{
    const void *at = (const char *)base + field->offset;
    const double number = field->form == WHOLE  ? (double)*(const int64_t *)at
                          : field->form == FLAG ? *(const bool *)at
                                                : *(const double *)at;
    char buf[32];

    if (number == 0)
        return;
    text_addf(out, ", %s: ", field->key);
    if (field->form == FLAG)
        text_add(out, "true");
    else if (field->form == FACTORS)
        print_factors(out, at, nfactors);
    else if (field->form == WHOLE)
        text_addf(out, "%" PRId64, *(const int64_t *)at);
    else
        text_add(out, json_out_print_double(buf, sizeof buf, number));
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_rope *rope = &scenario->model.rope;
    const struct scenario_rope_scaling *scaling = &rope->scaling;
    char buf[32];

    (void)option;
    if (!rope->used) {
        text_add(out, "null");
        return;
    }
    text_addf(out, "{theta: %s, interleaved: %s",
              json_out_print_double(buf, sizeof buf, rope->theta),
              rope->interleaved ? "true" : "false");
    for (size_t i = 2; i < NFIELDS; i++)
        print_field(out, rope, &fields[i], 0);
    if (scaling->kind != SCENARIO_ROPE_UNSCALED) {
        text_addf(out, ", scaling: {kind: %s", kinds[scaling->kind]);
        for (size_t i = 0; i < NSCALING; i++)
            print_field(out, scaling, &scaling_fields[i], scaling->nfactors);
        text_add_char(out, '}');
    }
    text_add_char(out, '}');
}

const char *scenario_rope_scaling_name(enum scenario_rope_scaling_kind kind)
{
    return kinds[kind];
}

#define SCHEMA_ABOVE(least) "{\"type\": \"number\", \"exclusiveMinimum\": " least "}"
#define SCHEMA_FACTORS                                                     \
    "{\"type\": \"array\", \"minItems\": 1, \"maxItems\": " SCHEMA_NUMBER( \
        SCENARIO_ROPE_FACTORS_MAX) ", \"items\": " SCHEMA_ABOVE("0") "}"

const struct value_type value_rope = {
    .size = sizeof(struct scenario_rope),
    .expected = "null or a map, for example {theta: 10000, interleaved: false}",
    .read = read,
    .read_entry = read_entry,
    .print = print,
    .keywords = SCHEMA_KEYWORDS(
        {"type", "[\"object\", \"null\"]"},
        {"properties",
         "{\"theta\": " SCHEMA_ABOVE(
             "1") ", \"interleaved\": {\"type\": \"boolean\"}, \"part\": "
                  "{\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1}, "
                  "\"local_theta\": " SCHEMA_ABOVE(
                      "1") ", \"scaling\": {\"type\": [\"object\", \"null\"], \"required\": "
                           "[\"kind\"], \"properties\": {\"kind\": {\"enum\": [\"linear\", "
                           "\"dynamic\", \"llama3\", "
                           "\"yarn\", \"longrope\"]}, \"factor\": " SCHEMA_ABOVE(
                               "0") ", \"original\": " SCHEMA_A_SIZE
                                    ", \"low\": " SCHEMA_ABOVE("0") ", \"high\": " SCHEMA_ABOVE("0") ", \"beta_fast\": " SCHEMA_ABOVE("0") ", \"beta_slow\": " SCHEMA_ABOVE("0") ", \"mscale\": " SCHEMA_ABOVE(
                                        "0") ", \"mscale_all\": " SCHEMA_ABOVE("0") ", "
                                                                                    "\"attention_"
                                                                                    "factor\":"
                                                                                    " " SCHEMA_ABOVE(
                                                                                        "0") ", "
                                                                                             "\"sho"
                                                                                             "rt_"
                                                                                             "facto"
                                                                                             "rs\":"
                                                                                             " " SCHEMA_FACTORS
                                                                                             ", "
                                                                                             "\"lon"
                                                                                             "g_"
                                                                                             "facto"
                                                                                             "rs\":"
                                                                                             " " SCHEMA_FACTORS
                                                                                             ", "
                                                                                             "\"unt"
                                                                                             "runca"
                                                                                             "ted\""
                                                                                             ": "
                                                                                             "{\"ty"
                                                                                             "pe\":"
                                                                                             " \"bo"
                                                                                             "olean"
                                                                                             "\"}},"
                                                                                             " \"ad"
                                                                                             "ditio"
                                                                                             "nalPr"
                                                                                             "opert"
                                                                                             "ies\""
                                                                                             ": "
                                                                                             "false"
                                                                                             "}}"},
        {"additionalProperties", "false"}),
};
