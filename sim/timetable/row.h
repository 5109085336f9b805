/* row.h - what schedules are written with: a rank's actions are added one after the other.
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
    struct timetable_action *actions; /* room for three of every stage and microbatch of a rank */
    size_t nactions;
};

void timetable_add(struct timetable_row *row, enum timetable_kind kind, uint32_t stage,
                   uint32_t microbatch);

/* A forward and a full backward that are done as one. */
void timetable_add_overlapped(struct timetable_row *row, const struct timetable_action *forward,
                              const struct timetable_action *backward);

#endif /* TIMETABLE_ROW_H */
