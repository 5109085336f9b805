/* bound.h - what each element of each result may be off, found beside a run of the reference.
 *
 * After each op of the unsharded program in float64 its kernel's rule (kern/error.h) says how the
 * errors of its operands and its own roundings make those of its results; a variance an element, as
 * long as the array lives.  docs/verification.md tells why.
 *
 * Thread class: owned by one thread; bound_observe() is called by the run's only device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_BOUND_H
#define TRIAL_BOUND_H

#include "program/program.h"

struct bound {
    const struct program *program; /* of one device; not owned */
    uint32_t nsteps;               /* that follow each other */
    double parts;                  /* devices that the computation in question is sharded over */
    int nthreads;
    double **variances; /* by buffer; NULL: exact, or not alive */
    bool failed;        /* there was no memory */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int bound_init(struct bound *out, const struct program *program, uint32_t nsteps,
                              int32_t ndevices, int nthreads, struct shd_error *err);
void bound_fini(struct bound *bound);

/* A walk_observe_fn; `arg` is the struct bound. */
void bound_observe(void *arg, int32_t position, uint32_t op, const void *const *shards);

/* A walk_stepped_fn: what a result may be off, what takes its place in the next step is off there.
 */
void bound_stepped(void *arg, int32_t position, uint32_t step, const void *const *shards);

/* After the run: what the elements of a result may be off, an array that the caller frees in
 * *allowed, or NULL there where nothing.  SHD_ENOMEM. */
SHD_MUST_CHECK int bound_result(double **allowed, const struct bound *bound, uint32_t result,
                                struct shd_error *err);

#endif /* TRIAL_BOUND_H */
