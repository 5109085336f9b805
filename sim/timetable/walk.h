/* walk.h - a timetable gone through without data: when each action begins and ends, where ranks are
 * idle, how many microbatches are alive.
 *
 * Who waits for whom, beside the actions of a rank being done in order:
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
    double *busy;        /* [rank]: time that its actions take */
    double makespan;     /* from 0 to the last end */
    double bubble;       /* part of the makespan that ranks are idle, on average: 0..1 */
    /* Most microbatches alive on a rank at once, counted for each of its stages: from the forward
     * until the input gradient is made (activations that it needs), and until the weight gradient
     * is.  A full backward is both. */
    uint32_t *live_until_input, *live_until_weight; /* [rank] */
};

/* Walk a timetable; time and memory are linear in its actions.  Any timetable may be given, built
 * here or elsewhere.  SHD_EINVAL: a time is negative or not finite, or an action is of a stage that
 * its rank does not hold, of a microbatch that is none, or there twice; SHD_ESTUCK: it cannot
 * finish, and the message names the circle of ranks that wait for each other, or the action that
 * nobody does; SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_walk(struct timetable_walk *out, const struct timetable *timetable,
                                  const struct timetable_times *times, struct shd_error *err);

void timetable_walk_fini(struct timetable_walk *walk);

#endif /* TIMETABLE_WALK_H */
