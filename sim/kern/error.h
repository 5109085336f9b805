/* error.h - how rounding errors go through a kernel: one rule beside each kernel.
 *
 * A rule is asked beside a run in float64 of whole arrays, whose values count as exact.  Of each
 * element of each operand it gets the variance of the error that the same element has where the
 * step is computed in the types that were asked for, and it adds to that what the kernel itself
 * does: the rounding of its sums.  What the result's own type loses when it is stored, the caller
 * adds.  docs/verification.md derives the rules and tells their sources.
 *
 * `KERN_ERROR_ALLOWED` standard deviations are what an element may be off.  Where a function is not
 * linear within them, a rule takes the largest change there.  A variance of infinity says that
 * nothing is known of an element: it may have gone either way at a pole.
 *
 * Thread class: pure functions of their arguments; they allocate, and may run `nthreads`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ERROR_H
#define KERN_ERROR_H

#include <math.h>
#include <stdbool.h>

#include "kern/kernel.h"

#define KERN_ERROR_SPREAD 4.0  /* deviations around an operand in which a function is looked at */
#define KERN_ERROR_ALLOWED 6.0 /* that a result may be off; docs/verification.md says why 6 */
#define KERN_ERROR_SLACK (1 + 0x1p-30) /* for the roundings of bounds themselves */

/* A variance that a rule may write: nothing is known of the element, which may be finite, infinite
 * or not a number.  (Infinity says the same of an element that is finite; what a sum is off that is
 * infinite itself is infinity, too, and yet the sum must be.) */
#define KERN_ERROR_UNKNOWN (-1.0)

/* What is somewhere in an array or in its variances, a bit each. */
enum kern_mark {
    KERN_MARK_INEXACT = 1,        /* it has variances */
    KERN_MARK_OPEN = 2,           /* of which some are infinite, ... */
    KERN_MARK_BROKEN = 4,         /* ... or no numbers */
    KERN_MARK_MINUS_INFINITY = 8, /* elements */
    KERN_MARK_NOT_FINITE = 16     /* elements that are neither that nor finite */
};

/* Those of n elements; `variances` NULL: it is exact. */
uint8_t kern_marks(const double *values, const double *variances, uint64_t n);

struct kern_error {
    const struct kern_args *args;   /* of the run in float64 that has just been */
    const double *const *variances; /* by operand, laid out as it is; NULL: it is exact */
    double *const *out;             /* by result, to be written: variances */
    enum shd_dtype type;            /* that the results are asked for in */
    double parts; /* devices that may each have summed a part, stored before they are added */
    /* Where the operands are parts of arrays, what the rule has to know of the whole ones; NULL:
     * they are whole. */
    const uint8_t *marks; /* by operand, of those with variances */
    const double *square; /* mean square of the one that kern_map_squared() tells */
    bool kept; /* set by the rule: results are exact or elements there were, and storing them
                  loses nothing */
};

/* Unit roundoff of a type, and of the one that kernels compute it in.  Of float64 twice that, for
 * the reference rounds as well. */
double kern_store_roundoff(enum shd_dtype dtype);
double kern_compute_roundoff(enum shd_dtype dtype);

/* What storing a value in a type adds to its variance; infinity where the value may be beyond the
 * type's range, 0 where it is infinite itself, or not a number. */
double kern_stored_variance(enum shd_dtype dtype, bool kept, double value, double variance);
double kern_largest(enum shd_dtype dtype);

/* What a value loses at most when it is stored. */
double kern_store_loss(enum shd_dtype dtype, double value);

/* Variance of the roundings in a sum of `n` terms: `squares` is the sum of their squares, `total`
 * their sum.  Partial sums are of the size of the total, or of terms that agree in sign in runs of
 * sqrt(n) and cancel after that: then their squares are sqrt(n) times the sum of squares.  Parts
 * that are stored may be beyond the type's range where the whole is not: then nothing is known. */
static inline double kern_sum_variance(const struct kern_error *e, double compute, double n,
                                       double squares, double total)
{
    double parts = e->parts < n ? e->parts : n, store = kern_store_roundoff(e->type);
    double each = n * compute * compute, least = kern_store_loss(e->type, 0);

    if (parts <= 1)
        return each * (sqrt(n) * squares + total * total);
    if (fabs(total) + KERN_ERROR_ALLOWED * sqrt(squares) > kern_largest(e->type))
        return INFINITY;
    return each * (sqrt(n) * squares + total * total) +
           parts * store * store * (squares + total * total) + parts * least * least;
}

/* The mean square of the finite ones of n values; 0 where there are none. */
double kern_mean_square(const double *values, uint64_t n);

/* ---- for rules ---- */

/* By how much the variances of a sum's terms add up to more than if they were independent: where
 * the sum's square is larger than the sum of its terms' squares, its terms agree in sign to that
 * degree, and so may their errors, of one row that was scaled or of copies of one value. */
static inline double kern_agreement(double squares, double total)
{
    return squares > 0 && total * total > squares ? total * total / squares : 1;
}

/* An operand with its variances in float64, squared: NULL when there is no memory. */
double *kern_squared(const double *values, uint64_t n);

/* As calloc(), which has the system take pages back and clear others: for arrays that come and go
 * with each operation that takes longer than to clear these. */
void *kern_zeroed(uint64_t n, size_t size);

/* The rule of kernels that only put elements elsewhere: variances move as the elements do.
 * `moved` is the operand with elements, `noperands` of them. */
bool kern_error_moved(const struct kern_kernel *kernel, const union kern_desc *desc,
                      struct kern_error *e, uint32_t moved, uint32_t noperands);

/* The rule of kernels that add elements of operand `added` in an order of their own, at most `n`
 * of its `nin` to one of `nout`.  Errors are taken to be of one sign. */
bool kern_error_added(const struct kern_kernel *kernel, const union kern_desc *desc,
                      const struct kern_error *e, uint32_t added, uint64_t nin, uint64_t nout,
                      double n, double compute);

bool kern_einsum_error(const union kern_desc *desc, struct kern_error *e);
bool kern_map_error(const union kern_desc *desc, struct kern_error *e);
/* The operand whose mean square its rule asks for; -1: none. */
int kern_map_squared(const union kern_desc *desc, double parts);
bool kern_reduce_error(const union kern_desc *desc, struct kern_error *e);
bool kern_attention_error(const union kern_desc *desc, struct kern_error *e);
bool kern_attention_grad_error(const union kern_desc *desc, struct kern_error *e);

#endif /* KERN_ERROR_H */
