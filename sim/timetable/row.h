/* row.h - the row of a timetable that a schedule writes: one rank's actions, added in order.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_ROW_H
#define TIMETABLE_ROW_H

#include "timetable/timetable.h"

struct timetable_row {
    const struct timetable_schedule *schedule;
    struct timetable_sizes sizes;
    uint32_t rank;
    struct timetable_action *actions; /* room for three per stage and microbatch of the rank */
    size_t nactions;
};

void timetable_add(struct timetable_row *row, enum timetable_kind kind, uint32_t stage,
                   uint32_t microbatch);

/* Add an overlapped pair: a forward and a full backward. */
void timetable_add_overlapped(struct timetable_row *row, const struct timetable_action *forward,
                              const struct timetable_action *backward);

#endif /* TIMETABLE_ROW_H */
