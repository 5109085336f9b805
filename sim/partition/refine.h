/* refine.h - the mesh with axes split, for dimensions that only a part of an axis divides.
 *
 * Four key heads on an axis of eight devices: pairs of devices share a head.  On the mesh (4, 2)
 * instead of (8) that is an ordinary sharding: the heads over the first part, replicas or partial
 * sums over the second.  Positions stay the same, since the parts are the axis's own digits, the
 * first the most major.  A part is named as Shardy writes it, axis:(size of the parts before)size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_REFINE_H
#define PARTITION_REFINE_H

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "partition/partition.h"

struct refined {
    struct shd_mesh *mesh;             /* owned; NULL: no axis is split */
    uint8_t first[SHD_MESH_AXES_MAX];  /* by axis of the old mesh: its first part ... */
    uint8_t nparts[SHD_MESH_AXES_MAX]; /* ... and its number of parts */
};

/* Split the axes that the graph's dimensions need split (in a search: for any place of an axis; in
 * following: for its actual place), and the neighbours' axis.  The pool is for temporaries.
 * SHD_ENOMEM, SHD_EINDIVISIBLE. */
SHD_MUST_CHECK int refine_init(struct refined *out, struct pool *pool,
                               const struct partition_request *request, struct shd_error *err);

/* The same axes on the refined mesh: bit a for axis a. */
uint32_t refine_axes(const struct refined *refined, uint32_t axes);

/* The same sharding on the refined mesh. */
void refine_sharding(struct shd_sharding *out, const struct refined *refined,
                     const struct shd_sharding *sharding);

#endif /* PARTITION_REFINE_H */
