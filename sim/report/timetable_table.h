/* timetable_table.h - all schedules of pipelines beside each other, on one amount of work.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TIMETABLE_TABLE_H
#define REPORT_TIMETABLE_TABLE_H

#include "base/text.h"
#include "report/timetable_lanes.h"

/* The sizes that were asked for; where stages of a rank were not (0), as many as the schedule is
 * made for. */
struct timetable_sizes timetable_sizes_for(const struct timetable_sizes *asked,
                                           const struct timetable_schedule *schedule);

/* The times of a stage where those of all stages of a rank are `times`, and there are `n`. */
struct timetable_times timetable_divided(const struct timetable_times *times, double n);

/* A row for each schedule that takes the sizes: its time, its idle time and that by its formula,
 * microbatches alive; and a sentence for each that does not take them.  SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_table(struct text *out, const struct timetable_sizes *sizes,
                                   const struct timetable_times *times, size_t width,
                                   struct shd_error *err);

#endif /* REPORT_TIMETABLE_TABLE_H */
