/* base/json_out.h - write JSON as it comes, without a tree in memory.
 *
 * Calls come in document order: inside an object each value is preceded by json_out_key().  A call
 * out of order is a fault of the program (assert).  Strings are escaped, also what
 * base/escape.h does not show as it is; bytes that are no UTF-8 become U+FFFD.  Integers are exact,
 * of any size in plain digits, doubles the shortest text that reads back to the same bits;
 * infinities and NaN become null.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_JSON_OUT_H
#define BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "base/uint128.h"

/* Objects and arrays in each other; the schema of scenarios is 11 deep. */
#define JSON_OUT_DEPTH_MAX 32

enum json_out_style {
    JSON_OUT_COMPACT, /* one line, no spaces */
    JSON_OUT_PRETTY   /* indented by 2; see json_out_begin_flat_array() */
};

/* Fields are private. */
struct json_out {
    struct text *text; /* where the bytes go; flushed to `file` now and then if there is one */
    struct text own;   /* the buffer in front of `file` */
    FILE *file;
    enum json_out_style style;
    unsigned depth;
    unsigned flat; /* depth at which a flat array began, 0 when none is open */
    bool failed;   /* memory or file */
    bool after_key;
    struct {
        bool is_object;
        bool has_items;
    } levels[JSON_OUT_DEPTH_MAX + 1];
};

/* Write onto a text (not owned) or a file (not closed). */
void json_out_init_text(struct json_out *out, struct text *text, enum json_out_style style);
void json_out_init_file(struct json_out *out, FILE *file, enum json_out_style style);

/* Flush and free; all objects and arrays must be closed.  SHD_OK, SHD_ENOMEM or SHD_ESYSTEM when
 * something could not be written. */
int json_out_fini(struct json_out *out);

void json_out_begin_object(struct json_out *out);
void json_out_end_object(struct json_out *out);
void json_out_begin_array(struct json_out *out);
void json_out_end_array(struct json_out *out);

/* An array or object written on one line even in the pretty style, with all that is inside; closed
 * by the usual end call. */
void json_out_begin_flat_array(struct json_out *out);
void json_out_begin_flat_object(struct json_out *out);

void json_out_key(struct json_out *out, const char *key);

void json_out_string(struct json_out *out, const char *string); /* NULL writes null */
/* A string that was made apart, or that it could not be made; freed. */
void json_out_join(struct json_out *out, struct text *string);
void json_out_string_n(struct json_out *out, const char *bytes, size_t length);
void json_out_int(struct json_out *out, int64_t value);
void json_out_uint(struct json_out *out, uint128 value);
void json_out_double(struct json_out *out, double value);
void json_out_bool(struct json_out *out, bool value);
void json_out_null(struct json_out *out);

/* A key and its value. */
void json_out_key_string(struct json_out *out, const char *key, const char *string);
void json_out_key_uint(struct json_out *out, const char *key, uint128 value);
void json_out_key_double(struct json_out *out, const char *key, double value);

/* A value that is JSON already; copied as it is, but for characters in it that are to be escaped.
 */
void json_out_raw(struct json_out *out, const char *json, size_t length);

/* A value that was written apart in the pretty style: its lines are indented as they would be here.
 */
void json_out_lines(struct json_out *out, const struct text *json);

/* End a line between values at the top level: for JSON lines. */
void json_out_newline(struct json_out *out);

/* The text json_out_double() writes for a finite value; buf holds at least 32 bytes. */
const char *json_out_print_double(char *buf, size_t size, double value);

#endif /* BASE_JSON_OUT_H */
