/* reshard.h - the time of reshard steps on the links of a cluster.
 *
 * A step is one collective, or a copy inside a device.  In a permute each device gets one message;
 * an exchange takes as long as an all-to-all, along the same axes, that brings a device as many
 * bytes.  Both a program's steps (cost/op_seconds.h) and the candidate plans for resharding by time
 * use these times.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_RESHARD_H
#define HARDWARE_RESHARD_H

#include <shd/reshard.h>

#include "hardware/hardware.h"

/* Arguments for hardware_collective(). */
struct hardware_transfer {
    enum coll_kind kind;
    struct hardware_group group;
    double operand_bytes;
};

/* The collective for a non-local step on one mesh, with operands of `operand_bytes` on each device;
 * `received_bytes` are what the device in question receives.  Only permutes and exchanges depend on
 * the latter. */
void hardware_transfer_of(struct hardware_transfer *out, const struct hardware *hardware,
                          const struct shd_reshard_step *step, double operand_bytes,
                          double received_bytes);

/* The collective for the device that receives most, computed from the shape of an array.  False:
 * the step is local, or between meshes. */
bool hardware_transfer_of_array(struct hardware_transfer *out, const struct hardware *hardware,
                                const struct shd_reshard_step *step, const int64_t *shape,
                                enum shd_dtype dtype);

/* The time of a step on the slowest device.  `hardware` is a struct hardware, laid out for the
 * step's mesh: this is a shd_reshard_seconds_fn.
 *
 * A step between meshes, which no program has, takes the time of shd_reshard_measure() with the
 * tiers below; INFINITY for lack of memory. */
double hardware_reshard_seconds(const void *hardware, const struct shd_reshard_step *step,
                                const int64_t *shape, enum shd_dtype dtype);

/* Set the tiers of a laid-out cluster in the planner's options, for device ids below `ndevices`,
 * and hardware_reshard_seconds().  Other fields of `opts` are kept.
 *
 * A tier's latency is that of a message; its rate is into a device over all of its links.  A tier
 * is merged with the next one if its domains do not consist of whole domains of the tier before. */
void hardware_reshard_tiers(struct shd_reshard_opts *opts, const struct hardware *hardware,
                            int64_t ndevices);

#endif /* HARDWARE_RESHARD_H */
