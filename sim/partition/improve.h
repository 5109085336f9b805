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

/* A sharding in which a node is to read an operand, or to leave a result or an alias of one. */
struct improve_wish {
    uint32_t node;
    bool of_operand;
    uint32_t array; /* number of the operand; or the node that is the result or the alias */
    uint32_t number;
};

/* The same among the assignments that fulfil a wish; false when there is none, and nothing changed.
 */
bool improve_as_wished(struct placement *placement, const struct improve_wish *wish);

#endif /* PARTITION_IMPROVE_H */
