/* table.h - the schedules there are, a file each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_TABLE_H
#define TIMETABLE_TABLE_H

#include "timetable/timetable.h"

extern const struct timetable_schedule timetable_gpipe;
extern const struct timetable_schedule timetable_one_f_one_b;
extern const struct timetable_schedule timetable_interleaved_1f1b;
extern const struct timetable_schedule timetable_looped_bfs;
extern const struct timetable_schedule timetable_zb_h1;
extern const struct timetable_schedule timetable_interleaved_zero_bubble;
extern const struct timetable_schedule timetable_zbv;
extern const struct timetable_schedule timetable_dualpipev;

#endif /* TIMETABLE_TABLE_H */
