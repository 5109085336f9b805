/* replay.h - an executed step laid out anew, as if every device had a core of its own.
 *
 * Where devices share cores, wall time says how fast the simulator is, not who waits.  So each op's
 * CPU time in the device's own thread is laid along the program's dependencies:
 *
 * - A device has two resources, each taking its ops in program order: its core (computations,
 *   and steps that copy within the device) and its network (steps that communicate).
 * - An op begins when its resource is free and its inputs are there.  So a transfer runs beside
 *   computations that do not need it.
 * - A collective begins when the last member of the group has come to it; a permute or exchange,
 *   for each device, when the device and those that it fetches from have.
 * - It ends, for each device, after the latency and the device's own received bytes at the rate (at
 *   once for a device that receives nothing).  Links are full duplex and do not contend; combining
 *   elements on the way costs nothing.
 * - Arguments are there when the step begins; no transfer is held back for lack of memory.
 *
 * Thread class: pure function of the record; the result is noisy only as its CPU times are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_REPLAY_H
#define COST_REPLAY_H

#include "program/record.h"

/* Fill record->replay from its times and received bytes, in time and memory O(devices x ops).
 * SHD_EINVAL: no times were recorded, or the rate is 0.  SHD_ENOMEM. */
SHD_MUST_CHECK int replay_run(struct record *record, const struct record_transfers *transfers,
                              struct shd_error *err);

/* Lay a record that was replayed out once more, for a watch; a lane is a device.  SHD_ENOMEM. */
struct events_watch;
SHD_MUST_CHECK int replay_tell(const struct record *record, const struct events_watch *watch,
                               struct shd_error *err);

#endif /* COST_REPLAY_H */
