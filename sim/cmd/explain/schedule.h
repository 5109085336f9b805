/* schedule.h - a collective's schedule, drawn step by step: what each member holds after each step.
 *
 * The schedule is run in one thread on sets instead of numbers: an element is the set of the
 * operands summed in it.  Equal consecutive steps of long schedules are drawn once; with many
 * members, cells are shaded instead of labelled.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_SCHEDULE_H
#define CMD_EXPLAIN_SCHEDULE_H

#include <stdbool.h>

#include <shd/error.h>

#include "coll/coll.h"
#include "draw/figure.h"

#define SCHEDULE_MEMBERS_MAX 64 /* bits of a set */

/* Draw an algorithm for a group of n members, with one element per chunk; `brief`: without
 * the words for what is drawn.  SHD_ERANGE (too many members), SHD_EINVAL (the algorithm does not
 * serve this number of members), SHD_ENOMEM. */
SHD_MUST_CHECK int schedule_draw(struct figure *out, const struct coll_algo *algo,
                                 uint32_t nmembers, bool brief, struct shd_error *err);

#endif /* CMD_EXPLAIN_SCHEDULE_H */
