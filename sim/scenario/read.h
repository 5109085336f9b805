/* scenario/read.h - reading one strategy of a scenario file, as layers of values that override each
 * other.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_READ_H
#define SCENARIO_READ_H

#include "scenario/set.h"
#include "scenario/value.h"

/* Fill the reader's scenario (zeroed) with defaults, the file's values, those of the strategy
 * (NULL: the file has none) and the --set values, in this order; then check it.  Faults are
 * reported. */
void read_scenario(struct reader *r, const struct yaml_node *file,
                   const struct yaml_node *strategy, const struct set_value *sets, size_t nsets);

#endif /* SCENARIO_READ_H */
