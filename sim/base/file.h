/* base/file.h - reading a whole file into memory, up to a limit, or byte ranges of a file.
 *
 * Thread class: pure functions; a struct file_bytes may be shared by any number of threads.
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

/* The part of a path behind its last '/'. */
const char *file_name(const char *path);

/* A regular file that any number of threads read ranges of; it is open only during a read.  A
 * failed read yields zeros and is recorded, so that a caller may read many times and check once. */
struct file_bytes; /* opaque */

/* Open a file for range reads.  On success free it with file_bytes_destroy().  SHD_ESYSTEM
 * (missing, not a regular file, not readable), SHD_ENOMEM. */
SHD_MUST_CHECK int file_bytes_create(struct file_bytes **out, const char *path,
                                     struct shd_error *err);
void file_bytes_destroy(struct file_bytes *file); /* NULL is allowed */

/* The file's size when it was opened; and a read of up to n bytes from `at`, which must be below
 * that size.  Returns how many bytes were read, at least 1. */
uint64_t file_bytes_count(const struct file_bytes *file);
size_t file_bytes_read(struct file_bytes *file, uint64_t at, uint8_t *out, size_t n);

/* Check that all reads succeeded.  SHD_ESYSTEM: the file was truncated meanwhile, or could not be
 * read; the message names it and the first byte that is missing. */
SHD_MUST_CHECK int file_bytes_check(const struct file_bytes *file, struct shd_error *err);

#endif /* BASE_FILE_H */
