/* kern/multiply.h - the product of two packed blocks, the innermost part of our matrix products.
 *
 * c[m][n] += a[m][depth] * b[depth][n].  Element (i, k) of a is a[i * a_row + k * a_col]; rows of
 * b and of c are `pitch` apart and start on 64 bytes.  Rows of a and c come in fours and columns of
 * b and c in KERN_MULTIPLY_COLS: beyond m and n they are computed, so they must be there.  Each
 * element of c is summed in order of k.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_MULTIPLY_H
#define KERN_MULTIPLY_H

#include <stddef.h>
#include <stdint.h>

#define KERN_MULTIPLY_ROWS 4  /* m of a and c is a multiple of this */
#define KERN_MULTIPLY_PANEL 8 /* rows of a packed so: fastest with a_row 1 and a_col this */
#define KERN_MULTIPLY_COLS 32 /* n of b and c is a multiple of this: two vectors of AVX-512 */

void kern_multiply_f32(size_t m, size_t n, size_t depth, const float *a, size_t a_row, size_t a_col,
                       const float *b, float *c, size_t pitch);
void kern_multiply_f64(size_t m, size_t n, size_t depth, const double *a, size_t a_row,
                       size_t a_col, const double *b, double *c, size_t pitch);
void kern_multiply_u32(size_t m, size_t n, size_t depth, const uint32_t *a, size_t a_row,
                       size_t a_col, const uint32_t *b, uint32_t *c, size_t pitch);

#endif /* KERN_MULTIPLY_H */
