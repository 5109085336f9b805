/* write.h - files that are kept: whole or not at all.
 *
 * Thread class: pure functions of the file system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_WRITE_H
#define STORE_WRITE_H

#include <shd/error.h>

#include "base/text.h"

/* Write a text to a file: to a new one without a name first, which takes its name when all is on
 * the disk.  Whatever happens, the file is the old one or the new one, and nothing is left beside
 * it (but by a kill between two system calls, and then until the next write, a hidden file).  What
 * is no regular file (a pipe, /dev/stdout) is written to as it is.  SHD_ENOMEM (the text failed),
 * SHD_ESYSTEM. */
SHD_MUST_CHECK int store_write(const char *path, const struct text *text, struct shd_error *err);

/* Whether a text could be written there, so that work whose result would be lost is not begun: the
 * folder is there and may be written, and the path is no folder.  SHD_ESYSTEM. */
SHD_MUST_CHECK int store_check(const char *path, struct shd_error *err);

/* Make the folder that a file is to be in, and those above it.  SHD_ESYSTEM. */
SHD_MUST_CHECK int store_make_folder(const char *path, struct shd_error *err);

#endif /* STORE_WRITE_H */
