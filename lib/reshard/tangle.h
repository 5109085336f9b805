/* reshard/tangle.h - dimensions that are cut before and after by shared axes.
 *
 * The overlap of a device's old and new shard is the product of the overlaps of its old and new
 * interval along each dimension.  If the intervals of each dimension nest, a product is either 0 or
 * always the same number, depending on whether certain digits of the device's coordinates are
 * equal: two intervals overlap if their starts agree in all digits that are worth at least the
 * longer interval.  So the sum over all coordinates is that number times the number of such
 * coordinates, which is a product over the free digits.
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

/* A dimension, without the leading axes that both sides share. */
struct cut {
    uint64_t extent;
    size_t ncommon;
    const struct shd_dim_axes *from;
    const struct shd_dim_axes *to;
    uint64_t nfrom; /* number of intervals before and after */
    uint64_t nto;
};

struct tangle {
    const struct shd_mesh *mesh;
    size_t ncuts;
    struct cut cuts[SHD_RANK_MAX];
    size_t naxes; /* mesh axes of these dimensions, in the old or new sharding */
    uint8_t axes[SHD_MESH_AXES_MAX];
};

/* Sum the overlaps of old and new parts over all coordinates on the tangle's axes.  False if digits
 * do not determine them: some intervals straddle, or two dimensions split the coordinate on one
 * axis into incompatible digits. */
bool reshard_count_nested(const struct tangle *tangle, uint64_t *sum);

#endif /* RESHARD_TANGLE_H */
