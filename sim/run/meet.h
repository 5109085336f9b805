/* meet.h - what ranks do when members of a group that spans them have arrived (span.h).
 *
 * Reductions go from rank to rank (chain.h).  Algorithms that are no default are walked by every
 * rank for all members.
 *
 * Thread class: the last member of a rank to arrive, while all its others wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MEET_H
#define RUN_MEET_H

struct run_group;
struct shd_device;

enum meeting {
    MEET_GIVEN_UP, /* a member of another rank will not come, or the run was called off */
    MEET_DONE,     /* the call is done, or all calls do not agree: the group's status tells */
    MEET_READY     /* proxies have what they need: do it by the group's way */
};

/* Meet the other ranks.  All members of this one are there, and wait. */
enum meeting meet_ranks(struct run_group *group, struct shd_device *dev);

/* After MEET_READY, before members go on, who may write over what others still read. */
void meet_finish(struct run_group *group);

#endif /* RUN_MEET_H */
