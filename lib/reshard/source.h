/* reshard/source.h - from which device a device fetches a box.
 *
 * A box lies in one old shard, which one or several devices, its holders, have.  A device that
 * holds the shard takes the box from itself.  Any other device fetches it from one of the holders
 * that are nearest to it, and these take turns: the devices that want part of the shard and do not
 * hold it are numbered from 0, and device number n asks the holder that comes n places after the
 * first one.  The first holder is the one whose coordinates are those of the first new interval
 * that overlaps the shard.  So of one shard no holder sends two boxes more than another does.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_SOURCE_H
#define RESHARD_SOURCE_H

#include <stdint.h>

#include <shd/reshard.h>

/* The position, on the mesh of step->from, of the device that the device at `position` (on the mesh
 * of step->to) fetches a box from.  `old` is the number of the interval that the box's old shard
 * has along each dimension. */
int32_t reshard_source(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       const int64_t *old);

/* The position that the device at `position` of the mesh `other` has in `mesh`; -1 where it is not
 * in that mesh. */
int32_t reshard_position_in(const struct shd_mesh *mesh, const struct shd_mesh *other,
                            int32_t position);

/* The elements that the device at a position of the step's `from` sends to other devices, in a step
 * in which devices fetch boxes. */
uint64_t reshard_given(const struct shd_reshard_step *step, const int64_t *shape, int32_t position);

#endif /* RESHARD_SOURCE_H */
