/* scenario/read.h - one strategy of a scenario file: its layers of values, one on the other.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_READ_H
#define SCENARIO_READ_H

#include "scenario/set.h"
#include "scenario/value.h"

/* Fill the reader's scenario, zeroed before, with defaults, the file's values, those of the
 * strategy (NULL: the file has none) and the sets; then check it.  What is wrong is reported. */
void read_scenario(struct reader *r, const struct yaml_node *file,
                   const struct yaml_node *strategy, const struct set_value *sets, size_t nsets);

#endif /* SCENARIO_READ_H */
