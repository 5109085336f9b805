/* kern/map_fn.h - one instruction over one block of registers.
 *
 * float registers: n is a multiple of KERN_LANES.  No argument may overlap `out`.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_MAP_FN_H
#define KERN_MAP_FN_H

#include "kern/kern.h"

void kern_fn_f32(enum kern_fn fn, size_t n, const float *a, const float *b, float scalar,
                 float *out);
void kern_fn_f64(enum kern_fn fn, size_t n, const double *a, const double *b, double scalar,
                 double *out);

/* Registers of double hold int32 values exactly.  Sums, differences, products and negations wrap;
 * division truncates, by zero it saturates (0/0 is 0); the others are computed in double and
 * truncated. */
void kern_fn_i32(enum kern_fn fn, size_t n, const double *a, const double *b, double scalar,
                 double *out);

#endif /* KERN_MAP_FN_H */
