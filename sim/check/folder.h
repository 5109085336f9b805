/* folder.h - check every scenario below a folder, or a single one, against its baseline.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_FOLDER_H
#define CHECK_FOLDER_H

#include "check/list.h"
#include "check/strategy.h"
#include "check/tell.h"

struct check {
    struct check_wish wish;
    const char *dir, *baselines; /* NULL: scenarios; beside `dir` */
    bool prune;
    struct check_tell tell;
    /* Of check_run(): */
    bool by_default;        /* no folder was named */
    const char *root;       /* of all baselines, beside the folder */
    char *folder;           /* of the baselines of this folder */
    char *own_dir;          /* of `only`; NULL: a folder was named */
    char *own_only;         /* storage of `only`, if not a part of the named path; else NULL */
    bool only_script;       /* `only` is a script: its folder is not listed */
    const char *only;       /* the single file to check, below the folder; NULL: all files */
    size_t nwritten, nsame; /* baselines, with --update */
    struct farm *farm;      /* over all ranks; a task is a file */
    struct check_list list; /* of a folder */
    const struct check_item *round; /* files of this round */
    int exit; /* exit status of the file that ended the check */
};

/* Check, as rank 0 with the help of the others, and print the outcomes; returns the exit status. */
int check_run(struct check *check);

#endif /* CHECK_FOLDER_H */
