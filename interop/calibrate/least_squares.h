/* least_squares.h - fit constants to measured times.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_LEAST_SQUARES_H
#define CALIBRATE_LEAST_SQUARES_H

#include <stddef.h>

#define FIT_UNKNOWNS_MAX 3

/* A measurement: the coefficient of each unknown, divided by the measured value, so that the ideal
 * sum is 1 and errors are relative. */
struct fit_row {
    double x[FIT_UNKNOWNS_MAX];
};

/* The unknowns, none negative, with the least sum of squared relative errors; all 0 if there are
 * too few rows to determine any. */
void fit_least_squares(double *out, unsigned nunknowns, const struct fit_row *rows, size_t nrows);

/* A kernel whose time is the maximum of the times of its bytes and of its operations. */
struct fit_kernel {
    double bytes, flops, seconds;
};

/* The rate of bytes at which all kernels together take as long as measured, if operations take
 * flops / flops_per_s (0: no time); and the rate of operations, given the rate of bytes.  If no
 * rate makes the kernels fast enough, a very large rate. */
double fit_bytes_per_s(const struct fit_kernel *kernels, size_t n, double flops_per_s);
double fit_flops_per_s(const struct fit_kernel *kernels, size_t n, double bytes_per_s);

#endif /* CALIBRATE_LEAST_SQUARES_H */
