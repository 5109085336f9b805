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

/* Of a space without layouts: "no layout divides: ...", a sentence. */
void undivided_tell(struct text *out, const struct space *space);

/* The count that does not divide over any axes which the ranges leave; false: it is no count. */
bool undivided_find(struct space_division *out, const struct space *space);

#endif /* SEARCH_UNDIVIDED_H */
