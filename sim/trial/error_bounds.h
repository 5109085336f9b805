/* error_bounds.h - error bounds for the elements of an op's results: the unsharded float64 program
 * carries a variance of the error for each element.
 *
 * After an op, its kernel's error rule (kern/error.h) derives the variances of its results from
 * those of its operands and from its own rounding. docs/verification.md gives the reasons.
 *
 * Arrays may be pieces of whole arrays, as the op's description refers to them.
 *
 * Thread class: pure functions of their arguments, which allocate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_ERROR_BOUNDS_H
#define TRIAL_ERROR_BOUNDS_H

#include "program/program.h"

/* An op that has been computed. */
struct bound_op {
    const struct program *program; /* of one device */
    const struct program_op *op;
    const union kern_desc *desc;
    const struct kern_args *args;
    double parts;                    /* devices over which the verified computation is sharded */
    const uint8_t *marks;            /* by operand: marks of the whole array (kern/error.h) */
    const double *square;            /* as in struct kern_error */
    const double *const *in;         /* variances by operand; NULL: the operand is exact */
    uint64_t n[PROGRAM_OUTPUTS_MAX]; /* elements of each result, in this piece */
};

/* Variances of data that its stored type cannot hold exactly, such as integers in 16 bits.  NULL in
 * *out if nothing is lost.  False: no memory. */
bool bound_fill(double **out, const struct program_buffer *buffer, const double *values,
                uint64_t n);

/* Variances of a kernel's results, written over zeros.  False: no memory. */
bool bound_kernel(double *const *out, const struct bound_op *bound);

/* Update the `variances` of a sum over microbatches after an addition: the sum and the addend both
 * have errors.  `squares`: twice the mean square of the sums plus that of the addend if
 * bound_adds_parts(), else 0. */
void bound_accumulate(double *variances, const struct bound_op *bound, double squares);
bool bound_adds_parts(const struct program *program, const struct program_op *op, double parts);

/* Allowed deviation of n elements with these variances.  NULL: no memory. */
double *bound_allowed(const double *variances, uint64_t n);

#endif /* TRIAL_ERROR_BOUNDS_H */
