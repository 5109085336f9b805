/* op_seconds.h - what each op of a program takes on a stated cluster.
 *
 * The work of an op is the program's: flops and bytes are its kernel's own, a product's extents
 * those of its description, a collective's operand that of its buffers.  Rates are the cluster's
 * (hardware/hardware.h).  The plan, the price of a layout and an explanation read the same figures.
 *
 * Where the cluster's software makes one kernel of ops that follow each other and only read and
 * write memory, the first of them takes the time of all: what one writes and only they read is
 * never written.
 *
 * Thread class: immutable once created; pure functions of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_SECONDS_H
#define COST_OP_SECONDS_H

#include "hardware/hardware.h"
#include "hardware/steps.h"
#include "program/program.h"

/* The steps of an algorithm that a scenario asks for, over groups along some axes of the mesh. */
struct op_schedule {
    const struct coll_algo *algo;
    struct shd_groups groups; /* on the mesh that counts */
    struct hardware_steps steps[HARDWARE_NSTEPS];
};
#define OP_SCHEDULES_MAX 16 /* kept; those of more are walked again for each op */

struct op_seconds {
    const struct program *program;   /* not owned */
    const struct hardware *hardware; /* not owned */
    const struct shd_mesh *mesh;     /* not owned: the program's, or that of op_seconds_lay() */
    struct op_schedule schedules[OP_SCHEDULES_MAX];
    size_t nschedules;
    double *chain_bytes; /* [op] of the chain that begins there; 0: none does; negative: the op is
                            part of one that began before it */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int op_seconds_init(struct op_seconds *out, const struct program *program,
                                   const struct hardware *hardware, struct shd_error *err);
void op_seconds_fini(struct op_seconds *seconds);

/* Let groups lie on the cluster as in a mesh of the same axes in another order, which is not owned.
 */
void op_seconds_lay(struct op_seconds *seconds, const struct shd_mesh *mesh);

/* What the kernel of an op does on the device at a position, done once.  False: the op has none. */
bool op_seconds_work(struct hardware_work *out, const struct op_seconds *seconds, uint32_t op,
                     int32_t position);

/* What the time of an op's kernel comes from; of an op without one this says nothing. */
enum hardware_bound op_seconds_bound(const struct op_seconds *seconds, uint32_t op,
                                     int32_t position);

/* The group of an op that communicates in groups. */
void op_seconds_group(struct hardware_group *out, const struct op_seconds *seconds, uint32_t op);

/* The stream of transfers, below EVENTS_STREAMS_MAX, in which it is done: one a tier; on a torus
 * one for each axis, whose links no other has, and the first one of a transfer along several. */
unsigned op_seconds_stream(const struct op_seconds *seconds, uint32_t op);

/* Seconds of a buffer's message from device to device.  `along` are the axes of the mesh (a bit
 * each) along which devices that have the same shard share in sending it, where software does so.
 */
double op_seconds_message(const struct op_seconds *seconds, int64_t from, int64_t to,
                          uint32_t buffer, uint32_t along);

/* Seconds of an op on the device at a position, done once; of a send 0, for its receive has them.
 */
double op_seconds_of(const struct op_seconds *seconds, uint32_t op, int32_t position);

/* Seconds of the chain that begins with an op, if it might be of any length: no less than it takes,
 * however it is parted.  *end is the op behind it; 0, and the op itself: none begins there. */
double op_seconds_chain(const struct op_seconds *seconds, uint32_t op, uint32_t *end);

/* Whether these are the same at every device of the rank. */
bool op_seconds_even(const struct op_seconds *seconds, uint32_t op);

#endif /* COST_OP_SECONDS_H */
