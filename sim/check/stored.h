/* stored.h - the stored baselines of `shardsim check`: their paths, and how to read them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_STORED_H
#define CHECK_STORED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"
#include "check/baseline.h"

#define CHECK_FOREIGN \
    "the first line is not a baseline's, so the file is not overwritten; move the file away"

struct check_stored {
    struct text text; /* "" if the file does not exist */
    bool is_foreign;  /* the file at the path is not a baseline, or cannot be read */
    struct baseline_file was;
};

#define CHECK_STORED_INIT \
    {                     \
        .text = TEXT_INIT \
    }

/* Read a file into an initial struct; a missing file is no error.  SHD_EINVAL (not a baseline) and
 * the statuses of reading, with messages in `faults`.  Free with check_stored_fini() either
 * way. */
int check_stored_read(struct check_stored *out, const char *path, struct diag *faults);

void check_stored_fini(struct check_stored *stored);

/* Whether a file is a baseline; false if it cannot be read. */
bool check_is_baseline(const char *path);

/* "dir/name", or the name alone in "."; the caller frees it.  NULL: no memory. */
char *check_join(const char *dir, const char *name);

/* The path of a file's baseline; `suite` is the file's path below its folder.  Like check_join(). */
char *check_join_baseline(const char *folder, const char *suite);

#endif /* CHECK_STORED_H */
