/* interleave.h - the order of 1F1B and of what was made of it: a rank does some forwards, then a
 * backward and a forward in turns, until none is left.
 *
 * Microbatches go in rounds, each of which visits every stage of a rank before the next begins: the
 * k-th forward of a rank, counted over all its stages, is of round k / (v g), stage (k / g) mod v
 * of the rank's own and microbatch k mod g of that round, where g is the size of a round
 * (timetable_round()); backwards take the stages from the last to the first.  Where the backward is
 * in two, weight gradients are put off by r of them on rank r, so that the last rank has most of
 * them left to fill the end, which is where it would be idle.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_INTERLEAVE_H
#define TIMETABLE_INTERLEAVE_H

#include "timetable/row.h"

/* For order() of schedules, whose flags say whether it is in two, and `ahead` how many forwards are
 * first. */
void timetable_interleave(struct timetable_row *row);

#endif /* TIMETABLE_INTERLEAVE_H */
