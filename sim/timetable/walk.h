/* walk.h - a timetable timed without data: when each action begins and ends, how long ranks are
 * idle, how many microbatches are alive.
 *
 * Which action waits for which, besides the order of actions on a rank:
 *   forward of stage s         the forward of stage s - 1 of the same microbatch
 *   backward (or of the input) the backward (or of the input) of stage s + 1, and the own forward
 *   backward of the weights    the own backward of the input
 * Transfers take no time.
 *
 * Thread class: pure functions; a walk is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_WALK_H
#define TIMETABLE_WALK_H

#include "timetable/timetable.h"

/* Free with timetable_walk_fini(). */
struct timetable_walk {
    double *start, *end; /* [action], in the order of the timetable's actions */
    double *busy;        /* [rank]: total time of its actions */
    double makespan;     /* from 0 to the last end */
    double bubble;       /* idle part of the makespan, averaged over ranks: 0..1 */
    /* Most microbatches alive on a rank at once, counted for each of its stages: from the forward
     * until the input gradient is made (activations that it needs), and until the weight gradient
     * is made.  A full backward makes both. */
    uint32_t *live_until_input, *live_until_weight; /* [rank] */
};

/* Walk a timetable, built here or elsewhere; time and memory are linear in its actions.
 * SHD_EINVAL: a time is negative, above 1e100 or not a number, a rank does not hold the stage of an
 * action, a microbatch does not exist, an action occurs twice, or a pair is not a forward and a
 * full backward; SHD_ESTUCK: the timetable cannot finish, and the message names the circle of ranks
 * that wait for each other, or the action that no rank does; SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_walk(struct timetable_walk *out, const struct timetable *timetable,
                                  const struct timetable_times *times, struct shd_error *err);

void timetable_walk_fini(struct timetable_walk *walk);

#endif /* TIMETABLE_WALK_H */
