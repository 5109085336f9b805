/* decisions.h - record the experts chosen by routers in a run, and the tokens chosen by a decode, for
 * a reference that must make the same choices.
 *
 * Top-k routing is discontinuous: if two scores are nearly equal, another type or order of
 * additions may send a token to another expert, and all later numbers differ by more than any
 * rounding.  The same holds for greedy decoding, whose token the next step reads: every step's value
 * of a whole-number state is a decision.  So the unsharded computation uses the choices of the run
 * that it verifies.  Whether each choice is right for its scores is judged separately
 * (op_verdicts.h).
 *
 * Thread class: the walk's callback is called by every device thread at once; of replicas only the
 * first writes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_DECISIONS_H
#define TRIAL_DECISIONS_H

#include "program/program.h"
#include "run/walk/walk.h"

struct decisions {
    const struct program *program; /* of the run; not owned */
    uint32_t nops, *ops;           /* ops that decide */
    uint32_t nsteps;
    int32_t **ids;   /* [op][step * times + microbatch]: whole arrays */
    uint32_t *times; /* [device][op]: how often the op ran so far */
    uint32_t nstates, *states; /* results that are whole-number state */
    int32_t **wholes;          /* [state][step]: whole arrays */
};

/* Execute a program for `nsteps` steps, unmeasured, to record its decisions.  A program without
 * deciding ops is not executed.  Errors as walk_run(). */
SHD_MUST_CHECK int decisions_make(struct decisions *out, const struct program *program,
                                  uint32_t nsteps, const struct walk_opts *opts,
                                  struct shd_error *err);
void decisions_fini(struct decisions *decisions);

/* The recorded decision, a whole array, for an op of the unsharded program that has run `time`
 * times.  NULL: the op decides nothing, or nothing was recorded. */
const int32_t *decisions_find(const struct decisions *decisions, const struct program_op *op,
                              uint32_t time);

/* The whole array that a step left in the state of a name; NULL: nothing was recorded. */
const int32_t *decisions_state(const struct decisions *decisions, const char *name, uint32_t step);

#endif /* TRIAL_DECISIONS_H */
