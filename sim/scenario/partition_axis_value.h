/* scenario/partition_axis_value.h - names in specs: mesh axes, or names that `partition_axis` maps
 * to them.
 *
 * With `partition_axis` a spec, and an entry of `axes`, may name the role of a model dimension
 * ("batch", "query_sequence", "head"; "_" is not sharded) instead of mesh axes.  Such names take
 * precedence over mesh axes of the same name.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_PARTITION_AXIS_VALUE_H
#define SCENARIO_PARTITION_AXIS_VALUE_H

#include <shd/partition_axis.h>

#include "base/nearest.h"
#include "scenario/value_reader.h"

/* Store the mesh axes that a name stands for, at most SHD_AXIS_VALUE_MAX, in `axes`: the name
 * itself if `partition_axis` does not know it.  They live as long as name and scenario. */
size_t partition_axis_find(const char **axes, const struct scenario *scenario, const char *name);

#define PARTITION_AXIS_NAME_MAX 48 /* bytes for the longest field name, with room to spare */

/* The field names without "_axis". */
struct partition_axis_names {
    char names[SHD_NAXIS_FIELDS][PARTITION_AXIS_NAME_MAX];
};

/* Offer the field names, which this fills in, as suggestions if `partition_axis` is given. */
void partition_axis_offer(struct nearest *nearest, struct partition_axis_names *names,
                          const struct scenario *scenario);

#endif /* SCENARIO_PARTITION_AXIS_VALUE_H */
