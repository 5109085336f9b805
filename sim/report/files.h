/* files.h - the page's style and script, which lie in the program as text.
 *
 * They are files of this folder, and C text of them is made when the program is built.
 *
 * Thread class: constants.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_FILES_H
#define REPORT_FILES_H

/* Lines with their ends; NULL after the last. */
extern const char *const files_style[];
extern const char *const files_script[];

#endif /* REPORT_FILES_H */
