/* reshard.h - steps from one sharding to another on the links of a cluster.
 *
 * A step is one collective, or a copy inside a device.  In a permute each device gets one message;
 * an exchange takes as long as the all-to-all, along the axes that it goes along, that brings a
 * device as much.  So a program's steps are timed (cost/op_seconds.h), and so the ways to reshard
 * are compared, where they are chosen by time.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_RESHARD_H
#define HARDWARE_RESHARD_H

#include <shd/reshard.h>

#include "hardware/hardware.h"

/* What is asked of hardware_collective(). */
struct hardware_transfer {
    enum coll_kind kind;
    struct hardware_group group;
    double operand_bytes;
};

/* The collective that a step of one mesh is, which is not local: of operands of `operand_bytes` on
 * each device, and that brings the device in question `received_bytes`.  Only permutes and
 * exchanges are told by the latter. */
void hardware_transfer_of(struct hardware_transfer *out, const struct hardware *hardware,
                          const struct shd_reshard_step *step, double operand_bytes,
                          double received_bytes);

/* The same of the device that gets the most, by the bytes of an array.  False: the step is local,
 * or between meshes. */
bool hardware_transfer_of_array(struct hardware_transfer *out, const struct hardware *hardware,
                                const struct shd_reshard_step *step, const int64_t *shape,
                                enum shd_dtype dtype);

/* Seconds of a step on the device that takes longest.  `hardware` is a struct hardware, laid out
 * for the step's mesh: this is a shd_reshard_seconds_fn.
 *
 * A step between meshes, which no program has, takes what shd_reshard_measure() says by the tiers
 * below; INFINITY without memory for that. */
double hardware_reshard_seconds(const void *hardware, const struct shd_reshard_step *step,
                                const int64_t *shape, enum shd_dtype dtype);

/* The tiers of a cluster that is laid out, as the planner of reshards takes them, for device ids
 * below `ndevices`; and the seconds above.  The rest of `opts` stays.
 *
 * A tier's latency is that of a message; its rate is into a device over all of its links.  A tier
 * is left to the next one where its domains are not made of whole ones of the tier before. */
void hardware_reshard_tiers(struct shd_reshard_opts *opts, const struct hardware *hardware,
                            int64_t ndevices);

#endif /* HARDWARE_RESHARD_H */
