/* base/utf8.h - walking over UTF-8 text.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the character at `bytes`, 1 to 4, and its code point in *code; 0 if it is
 * invalid: a stray or missing byte, an overlong form, a surrogate, or above U+10FFFF. */
size_t utf8_next(const char *bytes, size_t length, uint32_t *code);

/* Columns of a text on a screen: two for the wide characters of East Asia and for pictographs, none
 * for marks above or below the character before; each byte that is not UTF-8 has one. */
size_t utf8_columns(const char *bytes, size_t length);

/* The largest length, at most `limit`, at which a character ends. */
size_t utf8_cut(const char *bytes, size_t length, size_t limit);

#endif /* BASE_UTF8_H */
