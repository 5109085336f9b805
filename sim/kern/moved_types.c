/* Types without arithmetic, in which arrays are only moved: integers, bool, floats of 8 and 4 bits.
 *
 * The floats are those of P.  Micikevicius et al., arXiv 2209.05433: with 4 exponent bits and no
 * infinities, and with 5 as in IEEE 754; and e2m1 of OCP Microscaling Formats 1.0, one a byte,
 * which has no NaN.  Values are those of PyTorch's casts, to the bit, with the sign of a NaN.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"

/* A float of a byte: a sign, an exponent and `bits` of a fraction. */
struct small_float {
    int bits;
    int least;      /* exponent of the least normal number */
    double largest; /* largest finite number */
    uint8_t beyond; /* the code of larger values: infinity, or NaN without infinities */
    uint8_t none;   /* the code of NaN */
};

static const struct small_float e4m3 = {3, -6, 448, 0x7f, 0x7f};
static const struct small_float e5m2 = {2, -14, 57344, 0x7c, 0x7f};
static const struct small_float e2m1 = {1, 0, 6, 7, 7};

static const struct small_float *small_of(enum shd_dtype dtype)
{
    return dtype == SHD_F8E4M3 ? &e4m3 : dtype == SHD_F8E5M2 ? &e5m2 : &e2m1;
}

/* The exponent of a normal number's first digit; below any other of these for 0. */
static int exponent_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* 2^e of a normal number. */
static double power_of_two(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounded to nearest, ties to even. */
static uint8_t small_of_f64(const struct small_float *f, double value)
{
    const double whole = 0x1.8p52; /* numbers of this size have no fraction */
    const int one = 1 << f->bits;
    uint8_t sign = signbit(value) ? 0x80 : 0;
    int exponent, units;
    double size;

    if (isnan(value))
        return sign | f->none;
    if (fabs(value) >= 2 * f->largest)
        return sign | f->beyond;
    exponent = exponent_of(value) > f->least ? exponent_of(value) : f->least;
    size = fabs(value) * power_of_two(f->bits - exponent); /* in units of the last place */
    size = size + whole - whole;
    if (size * power_of_two(exponent - f->bits) > f->largest)
        return sign | f->beyond;
    units = (int)size; /* a carry goes into the exponent by itself */
    return (uint8_t)(sign | (units < one ? units : ((exponent - f->least) * one + units)));
}

static double f64_of_small(const struct small_float *f, uint8_t code)
{
    const int one = 1 << f->bits;
    int magnitude = code & 0x7f, exponent = magnitude / one, units = magnitude % one;
    double value;

    if (exponent > 0) /* normal */
        units += one;
    value = units * power_of_two((exponent > 0 ? exponent - 1 : 0) + f->least - f->bits);
    if (value > f->largest)
        value = magnitude == f->beyond && f->beyond != f->none ? INFINITY : NAN;
    return code & 0x80 ? -value : value;
}

/* Truncate to an integer, between two bounds; NaN is 0. */
static double whole(double value, double least, double largest)
{
    if (isnan(value))
        return 0;
    return value < least ? least : value > largest ? largest : trunc(value);
}

static int64_t i64_of_f64(double value)
{
    return value >= 0x1p63 ? INT64_MAX : (int64_t)whole(value, -0x1p63, 0x1p63);
}

void kern_store_moved(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const double *in)
{
    for (size_t i = 0; i < n; i++) {
        int64_t at = (int64_t)i * stride;

        switch (dtype) {
        case SHD_I8:
            ((int8_t *)base)[at] = (int8_t)whole(in[i], INT8_MIN, INT8_MAX);
            break;
        case SHD_U8:
            ((uint8_t *)base)[at] = (uint8_t)whole(in[i], 0, UINT8_MAX);
            break;
        case SHD_I16:
            ((int16_t *)base)[at] = (int16_t)whole(in[i], INT16_MIN, INT16_MAX);
            break;
        case SHD_I64:
            ((int64_t *)base)[at] = i64_of_f64(in[i]);
            break;
        case SHD_BOOL:
            ((uint8_t *)base)[at] = in[i] != 0;
            break;
        default:
            ((uint8_t *)base)[at] = small_of_f64(small_of(dtype), in[i]);
        }
    }
}

void kern_load_moved(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        int64_t at = (int64_t)i * stride;

        switch (dtype) {
        case SHD_I8:
            out[i] = ((const int8_t *)base)[at];
            break;
        case SHD_I16:
            out[i] = ((const int16_t *)base)[at];
            break;
        case SHD_I64:
            out[i] = (double)((const int64_t *)base)[at];
            break;
        case SHD_U8:
        case SHD_BOOL:
            out[i] = ((const uint8_t *)base)[at];
            break;
        default:
            out[i] = f64_of_small(small_of(dtype), ((const uint8_t *)base)[at]);
        }
    }
}
