/* hlo_text.h - pieces of a module's text: balanced brackets, names, whole numbers, attributes, and
 * the bytes of a shape.
 *
 * A piece is a range of the text, of which nothing is copied.  Every reader stops at its end,
 * whatever stands there.
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

/* Past spaces and comments, which are C++'s. */
void hlo_skip(struct hlo_piece *piece);

/* What follows the comment, or the string, that begins with the piece. */
const char *hlo_past_comment(struct hlo_piece piece);
const char *hlo_past_string(struct hlo_piece piece);

/* Take a character, or a word, if it comes next. */
bool hlo_take(struct hlo_piece *piece, char c);
bool hlo_take_word(struct hlo_piece *piece, const char *word);

/* Take a name: letters, digits and "._-", behind a '%' or none. */
bool hlo_take_name(struct hlo_piece *piece, struct hlo_piece *name);

/* The name that a piece ends with: of an operand "f32[8]{0} %x". */
bool hlo_last_name(struct hlo_piece piece, struct hlo_piece *name);

/* Take a whole number that fits, of at least 0, or of any sign and without a fraction. */
bool hlo_take_number(struct hlo_piece *piece, uint64_t *out);
bool hlo_take_integer(struct hlo_piece *piece, int64_t *out);

/* Take all up to where brackets and strings that open are closed again and `stop` comes, or to the
 * end. */
struct hlo_piece hlo_take_until(struct hlo_piece *piece, char stop);

/* Take a bracket that comes next, and give what is in it. */
bool hlo_take_bracket(struct hlo_piece *piece, struct hlo_piece *inside);

/* Pass over all up to a blank outside of brackets. */
void hlo_take_until_blank(struct hlo_piece *piece);

/* What stands behind "KEY=" in a list of attributes, up to its end: an attribute is not always one
 * balanced piece. */
bool hlo_attribute(struct hlo_piece attributes, const char *key, struct hlo_piece *value);

bool hlo_equal(struct hlo_piece piece, const char *string);
char *hlo_copy(struct hlo_piece piece); /* NULL: no memory */

/* Take a shape: "f32[8,16]{1,0}", or a tuple of them.  Stores the bytes of each item of the
 * outermost tuple, at most `room` of them (of a plain shape the one), and returns how many there
 * are; 0: no shape, or its bytes do not fit. */
#define HLO_ITEMS_MAX 4096
size_t hlo_take_shape(struct hlo_piece *piece, uint64_t *bytes, size_t room);

#endif /* CAPTURE_HLO_TEXT_H */
