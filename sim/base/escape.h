/* base/escape.h - text from outside in printable form.
 *
 * A name in a file, a file's own name or a word of the command line may hold characters that a
 * terminal, an editor or a log viewer acts upon: control characters (ESC, and U+009B, which stands
 * for ESC [), characters that change the writing direction or are invisible, line ends, and bytes
 * that are not UTF-8.  All text shown to people passes through here, which turns them into \n, \r,
 * \t, \x1b (a byte), \u202e or \U000e0001 (characters).  Other text, including backslashes, stays
 * as it is, except what CI runners take for commands: "::" where a line may begin, also after
 * spaces (GitHub's ::error::), and "##[" or "##vso[" anywhere (GitHub's, Azure's).
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

/* Whether a character must be escaped. */
bool escape_is_needed(uint32_t code);

/* Whether the byte at `at` is the bracket of "##[" or "##vso[". */
bool escape_ends_command(const char *bytes, size_t at);

/* Append a string in printable form; NULL is "". */
void escape_add(struct text *out, const char *string);
void escape_add_bytes(struct text *out, const char *bytes, size_t length);

/* Write a string in printable form; needs no memory. */
void escape_put(FILE *file, const char *string);

/* Escape the part of a text from byte `from` on. */
void escape_from(struct text *text, size_t from);

#endif /* BASE_ESCAPE_H */
