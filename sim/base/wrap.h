/* base/wrap.h - sentences that go on in a new line where the line is full.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include "base/text.h"

/* Add a sentence to a line of which `used` columns are filled, and end the line.  Words go into
 * lines of `width` columns, further lines below column `indent`.  Columns are characters.
 * Names in it are shown as base/escape.h says. */
void wrap_add(struct text *out, size_t width, size_t used, size_t indent, const char *sentence);

#endif /* BASE_WRAP_H */
