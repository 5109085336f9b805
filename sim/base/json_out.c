/* A streaming JSON writer (base/json_out.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_out.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <shd/error.h>

#include "base/escape.h"
#include "base/utf8.h"

#define FLUSH_BYTES ((size_t)64 << 10) /* buffered before a write: few calls, little memory */

void json_out_init_text(struct json_out *out, struct text *text, enum json_out_style style)
{
    *out = (struct json_out){.text = text, .style = style};
}

void json_out_init_file(struct json_out *out, FILE *file, enum json_out_style style)
{
    *out = (struct json_out){.file = file, .style = style};
    out->text = &out->own;
}

struct json_out_mark json_out_mark(const struct json_out *out)
{
    assert(!out->file); /* what was flushed cannot be taken back */
    return (struct json_out_mark){*out, out->text->length};
}

void json_out_undo(struct json_out *out, const struct json_out_mark *mark)
{
    *out = mark->out;
    text_cut(out->text, mark->length);
}

static void flush(struct json_out *out)
{
    size_t length = out->text->failed ? 0 : out->text->length;

    if (fwrite(text_get(out->text), 1, length, out->file) != length)
        out->failed = true;
    text_clear(out->text);
}

int json_out_fini(struct json_out *out)
{
    int status = SHD_OK;

    assert(out->depth == 0 && !out->after_key);
    if (out->text->failed)
        status = SHD_ENOMEM;
    if (out->file) {
        flush(out);
        if (fflush(out->file) != 0 || out->failed)
            status = SHD_ESYSTEM;
        text_fini(&out->own);
    }
    return status;
}

static bool is_flat(const struct json_out *out)
{
    return out->style == JSON_OUT_COMPACT || out->flat > 0;
}

static void new_line(struct json_out *out)
{
    text_add_char(out->text, '\n');
    for (unsigned i = 0; i < out->depth; i++)
        text_add(out->text, "  ");
}

/* Write the comma or line break before the next item of an array or object. */
static void separate(struct json_out *out)
{
    bool has_items = out->levels[out->depth].has_items;

    if (has_items)
        text_add_char(out->text, ',');
    out->levels[out->depth].has_items = true;
    if (!is_flat(out))
        new_line(out);
    else if (has_items && out->style == JSON_OUT_PRETTY)
        text_add_char(out->text, ' ');
}

static void begin_value(struct json_out *out)
{
    assert(out->after_key == (out->depth > 0 && out->levels[out->depth].is_object));
    if (out->depth > 0 && !out->after_key)
        separate(out);
    out->after_key = false;
    if (out->file && out->text->length >= FLUSH_BYTES)
        flush(out);
}

static void begin(struct json_out *out, bool is_object, bool flat)
{
    begin_value(out);
    assert(out->depth < JSON_OUT_DEPTH_MAX);
    text_add_char(out->text, is_object ? '{' : '[');
    out->depth++;
    out->levels[out->depth].is_object = is_object;
    out->levels[out->depth].has_items = false;
    if (flat && out->flat == 0)
        out->flat = out->depth;
}

static void end(struct json_out *out, bool is_object)
{
    assert(out->depth > 0 && out->levels[out->depth].is_object == is_object && !out->after_key);
    bool break_line = out->levels[out->depth].has_items && !is_flat(out);
    if (out->flat == out->depth)
        out->flat = 0;
    out->depth--;
    if (break_line)
        new_line(out);
    text_add_char(out->text, is_object ? '}' : ']');
}

void json_out_begin_object(struct json_out *out)
{
    begin(out, true, false);
}

void json_out_end_object(struct json_out *out)
{
    end(out, true);
}

void json_out_begin_array(struct json_out *out)
{
    begin(out, false, false);
}

void json_out_end_array(struct json_out *out)
{
    end(out, false);
}

void json_out_begin_flat_array(struct json_out *out)
{
    begin(out, false, true);
}

void json_out_begin_flat_object(struct json_out *out)
{
    begin(out, true, true);
}

static void add_escaped(struct text *text, const char *at, size_t nbytes, uint32_t code)
{
    static const char letters[] = "btn.fr"; /* for codes 8 to 13; 11 has none */

    if (nbytes == 0)
        text_add(text, "\xef\xbf\xbd"); /* U+FFFD */
    else if (code == '"' || code == '\\')
        text_addf(text, "\\%c", (char)code);
    else if (code >= 8 && code <= 13 && code != 11)
        text_addf(text, "\\%c", letters[code - 8]);
    else if (escape_is_needed(code) && code > 0xffff) /* a surrogate pair */
        text_addf(text, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
                  (unsigned)(0xdc00 + (code & 0x3ff)));
    else if (escape_is_needed(code) || code == '[') /* '[' of a CI command: add_string() */
        text_addf(text, "\\u%04x", (unsigned)code);
    else
        text_add_bytes(text, at, nbytes);
}

static bool needs_no_escape(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void add_string(struct text *text, const char *bytes, size_t length)
{
    text_add_char(text, '"');
    for (size_t at = 0; at < length;) {
        size_t run = 0;
        while (at + run < length && needs_no_escape((unsigned char)bytes[at + run]) &&
               !escape_ends_command(bytes, at + run))
            run++;
        text_add_bytes(text, bytes + at, run);
        at += run;
        if (at == length)
            break;
        uint32_t code = 0;
        size_t n = utf8_next(bytes + at, length - at, &code);
        add_escaped(text, bytes + at, n, code);
        at += n ? n : 1;
    }
    text_add_char(text, '"');
}

void json_out_key(struct json_out *out, const char *key)
{
    assert(out->depth > 0 && out->levels[out->depth].is_object && !out->after_key);
    separate(out);
    add_string(out->text, key, strlen(key));
    text_add(out->text, out->style == JSON_OUT_COMPACT ? ":" : ": ");
    out->after_key = true;
}

void json_out_string(struct json_out *out, const char *string)
{
    if (string)
        json_out_string_n(out, string, strlen(string));
    else
        json_out_null(out);
}

void json_out_join(struct json_out *out, struct text *string)
{
    json_out_string_n(out, text_get(string), string->length);
    out->text->failed |= string->failed;
    text_fini(string);
}

void json_out_string_n(struct json_out *out, const char *bytes, size_t length)
{
    begin_value(out);
    add_string(out->text, bytes, length);
}

void json_out_int(struct json_out *out, int64_t value)
{
    begin_value(out);
    text_addf(out->text, "%" PRId64, value);
}

void json_out_uint(struct json_out *out, uint128 value)
{
    char digits[UINT128_TEXT_MAX];

    begin_value(out);
    text_add(out->text, uint128_print(digits, sizeof digits, value));
}

void json_out_double(struct json_out *out, double value)
{
    char buf[32];

    if (!isfinite(value)) {
        json_out_null(out);
        return;
    }
    begin_value(out);
    text_add(out->text, json_out_print_double(buf, sizeof(buf), value));
}

void json_out_bool(struct json_out *out, bool value)
{
    begin_value(out);
    text_add(out->text, value ? "true" : "false");
}

void json_out_null(struct json_out *out)
{
    begin_value(out);
    text_add(out->text, "null");
}

void json_out_key_string(struct json_out *out, const char *key, const char *string)
{
    json_out_key(out, key);
    json_out_string(out, string);
}

void json_out_key_int(struct json_out *out, const char *key, int64_t value)
{
    json_out_key(out, key);
    json_out_int(out, value);
}

void json_out_key_uint(struct json_out *out, const char *key, uint128 value)
{
    json_out_key(out, key);
    json_out_uint(out, value);
}

void json_out_key_double(struct json_out *out, const char *key, double value)
{
    json_out_key(out, key);
    json_out_double(out, value);
}

void json_out_key_bool(struct json_out *out, const char *key, bool value)
{
    json_out_key(out, key);
    json_out_bool(out, value);
}

void json_out_key_object(struct json_out *out, const char *key)
{
    json_out_key(out, key);
    json_out_begin_object(out);
}

void json_out_key_array(struct json_out *out, const char *key)
{
    json_out_key(out, key);
    json_out_begin_array(out);
}

void json_out_key_flat_object(struct json_out *out, const char *key)
{
    json_out_key(out, key);
    json_out_begin_flat_object(out);
}

void json_out_key_flat_array(struct json_out *out, const char *key)
{
    json_out_key(out, key);
    json_out_begin_flat_array(out);
}

void json_out_raw(struct json_out *out, const char *json, size_t length)
{
    begin_value(out);
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t n = utf8_next(json + at, length - at, &code);

        if (n == 0 || (code >= 0x7f && escape_is_needed(code))) /* such a character can only be
                                                                   inside a string */
            add_escaped(out->text, json + at, n, code);
        else
            text_add_bytes(out->text, json + at, n);
        at += n ? n : 1;
    }
}

void json_out_lines(struct json_out *out, const struct text *json)
{
    const char *at = text_get(json), *line;

    begin_value(out);
    while ((line = strchr(at, '\n'))) {
        text_add_bytes(out->text, at, (size_t)(line - at));
        new_line(out);
        at = line + 1;
    }
    text_add(out->text, at);
    out->text->failed |= json->failed;
}

void json_out_newline(struct json_out *out)
{
    assert(out->depth == 0);
    text_add_char(out->text, '\n');
}

const char *json_out_print_double(char *buf, size_t size, double value)
{
    /* A text of up to 15 digits survives conversion to a double and back; so if fewer than 15
     * digits suffice, %.15g prints exactly these.  Subnormal numbers have less precision: for them
     * every number of digits is tried. */
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;

    for (; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(buf, size, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    if (!strpbrk(buf, ".en") && strlen(buf) + 2 < size)
        strncat(buf, ".0", size - strlen(buf) - 1); /* stays a float for readers that distinguish
                                                       1 from 1.0 */
    return buf;
}
