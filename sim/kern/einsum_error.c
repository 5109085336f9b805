/* The error of a product of arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "kern/error.h"
#include "kern/nest.h"

/* c = a b, or c += a b unless `first`. */
static bool add_product(const struct kern_einsum *e, const double *a, const double *b, double *c,
                        bool first, int nthreads)
{
    uint64_t n = kern_elements(e->ndims, e->extent, e->c_has);
    double *more;

    if (first) {
        kern_einsum_run(e, a, b, c, NULL, nthreads);
        return true;
    }
    more = malloc((n + 1) * sizeof *more);
    if (!more)
        return false;
    kern_einsum_run(e, a, b, more, NULL, nthreads);
    for (uint64_t i = 0; i < n; i++)
        c[i] += more[i];
    free(more);
    return true;
}

/* va b^2 + a^2 vb + va vb, summed like the values. */
static bool operand_errors(const struct kern_einsum *e, const double *a2, const double *b2,
                           double *sum_b, uint64_t nb, const struct kern_error *error)
{
    const double *va = error->variances[0], *vb = error->variances[1];
    int nthreads = error->args->nthreads;
    bool done = true;

    if (vb)
        done = add_product(e, a2, vb, error->out[0], true, nthreads);
    for (uint64_t i = 0; i < nb && va; i++)
        sum_b[i] = b2[i] + (vb ? vb[i] : 0);
    if (va)
        done = done && add_product(e, va, sum_b, error->out[0], !vb, nthreads);
    return done;
}

/* An infinity times an inexact value may be either infinity, or cancel another to NaN. */
static void leave_infinite_open(const struct kern_error *error, const double *total, uint64_t n)
{
    if (!error->variances[0] && !error->variances[1])
        return;
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(total[i]))
            error->out[0][i] = KERN_ERROR_UNKNOWN;
}

bool kern_einsum_error(const union kern_desc *desc, struct kern_error *error)
{
    const struct kern_einsum *e = &desc->einsum;
    uint32_t summed = (e->a_has | e->b_has) & ~e->c_has;
    uint64_t na = kern_elements(e->ndims, e->extent, e->a_has);
    uint64_t nb = kern_elements(e->ndims, e->extent, e->b_has);
    uint64_t nc = kern_elements(e->ndims, e->extent, e->c_has);
    double n = (double)kern_elements(e->ndims, e->extent, summed);
    double *a2 = kern_squared(error->args->in[0], na), *b2 = kern_squared(error->args->in[1], nb);
    double *squares = malloc((nc + 1) * sizeof *squares), *sum_b = malloc((nb + 1) * sizeof *sum_b);
    const double *total = error->args->out[0];
    bool done = a2 && b2 && squares && sum_b;

    if (done)
        kern_einsum_run(e, a2, b2, squares, NULL, error->args->nthreads);
    done = done && operand_errors(e, a2, b2, sum_b, nb, error);
    for (uint64_t i = 0; i < nc && done; i++)
        error->out[0][i] =
            error->out[0][i] * kern_agreement(squares[i], total[i]) +
            kern_sum_variance(error, kern_compute_roundoff(error->type), n, squares[i], total[i]);
    if (done)
        leave_infinite_open(error, total, nc);
    free(a2);
    free(b2);
    free(squares);
    free(sum_b);
    return done;
}
