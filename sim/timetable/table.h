/* table.h - the list of schedules: a file and a row for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_TABLE_H
#define TIMETABLE_TABLE_H

#include "timetable/timetable.h"

/* Add new schedules at the end: journals of searches refer to schedules by number. */
#define TIMETABLE_TABLE(ROW)               \
    ROW(timetable_gpipe)                   \
    ROW(timetable_one_f_one_b)             \
    ROW(timetable_interleaved_1f1b)        \
    ROW(timetable_looped_bfs)              \
    ROW(timetable_zb_h1)                   \
    ROW(timetable_interleaved_zero_bubble) \
    ROW(timetable_zbv)                     \
    ROW(timetable_dualpipev)

#define TIMETABLE_DECLARED(name) extern const struct timetable_schedule name;
TIMETABLE_TABLE(TIMETABLE_DECLARED)
#undef TIMETABLE_DECLARED

#endif /* TIMETABLE_TABLE_H */
