/* base/safetensors.h - the header of a safetensors file, read and written.
 *
 * A file is the length of its header in 8 bytes, little-endian; the header, which is JSON: {"name":
 * {"dtype", "shape", "data_offsets": [begin, end]}, ...} and maybe "__metadata__"; and the data, in
 * which the offsets count from 0.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SAFETENSORS_H
#define BASE_SAFETENSORS_H

#include <shd/dtype.h>
#include <shd/shape.h>

#include "base/diag.h"
#include "base/json_out.h"

#define SAFETENSORS_LENGTH_BYTES 8

struct safetensors_array {
    const char *name;
    enum shd_dtype dtype; /* of an unsigned type: the signed one of its size */
    bool is_unsigned;     /* of 16 bits and more */
    size_t rank;
    const int64_t *shape;
    uint64_t begin, end; /* they fit type and shape */
    struct place place;
};

/* The length of the header that 8 bytes announce, including these 8 bytes. */
uint64_t safetensors_length(const char *bytes);

/* Read the bytes of a file, or its first bytes with the whole header, and call fn() for each array.
 * Every fault is reported with its place in the file.  SHD_EINVAL, SHD_ERANGE, SHD_ENOMEM, or what
 * fn() returned. */
typedef int (*safetensors_fn)(void *arg, const struct safetensors_array *array);
SHD_MUST_CHECK int safetensors_read(const char *path, const char *bytes, size_t length,
                                    safetensors_fn fn, void *arg, struct diag *diag);

/* The header of a file to be written.  The arrays' data follow it, in their order. */
struct safetensors_writer {
    struct text header;
    struct json_out json;
    uint64_t end; /* of the data so far */
};

void safetensors_begin(struct safetensors_writer *writer);
void safetensors_add(struct safetensors_writer *writer, const char *name, enum shd_dtype dtype,
                     const int64_t *shape, size_t rank);

/* Append the header, padded so that data begins at a multiple of 8 bytes, and free the writer. */
void safetensors_end(struct safetensors_writer *writer, struct text *out);

#endif /* BASE_SAFETENSORS_H */
