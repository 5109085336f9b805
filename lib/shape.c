/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/shape.h>

#include <inttypes.h>
#include <stdbool.h>

#include "print.h"

int shd_shape_count(int64_t *out, const int64_t *shape, size_t rank, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, shape, rank))
        return SHD_EINVAL;

    int64_t count = 1;
    bool empty = false;

    /* An empty array has no elements however large its other extents are. */
    for (size_t d = 0; d < rank; d++) {
        if (shape[d] < 0)
            return shd_error_set(err, SHD_EINVAL, "dimension %zu has extent %" PRId64, d, shape[d]);
        empty |= shape[d] == 0;
    }
    for (size_t d = 0; d < rank && !empty; d++) {
        if (__builtin_mul_overflow(count, shape[d], &count))
            return shd_error_set(err, SHD_ERANGE, "the array has more than 2^63 - 1 elements");
    }
    *out = empty ? 0 : count;
    return SHD_OK;
}

int shd_shape_bytes(uint64_t *out, const int64_t *shape, size_t rank, enum shd_dtype dtype,
                    struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, shape, rank))
        return SHD_EINVAL;

    int64_t count;
    uint64_t bytes;
    int status;

    if ((unsigned)dtype >= SHD_NDTYPES)
        return shd_error_set(err, SHD_EINVAL, "%d is not a valid element type", (int)dtype);
    status = shd_shape_count(&count, shape, rank, err);

    if (status)
        return status;
    if (__builtin_mul_overflow((uint64_t)count, (uint64_t)shd_dtype_size(dtype), &bytes))
        return shd_error_set(err, SHD_ERANGE, "the array has more than 2^64 - 1 bytes");
    *out = bytes;
    return SHD_OK;
}

size_t shd_shape_print(char *buf, size_t size, const int64_t *shape, size_t rank)
{
    if ((!buf && size > 0) || (!shape && rank > 0))
        return 0;

    struct print print;

    print_init(&print, buf, size);
    print_add(&print, "(");
    for (size_t d = 0; d < rank; d++)
        print_add(&print, "%s%" PRId64, d > 0 ? ", " : "", shape[d]);
    print_add(&print, rank == 1 ? ",)" : ")");
    return print.length;
}
