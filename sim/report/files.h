/* files.h - the page's style sheet and script, compiled into the program as text.
 *
 * The build makes C text of the two files in this folder.
 *
 * Thread class: constants.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_FILES_H
#define REPORT_FILES_H

/* Lines, each with its newline; NULL after the last. */
extern const char *const files_style[];
extern const char *const files_script[];

#endif /* REPORT_FILES_H */
