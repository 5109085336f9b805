/* interleave.h - the order of 1F1B and of the schedules derived from it: a rank does some forwards,
 * then a backward and a forward in turns, until none is left.
 *
 * Microbatches go in rounds, each of which visits every stage of a rank before the next round
 * begins: the k-th forward of a rank, counted over all its stages, is of round k / (v g), stage (k
 * / g) mod v of the rank's own stages and microbatch k mod g of that round, where g is the size of
 * a round (timetable_round()); backwards take the stages from the last to the first.  If backwards
 * are split, rank r puts weight gradients off by r microbatches, so that the last rank, which would
 * be idle at the end, has most weight gradients left for the end.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_INTERLEAVE_H
#define TIMETABLE_INTERLEAVE_H

#include "timetable/row.h"

/* The order() of these schedules.  The schedule's flags say whether backwards are split, and
 * timetable_ahead() how many forwards come before the first backward. */
void timetable_interleave(struct timetable_row *row);

#endif /* TIMETABLE_INTERLEAVE_H */
