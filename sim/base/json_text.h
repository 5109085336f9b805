/* json_text.h - a JSON pull parser that works in place: it copies nothing and builds no tree, so
 * that a file of any size takes no memory beyond its text.
 *
 * A reader opens an object or an array, asks for the next item until there is none, and takes or
 * skips each value.  At the first fault parsing ends: from then on every call returns false, and
 * `fault` says what was expected at `at`.
 *
 *   json_text_open(&j, '{');
 *   while (json_text_key(&j, &key))
 *     if (!json_piece_is(key, "rank") || !json_text_int(&j, &rank))
 *       json_text_skip(&j);
 *
 * NaN and Infinity, which Python writes, are accepted as numbers.
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

#define JSON_TEXT_DEPTH_MAX 512 /* maximum nesting depth */

/* A part of the text.  For a string: the bytes between the quotes, with escapes undecoded. */
struct json_piece {
    const char *at;
    size_t length;
};

struct json_text {
    const char *begin, *at, *end;
    const char *line_begin; /* start of the line of `at` */
    int line;
    bool opened; /* a bracket was just opened: no comma before the next item */
    const char *fault;
};

void json_text_init(struct json_text *j, const char *text, size_t length);

/* The next character that is not white space: the first of a value. '\0' at the end. */
char json_text_peek(struct json_text *j);

/* Enter an array or object by its opening bracket. */
bool json_text_open(struct json_text *j, char bracket);

/* Whether an array has another item, which the caller then takes or skips.  At the end it leaves
 * the array. */
bool json_text_item(struct json_text *j);

/* The next key of an object.  At the end it leaves the object and returns false. */
bool json_text_key(struct json_text *j, struct json_piece *key);

/* Take a value.  A value of another type makes these return false, and can still be skipped.
 * json_text_int() takes only numbers without a fraction that fit. */
bool json_text_string(struct json_text *j, struct json_piece *out);
bool json_text_number(struct json_text *j, struct json_piece *out);
bool json_text_int(struct json_text *j, int64_t *out);
bool json_text_true(struct json_text *j);

/* Skip a value of any kind. */
bool json_text_skip(struct json_text *j);

/* Check that nothing follows the last value. */
bool json_text_end(struct json_text *j);

/* For parsing a value a second time, after skipping it: a copy of `j` as it was before the
 * value. */
struct json_text json_text_again(const struct json_text *j);

/* The position of `j`, with the column in characters; and a report of its fault there. */
struct place json_text_place(const struct json_text *j, const char *file);
void json_text_report(const struct json_text *j, const char *file, struct diag *diag);

bool json_piece_is(struct json_piece piece, const char *word);
bool json_piece_begins(struct json_piece piece, const char *word);
bool json_piece_has(struct json_piece piece, const char *word);

/* Parse a decimal number, such as "4704345631356.606", as thousandths; further digits are cut off.
 * False: not a number, or too large. */
bool json_piece_thousandths(struct json_piece piece, int64_t *out);

#endif /* BASE_JSON_TEXT_H */
