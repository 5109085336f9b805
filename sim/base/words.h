/* base/words.h - lists of words in one text, separated by spaces: "--lr --min-lr".
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The next word from *at on, which goes behind it, with its length; NULL: there is none. */
const char *words_next(const char **at, size_t *length);

/* Whether a text, or its first `length` bytes, is one of the words. */
bool words_has(const char *words, const char *word);
bool words_has_bytes(const char *words, const char *word, size_t length);

#endif /* BASE_WORDS_H */
