/* Tests shd/dtype.h: names and sizes of types, and conversions of bfloat16 and float16.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include <shd/dtype.h>

#include "../support/tap.h"

static void test_names(void)
{
    static const struct {
        const char *name;
        int status;
        enum shd_dtype dtype;
        size_t size;
    } cases[] = {
        {"float32", SHD_OK, SHD_F32, 4},
        {"f32", SHD_OK, SHD_F32, 4},
        {"float64", SHD_OK, SHD_F64, 8},
        {"bfloat16", SHD_OK, SHD_BF16, 2},
        {"bf16", SHD_OK, SHD_BF16, 2},
        {"f16", SHD_OK, SHD_F16, 2},
        {"int32", SHD_OK, SHD_I32, 4},
        {"s32", SHD_OK, SHD_I32, 4},
        {"int8", SHD_OK, SHD_I8, 1},
        {"u8", SHD_OK, SHD_U8, 1},
        {"i16", SHD_OK, SHD_I16, 2},
        {"int64", SHD_OK, SHD_I64, 8},
        {"bool", SHD_OK, SHD_BOOL, 1},
        {"float8_e4m3fn", SHD_OK, SHD_F8E4M3, 1},
        {"f8e5m2", SHD_OK, SHD_F8E5M2, 1},
        {"f8e4m3", SHD_OK, SHD_F8E4M3, 1},
        {"e4m3", SHD_OK, SHD_F8E4M3, 1},
        {"e5m2", SHD_OK, SHD_F8E5M2, 1},
        {"bool_", SHD_OK, SHD_BOOL, 1},
        {"", SHD_ENOTFOUND, SHD_F32, 0},
        {"Float32", SHD_ENOTFOUND, SHD_F32, 0},
        {"f32 ", SHD_ENOTFOUND, SHD_F32, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum shd_dtype dtype = SHD_NDTYPES;
        int status = shd_dtype_parse(&dtype, cases[i].name, NULL);

        ok(status == cases[i].status, "parse '%s': status", cases[i].name);
        if (cases[i].status)
            ok(dtype == SHD_NDTYPES, "parse '%s': output untouched", cases[i].name);
        else
            ok(dtype == cases[i].dtype && shd_dtype_size(dtype) == cases[i].size,
               "parse '%s': type and size", cases[i].name);
    }
    ok(shd_dtype_size(SHD_NDTYPES) == 0 && shd_dtype_size((enum shd_dtype)-1) == 0 &&
           !strcmp(shd_dtype_name(SHD_NDTYPES), "no type"),
       "what is no type has no size and no name");
    for (int i = 0; i < SHD_NDTYPES; i++) {
        enum shd_dtype dtype = SHD_NDTYPES;

        ok(!shd_dtype_parse(&dtype, shd_dtype_name((enum shd_dtype)i), NULL) && (int)dtype == i,
           "%s: the name parses", shd_dtype_name((enum shd_dtype)i));
    }
}

static void test_bf16(void)
{
    int same = 1;

    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = shd_bf16_to_f32((uint16_t)bits);

        same &= isnan(value) ? isnan(shd_bf16_to_f32(shd_bf16_from_f32(value)))
                             : shd_bf16_from_f32(value) == bits;
    }
    ok(same, "bf16: every value comes back");
    ok(shd_bf16_from_f32(1.0f) == 0x3f80, "bf16: 1");
    ok(shd_bf16_from_f32(0x1.01p0f) == 0x3f80, "bf16: a tie goes to even, down");
    ok(shd_bf16_from_f32(0x1.03p0f) == 0x3f82, "bf16: a tie goes to even, up");
    ok(shd_bf16_from_f32(0x1.010002p0f) == 0x3f81, "bf16: above a tie goes up");
    ok(shd_bf16_from_f32(0x1.fffffep127f) == 0x7f80, "bf16: rounds to infinity");
    ok(isnan(shd_bf16_to_f32(shd_bf16_from_f32(NAN))), "bf16: NaN stays");
}

static void test_f16(void)
{
    int same = 1;

    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = shd_f16_to_f32((uint16_t)bits);

        same &= isnan(value) ? isnan(shd_f16_to_f32(shd_f16_from_f32(value)))
                             : shd_f16_from_f32(value) == bits;
    }
    ok(same, "f16: every value comes back");
    ok(shd_f16_to_f32(0x3c01) == 0x1.004p0f, "f16: 1 and a bit");
    ok(shd_f16_to_f32(0x8001) == -0x1p-24f, "f16: the least subnormal, negative");
    ok(shd_f16_from_f32(0x1.002p0f) == 0x3c00, "f16: a tie goes to even, down");
    ok(shd_f16_from_f32(0x1.006p0f) == 0x3c02, "f16: a tie goes to even, up");
    ok(shd_f16_from_f32(65519.0f) == 0x7bff, "f16: the largest");
    ok(shd_f16_from_f32(65520.0f) == 0x7c00, "f16: rounds to infinity");
    ok(shd_f16_from_f32(-1e30f) == 0xfc00, "f16: far too large");
    ok(shd_f16_from_f32(0x1p-25f) == 0, "f16: half of the least subnormal is a tie");
    ok(shd_f16_from_f32(0x1.8p-25f) == 1, "f16: above it rounds up");
    ok(shd_f16_from_f32(0x1.ffep-15f) == 0x0400, "f16: a subnormal rounds up to normal");
    ok(shd_f16_from_f32(0x1p-40f) == 0, "f16: far too small");
}

int main(void)
{
    plan(0);
    test_names();
    test_bf16();
    test_f16();
    return done();
}
