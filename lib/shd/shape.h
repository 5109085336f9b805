/* shd/shape.h - extents of arrays: counting elements and bytes without overflow.
 *
 * A shape is a plain array of int64_t extents, row-major, each at least 0.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_SHAPE_H
#define SHD_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most dimensions of an array.  Shardings and shapes of this fixed size are plain values. */
#define SHD_RANK_MAX 16

/* Elements of a shape; rank 0 has one.  SHD_EINVAL for a negative extent, SHD_ERANGE when
 * the product does not fit an int64_t. */
SHD_API SHD_MUST_CHECK int shd_shape_count(int64_t *out, const int64_t *shape, size_t rank,
                                           struct shd_error *err);

/* Bytes of an array; SHD_EINVAL, SHD_ERANGE as above. */
SHD_API SHD_MUST_CHECK int shd_shape_bytes(uint64_t *out, const int64_t *shape, size_t rank,
                                           enum shd_dtype dtype, struct shd_error *err);

/* Write "(2, 3)", "(2,)" or "()" into buf (NUL-terminated, cut if needed); returns the length that
 * the whole text has, as snprintf does. */
SHD_API size_t shd_shape_print(char *buf, size_t size, const int64_t *shape, size_t rank);

#ifdef __cplusplus
}
#endif

#endif /* SHD_SHAPE_H */
