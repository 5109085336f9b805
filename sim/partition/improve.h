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

/* A sharding in which a node is to read an operand, or to leave a result. */
struct improve_wish {
    uint32_t node;
    bool of_operand;
    uint32_t array; /* number of the operand or result */
    uint32_t number;
};

/* The same among the assignments that fulfil a wish, if need be one that leaves axes idle which it
 * should keep busy; false when there is none, and nothing changed. */
bool improve_as_wished(struct placement *placement, const struct improve_wish *wish);

/* Whether a node keeps the axes busy that it should. */
bool improve_keeps_busy(const struct placement *placement, uint32_t node);

#endif /* PARTITION_IMPROVE_H */
