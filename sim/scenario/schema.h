/* scenario/schema.h - the form of scenario files as a JSON Schema, draft 7, for editors.
 *
 * Made from the same tables as the reader: each type of values writes its own part (value.h).  What
 * the reader accepts fits the schema.  The schema sees each value and its keys, and in a file of one
 * strategy what the kind of model needs; whether names are known and sizes fit is for the reader.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCHEMA_H
#define SCENARIO_SCHEMA_H

#include "base/json_out.h"
#include "base/text.h"

/* Definitions that parts may refer to. */
#define SCHEMA_NAME "type-name"             /* value_read_name() */
#define SCHEMA_IDENTIFIER "type-identifier" /* a name that can stand in an op's line */
#define SCHEMA_LOGICAL "type-logical"       /* value_read_logical(): mesh axes of one dimension */
#define SCHEMA_SIZE "type-size"             /* a whole number from 1 to INT32_MAX */
#define SCHEMA_RULES "type-rules"           /* [[pattern, spec], ...] */

/* Refer to a definition, from within an open object. */
void schema_refer(struct json_out *out, const char *definition);

/* A key and its value, which is JSON already. */
void schema_add(struct json_out *out, const char *key, const char *json);

/* The whole schema, with a newline at the end. */
void schema_print(struct text *out);

#endif /* SCENARIO_SCHEMA_H */
