/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/affected.h"

bool affected_add(struct affected *set, uint32_t node)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->nodes[i] == node)
            return false;
    if (set->n == AFFECTED_MAX) {
        set->full = true;
        return false;
    }
    set->nodes[set->n++] = node;
    return true;
}
