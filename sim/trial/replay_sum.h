/* replay_sum.h - the sum that a collective's schedule makes of given parts, to the last bit.
 *
 * A sum of rounded parts depends on the order of its additions.  What the devices had before a step
 * is known, and so is the schedule.  So its moves are made once more here, one after the other in
 * one thread, without the code that moves and adds on devices.  What comes out is what a device
 * must have, unless it or another one was wrong.
 *
 * Shapes: one call of an algorithm that reduces, of one array or several (joined as in
 * run/collective.h).  Values are float64, rounded to the arrays' type after each addition.
 * Thread class: any thread; it reads the parts only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REPLAY_SUM_H
#define TRIAL_REPLAY_SUM_H

#include <shd/group.h>

#include "program/program.h"

/* A replay of more elements than this, counted over all members, takes longer than it is worth. */
#define REPLAY_SUM_ELEMENTS_MAX (UINT64_C(1) << 20)

/* Whether the op is such a call, and small enough. */
bool replay_sum_serves(const struct program *program, const struct program_op *op);

/* Store in `want` (room for the result's elements) what the device at `position` has of array
 * `part` after the op, given all shards before it ([position][buffer]).  False: no memory. */
SHD_MUST_CHECK bool replay_sum(const struct program *program, const struct program_op *op,
                               int32_t position, uint32_t part, const void *const *const *shards,
                               double *want);

#endif /* TRIAL_REPLAY_SUM_H */
