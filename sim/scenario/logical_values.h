/* scenario/logical_values.h - entries "logical axis: mesh axes" of `axes:` and `partition_axis:`.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_LOGICAL_VALUES_H
#define SCENARIO_LOGICAL_VALUES_H

#include "scenario/value_reader.h"

/* Replace an entry's mesh axes by those of a node: one axis, a list of axes, or null.  The caller
 * sets the name. */
void logical_read(struct reader *r, struct scenario_logical *logical, const struct yaml_node *key,
                  const struct yaml_node *node);

/* Print an entry as in a file: "batch: [fsdp, dp]". */
void logical_print(const struct scenario_logical *logical, struct text *out);

/* Free an entry's contents, including its name. */
void logical_free(struct scenario_logical *logical);

#endif /* SCENARIO_LOGICAL_VALUES_H */
