/* folder.h - the files below a folder, in an order that is always the same.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>

struct folder {
    char **paths; /* below the folder: "block/fsdp.yaml"; sorted */
    size_t npaths;
    char **left_out; /* likewise: what might have been meant, and is not among them */
    size_t nleft_out;
};

/* Files whose names end in one of `endings` (ends with NULL) in a folder and those below it.  Left
 * out are hidden ones, those of folders called as one of `without` (ends with NULL, or is NULL),
 * those whose ending is written in other letters (.YAML), and links to folders, which may lead back
 * to one above; hidden folders are not looked into.  SHD_ENOMEM, SHD_ESYSTEM (no such folder).
 * Free with folder_fini() either way. */
SHD_MUST_CHECK int folder_init(struct folder *out, const char *path, const char *const *endings,
                               const char *const *without, struct shd_error *err);
void folder_fini(struct folder *folder);

/* Whether a name ends in one of `endings`, and is longer. */
bool folder_ends_in(const char *name, const char *const *endings);

/* Whether a file of that path is there. */
int folder_has(const struct folder *folder, const char *path);

#endif /* STORE_FOLDER_H */
