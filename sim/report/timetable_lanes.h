/* timetable_lanes.h - a walked timetable as lanes to draw, with its figures in words.
 *
 * Thread class: pure functions; lanes are owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TIMETABLE_LANES_H
#define REPORT_TIMETABLE_LANES_H

#include "draw/figure.h"
#include "draw/lanes.h"
#include "timetable/timetable.h"
#include "timetable/walk.h"

/* A timetable that was asked for, built and walked. */
struct timetable_walked {
    const struct timetable_schedule *schedule;
    struct timetable_sizes sizes;
    struct timetable_times times;
    struct timetable *timetable;
    struct timetable_walk walk;
    size_t nactions[TIMETABLE_KINDS];
};

/* Build and walk a timetable; free with timetable_walked_fini().  Statuses of timetable_build() and
 * timetable_walk(). */
SHD_MUST_CHECK int timetable_walked_init(struct timetable_walked *out,
                                         const struct timetable_schedule *schedule,
                                         const struct timetable_sizes *sizes,
                                         const struct timetable_times *times,
                                         struct shd_error *err);
void timetable_walked_fini(struct timetable_walked *walked);

/* Idle time of the ranks that work most, and of the ranks that work least. */
void timetable_walked_idle(double *least, double *most, const struct timetable_walked *walked);

#define TIMETABLES_MAX 12 /* in one drawing */

/* Lanes, one for each rank, with their storage. */
struct timetable_lanes {
    struct lanes lanes;
    struct lanes_head heads[TIMETABLES_MAX];
    struct figure texts; /* names and notes */
    const char **names;
    struct lanes_key keys[TIMETABLE_KINDS];
    struct lanes_bar *bars;
};

/* Make the drawing of a timetable; above LANES_BARS_MAX actions it has notes, but no lanes.  Free
 * with timetable_lanes_fini().  SHD_OK or SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_lanes_init(struct timetable_lanes *out,
                                        const struct timetable_walked *walked,
                                        struct shd_error *err);
void timetable_lanes_fini(struct timetable_lanes *lanes);

/* Make one drawing of 2 to TIMETABLES_MAX timetables, one below another on one scale of time.  All
 * have the same numbers of ranks and microbatches.  SHD_ERANGE: more actions than can be drawn. */
SHD_MUST_CHECK int timetable_lanes_init_many(struct timetable_lanes *out,
                                             const struct timetable_walked *walked, size_t n,
                                             struct shd_error *err);

#endif /* REPORT_TIMETABLE_LANES_H */
