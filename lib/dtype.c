/* Element types and conversions of 16-bit floats (shd/dtype.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/dtype.h>

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    const char *short_name;
    const char *others[2]; /* used by compilers, newer libraries and papers; NULL: no more */
    size_t size;
} dtypes[SHD_NDTYPES] = {
    [SHD_F32] = {"float32", "f32", {NULL}, 4},
    [SHD_F64] = {"float64", "f64", {NULL}, 8},
    [SHD_BF16] = {"bfloat16", "bf16", {NULL}, 2},
    [SHD_F16] = {"float16", "f16", {NULL}, 2},
    [SHD_I32] = {"int32", "i32", {"s32"}, 4},
    [SHD_I8] = {"int8", "i8", {"s8"}, 1},
    [SHD_U8] = {"uint8", "u8", {NULL}, 1},
    [SHD_I16] = {"int16", "i16", {"s16"}, 2},
    [SHD_I64] = {"int64", "i64", {"s64"}, 8},
    [SHD_BOOL] = {"bool", "pred", {"bool_"}, 1},
    [SHD_F8E4M3] = {"float8_e4m3fn", "f8e4m3fn", {"f8e4m3", "e4m3"}, 1},
    [SHD_F8E5M2] = {"float8_e5m2", "f8e5m2", {"e5m2"}, 1},
    [SHD_F4E2M1] = {"float4_e2m1fn", "f4e2m1fn", {"f4e2m1", "e2m1"}, 1},
};

size_t shd_dtype_size(enum shd_dtype dtype)
{
    return (unsigned)dtype < SHD_NDTYPES ? dtypes[dtype].size : 0;
}

const char *shd_dtype_name(enum shd_dtype dtype)
{
    return (unsigned)dtype < SHD_NDTYPES ? dtypes[dtype].name : "no type";
}

static bool is_called(int dtype, const char *name)
{
    bool called = !strcmp(name, dtypes[dtype].name) || !strcmp(name, dtypes[dtype].short_name);

    for (int i = 0; i < 2 && dtypes[dtype].others[i]; i++)
        called |= !strcmp(name, dtypes[dtype].others[i]);
    return called;
}

int shd_dtype_parse(enum shd_dtype *out, const char *name, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, name))
        return SHD_EINVAL;
    for (int i = 0; i < SHD_NDTYPES; i++)
        if (is_called(i, name)) {
            *out = (enum shd_dtype)i;
            return SHD_OK;
        }
    return shd_error_set(err, SHD_ENOTFOUND, "'%.100s' is not a valid element type", name);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Drop the low `n` bits (n >= 1), rounding to nearest, ties to even. */
static uint32_t round_off(uint32_t bits, unsigned n)
{
    return (bits + (UINT32_C(1) << (n - 1)) - 1 + (bits >> n & 1)) >> n;
}

uint16_t shd_bf16_from_f32(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffff) > 0x7f800000) /* a NaN stays a NaN, but becomes quiet */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)round_off(bits, 16);
}

float shd_bf16_to_f32(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t shd_f16_from_f32(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t mag = bits & 0x7fffffff;

    if (mag > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
    if (mag >= 0x47800000) /* 65536 and more */
        return (uint16_t)(sign | 0x7c00);
    if (mag >= 0x38800000) /* normal: 2^-14 and more; rounding up correctly overflows to infinity */
        return (uint16_t)(sign | round_off(mag - 0x38000000, 13));
    if (mag < 0x33000000) /* below half of the least subnormal */
        return (uint16_t)sign;
    return (uint16_t)(sign | round_off((mag & 0x7fffff) | 0x800000, 126 - (mag >> 23)));
}

float shd_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31;
    uint32_t fraction = bits & 0x3ff;

    if (exponent == 31)
        return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent > 0)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);

    float least = (float)fraction * 0x1p-24f; /* subnormals are multiples of 2^-24 */

    return sign ? -least : least;
}
