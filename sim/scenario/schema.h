/* scenario/schema.h - the format of scenario files as a JSON Schema, draft 7, for editors.
 *
 * Generated from the reader's tables: each type of values writes its own part (schema_part.h).  All
 * files that the reader accepts fit the schema.  The schema checks values and keys, and in a file
 * of one strategy what the kind of model needs; only the reader checks that names are known and
 * sizes fit.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCHEMA_H
#define SCENARIO_SCHEMA_H

#include "base/text.h"

/* Print the whole schema, with a final newline. */
void schema_print(struct text *out);

#endif /* SCENARIO_SCHEMA_H */
