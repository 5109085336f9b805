/* stored.h - the baselines of `shardsim check` as they are stored: their paths, and read.
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
    "the first line is not that of a baseline, so this is left as it is; move it away"

struct check_stored {
    struct text text; /* "" where there is no file */
    bool is_foreign;  /* the file in its place is not a baseline, or cannot be read */
    struct baseline_file was;
};

#define CHECK_STORED_INIT \
    {                     \
        .text = TEXT_INIT \
    }

/* Read a file into an initial struct; a file that is not there is no error.  SHD_EINVAL (not a
 * baseline) and the statuses of reading, told in `faults`.  Freed with check_stored_fini() either
 * way. */
int check_stored_read(struct check_stored *out, const char *path, struct diag *faults);

void check_stored_fini(struct check_stored *stored);

/* Whether a file is a baseline; false if it cannot be read. */
bool check_is_baseline(const char *path);

/* "dir/name", or the name alone in "."; the caller frees it.  NULL: no memory. */
char *check_join(const char *dir, const char *name);

/* The path of a file's baseline, of the file's path below its folder.  As check_join(). */
char *check_join_baseline(const char *folder, const char *suite);

#endif /* CHECK_STORED_H */
