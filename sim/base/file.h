/* base/file.h - a whole file into memory, with a limit.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include <shd/error.h>

#include "base/text.h"

/* Append the bytes of a file ("-": standard input) to `out`.  On failure *out is as it was.
 * SHD_ESYSTEM (not there, a directory, not readable), SHD_ERANGE (over max_bytes; found without
 * reading the rest), SHD_ENOMEM. */
SHD_MUST_CHECK int file_read(struct text *out, const char *path, size_t max_bytes,
                             struct shd_error *err);

#endif /* BASE_FILE_H */
