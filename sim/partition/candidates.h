/* candidates.h - candidate places of the axes in one op, suggested by its neighbours' shardings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_CANDIDATES_H
#define PARTITION_CANDIDATES_H

#include "partition/placement.h"

#define CANDIDATES_OPTIONS_MAX 10 /* places that an axis may have in an op */
#define CANDIDATES_ORDERS_MAX 4   /* orders of axes within dimensions */

struct candidates {
    uint32_t brought; /* bit a: axis a shards an operand at its home */
    uint32_t noptions[SHD_MESH_AXES_MAX];
    int8_t options[SHD_MESH_AXES_MAX][CANDIDATES_OPTIONS_MAX];
    uint8_t flat_dims; /* for ASSIGN_FLAT */
    uint8_t linear_operand;
    uint32_t norders;
    uint8_t orders[CANDIDATES_ORDERS_MAX][SHD_MESH_AXES_MAX];
};

void candidates_find(struct placement *placement, uint32_t node, struct candidates *out);

#endif /* PARTITION_CANDIDATES_H */
