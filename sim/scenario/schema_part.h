/* scenario/schema_part.h - helpers with which a type of values writes its part of the schema.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCHEMA_PART_H
#define SCENARIO_SCHEMA_PART_H

#include "base/json_out.h"

/* A keyword of JSON Schema with its value in JSON. */
struct schema_keyword {
    const char *key, *json;
};

/* A list of keywords, as a type of values has it. */
#define SCHEMA_KEYWORDS(...) ((const struct schema_keyword[]){__VA_ARGS__, {NULL, NULL}})

/* JSON: a reference to a definition that scenario/schema.c writes. A reference is the only member
 * of its object, because draft 7 ignores other keywords next to $ref. SCHEMA_NUMBER: a macro's
 * number. */
#define SCHEMA_REF(definition) "{\"$ref\": \"#/definitions/" definition "\"}"
#define SCHEMA_A_NAME SCHEMA_REF(SCHEMA_NAME)
#define SCHEMA_A_SIZE SCHEMA_REF(SCHEMA_SIZE)
#define SCHEMA_AN_IDENTIFIER SCHEMA_REF(SCHEMA_IDENTIFIER)
#define SCHEMA_NUMBER(macro) SCHEMA_DIGITS(macro)
#define SCHEMA_DIGITS(digits) #digits

#define SCHEMA_NAME "type-name"             /* value_read_name() */
#define SCHEMA_IDENTIFIER "type-identifier" /* a name that may occur in an op's line */
#define SCHEMA_LOGICAL "type-logical"       /* logical_read(): mesh axes of one dimension */
#define SCHEMA_SIZE "type-size"             /* an integer from 1 to INT32_MAX */
#define SCHEMA_RULES "type-rules"           /* [[pattern, spec], ...] */

/* Write a key and its value, which is already JSON. */
void schema_add(struct json_out *out, const char *key, const char *json);

#endif /* SCENARIO_SCHEMA_PART_H */
