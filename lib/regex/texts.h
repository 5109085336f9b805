/* regex/texts.h - patterns that are nothing but a choice of texts: "attn/(q|k)_proj$", ".*".
 *
 * Most patterns of sharding rules are; to look for the texts is ten times as quick as to match, and
 * a hundred times as quick as to make machine code first.
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

/* The texts that a pattern is a choice of: it is found in exactly those strings that have one of
 * them.  Such a pattern consists of ASCII characters, escaped or not, of groups and '|', and at its
 * two ends of '^', '$' and ".*", the last of which changes nothing.  NULL for all other patterns,
 * for more or longer texts than are worth it, and when memory is short.  The pattern must be one
 * that compiles.  Free it with free(). */
struct regex_texts *regex_texts_create(const char *pattern);

/* The regex_pairs() (find.h) that all of the texts have. */
uint64_t regex_texts_pairs(const struct regex_texts *texts);

/* Whether one of the texts is in a string of ASCII characters; `length` is that of the string. */
bool regex_texts_find(const struct regex_texts *texts, const char *string, size_t length);

#endif /* REGEX_TEXTS_H */
