/* improve.h - a step of the search: give one op its best assignment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_IMPROVE_H
#define PARTITION_IMPROVE_H

#include "partition/placement.h"

/* Give a node, and all alike nodes, the best assignment with all other ops unchanged; true if its
 * shardings changed. */
bool improve_node(struct placement *placement, uint32_t node);

/* Whether a node shares its work over the axes that it must (busy.h). */
bool improve_keeps_busy(const struct placement *placement, uint32_t node);

#endif /* PARTITION_IMPROVE_H */
