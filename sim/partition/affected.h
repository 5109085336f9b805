/* affected.h - the set of nodes whose costs a move of the search may change.
 *
 * Thread class: a value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_AFFECTED_H
#define PARTITION_AFFECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "partition/limit.h"

struct affected {
    uint32_t n;
    uint32_t nodes[AFFECTED_MAX];
    bool full; /* the set overflowed: the move is judged without the nodes left out */
};

/* Add a node; true if it is new to the set and the set had room. */
bool affected_add(struct affected *set, uint32_t node);

#endif /* PARTITION_AFFECTED_H */
