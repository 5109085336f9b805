/* reshard/pair.h - two shardings on one mesh, where positions of their meshes are the same devices.
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
    const struct shd_sharding *from; /* NULL: there is no such mesh */
    const struct shd_sharding *to;
    struct shd_mesh mesh; /* made of parts of both meshes' axes, where neither mesh serves */
    struct shd_sharding parts[2];
};

/* Find a mesh that both shardings can be told on.  `near` lists the sizes of groups of devices that
 * no axis of it may straddle, ended by 0; NULL: there are none.
 * Two meshes of the same devices in the same order have a common one when each position stride of
 * the one, and each group, divides the next larger of all. */
void reshard_pair_init(struct reshard_pair *pair, const struct shd_sharding *from,
                       const struct shd_sharding *to, const int32_t *near);

#endif /* RESHARD_PAIR_H */
