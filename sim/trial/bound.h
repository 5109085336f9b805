/* bound.h - what the elements of an op's results may be off: of the unsharded program in float64,
 * beside which a variance is carried for each element.
 *
 * After an op its kernel's rule (kern/error.h) says how the errors of its operands and its own
 * roundings make those of its results.  docs/verification.md tells why.
 *
 * Arrays may be parts of whole ones: those that the op's description is of.
 *
 * Thread class: pure functions of their arguments, which allocate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_BOUND_H
#define TRIAL_BOUND_H

#include "program/program.h"

/* An op that has been done. */
struct bound_op {
    const struct program *program; /* of one device */
    const struct program_op *op;
    const union kern_desc *desc;
    const struct kern_args *args;
    double parts;                    /* devices that the computation in question is sharded over */
    const uint8_t *marks;            /* by operand: what is in the whole array (kern/error.h) */
    const double *square;            /* as in struct kern_error */
    const double *const *in;         /* variances by operand; NULL: it is exact */
    uint64_t n[PROGRAM_OUTPUTS_MAX]; /* elements of each result here */
};

/* The variances of data that its own type cannot hold exactly: whole numbers in 16 bits.  NULL in
 * *out where nothing is lost.  False: no memory. */
bool bound_fill(double **out, const struct program_buffer *buffer, const double *values,
                uint64_t n);

/* Those of a kernel's results, written over zeros.  False: no memory. */
bool bound_kernel(double *const *out, const struct bound_op *bound);

/* What is added to a sum over microbatches may be off, as the sum was: `variances` of the sum are
 * changed.  `squares`: twice the mean square of the sums and that of what is added, where
 * bound_adds_parts() asks for it; else 0. */
void bound_accumulate(double *variances, const struct bound_op *bound, double squares);
bool bound_adds_parts(const struct program *program, const struct program_op *op, double parts);

/* What n elements may be off by their variances.  NULL: no memory. */
double *bound_allowed(const double *variances, uint64_t n);

#endif /* TRIAL_BOUND_H */
