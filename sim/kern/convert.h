/* kern/convert.h - converting runs of elements of any type to and from registers of float or
 * double.
 *
 * Registers of float are for types with arithmetic; those of double for all types, as arrays of
 * other types are filled and compared, too.
 *
 * `stride` is in elements and may be 0 or negative.  Loads round up: a buffer has room for `n`
 * rounded up to KERN_LANES, and elements past `n` are set to 0 or left alone.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_CONVERT_H
#define KERN_CONVERT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <shd/dtype.h>

#include "kern/isa.h"

/* Size of an element. */
static inline size_t kern_size(enum shd_dtype dtype)
{
    static const uint8_t size[SHD_NDTYPES] = {4, 8, 2, 2, 4, 1, 1, 2, 8, 1, 1, 1, 1};

    return size[dtype];
}

/* float16 and bfloat16 by integer arithmetic without branches, so that loops vectorize; the library
 * has the same functions one value a call, and a test holds the two together. */
KERN_BODY float kern_f32_of_bf16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &word, sizeof value);
    return value;
}

KERN_BODY uint16_t kern_bf16_of_f32(float value)
{
    uint32_t word, rounded, quiet;

    memcpy(&word, &value, sizeof word);
    rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    quiet = (word >> 16) | 0x40u;
    return (uint16_t)((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

KERN_BODY float kern_f32_of_f16(uint16_t bits)
{
    uint32_t magnitude = (uint32_t)(bits & 0x7fffu) << 13;
    uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    uint32_t word;
    float value;

    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f; /* moves the exponent's bias, and normalizes subnormals */
    memcpy(&word, &value, sizeof word);
    word |= special | (uint32_t)(bits & 0x8000u) << 16;
    memcpy(&value, &word, sizeof value);
    return value;
}

KERN_BODY uint16_t kern_f16_of_f32(float value)
{
    uint32_t word, magnitude, normal, small, big;
    float absolute;

    memcpy(&word, &value, sizeof word);
    magnitude = word & 0x7fffffffu;
    normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    memcpy(&absolute, &magnitude, sizeof absolute);
    absolute += 0.5f; /* its last place is float16's smallest subnormal */
    memcpy(&small, &absolute, sizeof small);
    small -= 0x3f000000u;
    big = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    normal = magnitude < 0x38800000u ? small : normal;
    normal = magnitude >= 0x477ff000u ? big : normal;
    return (uint16_t)(normal | (word >> 16 & 0x8000u));
}

/* `base` points at the first element of the run. */
void kern_load_f32(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, float *out);
void kern_load_f64(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, double *out);

/* The element at `at`. */
double kern_load_one(enum shd_dtype dtype, const void *base, int64_t at);

/* Integers are truncated; out of range saturates and NaN is 0. */
void kern_store_f32(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const float *in);
void kern_store_f64(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const double *in);

/* Conversions for types without arithmetic, called by the two for double. */
void kern_load_moved(enum shd_dtype dtype, const void *base, int64_t stride, size_t n, double *out);
void kern_store_moved(enum shd_dtype dtype, void *base, int64_t stride, size_t n, const double *in);

static inline int32_t kern_i32_of_f64(double value)
{
    if (!(value > -2147483649.0)) /* also for NaN */
        return value < 0 ? INT32_MIN : 0;
    return value < 2147483648.0 ? (int32_t)value : INT32_MAX;
}

#endif /* KERN_CONVERT_H */
