/* reshard/tangle.h - dimensions cut before and after by axes that they share.
 *
 * What a device's old and new shard have in common is the product of what its old and new interval
 * have in common along each dimension.  Where the intervals of each dimension lie within each
 * other, a product is either 0 or always the same, and which of them it is depends on whether some
 * digits of the device's coordinates are equal: two intervals meet where their starts agree in all
 * digits that are worth at least the longer one.  So the sum over all coordinates is that product
 * times a number of coordinates, which is a product over those digits that are free.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_TANGLE_H
#define RESHARD_TANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/sharding.h>

/* A dimension, where the axes that it begins with both before and after are left out. */
struct cut {
    uint64_t extent;
    size_t ncommon;
    const struct shd_dim_axes *from;
    const struct shd_dim_axes *to;
    uint64_t nfrom; /* intervals before and after */
    uint64_t nto;
};

struct tangle {
    const struct shd_mesh *mesh;
    size_t ncuts;
    struct cut cuts[SHD_RANK_MAX];
    size_t naxes; /* of axes that cut these dimensions, before or after */
    uint8_t axes[SHD_MESH_AXES_MAX];
};

/* Sum up, over all coordinates on the tangle's axes, how many elements the old and the new part
 * have in common.  False where that cannot be told from digits: where some intervals straddle, or
 * two dimensions split the coordinate on one axis into digits that do not go together. */
bool reshard_count_nested(const struct tangle *tangle, uint64_t *sum);

#endif /* RESHARD_TANGLE_H */
