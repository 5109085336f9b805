/* op_verdicts.h - judge every op of a run by the shards that it read.
 *
 * verify.h judges a run's final results by the unsharded computation, within the error bounds of
 * the whole computation.  Here each op of each device is judged alone, on the shards that it read.
 * A kernel is compared with the same kernel in float64, within its own rounding, and with the same
 * kernel in its own types, bit for bit; a reshard with the devices' shards before the op, bit for
 * bit; a reduction with the sum of its parts in the algorithm's order.  So an error is found at the
 * op that makes it, whatever later ops do with the result.
 *
 * If a training step passes state to the next, two steps are judged: the second must begin, to the
 * bit, with the state that the first left.
 *
 * Thread class: called by one thread; it runs devices of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_OP_VERDICTS_H
#define TRIAL_OP_VERDICTS_H

#include "program/record.h"
#include "run/walk/walk.h"

/* Execute the record's program again, unmeasured, and fill `step`, `step_op` and `nsteps` of the
 * record.  Errors as walk_run(). */
SHD_MUST_CHECK int steps_verify(struct record *record, const struct walk_opts *opts,
                                struct shd_error *err);

#endif /* TRIAL_OP_VERDICTS_H */
