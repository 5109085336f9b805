/* base/npz.h - the directory of an .npz file: a zip archive of .npy files, as numpy.savez writes
 * it.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_NPZ_H
#define BASE_NPZ_H

#include "base/stored_array.h"

/* Whether the first bytes of a file are those of a zip archive. */
bool npz_begins(const uint8_t *bytes, size_t n);

/* Call fn() for each array of a file, whose members are stored as they are: a compressed member,
 * arrays in column order, of objects or of big-endian numbers are errors.  Checksums are not looked
 * at.  SHD_EINVAL, SHD_ENOMEM, or what fn() returned. */
SHD_MUST_CHECK int npz_read(struct file_bytes *file, const char *path, stored_array_fn fn,
                            void *arg, struct diag *diag);

/* Read the header of an .npy file from its first `n` bytes.  On success *length is its length, and
 * *array has type, shape and bytes; otherwise the fault is in *fault. */
bool npz_header(struct stored_array *array, size_t *length, const uint8_t *bytes, size_t n,
                const char **fault);

#endif /* BASE_NPZ_H */
