/* least_squares.h - constants from measured times.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_LEAST_SQUARES_H
#define CALIBRATE_LEAST_SQUARES_H

#include <stddef.h>

#define FIT_UNKNOWNS_MAX 3

/* One measurement: what each unknown is multiplied by, divided by the measured value, so that the
 * sum of all would be 1 and errors are relative. */
struct fit_row {
    double x[FIT_UNKNOWNS_MAX];
};

/* The unknowns, none below 0, with the least sum of squared relative errors; all 0 where there are
 * too few rows for any. */
void fit_least_squares(double *out, unsigned nunknowns, const struct fit_row *rows, size_t nrows);

/* A kernel that takes the longer of what its bytes and its operations take. */
struct fit_kernel {
    double bytes, flops, seconds;
};

/* The rate of bytes at which kernels take as long all together as they were measured to, when
 * operations take flops / flops_per_s (0: no time); and the rate of operations, given that of
 * bytes. Where even no rate of one makes them fast enough, a very large one. */
double fit_bytes_per_s(const struct fit_kernel *kernels, size_t n, double flops_per_s);
double fit_flops_per_s(const struct fit_kernel *kernels, size_t n, double bytes_per_s);

#endif /* CALIBRATE_LEAST_SQUARES_H */
