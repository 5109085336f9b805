/* carry.h - a step of the search for what one op alone would not do: steps between shardings are
 * carried along a chain of ops.
 *
 * Where a value is brought from its home to another sharding, its op may lie in that from the
 * start; then the step is one op earlier and costs about the same, until it meets another, or an
 * array that is smaller, cut as well, or whole.  The other way, the reader takes the value as it
 * lies, and the step is one op later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_CARRY_H
#define PARTITION_CARRY_H

#include "partition/placement.h"

/* Carry what steps there are, where that pays; true when some were.  Not in large graphs
 * (CARRY_GRAPH_MAX). */
bool carry_all(struct placement *placement);

#endif /* PARTITION_CARRY_H */
