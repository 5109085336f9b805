/* write.h - write files whole or not at all.
 *
 * Thread class: pure functions of the file system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_WRITE_H
#define COMMAND_WRITE_H

#include <shd/error.h>

#include "base/text.h"

/* Write a text to a file: first to a nameless file, which takes the name once all is on the disk.
 * After any failure the file is the old one or the new one.  Only a kill between two system calls
 * leaves a hidden file beside it, until the next write.  A path that is no regular file (a pipe,
 * /dev/stdout) is written to directly.  SHD_ENOMEM (the text failed), SHD_ESYSTEM. */
SHD_MUST_CHECK int store_write(const char *path, const struct text *text, struct shd_error *err);

/* Whether a text could be written to the path, to be checked before long work: its folder exists
 * and is writable, and the path is no folder.  SHD_ESYSTEM. */
SHD_MUST_CHECK int store_check(const char *path, struct shd_error *err);

/* Make the folder of a file, and the folders above.  SHD_ESYSTEM. */
SHD_MUST_CHECK int store_make_folder(const char *path, struct shd_error *err);

#endif /* COMMAND_WRITE_H */
