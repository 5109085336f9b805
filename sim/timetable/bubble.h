/* bubble.h - bubbles in closed form that several schedules have, and what they hold for.
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

/* (p-1)(F+I-W): the same where only input gradients are waited for, and weight gradients fill what
 * they can. */
double timetable_filled_ramps(const struct timetable_sizes *sizes,
                              const struct timetable_times *times);

/* For all sizes and times. */
bool timetable_always(const struct timetable_sizes *sizes, const struct timetable_times *times);

/* Of stages in a loop: m >= p, so that a microbatch is back before its rank wants it; one stage a
 * rank is no loop. */
bool timetable_loop_is_full(const struct timetable_sizes *sizes,
                            const struct timetable_times *times);

/* F = I = W, and a full backward as long as its two halves; and m >= p besides. */
bool timetable_even(const struct timetable_times *times);
bool timetable_even_and_full(const struct timetable_sizes *sizes,
                             const struct timetable_times *times);

#endif /* TIMETABLE_BUBBLE_H */
