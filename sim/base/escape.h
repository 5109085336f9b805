/* base/escape.h - names from outside, as they may be shown.
 *
 * A name in a file, a file's own name or a word of the command line may hold what a terminal, an
 * editor or a log viewer acts upon: control characters (ESC, and U+009B, which stands for ESC [),
 * those that turn the direction of writing or cannot be seen, the ends of lines, and bytes that are
 * no UTF-8.  All that is shown to people passes through here, where these become \n, \r, \t, \x1b
 * (a byte), \u202e or \U000e0001 (characters).  Other text stays as it is, a backslash too, but for
 * what runners of CI take for commands to themselves: "::" where a line may begin, after spaces too
 * (GitHub's, ::error::), and "##[" or "##vso[" anywhere (GitHub's, Azure's).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* Whether a character is none to be shown as it is. */
bool escape_is_needed(uint32_t code);

/* Whether the byte at `at` is the bracket of "##[" or "##vso[". */
bool escape_ends_command(const char *bytes, size_t at);

/* Append a string as it may be shown; a NULL is "". */
void escape_add(struct text *out, const char *string);
void escape_add_bytes(struct text *out, const char *bytes, size_t length);

/* Write a string as it may be shown; needs no memory. */
void escape_put(FILE *file, const char *string);

/* Escape what was added to a text from byte `from` on. */
void escape_from(struct text *text, size_t from);

#endif /* BASE_ESCAPE_H */
