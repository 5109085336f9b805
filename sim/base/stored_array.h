/* base/stored_array.h - an array that lies in a file, or in memory.
 *
 * Thread class: plain data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_STORED_ARRAY_H
#define BASE_STORED_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/shape.h>

#include "base/diag.h"
#include "base/file.h"

/* Row-major and little-endian. */
struct stored_array {
    char *name;
    enum shd_dtype dtype; /* of an unsigned type: the signed one of its size */
    bool is_unsigned;     /* of 16 bits and more */
    size_t rank;
    int64_t shape[SHD_RANK_MAX];
    uint64_t at, bytes;      /* in the file */
    struct file_bytes *file; /* not owned */
    const void *memory;      /* in place of the file; NULL: that.  Not owned */
};

/* Take one array of a file; its name is copied.  Faults are reported at `place`. */
typedef int (*stored_array_fn)(void *arg, const struct stored_array *array, struct place place,
                               struct diag *diag);

#endif /* BASE_STORED_ARRAY_H */
