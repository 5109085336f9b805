/* base/json_out.h - a streaming JSON writer, without a tree in memory.
 *
 * Calls come in document order: inside an object json_out_key() precedes each value.  A call out of
 * order is a bug in the caller (assert).  Strings are escaped, including the characters that
 * base/escape.h escapes; bytes that are not UTF-8 become U+FFFD.  Integers of any size are exact,
 * in plain digits; doubles are the shortest text that reads back to the same bits; infinities and
 * NaN become null.
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

/* Maximum nesting depth of objects and arrays; the schema of scenarios has depth 11. */
#define JSON_OUT_DEPTH_MAX 32

enum json_out_style {
    JSON_OUT_COMPACT, /* one line, no spaces */
    JSON_OUT_PRETTY   /* indented by 2; see json_out_begin_flat_array() */
};

/* Fields are private. */
struct json_out {
    struct text *text; /* receives the bytes; flushed to `file` from time to time, if there is
                          one */
    struct text own;   /* buffer for `file` */
    FILE *file;
    enum json_out_style style;
    unsigned depth;
    unsigned flat; /* depth of the open flat array or object; 0: none */
    bool failed;   /* memory or file */
    bool after_key;
    struct {
        bool is_object;
        bool has_items;
    } levels[JSON_OUT_DEPTH_MAX + 1];
};

/* Write to a text (not owned) or to a file (not closed). */
void json_out_init_text(struct json_out *out, struct text *text, enum json_out_style style);
void json_out_init_file(struct json_out *out, FILE *file, enum json_out_style style);

/* What was written to a text so far. */
struct json_out_mark {
    struct json_out out;
    size_t length;
};

struct json_out_mark json_out_mark(const struct json_out *out);

/* Take back what was written since then. */
void json_out_undo(struct json_out *out, const struct json_out_mark *mark);

/* Flush and free; all objects and arrays must be closed.  SHD_OK, SHD_ENOMEM or SHD_ESYSTEM when
 * something could not be written. */
int json_out_fini(struct json_out *out);

void json_out_begin_object(struct json_out *out);
void json_out_end_object(struct json_out *out);
void json_out_begin_array(struct json_out *out);
void json_out_end_array(struct json_out *out);

/* Begin an array or object that is written on one line even in the pretty style, contents included.
 * The usual end call closes it. */
void json_out_begin_flat_array(struct json_out *out);
void json_out_begin_flat_object(struct json_out *out);

void json_out_key(struct json_out *out, const char *key);

void json_out_string(struct json_out *out, const char *string); /* NULL writes null */
/* Write a finished text as a string, pass on its `failed`, and free it. */
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
void json_out_key_int(struct json_out *out, const char *key, int64_t value);
void json_out_key_bool(struct json_out *out, const char *key, bool value);

/* A key, and the beginning of its value. */
void json_out_key_object(struct json_out *out, const char *key);
void json_out_key_array(struct json_out *out, const char *key);
void json_out_key_flat_object(struct json_out *out, const char *key);
void json_out_key_flat_array(struct json_out *out, const char *key);

/* Write a value that is JSON already.  It is copied, and characters that need it are escaped.
 */
void json_out_raw(struct json_out *out, const char *json, size_t length);

/* Write a value that was formatted separately in the pretty style, indenting its lines to fit here.
 */
void json_out_lines(struct json_out *out, const struct text *json);

/* End the line of a top-level value: for JSON lines. */
void json_out_newline(struct json_out *out);

/* Print a finite value like json_out_double(); buf holds at least 32 bytes. */
const char *json_out_print_double(char *buf, size_t size, double value);

#endif /* BASE_JSON_OUT_H */
