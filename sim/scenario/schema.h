/* scenario/schema.h - the form of scenario files as a JSON Schema, draft 7, for editors.
 *
 * Made from the same tables as the reader: each type of values writes its own part (schema_part.h).
 * What the reader accepts fits the schema.  The schema sees each value and its keys, and in a file
 * of one strategy what the kind of model needs; whether names are known and sizes fit is for the
 * reader.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCHEMA_H
#define SCENARIO_SCHEMA_H

#include "base/text.h"

/* The whole schema, with a newline at the end. */
void schema_print(struct text *out);

#endif /* SCENARIO_SCHEMA_H */
