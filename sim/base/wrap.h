/* base/wrap.h - wrapping sentences at a line width.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include "base/text.h"

/* Append a sentence to a line that has `used` columns filled, and end the line.  Lines have `width`
 * columns, and continuation lines are indented by `indent`.  Text is escaped by
 * base/escape.h. */
void wrap_add(struct text *out, size_t width, size_t used, size_t indent, const char *sentence);

/* Append a finished text as wrap_add() does, pass on its `failed`, and free it. */
void wrap_join(struct text *out, size_t width, size_t used, size_t indent, struct text *sentence);

#endif /* BASE_WRAP_H */
