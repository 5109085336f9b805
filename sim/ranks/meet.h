/* meet.h - meeting between ranks when the members of a group that spans them have arrived (span.h).
 *
 * Reductions may pass from rank to rank (chain.h).  With an algorithm that is not a default, every
 * rank walks the schedule of all members.
 *
 * Thread class: the last member of a rank to arrive, while all its others wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_MEET_H
#define RANKS_MEET_H

struct run_group;
struct shd_device;

enum meeting {
    MEET_GIVEN_UP, /* a member of another rank will not come, or the run was called off */
    MEET_DONE,     /* the call is complete, or calls do not match: see the group's status */
    MEET_READY     /* proxies have their operands: execute the call by group->way */
};

/* Meet the other ranks.  All members of this rank have arrived and wait. */
enum meeting meet_ranks(struct run_group *group, struct shd_device *dev);

/* Call after MEET_READY, before members continue: they may overwrite memory that is still being
 * sent. */
void meet_finish(struct run_group *group);

#endif /* RANKS_MEET_H */
