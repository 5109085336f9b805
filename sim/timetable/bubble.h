/* bubble.h - closed forms of the bubble that several schedules share, and their conditions.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_BUBBLE_H
#define TIMETABLE_BUBBLE_H

#include "timetable/timetable.h"

/* (p-1)(F+B): the last rank begins p - 1 forwards late, the first ends p - 1 backwards later. */
double timetable_ramps(const struct timetable_sizes *sizes, const struct timetable_times *times);

/* (p-1)(F+I-W): ranks wait for input gradients only, and weight gradients fill a part of the
 * ramps. */
double timetable_filled_ramps(const struct timetable_sizes *sizes,
                              const struct timetable_times *times);

/* The condition of a closed form that holds for all sizes and times. */
bool timetable_always(const struct timetable_sizes *sizes, const struct timetable_times *times);

/* For stages in a loop: with m >= p a microbatch is back before its rank is ready for it.  With one
 * stage a rank there is no loop. */
bool timetable_loop_is_full(const struct timetable_sizes *sizes,
                            const struct timetable_times *times);

/* F = I = W and B = I + W; timetable_even_and_full() also requires m >= p. */
bool timetable_even(const struct timetable_times *times);
bool timetable_even_and_full(const struct timetable_sizes *sizes,
                             const struct timetable_times *times);

#endif /* TIMETABLE_BUBBLE_H */
