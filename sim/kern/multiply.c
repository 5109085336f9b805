/* Products of packed blocks, for several vector widths (kern/multiply.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/multiply.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kern/isa.h"

/* Operations of a tile on each of its rows; macros, as the sums must be in registers. */
#define MICRO_START(r)                               \
    VEC *at##r = (VEC *)(c + (i + (r)) * pitch + j); \
    VEC sum##r##_0 = at##r[0], sum##r##_1 = at##r[1];
#define MICRO_MADD(r)                                \
    sum##r##_0 = MADD(x[(r)*a_row], b0, sum##r##_0); \
    sum##r##_1 = MADD(x[(r)*a_row], b1, sum##r##_1);
#define MICRO_FINISH(r)    \
    at##r[0] = sum##r##_0; \
    at##r[1] = sum##r##_1;
#define BODY_OF_(name) name##_body
#define BODY_OF(name) BODY_OF_(name)
#define FOUR_ROWS(what) what(0) what(1) what(2) what(3)
#define EIGHT_ROWS(what) FOUR_ROWS(what) what(4) what(5) what(6) what(7)

typedef float f32x4 __attribute__((vector_size(16), may_alias));
typedef double f64x2 __attribute__((vector_size(16), may_alias));
typedef uint32_t u32x4 __attribute__((vector_size(16), may_alias));
#define PLAIN_MADD(x, b, c) ((x) * (b) + (c))

#define T float
#define NAME f32_base
#define TARGET
#define VEC f32x4
#define MADD PLAIN_MADD
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#ifdef __x86_64__
#define NAME f32_avx2
#define TARGET KERN_AVX2
#define VEC __m256
#define MADD(x, b, c) _mm256_fmadd_ps(_mm256_set1_ps(x), b, c)
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME f32_avx512
#define TARGET KERN_AVX512
#define VEC __m512
#define MADD(x, b, c) _mm512_fmadd_ps(_mm512_set1_ps(x), b, c)
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME f32_avx512_eight
#define TARGET KERN_AVX512
#define VEC __m512
#define MADD(x, b, c) _mm512_fmadd_ps(_mm512_set1_ps(x), b, c)
#define NROWS 8
#define EACH_ROW EIGHT_ROWS
#include "kern/gemm_micro.inc"
#endif
#undef T

#define T double
#define NAME f64_base
#define TARGET
#define VEC f64x2
#define MADD PLAIN_MADD
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#ifdef __x86_64__
#define NAME f64_avx2
#define TARGET KERN_AVX2
#define VEC __m256d
#define MADD(x, b, c) _mm256_fmadd_pd(_mm256_set1_pd(x), b, c)
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME f64_avx512
#define TARGET KERN_AVX512
#define VEC __m512d
#define MADD(x, b, c) _mm512_fmadd_pd(_mm512_set1_pd(x), b, c)
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME f64_avx512_eight
#define TARGET KERN_AVX512
#define VEC __m512d
#define MADD(x, b, c) _mm512_fmadd_pd(_mm512_set1_pd(x), b, c)
#define NROWS 8
#define EACH_ROW EIGHT_ROWS
#include "kern/gemm_micro.inc"
#endif
#undef T

#define T uint32_t
#define NAME u32_base
#define TARGET
#define VEC u32x4
#define MADD PLAIN_MADD
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#ifdef __x86_64__
typedef uint32_t u32x8 __attribute__((vector_size(32), may_alias));
typedef uint32_t u32x16 __attribute__((vector_size(64), may_alias));
#define NAME u32_avx2
#define TARGET KERN_AVX2
#define VEC u32x8
#define MADD PLAIN_MADD
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME u32_avx512
#define TARGET KERN_AVX512
#define VEC u32x16
#define MADD PLAIN_MADD
#define NROWS 4
#define EACH_ROW FOUR_ROWS
#include "kern/gemm_micro.inc"
#define NAME u32_avx512_eight
#define TARGET KERN_AVX512
#define VEC u32x16
#define MADD PLAIN_MADD
#define NROWS 8
#define EACH_ROW EIGHT_ROWS
#include "kern/gemm_micro.inc"
#endif
#undef T

/* One name for the widths of a kernel.  With 32 registers a tile has eight rows, and four for the
 * remaining rows. */
#ifdef __x86_64__
#define MULTIPLY_BY(name, T, base, avx2, avx512)                                                  \
    void name(size_t m, size_t n, size_t depth, const T *a, size_t a_row, size_t a_col,           \
              const T *b, T *c, size_t pitch)                                                     \
    {                                                                                             \
        enum kern_isa isa = kern_isa_get();                                                       \
        size_t eights = m / 8 * 8;                                                                \
                                                                                                  \
        if (isa == KERN_ISA_AVX512) {                                                             \
            avx512##_eight(eights, n, depth, a, a_row, a_col, b, c, pitch);                       \
            avx512(m - eights, n, depth, a + eights * a_row, a_row, a_col, b, c + eights * pitch, \
                   pitch);                                                                        \
        } else if (isa == KERN_ISA_AVX2) {                                                        \
            avx2(m, n, depth, a, a_row, a_col, b, c, pitch);                                      \
        } else {                                                                                  \
            base(m, n, depth, a, a_row, a_col, b, c, pitch);                                      \
        }                                                                                         \
    }
#else
#define MULTIPLY_BY(name, T, base, avx2, avx512)                                        \
    void name(size_t m, size_t n, size_t depth, const T *a, size_t a_row, size_t a_col, \
              const T *b, T *c, size_t pitch)                                           \
    {                                                                                   \
        base(m, n, depth, a, a_row, a_col, b, c, pitch);                                \
    }
#endif

MULTIPLY_BY(kern_multiply_f32, float, f32_base, f32_avx2, f32_avx512)
MULTIPLY_BY(kern_multiply_f64, double, f64_base, f64_avx2, f64_avx512)
MULTIPLY_BY(kern_multiply_u32, uint32_t, u32_base, u32_avx2, u32_avx512)
