/* base/file_near.h - "did you mean": the file nearest to a path where there is none.
 *
 * Looked for in the folder of the path, and of a path without one also in ./scenarios.  A name may
 * lack its ending.  Files without ending, and hidden ones, are not offered.
 *
 * Thread class: pure functions; they read folders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_NEAR_H
#define BASE_FILE_NEAR_H

#include <stddef.h>

#define FILE_NEAR_MAX 140 /* bytes of a hint; of a path too long for it there is none */

/* "; did you mean 'scenarios/fsdp.yaml'?" or "" into buf; returns buf. */
const char *file_near_hint(const char *path, char *buf, size_t size);

/* The same where a folder is given for a file: ", such as 'scenarios/auto.yaml'", the first by name
 * of those that end in .yaml, or "". */
const char *file_near_inside(const char *folder, char *buf, size_t size);

#endif /* BASE_FILE_NEAR_H */
