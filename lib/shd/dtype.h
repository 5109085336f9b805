/* shd/dtype.h - element types of arrays.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_DTYPE_H
#define SHD_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types that the runtime computes with come first; the rest are known by size only. */
enum shd_dtype {
    SHD_F32,
    SHD_F64,
    SHD_BF16,
    SHD_F16,
    SHD_I32,
    SHD_NCOMPUTE_DTYPES,
    SHD_I8 = SHD_NCOMPUTE_DTYPES,
    SHD_U8,
    SHD_I16,
    SHD_I64,
    SHD_BOOL,
    SHD_F8E4M3,
    SHD_F8E5M2,
    SHD_F4E2M1, /* four bits, here one element a byte */
    SHD_NDTYPES
};

/* Bytes of one element; 0 for what is no type. */
SHD_API size_t shd_dtype_size(enum shd_dtype dtype);

/* The name that NumPy and JAX use: "float32", "bfloat16", "int32"; "no type" for a number that is
 * no type.  The string is static. */
SHD_API const char *shd_dtype_name(enum shd_dtype dtype);

/* The type of a name, long ("float32") or short ("f32", "bf16").  SHD_ENOTFOUND. */
SHD_API SHD_MUST_CHECK int shd_dtype_parse(enum shd_dtype *out, const char *name,
                                           struct shd_error *err);

/* Between single precision and the 16-bit types; rounds to nearest, ties to even. */
SHD_API uint16_t shd_bf16_from_f32(float value);
SHD_API float shd_bf16_to_f32(uint16_t bits);
SHD_API uint16_t shd_f16_from_f32(float value);
SHD_API float shd_f16_to_f32(uint16_t bits);

#ifdef __cplusplus
}
#endif

#endif /* SHD_DTYPE_H */
