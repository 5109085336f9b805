/* timetable_table.h - all pipeline schedules side by side, for the same work.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TIMETABLE_TABLE_H
#define REPORT_TIMETABLE_TABLE_H

#include "base/text.h"
#include "report/timetable_lanes.h"

/* The given sizes; if stages_per_rank is not given (0), with the schedule's own number. */
struct timetable_sizes timetable_sizes_for(const struct timetable_sizes *asked,
                                           const struct timetable_schedule *schedule);

/* The times of one stage, given the times of all `n` stages of a rank together. */
struct timetable_times timetable_divided(const struct timetable_times *times, double n);

/* Print a row for each schedule that accepts the sizes: its time, its bubble as walked and by the
 * formula, and microbatches alive; and a sentence for each other schedule.  SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_table(struct text *out, const struct timetable_sizes *sizes,
                                   const struct timetable_times *times, size_t width,
                                   struct shd_error *err);

#endif /* REPORT_TIMETABLE_TABLE_H */
