/* script.h - a launch script, or another file of options of a training job, checked as the
 * scenario that `shardsim import` makes of it.
 *
 * Settings missing in the file (devices, variables, the cluster) are given as words, "devices=64",
 * and stored in the baseline.
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

/* Whether a file's content is a launch script or job config that `shardsim check` can check. */
bool check_is_job(const char *path);

/* For a file that cannot be checked, report its kind and the command that reads it.  False: unknown
 * kind, and nothing is reported. */
bool check_say_kind(const char *path);

/* Whether a file launches a program known by name, or has options of torchtitan; a file that only
 * mentions them does not. */
bool check_launches(const char *path);

/* Merge a baseline's words with the given words.  A given word replaces the baseline's word of the
 * same option, variable or file.  `out` has room for all; returns their number.
 */
size_t check_script_merge(const char **out, const char *const *kept, size_t nkept,
                          const char *const *given, size_t ngiven);

struct check_script {
    struct text scenario;  /* as import writes it */
    struct baseline lines; /* only the lines: the words, then the options of the file */
    const char *hardware;  /* of the words; NULL: none */
    struct diag unplanned; /* options that the scenario cannot express, at their places */
};

/* Read a script.  Faults go to `diag`, at their places in the script.  Free with
 * check_script_fini() either way. */
void check_script_init(struct check_script *out, const char *path, const char *const *words,
                       size_t nwords, struct diag *diag);
void check_script_fini(struct check_script *script);

#endif /* CHECK_SCRIPT_H */
