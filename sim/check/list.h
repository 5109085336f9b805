/* list.h - the files that a check of a folder takes, each with the folder of its baseline,
 * and the baselines whose files are gone.
 *
 * A scenario is known by its name.  A script is taken if it has a baseline, or if its name ends as
 * scripts do and it launches a program that is known.
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

/* A file, by its path below a folder; its baseline has the same path below the other folder. */
struct check_item {
    char *dir, *folder, *suite;
};

struct check_orphan {
    char *folder, *suite; /* the baseline's path is suite, below folder */
    const char *renamed;  /* the file that seems to be the one that is gone; NULL: none */
};

struct check_list {
    struct check_item *items;
    size_t nitems;
    struct check_orphan *orphans;
    size_t norphans;
    char **left_out; /* scenarios, it seems, that are not taken; paths below their folder */
    size_t nleft_out;
};

/* Which files of a folder are taken. */
enum check_take {
    CHECK_TAKE_ALL,     /* scenarios and scripts */
    CHECK_TAKE_SCRIPTS, /* scripts with and without a baseline */
    CHECK_TAKE_KEPT     /* scripts with a baseline */
};

/* Add the files below `dir` whose baselines are below `folder`, which need not be there.  What the
 * list has already is not added again.  SHD_ENOMEM, SHD_ESYSTEM. */
SHD_MUST_CHECK int check_list_add(struct check_list *list, const char *dir, const char *folder,
                                  enum check_take take, struct shd_error *err);

/* Add what is below the root of a project, whose baselines are in folders of `folder`: those of
 * the same names that have baselines of scenarios, the folder scenarios, and scripts anywhere.  As
 * check_list_add(). */
SHD_MUST_CHECK int check_list_add_project(struct check_list *list, const char *dir,
                                          const char *folder, struct shd_error *err);

/* Find the baseline of a script in results/baselines of the lowest folder above it that has one.
 * False: there is none, or no memory.  Free with check_item_fini(). */
bool check_list_find_above(struct check_item *out, const char *dir, const char *suite);

/* Whether a script has a baseline below that folder. */
bool check_list_has_baseline(const char *folder, const char *suite);

void check_item_fini(struct check_item *item);
void check_list_fini(struct check_list *list);

/* Whether a name ends as a scenario does. */
bool check_list_is_scenario(const char *name);

#endif /* CHECK_LIST_H */
