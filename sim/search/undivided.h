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

#endif /* SEARCH_UNDIVIDED_H */
