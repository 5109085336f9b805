/* check_folder.h - every scenario below a folder, or one of them, against its baseline.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JOBS_CHECK_FOLDER_H
#define JOBS_CHECK_FOLDER_H

#include "jobs/check_strategy.h"
#include "jobs/check_tell.h"

struct check {
    struct check_wish wish;
    const char *dir, *baselines; /* NULL: scenarios; beside `dir` */
    bool prune;
    struct check_tell tell;
    /* Of check_run(): */
    char *folder;           /* of the baselines of this folder */
    char *own_dir;          /* of `only`; NULL: a folder was named */
    bool only_script;       /* `only` is a script, whose folder is not looked at */
    char **scripts;         /* of baselines in the folder, below it */
    size_t nscripts;
    const char *only;       /* the single file to check, below the folder; NULL: all files */
    size_t nwritten, nsame; /* baselines, with --update */
    struct farm *farm;      /* over all ranks; a task is a file */
    char *const *suites;    /* files of this round */
    const char **orphans;   /* baselines in the folder without a scenario */
    const char **renamed;   /* [orphan] scenario that the baseline seems to fit now; NULL: none */
    size_t norphans;
    int exit; /* exit status of the file that ended the check */
};

/* Check, as rank 0 with the help of the others, and print the outcomes; returns the exit status. */
int check_run(struct check *check);

#endif /* JOBS_CHECK_FOLDER_H */
