/* steps.h - the seconds of a collective by the schedule of an algorithm that is asked for.
 *
 * Without such a wish a collective takes what the cluster's library makes of it (hardware.h).  With
 * one, the schedule of coll/coll.h is walked as it stands: a step begins when the step before it
 * has ended everywhere; in a step the messages to a member start one after the other, each with the
 * latency of its tier, and take the bytes of the busiest link.  A ring is one ring then, which
 * enters each node through one device, where a library lays as many as a node has devices.
 *
 * Schedules of many steps of many members are walked for some members only: the first and the last
 * ones, and those beside the borders of tiers, whose neighbours are the farthest away.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_STEPS_H
#define HARDWARE_STEPS_H

#include <shd/group.h>

#include "coll/coll.h"
#include "hardware/hardware.h"

/* A collective's time as a function of its size: constant part and part per byte. */
struct hardware_steps {
    double start_s;    /* before the first step */
    double latency_s;  /* of all steps */
    double s_per_byte; /* of the operand of one member: of links, and of passing through devices */
};

/* By the usual protocol, and by that for small messages. */
enum { HARDWARE_STEPS_USUAL, HARDWARE_STEPS_SMALL, HARDWARE_NSTEPS };

/* Of the groups the first one is timed, on devices whose ids are the mesh's positions.  The kind is
 * one of several members that takes neither a root nor sources. */
void hardware_steps_of(struct hardware_steps out[HARDWARE_NSTEPS], const struct hardware *hardware,
                       const struct coll_algo *algo, const struct shd_groups *groups);

/* By the protocol that is faster. */
double hardware_steps_seconds(const struct hardware_steps steps[HARDWARE_NSTEPS],
                              double operand_bytes);

#endif /* HARDWARE_STEPS_H */
