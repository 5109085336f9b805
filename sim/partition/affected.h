/* affected.h - nodes whose costs a move of the search may change, each once.
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
    bool full; /* some were left out: the move is judged without them */
};

/* True when the node was not there yet and there was room. */
bool affected_add(struct affected *set, uint32_t node);

#endif /* PARTITION_AFFECTED_H */
