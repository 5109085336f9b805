/* search/layout_bounds.h - lower bounds on a layout's step time and memory, from its pieces.
 *
 * Three bounds on time, each closer and dearer than the one before: bound_time() of a scaled piece,
 * bound_time() of the layout's own pieces, and bound_timed(), which walks through the schedule's
 * timetable.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_LAYOUT_BOUNDS_H
#define SEARCH_LAYOUT_BOUNDS_H

#include "search/stage_bounds.h"

/* The plan rounds each op to a nanosecond; a sum of many ops may be lower by this fraction. */
#define BOUND_ROUNDED 1e-6

/* A program of fewer shards may put other arrays into one collective, and cut a small array
 * along another dimension, than the program that a bound is read from: a bound of such a piece is
 * lowered by this fraction. */
#define BOUND_ALIKE 1e-3

/* Lower bound on the bytes of the fullest device, with those that the runtime reserves.  `layers`
 * NULL: activations are left out. */
double bound_memory(const struct subject *subject, const struct layout *layout,
                    const struct piece *replicas, const struct piece *layers);

/* Lower bound on the seconds of the step, in closed form. */
double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers);

/* Lower bounds on seconds and bytes by the order of each rank's actions.  Takes time and memory
 * linear in the number of the schedule's actions.  SHD_ENOMEM. */
SHD_MUST_CHECK int bound_timed(double *seconds, double *bytes, const struct subject *subject,
                               const struct layout *layout, const struct piece *replicas,
                               const struct piece *layers, struct shd_error *err);

#endif /* SEARCH_LAYOUT_BOUNDS_H */
