/* base/file_near.h - "did you mean": the existing file with the name nearest to a missing path.
 *
 * Searches the folder of the path; for a path without a folder also ./scenarios; then what was
 * installed with the program, by the path as it is.  A name may lack its extension.  Hidden files
 * and files without an extension are not offered.
 *
 * Thread class: pure functions; they read folders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_NEAR_H
#define BASE_FILE_NEAR_H

#include <stddef.h>

#define FILE_NEAR_MAX 140 /* bytes of a hint; a path too long for it gets none */

/* "; did you mean 'scenarios/fsdp.yaml'?" or "" into buf; returns buf. */
const char *file_near_hint(const char *path, char *buf, size_t size);

/* For a folder given in place of a file: ", such as 'scenarios/auto.yaml'", naming its first .yaml
 * file in sorted order, or "". */
const char *file_near_inside(const char *folder, char *buf, size_t size);

#endif /* BASE_FILE_NEAR_H */
