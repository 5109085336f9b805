/* file.h - one file of `shardsim check`: all its strategies against its baseline.
 *
 * A file is a task of the farm, done by any rank; the answer is a list of notes, each of which
 * begins with its kind.  Rank 0 prints them and writes the baselines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_FILE_H
#define CHECK_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "check/list.h"
#include "check/strategy.h"

enum check_note {
    CHECK_OUTCOME,  /* outcome_pack() */
    CHECK_BASELINE, /* a baseline to be written: its path and its text */
    CHECK_SAME,     /* the baseline needs no change */
    CHECK_RENAMED   /* the former name of this file: a matching orphaned baseline */
};

/* Pack a task: a file of the list, and the orphaned baselines in the folder of its baseline, one of
 * which may be this file's under a former name. */
void check_file_ask(struct text *out, const struct check_item *item, const struct check_list *list);

/* The work of a farm_crew, whose `arg` is a struct check_wish. */
int check_file_work(void *wish, const void *task, size_t bytes, struct text *answer);

/* Print an out-of-memory error; returns CMD_CANNOT. */
int check_no_memory(void);

#endif /* CHECK_FILE_H */
