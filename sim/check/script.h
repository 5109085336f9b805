/* script.h - a launch script, or another file of options of a training job, checked as the
 * scenario that `shardsim import` makes of it.
 *
 * What the file leaves open (its devices, variables, the cluster) is given as words, "devices=64",
 * which its baseline keeps.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_SCRIPT_H
#define CHECK_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"
#include "check/baseline.h"

#define CHECK_BASELINE_ENDING ".yaml" /* of the baseline of a script, behind the script's name */

/* Whether a file is a script by its name: it does not end as scenarios do. */
bool check_is_script(const char *name);

/* Whether a file is one of those that can be checked so, by what is in it. */
bool check_is_job(const char *path);

/* Report what a file is that cannot be checked, and what reads such files.  False: it is of no
 * known kind, and nothing is reported. */
bool check_say_kind(const char *path);

/* Whether a file is a job of a program that is known by its name, or has options of torchtitan; not
 * every file that speaks of them. */
bool check_launches(const char *path);

/* Merge the words that a baseline keeps with those that are given, which take the place of kept
 * ones of the same option, variable or file.  `out` has room for all; returns how many there are.
 */
size_t check_script_merge(const char **out, const char *const *kept, size_t nkept,
                          const char *const *given, size_t ngiven);

struct check_script {
    struct text scenario;  /* as import writes it */
    struct baseline lines; /* only the lines: the words, then the options of the file */
    const char *hardware;  /* of the words; NULL: none */
    struct diag unplanned; /* options that the scenario does not say, at their places */
};

/* Read a script.  Faults go to `diag`, at their places in the script.  Free with
 * check_script_fini() either way. */
void check_script_init(struct check_script *out, const char *path, const char *const *words,
                       size_t nwords, struct diag *diag);
void check_script_fini(struct check_script *script);

#endif /* CHECK_SCRIPT_H */
