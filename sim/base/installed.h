/* base/installed.h - where the scenarios, examples and pages lie that were installed with the program.
 *
 * They lie in share/shardsim beside the folder of the program, wherever both were moved to: no path is
 * compiled in.
 *
 * Thread class: installed_find() before threads are started, then a constant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_INSTALLED_H
#define BASE_INSTALLED_H

/* Look for them by the name with which the program was started: a path, or what PATH leads to. */
void installed_find(const char *program);

/* The folder, without a slash at its end; NULL: there is none, as in a build tree. */
const char *installed_folder(void);

#endif /* BASE_INSTALLED_H */
