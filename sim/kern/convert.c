/* Converting runs of elements (kern/convert.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/convert.h"

/* Every function below has the same shape: contiguous whole groups of lanes are vectorized;
 * remainders and strided elements are converted one by one. */
#define CONVERT(name, from, to, expr)                                                   \
    KERN_BODY void name##_body(const from *restrict in, size_t n, to *restrict out)     \
    {                                                                                   \
        for (; n >= KERN_LANES; n -= KERN_LANES, in += KERN_LANES, out += KERN_LANES) { \
            for (int j = 0; j < KERN_LANES; j++) {                                      \
                from x = in[j];                                                         \
                out[j] = expr;                                                          \
            }                                                                           \
        }                                                                               \
        for (size_t j = 0; j < n; j++) {                                                \
            from x = in[j];                                                             \
            out[j] = expr;                                                              \
        }                                                                               \
    }                                                                                   \
    KERN_VARIANTS(static, name, (const from *restrict in, size_t n, to *restrict out), (in, n, out))

CONVERT(f32_of_bf16, uint16_t, float, kern_f32_of_bf16(x))
CONVERT(f32_of_f16, uint16_t, float, kern_f32_of_f16(x))
CONVERT(f64_of_f32, float, double, (double)x)
CONVERT(f64_of_bf16, uint16_t, double, (double)kern_f32_of_bf16(x))
CONVERT(f64_of_f16, uint16_t, double, (double)kern_f32_of_f16(x))
CONVERT(f64_of_i32, int32_t, double, (double)x)
CONVERT(bf16_of_f32, float, uint16_t, kern_bf16_of_f32(x))
CONVERT(f16_of_f32, float, uint16_t, kern_f16_of_f32(x))
CONVERT(f32_of_f64, double, float, (float)x)

#define STRIDED_LOAD(type, expr)              \
    do {                                      \
        const type *in = base;                \
        for (size_t i = 0; i < n; i++) {      \
            type x = in[(int64_t)i * stride]; \
            out[i] = expr;                    \
        }                                     \
    } while (0)

#define STRIDED_STORE(type, expr)            \
    do {                                     \
        type *out = base;                    \
        for (size_t i = 0; i < n; i++)       \
            out[(int64_t)i * stride] = expr; \
    } while (0)

static void f32_of_codes(enum shd_dtype dtype, const void *base, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)kern_load_one(dtype, base, (int64_t)i);
}

static void load_f32_unit(enum shd_dtype dtype, const void *base, size_t n, float *out)
{
    switch (dtype) {
    case SHD_F32:
        memcpy(out, base, n * sizeof *out);
        break;
    case SHD_F64:
        f32_of_f64(base, n, out);
        break;
    case SHD_BF16:
        f32_of_bf16(base, n, out);
        break;
    case SHD_F16:
        f32_of_f16(base, n, out);
        break;
    case SHD_F8E4M3:
    case SHD_F8E5M2:
        f32_of_codes(dtype, base, n, out);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const int32_t *)base)[i];
    }
}

void kern_load_f32(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, float *out)
{
    if (stride == 1 || n == 1) {
        load_f32_unit(dtype, base, n, out);
        return;
    }
    switch (dtype) {
    case SHD_F32:
        STRIDED_LOAD(float, x);
        break;
    case SHD_F64:
        STRIDED_LOAD(double, (float)x);
        break;
    case SHD_BF16:
        STRIDED_LOAD(uint16_t, kern_f32_of_bf16(x));
        break;
    case SHD_F16:
        STRIDED_LOAD(uint16_t, kern_f32_of_f16(x));
        break;
    default:
        STRIDED_LOAD(int32_t, (float)x);
    }
}

static void load_f64_unit(enum shd_dtype dtype, const void *base, size_t n, double *out)
{
    switch (dtype) {
    case SHD_F32:
        f64_of_f32(base, n, out);
        break;
    case SHD_F64:
        memcpy(out, base, n * sizeof *out);
        break;
    case SHD_BF16:
        f64_of_bf16(base, n, out);
        break;
    case SHD_F16:
        f64_of_f16(base, n, out);
        break;
    default:
        f64_of_i32(base, n, out);
    }
}

double kern_load_one(enum shd_dtype dtype, const void *base, int64_t at)
{
    double value;

    kern_load_f64(dtype, (const char *)base + (size_t)at * kern_size(dtype), 1, 1, &value);
    return value;
}

void kern_load_f64(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, double *out)
{
    if (dtype >= SHD_NCOMPUTE_DTYPES) {
        kern_load_moved(dtype, base, stride, n, out);
        return;
    }
    if (stride == 1 || n == 1) {
        load_f64_unit(dtype, base, n, out);
        return;
    }
    switch (dtype) {
    case SHD_F32:
        STRIDED_LOAD(float, (double)x);
        break;
    case SHD_F64:
        STRIDED_LOAD(double, x);
        break;
    case SHD_BF16:
        STRIDED_LOAD(uint16_t, (double)kern_f32_of_bf16(x));
        break;
    case SHD_F16:
        STRIDED_LOAD(uint16_t, (double)kern_f32_of_f16(x));
        break;
    default:
        STRIDED_LOAD(int32_t, (double)x);
    }
}

void kern_store_f32(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const float *in)
{
    switch (dtype) {
    case SHD_F32:
        if (stride == 1)
            memcpy(base, in, n * sizeof *in);
        else
            STRIDED_STORE(float, in[i]);
        break;
    case SHD_F64:
        STRIDED_STORE(double, (double)in[i]);
        break;
    case SHD_BF16:
        if (stride == 1)
            bf16_of_f32(in, n, base);
        else
            STRIDED_STORE(uint16_t, kern_bf16_of_f32(in[i]));
        break;
    case SHD_F16:
        if (stride == 1)
            f16_of_f32(in, n, base);
        else
            STRIDED_STORE(uint16_t, kern_f16_of_f32(in[i]));
        break;
    default:
        STRIDED_STORE(int32_t, kern_i32_of_f64((double)in[i]));
    }
}

void kern_store_f64(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const double *in)
{
    if (dtype >= SHD_NCOMPUTE_DTYPES) {
        kern_store_moved(dtype, base, stride, n, in);
        return;
    }
    switch (dtype) {
    case SHD_F32:
        if (stride == 1)
            f32_of_f64(in, n, base);
        else
            STRIDED_STORE(float, (float)in[i]);
        break;
    case SHD_F64:
        if (stride == 1)
            memcpy(base, in, n * sizeof *in);
        else
            STRIDED_STORE(double, in[i]);
        break;
    case SHD_BF16:
        STRIDED_STORE(uint16_t, kern_bf16_of_f32((float)in[i]));
        break;
    case SHD_F16:
        STRIDED_STORE(uint16_t, kern_f16_of_f32((float)in[i]));
        break;
    default:
        STRIDED_STORE(int32_t, kern_i32_of_f64(in[i]));
    }
}
