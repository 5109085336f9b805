/* json_text.h - JSON read in place, item by item: nothing is copied and no tree is made, so that a
 * file of any size takes no memory but its own.
 *
 * A reader walks: it opens an object or an array, asks for the next item until there is none, and
 * takes or skips each value.  At the first fault the walk ends: from then on every call returns
 * false, and `fault` says what was expected where `at` stands.
 *
 *     json_text_open(&j, '{');
 *     while (json_text_key(&j, &key))
 *         if (!json_piece_is(key, "rank") || !json_text_int(&j, &rank))
 *             json_text_skip(&j);
 *
 * NaN and Infinity, which Python writes, pass for numbers.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define JSON_TEXT_DEPTH_MAX 512 /* arrays and objects in each other */

/* A part of the text: of a string what is between the quotes, escapes as they are written. */
struct json_piece {
    const char *at;
    size_t length;
};

struct json_text {
    const char *begin, *at, *end;
    const char *line_begin; /* of the line of `at` */
    int line;
    bool opened; /* just now: no comma stands before the next item */
    const char *fault;
};

void json_text_init(struct json_text *j, const char *text, size_t length);

/* The next character that is no space: what a value begins with.  '\0' at the end. */
char json_text_peek(struct json_text *j);

/* Enter an array or object, by the bracket that opens it. */
bool json_text_open(struct json_text *j, char bracket);

/* Whether an array has one more item, which is to be taken next; else it is left. */
bool json_text_item(struct json_text *j);

/* The same of an object: its next key. */
bool json_text_key(struct json_text *j, struct json_piece *key);

/* Take a value.  Where it is of another kind they return false, and it can still be skipped.  A
 * whole number is one that fits and has no fraction. */
bool json_text_string(struct json_text *j, struct json_piece *out);
bool json_text_number(struct json_text *j, struct json_piece *out);
bool json_text_int(struct json_text *j, int64_t *out);
bool json_text_true(struct json_text *j);

/* Skip a value of any kind. */
bool json_text_skip(struct json_text *j);

/* What follows the last value must be nothing. */
bool json_text_end(struct json_text *j);

/* A walk over a value that was skipped: from where `j` stood before it. */
struct json_text json_text_again(const struct json_text *j);

/* Where `j` stands, counted in characters; and its fault, told there. */
struct place json_text_place(const struct json_text *j, const char *file);
void json_text_report(const struct json_text *j, const char *file, struct diag *diag);

bool json_piece_is(struct json_piece piece, const char *word);
bool json_piece_begins(struct json_piece piece, const char *word);
bool json_piece_has(struct json_piece piece, const char *word);

/* A decimal number, such as "4704345631356.606", in thousandths: what is beyond them is cut off.
 * False: it is none, or does not fit. */
bool json_piece_thousandths(struct json_piece piece, int64_t *out);

#endif /* BASE_JSON_TEXT_H */
