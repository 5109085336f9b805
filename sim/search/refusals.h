/* refusals.h - why layouts are refused, and which reason is the commonest.
 *
 * A search refuses millions of layouts for a handful of reasons.  REFUSALS_MAX reasons are counted.
 * A further reason replaces the rarest and inherits its count, so a reason of more than one in
 * REFUSALS_MAX layouts is never lost.
 *
 * Thread class: owned by one thread; starts as zeros.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_REFUSALS_H
#define SEARCH_REFUSALS_H

#include <stddef.h>

#include "base/json_out.h"
#include "base/text.h"

#define REFUSALS_MAX 16
#define REFUSALS_TOLD 4 /* in a text */

struct refusals_reason {
    char why[160];
    size_t n; /* layouts; 0: unused */
};

struct refusals {
    size_t n;                                     /* layouts that were refused */
    struct refusals_reason reasons[REFUSALS_MAX]; /* the commonest first, of equally common ones in
                                                     the order in which they came up */
};

/* Count n layouts refused for a reason; its first 159 bytes are kept. */
void refusals_add(struct refusals *refusals, size_t n, const char *why);

/* Count what others have counted. */
void refusals_join(struct refusals *refusals, const struct refusals *others);

/* Append the commonest reasons, each with the number of its layouts unless it is the only one:
 * ": 7: REASON; 2: REASON". */
void refusals_tell(struct text *out, const struct refusals *refusals);

/* Write the key "refusals": an array of all reasons, each with the number of its layouts. */
void refusals_json(struct json_out *out, const struct refusals *refusals);

#endif /* SEARCH_REFUSALS_H */
