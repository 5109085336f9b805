/* reshard/source.h - the device from which a device fetches a box.
 *
 * A box lies in one old shard, which one or several devices, its holders, have.  A device that
 * holds the shard takes the box from itself.  Any other device fetches it from one of its nearest
 * holders, which take turns: the devices that need part of the shard and do not hold it are
 * numbered from 0, and device number n asks the holder n places after the first one.  The first
 * holder is the one with the coordinates of the first new interval that overlaps the shard.  So no
 * holder of a shard sends two boxes more than another.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_SOURCE_H
#define RESHARD_SOURCE_H

#include <stdint.h>

#include <shd/reshard.h>

/* The position, on the mesh of step->from, of the device from which the device at `position` (on
 * the mesh of step->to) fetches a box.  `old` has the interval numbers of the box's old shard, by
 * dimension. */
int32_t reshard_source(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       const int64_t *old);

/* The position in `mesh` of the device at `position` of the mesh `other`; -1 if it is not in
 * `mesh`. */
int32_t reshard_position_in(const struct shd_mesh *mesh, const struct shd_mesh *other,
                            int32_t position);

/* Set the coordinates on a dimension's axes to those of interval `index`. */
void reshard_set_coords(const struct shd_sharding *sharding, size_t dim, int64_t index,
                        int32_t *coords);

/* The elements that the device at a position of the step's `from` sends to other devices, in a step
 * in which devices fetch boxes. */
uint64_t reshard_given(const struct shd_reshard_step *step, const int64_t *shape, int32_t position);

#endif /* RESHARD_SOURCE_H */
