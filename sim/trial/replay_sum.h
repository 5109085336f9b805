/* replay_sum.h - replay a collective's schedule on given parts, for the exact bits of its sum.
 *
 * A sum of rounded parts depends on the order of its additions.  The devices' parts before a step
 * and the schedule are known, so the moves are repeated here, one after the other in one thread,
 * without the code that moves and adds on devices.  A device's result must have these bits, unless
 * some device was wrong.
 *
 * Shapes: one call of an algorithm that reduces, of one array or several (joined as in
 * run/collective.h).  Values are float64, rounded to the arrays' type after each addition.  Thread
 * class: any thread; it reads the parts only.
 *
 * Thread class: any thread; it reads the parts only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REPLAY_SUM_H
#define TRIAL_REPLAY_SUM_H

#include <shd/group.h>

#include "program/program.h"

/* Largest replay, in elements over all members; larger ones take too long. */
#define REPLAY_SUM_ELEMENTS_MAX (UINT64_C(1) << 20)

/* Whether the op is a reducing collective that is small enough to replay. */
bool replay_sum_serves(const struct program *program, const struct program_op *op);

/* Store in `want` (room for the result's elements) array `part` of the result at `position`, given
 * all shards before the op ([position][buffer]).  False: no memory. */
SHD_MUST_CHECK bool replay_sum(const struct program *program, const struct program_op *op,
                               int32_t position, uint32_t part, const void *const *const *shards,
                               double *want);

#endif /* TRIAL_REPLAY_SUM_H */
