/* improve.h - a step of the search: one op chooses again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_IMPROVE_H
#define PARTITION_IMPROVE_H

#include "partition/placement.h"

/* Give a node, and all that are alike, its best assignment as things stand; true when that changed
 * its shardings. */
bool improve_node(struct placement *placement, uint32_t node);

/* Whether a node keeps the axes busy that it should. */
bool improve_keeps_busy(const struct placement *placement, uint32_t node);

#endif /* PARTITION_IMPROVE_H */
