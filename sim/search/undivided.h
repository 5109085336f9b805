/* search/undivided.h - why a space is empty: which count does not divide, and the nearest numbers
 * that would.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_UNDIVIDED_H
#define SEARCH_UNDIVIDED_H

#include "base/text.h"
#include "search/space.h"

/* Say why a space has no layouts, in a sentence: "no layout divides: ...". */
void undivided_tell(struct text *out, const struct space *space);

/* Find the count that no axes allowed by the ranges divide; false: no count is the cause. */
bool undivided_find(struct space_division *out, const struct space *space);

#endif /* SEARCH_UNDIVIDED_H */
