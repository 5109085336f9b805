/* regex/texts.h - patterns that are only choices of texts: "attn/(q|k)_proj$", ".*".
 *
 * Most patterns of sharding rules are; searching for the texts is ten times as fast as matching,
 * and a hundred times as fast as generating machine code first.
 *
 * Thread class: immutable once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_TEXTS_H
#define REGEX_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct regex_texts; /* opaque */

/* The texts of a pattern that is a choice of texts: it matches exactly the strings that contain one
 * of them.  Such a pattern consists of ASCII characters, escaped or not, of groups and '|', and at
 * its two ends of '^', '$' and ".*", where ".*" has no effect.  NULL for all other patterns, for
 * more or longer texts than is worthwhile, and for lack of memory.  The pattern must compile.  Free
 * it with free(). */
struct regex_texts *regex_texts_create(const char *pattern);

/* The regex_pairs() (find.h) that all texts have in common. */
uint64_t regex_texts_pairs(const struct regex_texts *texts);

/* Whether a string of `length` ASCII characters contains one of the texts. */
bool regex_texts_find(const struct regex_texts *texts, const char *string, size_t length);

#endif /* REGEX_TEXTS_H */
