/* base/file.h - a whole file into memory, with a limit; or mapped.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

/* Append the bytes of a file ("-": standard input) to `out`.  On failure *out is as it was.
 * SHD_ESYSTEM (not there, a directory, not readable), SHD_ERANGE (over max_bytes; found without
 * reading the rest), SHD_ENOMEM. */
SHD_MUST_CHECK int file_read(struct text *out, const char *path, size_t max_bytes,
                             struct shd_error *err);

/* The bytes of a regular file, as they lie in the system's cache: mapped many times it takes the
 * memory of one.  What is mapped must not be cut short while it is in use.  An empty file is NULL.
 * Free them with file_unmap().  SHD_ESYSTEM (not there, no regular file, not readable),
 * SHD_ENOMEM. */
SHD_MUST_CHECK int file_map(const uint8_t **out, uint64_t *nbytes, const char *path,
                            struct shd_error *err);
void file_unmap(const uint8_t *bytes, uint64_t nbytes); /* NULL is allowed */

#endif /* BASE_FILE_H */
