/* scenario/strategy_reader.h - reading one strategy of a scenario file, as layers of values that
 * override each other.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_STRATEGY_READER_H
#define SCENARIO_STRATEGY_READER_H

#include "scenario/set.h"
#include "scenario/value_reader.h"

/* Fill the reader's scenario (zeroed) with defaults, the file's values, those of the strategy
 * (NULL: the file has none) and the --set values, in this order; then check it.  Faults are
 * reported. */
void read_scenario(struct reader *r, const struct yaml_node *file,
                   const struct yaml_node *strategy, const struct set_value *sets, size_t nsets);

#endif /* SCENARIO_STRATEGY_READER_H */
