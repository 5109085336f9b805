/* search/bound.h - what a layout's step takes at the least, from its pieces.
 *
 * Three bounds of time, each closer and dearer than the one before: bound_time() of a piece that is
 * scaled, of the layout's own, and bound_timed(), which goes through the schedule's timetable.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_BOUND_H
#define SEARCH_BOUND_H

#include "search/stages.h"

/* The plan rounds each op to a nanosecond; a sum of many may be so much less. */
#define BOUND_ROUNDED 1e-6

/* Bytes of the fullest device, with what the runtime keeps besides, are no fewer.  `layers` NULL:
 * activations do not count. */
double bound_memory(const struct subject *subject, const struct layout *layout,
                    const struct piece *replicas, const struct piece *layers);

/* Seconds of the step are no fewer: arithmetic alone. */
double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers);

/* Seconds are no fewer than these, and bytes neither, by what each rank does in which order.  Time
 * and memory are linear in the actions of the schedule.  SHD_ENOMEM. */
SHD_MUST_CHECK int bound_timed(double *seconds, double *bytes, const struct subject *subject,
                               const struct layout *layout, const struct piece *replicas,
                               const struct piece *layers, struct shd_error *err);

#endif /* SEARCH_BOUND_H */
