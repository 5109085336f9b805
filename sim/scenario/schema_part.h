/* scenario/schema_part.h - helpers with which a type of values writes its part of the schema.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCHEMA_PART_H
#define SCENARIO_SCHEMA_PART_H

#include "base/json_out.h"

/* Definitions that parts may refer to; scenario/schema.c writes them. */
#define SCHEMA_NAME "type-name"             /* value_read_name() */
#define SCHEMA_IDENTIFIER "type-identifier" /* a name that may occur in an op's line */
#define SCHEMA_LOGICAL "type-logical"       /* logical_read(): mesh axes of one dimension */
#define SCHEMA_SIZE "type-size"             /* an integer from 1 to INT32_MAX */
#define SCHEMA_RULES "type-rules"           /* [[pattern, spec], ...] */

/* Write a reference to a definition into an open object. */
void schema_refer(struct json_out *out, const char *definition);

/* Write a key and its value, which is already JSON. */
void schema_add(struct json_out *out, const char *key, const char *json);

#endif /* SCENARIO_SCHEMA_PART_H */
