/* refusals.h - why layouts are refused, and which reason is the commonest.
 *
 * A search refuses millions of layouts for a handful of reasons.  REFUSALS_MAX of them are counted;
 * another takes the place of the rarest and its count, so that a reason of more than one in
 * REFUSALS_MAX layouts is never lost.
 *
 * Thread class: owned by one thread; starts as zeros.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_REFUSALS_H
#define SEARCH_REFUSALS_H

#include <stddef.h>

#define REFUSALS_MAX 16

struct refusals {
    size_t n; /* layouts that were refused */
    struct {
        char why[160];
        size_t n;
    } reasons[REFUSALS_MAX]; /* an unused one has n 0 */
};

/* Note that n layouts are refused for a reason, of which 159 bytes are kept. */
void refusals_add(struct refusals *refusals, size_t n, const char *why);

/* The commonest reason, of several the one that came first; "" if nothing was refused. */
const char *refusals_commonest(const struct refusals *refusals);

#endif /* SEARCH_REFUSALS_H */
