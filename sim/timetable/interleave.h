/* interleave.h - the order of interleaved schedules: microbatches in rounds, each of which visits
 * every stage of a rank before the next begins.
 *
 * The k-th forward of a rank, counted over all its stages, is of round k / (v g), stage (k / g) mod
 * v of the rank's own and microbatch k mod g of that round, where g is the size of a round
 * (timetable_round()); backwards take the stages from the last to the first.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_INTERLEAVE_H
#define TIMETABLE_INTERLEAVE_H

#include "timetable/row.h"

/* Add the k-th forward, or the k-th backward of a kind, of the row's rank. */
void timetable_add_forward(struct timetable_row *row, uint64_t k);
void timetable_add_backward(struct timetable_row *row, enum timetable_kind kind, uint64_t k);

#endif /* TIMETABLE_INTERLEAVE_H */
