/* meet.h - meeting between ranks when the members of a group that spans them have arrived (span.h),
 * as run/away.h has it.
 *
 * Reductions may pass from rank to rank (chain.h).  With an algorithm that is not a default, every
 * rank walks the schedule of all members.
 *
 * Thread class: the last member of a rank to arrive, while all its others wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_MEET_H
#define RUN_RANKS_MEET_H

#include <stdint.h>

struct run_group;
struct shd_device;

uint32_t meet_ranks(struct run_group *group, struct shd_device *dev, uint32_t *ntasks);

#endif /* RUN_RANKS_MEET_H */
