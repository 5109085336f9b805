/* shipped.h - the files of scenarios/hardware/, as text in the library.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_SHIPPED_H
#define HARDWARE_SHIPPED_H

#include "base/text.h"

struct shipped_file {
    const char *name;         /* "tpu-v4" */
    const char *const *lines; /* each with its newline; ended by NULL */
};

/* Sorted by name, ended by one without a name; made by embed.sh when this is built. */
extern const struct shipped_file shipped_files[];

/* The file of a name, or NULL. */
const struct shipped_file *shipped_find(const char *name);

/* Append a file's text. */
void shipped_text(const struct shipped_file *file, struct text *out);

/* Append all names, "a, b and c". */
void shipped_names(struct text *out);

#endif /* HARDWARE_SHIPPED_H */
