/* rules/python_text.h - reads strings of Python.
 *
 * Quotes of one or three, the prefixes r and u, escapes, and adjacent strings that form one.  An
 * escape that Python does not know keeps its backslash, as in "\d".
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_PYTHON_TEXT_H
#define RULES_PYTHON_TEXT_H

#include "rules/source.h"

/* Whether a string comes next. */
bool python_text_starts(const char *at);

/* Read the next string and the strings adjacent to it.  False with a report: a string that does not
 * end, an f-string or bytes, a zero byte. */
bool python_text_read(struct text *out, struct source *source);

#endif /* RULES_PYTHON_TEXT_H */
