/* folder_files.h - the files below a folder, in sorted order.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_FOLDER_FILES_H
#define CHECK_FOLDER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>

struct folder {
    char **paths; /* relative to the folder: "block/fsdp.yaml"; sorted */
    size_t npaths;
    char **left_out; /* relative and sorted: skipped files that may have been meant */
    size_t nleft_out;
};

/* List files whose names end in one of `endings` (NULL-terminated) in a folder and its subfolders.
 * Skipped: hidden files and folders, files in folders named in `without` (NULL-terminated, or
 * NULL), files whose ending differs in case (.YAML), links to folders, which may form a cycle, and
 * what is no file: links to nothing, pipes, sockets.
 * SHD_ENOMEM, SHD_ESYSTEM (no such folder).  Free with folder_fini() either way. */
SHD_MUST_CHECK int folder_init(struct folder *out, const char *path, const char *const *endings,
                               const char *const *without, struct shd_error *err);
void folder_fini(struct folder *folder);

/* Whether a name ends in one of `endings` and is longer than the ending. */
bool folder_ends_in(const char *name, const char *const *endings);

/* Whether `paths` has the path. */
int folder_has(const struct folder *folder, const char *path);

#endif /* CHECK_FOLDER_FILES_H */
