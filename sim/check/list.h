/* list.h - the files to check in a folder, each with the folder of its baseline, and orphans:
 * baselines whose files no longer exist.
 *
 * A scenario is recognized by its name.  A script is added if it has a baseline, or if its name has a
 * script's ending and it launches a known program.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_LIST_H
#define CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>

/* A file, `suite` below `dir`; its baseline is at the same path below `folder`. */
struct check_item {
    char *dir, *folder, *suite;
};

struct check_orphan {
    char *folder, *suite; /* the baseline's path is suite, below folder */
    const char *renamed;  /* file that probably is the missing one under a new name; NULL: none */
};

struct check_list {
    struct check_item *items;
    size_t nitems;
    struct check_orphan *orphans;
    size_t norphans;
    char **left_out; /* skipped files that look like scenarios; paths below their folder */
    size_t nleft_out;
};

/* Which files of a folder to add. */
enum check_take {
    CHECK_TAKE_ALL,     /* scenarios and scripts */
    CHECK_TAKE_SCRIPTS, /* scripts with and without a baseline */
    CHECK_TAKE_KEPT     /* scripts with a baseline */
};

/* Add the files below `dir`, with baselines below `folder`, which need not exist.  A file already
 * in the list is not added again.  SHD_ENOMEM, SHD_ESYSTEM. */
SHD_MUST_CHECK int check_list_add(struct check_list *list, const char *dir, const char *folder,
                                  enum check_take take, struct shd_error *err);

/* Add the files below the root of a project, with baselines in the subfolders of `folder`: folders
 * of the same names that have baselines of scenarios, the folder `scenarios`, and scripts anywhere.
 * Like check_list_add(). */
SHD_MUST_CHECK int check_list_add_project(struct check_list *list, const char *dir,
                                          const char *folder, struct shd_error *err);

/* Find a script's baseline in results/baselines of the closest folder above the script that has one.
 * False: none found, or no memory.  Free with check_item_fini(). */
bool check_list_find_above(struct check_item *out, const char *dir, const char *suite);

/* Whether a script has a baseline below `folder`. */
bool check_list_has_baseline(const char *folder, const char *suite);

void check_item_fini(struct check_item *item);
void check_list_fini(struct check_list *list);

/* Whether a name ends as a scenario does. */
bool check_list_is_scenario(const char *name);

#endif /* CHECK_LIST_H */
