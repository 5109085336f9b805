/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/split.h>

int shd_ensure_divisible(int64_t number, int64_t divisor, struct shd_error *err)
{
    if (divisor == 0)
        return shd_error_set(err, SHD_EINVAL, "%lld is divided by 0", (long long)number);
    if (divisor != -1 && number % divisor != 0) /* INT64_MIN % -1 is undefined */
        return shd_error_set(err, SHD_EINDIVISIBLE, "%lld is not divisible by %lld",
                             (long long)number, (long long)divisor);
    return SHD_OK;
}

int shd_divide(int64_t *out, int64_t number, int64_t divisor, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    int status = shd_ensure_divisible(number, divisor, err);

    if (status)
        return status;
    if (number == INT64_MIN && divisor == -1)
        return shd_error_set(err, SHD_ERANGE, "%lld divided by -1 does not fit", (long long)number);
    *out = number / divisor;
    return SHD_OK;
}

int shd_vocab_range(int64_t *start, int64_t *stop, int64_t vocab_size, int64_t rank,
                    int64_t world_size, bool strict, struct shd_error *err)
{
    if (!SHD_GIVEN(err, start, stop))
        return SHD_EINVAL;

    int64_t width, first, end;
    int status = shd_divide(&width, vocab_size, world_size, err);

    if (status)
        return status;
    if (strict && (vocab_size < 0 || world_size < 1 || rank < 0 || rank >= world_size))
        return shd_error_set(err, SHD_EINVAL, "vocabulary %lld, rank %lld of %lld: invalid",
                             (long long)vocab_size, (long long)rank, (long long)world_size);
    if (__builtin_mul_overflow(rank, width, &first) || __builtin_add_overflow(first, width, &end))
        return shd_error_set(err, SHD_ERANGE, "the range of rank %lld does not fit",
                             (long long)rank);
    *start = first;
    *stop = end;
    return SHD_OK;
}

/* Row-major strides; extents of 0 count as 1. */
static int set_strides(int64_t *strides, const int64_t *shape, size_t rank, struct shd_error *err)
{
    int64_t stride = 1;

    for (size_t d = rank; d-- > 0;) {
        strides[d] = stride;
        if (__builtin_mul_overflow(stride, shape[d] > 0 ? shape[d] : 1, &stride))
            return shd_error_set(err, SHD_ERANGE,
                                 "the array has more elements than can be counted");
    }
    return SHD_OK;
}

static bool is_contiguous(const struct shd_split *split)
{
    int64_t expected = 1;
    bool fits = true;

    for (size_t d = split->rank; d-- > 0;) {
        if (split->shape[d] == 0)
            return true; /* there are no elements */
        if (split->shape[d] != 1) {
            fits = fits && split->strides[d] == expected;
            expected *= split->shape[d];
        }
    }
    return fits;
}

static int check_shape(const int64_t *shape, size_t rank, struct shd_error *err)
{
    if (rank == 0 || rank > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "an array of rank %zu is not split", rank);
    for (size_t d = 0; d < rank; d++) {
        if (shape[d] < 0)
            return shd_error_set(err, SHD_EINVAL, "dimension %zu has %lld elements", d,
                                 (long long)shape[d]);
    }
    return SHD_OK;
}

int shd_split_last_dim(struct shd_split *out, const int64_t *shape, size_t rank, int64_t nchunks,
                       bool contiguous, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, shape, rank))
        return SHD_EINVAL;

    struct shd_split split = {.rank = rank};
    int status = check_shape(shape, rank, err);

    if (!status)
        status = shd_divide(&split.width, shape[rank - 1], nchunks, err);
    if (!status)
        status = set_strides(split.strides, shape, rank, err);
    if (status)
        return status;
    if (split.width < 0)
        return shd_error_set(err, SHD_EINVAL, "chunks have %lld elements", (long long)split.width);
    split.nchunks = split.width == 0 ? 1 : nchunks;
    for (size_t d = 0; d < rank; d++)
        split.shape[d] = shape[d];
    split.shape[rank - 1] = split.width;
    split.contiguous = is_contiguous(&split);
    if (contiguous && !split.contiguous) {
        split.copied = split.contiguous = true;
        status = set_strides(split.strides, split.shape, rank, err);
    }
    if (!status)
        *out = split;
    return status;
}

int64_t shd_split_offset(const struct shd_split *split, int64_t chunk)
{
    if (!split)
        return -1;
    return split->copied ? 0 : chunk * split->width;
}
