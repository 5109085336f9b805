/* import/python_text.h - strings as Python writes them.
 *
 * Quotes of one or three, the prefixes r and u, escapes, and strings side by side that are one.  An
 * escape that Python does not know stands for itself, with its backslash, as in "\d".
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_PYTHON_TEXT_H
#define IMPORT_PYTHON_TEXT_H

#include "import/source.h"

/* Whether a string comes next. */
bool python_text_starts(const char *at);

/* The string that comes next, and those beside it.  False with a report: one that does not end, an
 * f-string or bytes, a zero byte in it. */
bool python_text_read(struct text *out, struct source *source);

#endif /* IMPORT_PYTHON_TEXT_H */
