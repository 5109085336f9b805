/* baseline_folder.h - where the baselines of a folder of scenarios are.
 *
 * Each folder of scenarios has a folder of its own among the baselines, of the same name, so that
 * what belongs to one is never taken for what another left over.
 *
 * Thread class: pure functions of the file system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_BASELINE_FOLDER_H
#define STORE_BASELINE_FOLDER_H

#include <shd/error.h>

/* The folder for the baselines of the folder `scenarios`, which is there: "ROOT/NAME".  `root` NULL
 * stands for results/baselines beside the scenarios.  It need not be there yet.  The caller frees
 * *out.
 *
 * SHD_EINVAL: one of the two is, or lies in, the other, by whatever links and names, so that a
 * scenario might be taken for a baseline; SHD_ENOMEM, SHD_ESYSTEM. */
SHD_MUST_CHECK int baseline_folder_find(char **out, const char *scenarios, const char *root,
                                        struct shd_error *err);

#endif /* STORE_BASELINE_FOLDER_H */
