/* hlo_text.h - scan a module's text: balanced brackets, names, integers, attributes, and the bytes
 * of a shape.
 *
 * A piece is a range of the text and is not copied.  Every function stops at the piece's end,
 * whatever the text.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_TEXT_H
#define CAPTURE_HLO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hlo_piece {
    const char *at, *end;
};

/* Skip spaces and comments (C++ style). */
void hlo_skip(struct hlo_piece *piece);

/* The text behind the comment, or the string, at the start of the piece. */
const char *hlo_past_comment(struct hlo_piece piece);
const char *hlo_past_string(struct hlo_piece piece);

/* Take a character, or a word, if it comes next. */
bool hlo_take(struct hlo_piece *piece, char c);
bool hlo_take_word(struct hlo_piece *piece, const char *word);

/* Take a name: letters, digits and "._-", with or without a leading '%'. */
bool hlo_take_name(struct hlo_piece *piece, struct hlo_piece *name);

/* The last name of a piece, as in an operand "f32[8]{0} %x". */
bool hlo_last_name(struct hlo_piece piece, struct hlo_piece *name);

/* Take an integer that fits: a natural number, or one of any sign without a fraction. */
bool hlo_take_number(struct hlo_piece *piece, uint64_t *out);
bool hlo_take_integer(struct hlo_piece *piece, int64_t *out);

/* Take text up to `stop` outside of brackets and strings, or to the end. */
struct hlo_piece hlo_take_until(struct hlo_piece *piece, char stop);

/* Take a bracket if it comes next; *inside is the text within. */
bool hlo_take_bracket(struct hlo_piece *piece, struct hlo_piece *inside);

/* Skip to a blank outside of brackets. */
void hlo_take_until_blank(struct hlo_piece *piece);

/* The text behind "KEY=" in a list of attributes, up to the list's end: an attribute is not always
 * one balanced piece. */
bool hlo_attribute(struct hlo_piece attributes, const char *key, struct hlo_piece *value);

bool hlo_equal(struct hlo_piece piece, const char *string);
char *hlo_copy(struct hlo_piece piece); /* NULL: no memory */

/* Take a shape: "f32[8,16]{1,0}", or a tuple of shapes.  Stores the bytes of each item of the
 * outermost tuple (of a plain shape, one item), at most `room`, and returns their number; 0: no
 * shape, or too many bytes. */
#define HLO_ITEMS_MAX 4096
size_t hlo_take_shape(struct hlo_piece *piece, uint64_t *bytes, size_t room);

#endif /* CAPTURE_HLO_TEXT_H */
