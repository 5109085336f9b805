/* decisions.h - what routers decided in a run, for a reference that is to decide alike.
 *
 * A choice of the largest scores jumps where two are nearly equal: computed in another type, or
 * with sums in another order, a token may go to another expert, and all numbers behind it differ by
 * more than any rounding.  So the unsharded computation takes the choices of the run that it is to
 * judge. That each is the right one of the scores that it was made of is judged by itself
 * (steps.h).
 *
 * Thread class: decisions_keep() is called by every device thread at once; of replicas only the
 * first writes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_DECISIONS_H
#define TRIAL_DECISIONS_H

#include "program/program.h"
#include "walk/walk.h"

struct decisions {
    const struct program *program; /* of the run; not owned */
    uint32_t nops, *ops;           /* those that decide */
    uint32_t nsteps;
    int32_t **ids;   /* [op][step * times + microbatch]: whole arrays */
    uint32_t *times; /* [device][op]: that it was done so far */
};

/* Execute a program, unmeasured, for what it decides in so many steps.  One that decides nothing is
 * not executed.  Errors as walk_run(). */
SHD_MUST_CHECK int decisions_make(struct decisions *out, const struct program *program,
                                  uint32_t nsteps, const struct walk_opts *opts,
                                  struct shd_error *err);
void decisions_fini(struct decisions *decisions);

/* What was decided, the whole array, in the place of what an op of the unsharded program decides
 * that has done it `time` times before.  NULL: it decides nothing, or there are no decisions. */
const int32_t *decisions_find(const struct decisions *decisions, const struct program_op *op,
                              uint32_t time);

#endif /* TRIAL_DECISIONS_H */
