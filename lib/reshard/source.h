/* reshard/source.h - which of its holders a device fetches a box from.
 *
 * A box lies in one old shard.  Its device itself, if it holds that shard; else one of the nearest
 * holders, taken in turn: the devices that want something of the shard are numbered, leaving out
 * those that hold it, and number n asks the holder n places behind the first, which is the one with
 * the coordinates of the first that wants something.  So of a shard no holder sends more than one
 * box more than another.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_SOURCE_H
#define RESHARD_SOURCE_H

#include <stdint.h>

#include <shd/reshard.h>

/* `old` is the old shard's interval along each dimension; a position of step->from's mesh. */
int32_t reshard_source(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                       const int64_t *old);

/* The position in a mesh of the device at a position of another, -1 if it is not there. */
int32_t reshard_position_in(const struct shd_mesh *mesh, const struct shd_mesh *other,
                            int32_t position);

/* Elements that a position of the step's `from` gives to other devices in a step that fetches
 * boxes. */
uint64_t reshard_given(const struct shd_reshard_step *step, const int64_t *shape, int32_t position);

#endif /* RESHARD_SOURCE_H */
