/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "calibrate/least_squares.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- least squares ---- */

/* Solve the normal equations for the unknowns in `set` (a bit each) by elimination; false: the rows
 * do not determine these unknowns. */
static bool solve(double *out, unsigned nunknowns, unsigned set, const struct fit_row *rows,
                  size_t nrows)
{
    double a[FIT_UNKNOWNS_MAX][FIT_UNKNOWNS_MAX + 1] = {{0}};

    for (unsigned i = 0; i < nunknowns; i++) {
        if (!(set >> i & 1)) {
            a[i][i] = 1; /* which makes the unknown 0 */
            continue;
        }
        for (size_t r = 0; r < nrows; r++) {
            for (unsigned j = 0; j < nunknowns; j++)
                a[i][j] += set >> j & 1 ? rows[r].x[i] * rows[r].x[j] : 0;
            a[i][nunknowns] += rows[r].x[i];
        }
    }
    for (unsigned p = 0; p < nunknowns; p++) { /* the matrix is positive definite: no pivoting */
        if (!(a[p][p] > 0))
            return false;
        for (unsigned i = 0; i < nunknowns; i++) {
            double factor = i == p ? 0 : a[i][p] / a[p][p];

            for (unsigned j = p; j <= nunknowns; j++)
                a[i][j] -= factor * a[p][j];
        }
    }
    for (unsigned i = 0; i < nunknowns; i++)
        out[i] = a[i][nunknowns] / a[i][i];
    return true;
}

static double error_of(const double *x, unsigned nunknowns, const struct fit_row *rows,
                       size_t nrows)
{
    double sum = 0;

    for (size_t r = 0; r < nrows; r++) {
        double off = -1;

        for (unsigned i = 0; i < nunknowns; i++)
            off += rows[r].x[i] * x[i];
        sum += off * off;
    }
    return sum;
}

/* With few unknowns, try all subsets: the best solution without a negative unknown is the
 * constrained optimum. */
void fit_least_squares(double *out, unsigned nunknowns, const struct fit_row *rows, size_t nrows)
{
    double best = INFINITY;

    memset(out, 0, nunknowns * sizeof *out);
    for (unsigned set = 1; set < 1U << nunknowns; set++) {
        double x[FIT_UNKNOWNS_MAX] = {0}, error;
        bool good = solve(x, nunknowns, set, rows, nrows);

        for (unsigned i = 0; i < nunknowns; i++)
            good = good && x[i] >= 0 && isfinite(x[i]);
        if (!good)
            continue;
        error = error_of(x, nunknowns, rows, nrows);
        if (error < best) {
            best = error;
            memcpy(out, x, nunknowns * sizeof *out);
        }
    }
}

/* ---- rates ---- */

#define RATE_LEAST 1e6
#define RATE_MOST 1e15
#define HALVINGS 60

static double excess(const struct fit_kernel *kernels, size_t n, double bytes_per_s,
                     double flops_per_s)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double computing = flops_per_s > 0 ? kernels[i].flops / flops_per_s : 0;

        sum += fmax(kernels[i].bytes / bytes_per_s, computing) - kernels[i].seconds;
    }
    return sum;
}

double fit_bytes_per_s(const struct fit_kernel *kernels, size_t n, double flops_per_s)
{
    double low = RATE_LEAST, high = RATE_MOST;

    for (int i = 0; i < HALVINGS; i++) { /* the sum falls as the rate rises */
        double middle = sqrt(low * high);

        *(excess(kernels, n, middle, flops_per_s) > 0 ? &low : &high) = middle;
    }
    return high;
}

double fit_flops_per_s(const struct fit_kernel *kernels, size_t n, double bytes_per_s)
{
    double low = RATE_LEAST, high = RATE_MOST;

    for (int i = 0; i < HALVINGS; i++) {
        double middle = sqrt(low * high);

        *(excess(kernels, n, bytes_per_s, middle) > 0 ? &low : &high) = middle;
    }
    return high;
}
