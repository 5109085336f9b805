/* shd/split.h - dividing without remainder: numbers, vocabularies, the last dimension of arrays.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_SPLIT_H
#define SHD_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SHD_OK when the divisor divides the number, else SHD_EINDIVISIBLE; SHD_EINVAL for a divisor of
 * 0. */
SHD_API SHD_MUST_CHECK int shd_ensure_divisible(int64_t number, int64_t divisor,
                                                struct shd_error *err);

/* number / divisor.  Errors as above, and SHD_ERANGE when it does not fit. */
SHD_API SHD_MUST_CHECK int shd_divide(int64_t *out, int64_t number, int64_t divisor,
                                      struct shd_error *err);

/* The entries [start, stop) of a vocabulary that a rank holds.  SHD_EINDIVISIBLE and SHD_EINVAL as
 * above; SHD_ERANGE.  For a rank outside of the world the same formula is used; `strict` makes that
 * SHD_EINVAL. */
SHD_API SHD_MUST_CHECK int shd_vocab_range(int64_t *start, int64_t *stop, int64_t vocab_size,
                                           int64_t rank, int64_t world_size, bool strict,
                                           struct shd_error *err);

/* The chunks of a row-major array along its last dimension, all of one shape.  A chunk is a view:
 * its element with the indices i is at element `offset(chunk) + sum i*strides` of the storage. */
struct shd_split {
    int64_t nchunks;
    size_t rank;
    int64_t shape[SHD_RANK_MAX];
    int64_t strides[SHD_RANK_MAX]; /* in elements, between neighbours along each dimension */
    int64_t width;                 /* of a chunk; chunk k is at element k * width of the array */
    bool contiguous;               /* the view's elements have no gaps and are in order */
    bool copied;                   /* chunks have storage of their own, each from element 0 */
};

/* Split an array into `nchunks` chunks along its last dimension.  `contiguous` asks for chunks
 * without gaps: those that are not are to be copied, and are described as copies.  An array whose
 * last dimension is empty is one chunk, whatever the number.
 *
 * SHD_ERANGE (rank 0 or over SHD_RANK_MAX, more elements than fit), SHD_EINVAL (0 chunks, or less;
 * a negative extent), SHD_EINDIVISIBLE. */
SHD_API SHD_MUST_CHECK int shd_split_last_dim(struct shd_split *out, const int64_t *shape,
                                              size_t rank, int64_t nchunks, bool contiguous,
                                              struct shd_error *err);

/* Where chunk 0..nchunks-1 starts in its storage, in elements. */
SHD_API int64_t shd_split_offset(const struct shd_split *split, int64_t chunk);

#ifdef __cplusplus
}
#endif

#endif /* SHD_SPLIT_H */
