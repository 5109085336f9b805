/* check_file.h - one file of `shardsim check`: all its strategies against its baseline.
 *
 * A file is a task of the farm, done by any rank; its answer is what came of it, of which rank 0
 * tells and writes: notes, each of which begins with its kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CHECK_FILE_H
#define CMD_CHECK_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "cmd/check_strategy.h"

#define CHECK_FOREIGN \
    "the first line is not that of a baseline, so this is left as it is; move it away"

enum check_note {
    CHECK_OUTCOME,  /* outcome_pack() */
    CHECK_BASELINE, /* a baseline to be written: its path and its text */
    CHECK_SAME,     /* it is already so */
    CHECK_RENAMED   /* the file below the baselines that this one was, by its baseline */
};

/* A task: the folder of scenarios, that of their baselines, the file below both, and the baselines
 * without a scenario, among which that of this file may be, under another name. */
void check_file_ask(struct text *out, const char *dir, const char *folder, const char *suite,
                    const char *const *orphans, size_t norphans);

/* The work of a farm_crew, whose `arg` is a struct check_wish. */
int check_file_work(void *wish, const void *task, size_t bytes, struct text *answer);

/* Whether a file is a baseline; what cannot be read is none. */
bool check_is_baseline(const char *path);

/* "dir/name"; the caller frees it.  NULL: no memory. */
char *check_join(const char *dir, const char *name);

/* Say that there is no memory; CMD_CANNOT. */
int check_no_memory(void);

#endif /* CMD_CHECK_FILE_H */
