/* scenario/logical.h - entries "logical axis: mesh axes", as `axes:` and `partition_axis:` have
 * them.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_LOGICAL_H
#define SCENARIO_LOGICAL_H

#include "scenario/value.h"

/* Read what stands behind the name, a mesh axis, a list of them or null, in the place of what was
 * there before; the name itself is the caller's to set. */
void logical_read(struct reader *r, struct scenario_logical *logical, const struct yaml_node *key,
                  const struct yaml_node *node);

/* The entry as text, as the file has it: "batch: [fsdp, dp]". */
void logical_print(const struct scenario_logical *logical, struct text *out);

/* Free what an entry owns, its name included. */
void logical_free(struct scenario_logical *logical);

#endif /* SCENARIO_LOGICAL_H */
