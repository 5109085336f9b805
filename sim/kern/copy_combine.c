/* Copying and combining elements (kern.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements computed at a time, on the stack */

static void copy_run(size_t size, char *dst, int64_t dst_stride, const char *src,
                     int64_t src_stride, int64_t n)
{
    int64_t to = dst_stride * (int64_t)size, from = src_stride * (int64_t)size;

    if (n == 1 || (dst_stride == 1 && src_stride == 1)) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    switch (size) { /* a constant size makes each memcpy one move */
    case 2:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, 4);
        break;
    case 8:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, 8);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, size);
    }
}

uint64_t kern_copy_box(size_t elem_bytes, uint32_t ndims, const int64_t *extent, void *dst,
                       const int64_t *dst_stride, const void *src, const int64_t *src_stride)
{
    struct kern_nest nest = {.narrays = 2};
    struct kern_walk walk;
    uint64_t copied = 0;
    int64_t count;

    if (kern_elements(ndims, extent, UINT32_MAX) == 0)
        return 0;
    for (uint32_t d = 0; d < ndims; d++)
        kern_nest_add(&nest, extent[d], (const int64_t[]){dst_stride[d], src_stride[d]});
    kern_nest_simplify(&nest, 0);
    count = kern_nest_count(&nest);
    kern_walk_init(&walk, &nest, 0);
    while (count > 0) {
        int64_t n = kern_walk_run(&walk), size = (int64_t)elem_bytes;
        int64_t to = nest.ndims ? nest.stride[0][nest.ndims - 1] : 1;
        int64_t from = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;

        copy_run(elem_bytes, (char *)dst + walk.offset[0] * size, to,
                 (const char *)src + walk.offset[1] * size, from, n);
        kern_walk_advance(&walk, n);
        count -= n;
        copied += (uint64_t)n;
    }
    return copied;
}

/* dst[i] = dst[i] op src[i]: whole groups of lanes, then the rest.  NaNs of both stay.  With three
 * or four sources at once there are a third or a quarter of the loads and stores of dst. */
#define COMBINE(name, type, sum)                                                                   \
    KERN_BODY type name##_one(enum shd_reduce_op op, type x, type y)                               \
    {                                                                                              \
        switch (op) {                                                                              \
        case SHD_MAX:                                                                              \
            return ((y > x) | (y != y)) ? y : x;                                                   \
        case SHD_MIN:                                                                              \
            return ((y < x) | (y != y)) ? y : x;                                                   \
        default:                                                                                   \
            return sum;                                                                            \
        }                                                                                          \
    }                                                                                              \
    KERN_BODY void name##_all(enum shd_reduce_op op, type *restrict dst, const type *restrict src, \
                              uint64_t n)                                                          \
    {                                                                                              \
        for (; n >= KERN_LANES; n -= KERN_LANES, dst += KERN_LANES, src += KERN_LANES) {           \
            for (int j = 0; j < KERN_LANES; j++)                                                   \
                dst[j] = name##_one(op, dst[j], src[j]);                                           \
        }                                                                                          \
        for (uint64_t j = 0; j < n; j++)                                                           \
            dst[j] = name##_one(op, dst[j], src[j]);                                               \
    }                                                                                              \
    KERN_BODY void name##_three_all(enum shd_reduce_op op, type *restrict dst,                     \
                                    const type *restrict a, const type *restrict b,                \
                                    const type *restrict c, uint64_t n)                            \
    {                                                                                              \
        for (; n >= KERN_LANES; n -= KERN_LANES, dst += KERN_LANES) {                              \
            for (int j = 0; j < KERN_LANES; j++)                                                   \
                dst[j] = name##_one(op, name##_one(op, name##_one(op, dst[j], a[j]), b[j]), c[j]); \
            a += KERN_LANES;                                                                       \
            b += KERN_LANES;                                                                       \
            c += KERN_LANES;                                                                       \
        }                                                                                          \
        for (uint64_t j = 0; j < n; j++)                                                           \
            dst[j] = name##_one(op, name##_one(op, name##_one(op, dst[j], a[j]), b[j]), c[j]);     \
    }                                                                                              \
    KERN_BODY void name##_four_all(enum shd_reduce_op op, type *restrict dst,                      \
                                   const type *restrict a, const type *restrict b,                 \
                                   const type *restrict c, const type *restrict d, uint64_t n)     \
    {                                                                                              \
        for (; n >= KERN_LANES; n -= KERN_LANES, dst += KERN_LANES) {                              \
            for (int j = 0; j < KERN_LANES; j++) {                                                 \
                type x = name##_one(op, name##_one(op, dst[j], a[j]), b[j]);                       \
                                                                                                   \
                dst[j] = name##_one(op, name##_one(op, x, c[j]), d[j]);                            \
            }                                                                                      \
            a += KERN_LANES;                                                                       \
            b += KERN_LANES;                                                                       \
            c += KERN_LANES;                                                                       \
            d += KERN_LANES;                                                                       \
        }                                                                                          \
        for (uint64_t j = 0; j < n; j++) {                                                         \
            type x = name##_one(op, name##_one(op, dst[j], a[j]), b[j]);                           \
                                                                                                   \
            dst[j] = name##_one(op, name##_one(op, x, c[j]), d[j]);                                \
        }                                                                                          \
    }                                                                                              \
    KERN_BODY void name##_single_body(enum shd_reduce_op op, type *restrict dst,                   \
                                      const type *restrict src, uint64_t n)                        \
    {                                                                                              \
        if (op == SHD_MAX)                                                                         \
            name##_all(SHD_MAX, dst, src, n);                                                      \
        else if (op == SHD_MIN)                                                                    \
            name##_all(SHD_MIN, dst, src, n);                                                      \
        else                                                                                       \
            name##_all(SHD_SUM, dst, src, n);                                                      \
    }                                                                                              \
    KERN_BODY void name##_three_body(enum shd_reduce_op op, type *restrict dst,                    \
                                     const type *restrict a, const type *restrict b,               \
                                     const type *restrict c, uint64_t n)                           \
    {                                                                                              \
        if (op == SHD_MAX)                                                                         \
            name##_three_all(SHD_MAX, dst, a, b, c, n);                                            \
        else if (op == SHD_MIN)                                                                    \
            name##_three_all(SHD_MIN, dst, a, b, c, n);                                            \
        else                                                                                       \
            name##_three_all(SHD_SUM, dst, a, b, c, n);                                            \
    }                                                                                              \
    KERN_BODY void name##_four_body(enum shd_reduce_op op, type *restrict dst,                     \
                                    const type *restrict a, const type *restrict b,                \
                                    const type *restrict c, const type *restrict d, uint64_t n)    \
    {                                                                                              \
        if (op == SHD_MAX)                                                                         \
            name##_four_all(SHD_MAX, dst, a, b, c, d, n);                                          \
        else if (op == SHD_MIN)                                                                    \
            name##_four_all(SHD_MIN, dst, a, b, c, d, n);                                          \
        else                                                                                       \
            name##_four_all(SHD_SUM, dst, a, b, c, d, n);                                          \
    }                                                                                              \
    KERN_VARIANTS(                                                                                 \
        static, name##_single,                                                                     \
        (enum shd_reduce_op op, type *restrict dst, const type *restrict src, uint64_t n),         \
        (op, dst, src, n))                                                                         \
    KERN_VARIANTS(static, name##_three,                                                            \
                  (enum shd_reduce_op op, type *restrict dst, const type *restrict a,              \
                   const type *restrict b, const type *restrict c, uint64_t n),                    \
                  (op, dst, a, b, c, n))                                                           \
    KERN_VARIANTS(static, name##_four,                                                             \
                  (enum shd_reduce_op op, type *restrict dst, const type *restrict a,              \
                   const type *restrict b, const type *restrict c, const type *restrict d,         \
                   uint64_t n),                                                                    \
                  (op, dst, a, b, c, d, n))                                                        \
    static void name(enum shd_reduce_op op, type *dst, const void *const *src, uint32_t nsrcs,     \
                     uint64_t n)                                                                   \
    {                                                                                              \
        for (; nsrcs >= 4; nsrcs -= 4, src += 4)                                                   \
            name##_four(op, dst, src[0], src[1], src[2], src[3], n);                               \
        if (nsrcs == 3) {                                                                          \
            name##_three(op, dst, src[0], src[1], src[2], n);                                      \
            return;                                                                                \
        }                                                                                          \
        for (; nsrcs > 0; nsrcs--, src++)                                                          \
            name##_single(op, dst, src[0], n);                                                     \
    }

COMBINE(combine_f32, float, x + y)
COMBINE(combine_f64, double, x + y)
COMBINE(combine_i32, int32_t, (int32_t)((uint32_t)x + (uint32_t)y))

static void combine_half(enum shd_dtype dtype, enum shd_reduce_op op, uint16_t *dst,
                         const uint16_t *src, uint64_t count)
{
    float x[BLOCK], y[BLOCK];

    for (uint64_t i = 0; i < count; i += BLOCK) {
        size_t n = (size_t)(count - i < BLOCK ? count - i : BLOCK);

        kern_load_f32(dtype, dst + i, 1, n, x);
        kern_load_f32(dtype, src + i, 1, n, y);
        combine_f32_single(op, x, y, n);
        kern_store_f32(dtype, dst + i, 1, n, x);
    }
}

void kern_combine(enum shd_dtype dtype, enum shd_reduce_op op, void *dst, const void *const *srcs,
                  uint32_t nsrcs, uint64_t count)
{
    switch (dtype) {
    case SHD_F32:
        combine_f32(op, dst, srcs, nsrcs, count);
        break;
    case SHD_F64:
        combine_f64(op, dst, srcs, nsrcs, count);
        break;
    case SHD_I32:
        combine_i32(op, dst, srcs, nsrcs, count);
        break;
    default:
        for (uint32_t i = 0; i < nsrcs; i++)
            combine_half(dtype, op, dst, srcs[i], count);
    }
}

/* The product is computed in double and rounded once, int32 to the nearest. */
void kern_scale(enum shd_dtype dtype, void *dst, double factor, uint64_t count)
{
    double x[BLOCK];

    for (uint64_t i = 0; i < count; i += BLOCK) {
        size_t n = (size_t)(count - i < BLOCK ? count - i : BLOCK);
        char *at = (char *)dst + i * kern_size(dtype);

        kern_load_f64(dtype, at, 1, n, x);
        for (size_t j = 0; j < n; j++)
            x[j] *= factor;
        for (size_t j = 0; j < n && dtype == SHD_I32; j++)
            x[j] = rint(x[j]);
        kern_store_f64(dtype, at, 1, n, x);
    }
}
