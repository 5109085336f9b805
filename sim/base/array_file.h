/* base/array_file.h - the arrays that lie in a .safetensors or .npz file, by name.
 *
 * The directory of the file is read and checked when it is opened: every array lies inside of the
 * file, and none over another.  Values are read later, a range at a time (base/file.h).
 *
 * Thread class: immutable once opened; any number of threads may read values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ARRAY_FILE_H
#define BASE_ARRAY_FILE_H

#include "base/diag.h"
#include "base/nearest.h"
#include "base/stored_array.h"

struct array_file; /* opaque */

/* Open a file, whose beginning says which kind it is.  On success free it with
 * array_file_destroy().  On failure reports to `diag`, with places in the file, and returns a
 * status below 0. */
SHD_MUST_CHECK int array_file_open(struct array_file **out, const char *path, struct diag *diag);
void array_file_destroy(struct array_file *file); /* NULL is allowed */

/* The array of a name; NULL: there is none, and all names are offered to `nearest`. */
const struct stored_array *array_file_find(const struct array_file *file, const char *name,
                                           struct nearest *nearest);

/* Check that all reads so far succeeded: file_bytes_check(). */
SHD_MUST_CHECK int array_file_check(const struct array_file *file, struct shd_error *err);

#endif /* BASE_ARRAY_FILE_H */
