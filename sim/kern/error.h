/* error.h - the propagation of rounding errors through kernels: one rule for each kernel.
 *
 * A rule runs after a float64 run of whole arrays, whose values count as exact.  For each element
 * of each operand it gets the variance of that element's error in a step computed in the requested
 * types, and it adds the kernel's own errors: the rounding of its sums.  The caller adds the
 * rounding when the result is stored in its type. docs/verification.md derives the rules and gives
 * their sources.
 *
 * An element may be off by `KERN_ERROR_ALLOWED` standard deviations.  If a function is not linear
 * in this range, a rule takes the largest change in it.  Infinite variance means that nothing is
 * known of an element: it may have gone either way at a pole.
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

#define KERN_ERROR_SPREAD 4.0  /* deviations around an operand in which a function is examined */
#define KERN_ERROR_ALLOWED 6.0 /* deviations allowed for a result; docs/verification.md explains
                                  6 */
#define KERN_ERROR_SLACK (1 + 0x1p-30) /* for the rounding of the bounds themselves */

/* A variance that a rule may write: nothing is known of the element, which may be finite, infinite
 * or NaN. (Infinity says the same of a finite element.  The error of an infinite sum is infinite,
 * too, and yet the sum must be infinite.) */
#define KERN_ERROR_UNKNOWN (-1.0)

/* Bit set of what occurs in an array or in its variances. */
enum kern_mark {
    KERN_MARK_INEXACT = 1,        /* the array has variances */
    KERN_MARK_OPEN = 2,           /* some of them are infinite, ... */
    KERN_MARK_BROKEN = 4,         /* ... or NaN */
    KERN_MARK_MINUS_INFINITY = 8, /* -infinity among the elements */
    KERN_MARK_NOT_FINITE = 16     /* +infinity or NaN among the elements */
};

/* The marks of n elements; `variances` NULL: exact; `values` NULL: whole numbers. */
uint8_t kern_marks(const double *values, const double *variances, uint64_t n);

struct kern_error {
    const struct kern_args *args;   /* of the preceding run in float64 */
    const double *const *variances; /* by operand, in its layout; NULL: exact */
    double *const *out;             /* by result: variances to write */
    enum shd_dtype type;            /* requested type of the results */
    double parts; /* devices that may each have summed a part, stored before the parts are added */
    /* If the operands are parts of arrays, facts about the whole arrays; NULL: they are whole. */
    const uint8_t *marks; /* by operand with variances */
    const double *square; /* mean square of the operand given by kern_map_squared() */
    bool kept; /* set by the rule: results are exact or copies of operand elements, so that
                  storing them loses nothing */
};

/* Unit roundoff of a type, and of the type in which kernels compute it.  Doubled for float64, as
 * the reference rounds, too. */
double kern_store_roundoff(enum shd_dtype dtype);
double kern_compute_roundoff(enum shd_dtype dtype);

/* The variance that storing a value in a type adds; infinity if the value may exceed the type's
 * range, 0 if it is infinite or NaN. */
double kern_stored_variance(enum shd_dtype dtype, bool kept, double value, double variance);
double kern_largest(enum shd_dtype dtype);

/* The largest error of storing a value. */
double kern_store_loss(enum shd_dtype dtype, double value);

/* Variance of the roundings in a sum of `n` terms: `squares` is the sum of their squares, `total`
 * their sum.  Partial sums are of the size of the total, or of terms that agree in sign in runs of
 * sqrt(n) and cancel after that: then their squares are sqrt(n) times the sum of squares.  Stored
 * parts may exceed the type's range where the whole does not: then nothing is known. */
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

/* The mean square of the finite ones among n values; 0 if there are none. */
double kern_mean_square(const double *values, uint64_t n);

/* ---- for rules ---- */

/* The factor by which the variance of a sum exceeds that of independent terms.  If the square of a
 * sum exceeds the sum of its terms' squares, the terms agree in sign to that degree, and so may
 * their errors, as in a scaled row or in copies of one value. */
static inline double kern_agreement(double squares, double total)
{
    return squares > 0 && total * total > squares ? total * total / squares : 1;
}

/* The squares of n values; NULL without memory. */
double *kern_squared(const double *values, uint64_t n);

/* calloc() makes the system take pages back and clear others, which takes longer than clearing
 * arrays that come and go with each operation; this clears them itself. */
void *kern_zeroed(uint64_t n, size_t size);

/* The rule of kernels that only move elements: variances move with them.  `moved` is the operand
 * that has the elements, one of `noperands`. */
bool kern_error_moved(const struct kern_kernel *kernel, const union kern_desc *desc,
                      struct kern_error *e, uint32_t moved, uint32_t noperands);

/* The rule of kernels that add elements of operand `added` in any order, at most `n` of its `nin`
 * to one of `nout`.  Errors are assumed to have one sign. */
bool kern_error_added(const struct kern_kernel *kernel, const union kern_desc *desc,
                      const struct kern_error *e, uint32_t added, uint64_t nin, uint64_t nout,
                      double n, double compute);

bool kern_einsum_error(const union kern_desc *desc, struct kern_error *e);
bool kern_map_error(const union kern_desc *desc, struct kern_error *e);
/* The operand whose mean square the rule requires; -1: none. */
int kern_map_squared(const union kern_desc *desc, double parts);
bool kern_reduce_error(const union kern_desc *desc, struct kern_error *e);
bool kern_attention_error(const union kern_desc *desc, struct kern_error *e);
bool kern_attention_grad_error(const union kern_desc *desc, struct kern_error *e);

#endif /* KERN_ERROR_H */
