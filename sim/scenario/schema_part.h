/* scenario/schema_part.h - what a type of values needs to write its own part of the schema.
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
#define SCHEMA_IDENTIFIER "type-identifier" /* a name that can stand in an op's line */
#define SCHEMA_LOGICAL "type-logical"       /* logical_read(): mesh axes of one dimension */
#define SCHEMA_SIZE "type-size"             /* a whole number from 1 to INT32_MAX */
#define SCHEMA_RULES "type-rules"           /* [[pattern, spec], ...] */

/* Refer to a definition, from within an open object. */
void schema_refer(struct json_out *out, const char *definition);

/* A key and its value, which is JSON already. */
void schema_add(struct json_out *out, const char *key, const char *json);

#endif /* SCENARIO_SCHEMA_PART_H */
