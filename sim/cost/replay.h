/* replay.h - reschedule an executed step as if every device had a core of its own.
 *
 * If devices share cores, wall time measures the simulator, not who waits for whom.  So each op's
 * CPU time in the device's own thread is scheduled along the program's dependencies:
 *
 * - A device has two resources, each taking its ops in program order: its core (computations,
 *   and steps that copy within the device) and its network (steps that communicate).
 * - An op begins when its resource is free and its inputs are available.  So a transfer overlaps
 *   with computations that do not need it.
 * - A collective begins when the last member of the group has come to it; a permute or exchange
 *   begins, for each device, when the device and those it fetches from have come to it.
 * - It ends, for each device, after the latency and the device's own received bytes at the rate (at
 *   once for a device that receives nothing).  Links are full duplex and do not contend; combining
 *   elements on the way costs nothing.
 * - Copies to and from the host and the host's kernels take their measured CPU time, on streams of
 *   their own.
 * - Arguments are available when the step begins; no transfer is delayed for lack of memory.
 *
 * Thread class: pure function of the record; the result is as noisy as its CPU times.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_REPLAY_H
#define COST_REPLAY_H

#include "program/record.h"

/* Fill record->replay from the record's times and received bytes, in time and memory O(devices x
 * ops).  SHD_EINVAL: no times were recorded, or the rate is 0.  SHD_ENOMEM. */
SHD_MUST_CHECK int replay_run(struct record *record, const struct record_transfers *transfers,
                              struct shd_error *err);

/* Schedule a replayed record again for a watch; a lane is a device.  SHD_ENOMEM. */
struct events_watch;
SHD_MUST_CHECK int replay_tell(const struct record *record, const struct events_watch *watch,
                               struct shd_error *err);

#endif /* COST_REPLAY_H */
