/* reshard/pair.h - two shardings expressed on one mesh, if positions in their meshes are the same
 * devices.
 *
 * Thread class: owned by one thread; not to be copied, as it points into itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_PAIR_H
#define RESHARD_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/reshard.h>

#include "mesh_parts.h"

struct reshard_pair {
    const struct shd_sharding *from; /* NULL: there is no common mesh */
    const struct shd_sharding *to;
    struct shd_mesh mesh; /* built from parts of both meshes' axes, if neither mesh will do */
    struct shd_sharding parts[2];
};

/* Find a common mesh for two shardings.  `near` lists group sizes that none of its axes may
 * straddle, terminated by 0; NULL: none.  Two meshes of the same devices in the same order have a
 * common one if, of all their position strides and the group sizes in ascending order, each divides
 * the next. */
void reshard_pair_init(struct reshard_pair *pair, const struct shd_sharding *from,
                       const struct shd_sharding *to, const int32_t *near);

#endif /* RESHARD_PAIR_H */
