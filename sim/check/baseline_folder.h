/* baseline_folder.h - find the baselines of a folder of scenarios.
 *
 * Each folder of scenarios has a baseline folder of the same name, so that baselines of one folder
 * are never taken for leftovers of another.
 *
 * Thread class: pure functions of the file system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_BASELINE_FOLDER_H
#define CHECK_BASELINE_FOLDER_H

#include <shd/error.h>

#define BASELINES_ROOT "results/baselines"

/* Path of the baseline folder, "ROOT/NAME", of the existing folder `scenarios`.  `root` NULL:
 * results/baselines beside the scenarios.  The baseline folder need not exist yet.  The caller
 * frees *out.
 *
 * SHD_EINVAL: one of the two folders is the other or lies in the other, after resolving links, so
 * that a scenario might be taken for a baseline; SHD_ENOMEM, SHD_ESYSTEM. */
SHD_MUST_CHECK int baseline_folder_find(char **out, const char *scenarios, const char *root,
                                        struct shd_error *err);

#endif /* CHECK_BASELINE_FOLDER_H */
