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

/* `in` has KERN_OPERANDS_MAX operands; those that the function lacks are any registers. */
void kern_fn_f32(enum kern_fn fn, size_t n, const float *const *in, float scalar, float *out);
void kern_fn_f64(enum kern_fn fn, size_t n, const double *const *in, double scalar, double *out);

/* Registers of double hold int32 values exactly.  Arithmetic wraps; division truncates, by zero it
 * gives -1, and the remainder is then the first operand. */
void kern_fn_i32(enum kern_fn fn, size_t n, const double *const *in, double scalar, double *out);

#endif /* KERN_MAP_FN_H */
