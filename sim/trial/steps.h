/* steps.h - judge every step of a run by what it was given.
 *
 * The results of a run are judged by the unsharded computation (verify.h), within what the whole of
 * it may be off.  Here each step of each device is judged alone: a kernel by the same kernel in
 * float64 on the shards that it read, within its own roundings, and by the same kernel in its own
 * types, to the last bit; what moves shards by the shards that the devices had, to the last bit; a
 * sum of parts by the parts, added in its algorithm's order.  So that what one step does wrong is
 * seen there, whatever later ones make of it.
 *
 * Where a training step leaves something to the next, two of them are judged: the second must
 * begin, to the last bit, with what the first left, and from there on all is as it was.
 *
 * Thread class: called by one thread; it runs devices of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_STEPS_H
#define TRIAL_STEPS_H

#include "program/record.h"
#include "walk/walk.h"

/* Execute the record's program once more, unmeasured, and fill `step`, `step_op` and `nsteps` of
 * the record.  Errors as walk_run(). */
SHD_MUST_CHECK int steps_verify(struct record *record, const struct walk_opts *opts,
                                struct shd_error *err);

#endif /* TRIAL_STEPS_H */
