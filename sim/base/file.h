/* base/file.h - a whole file into memory, with a limit; or its bytes where they are wanted.
 *
 * Thread class: pure functions; the bytes of a file are shared by any number of threads.
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

/* A regular file whose bytes are read where they are wanted, by any number of threads; it is open
 * only while they are.  What cannot be read is zeros and is noted, so that one may read many times
 * and look once. */
struct file_bytes; /* opaque */

/* Look at a file.  On success free it with file_bytes_destroy().  SHD_ESYSTEM (not there, no regular
 * file, not readable), SHD_ENOMEM. */
SHD_MUST_CHECK int file_bytes_create(struct file_bytes **out, const char *path,
                                     struct shd_error *err);
void file_bytes_destroy(struct file_bytes *file); /* NULL is allowed */

/* How many there were when it was created; bytes read from `at` on, at least one of them and at
 * most n: `at` is below that. */
uint64_t file_bytes_count(const struct file_bytes *file);
size_t file_bytes_read(struct file_bytes *file, uint64_t at, uint8_t *out, size_t n);

/* Whether all that was read was there.  SHD_ESYSTEM: the file was cut short meanwhile, or could not
 * be read; the message names it and the first byte that was missed. */
SHD_MUST_CHECK int file_bytes_check(const struct file_bytes *file, struct shd_error *err);

#endif /* BASE_FILE_H */
