/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/python_text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define PREFIX_MAX 2 /* letters before the quotes */

/* Bytes of the prefix; SIZE_MAX if no string comes next. */
static size_t prefix_length(const char *at)
{
    size_t n = 0;

    while (n < PREFIX_MAX && at[n] && strchr("rRuUbBfF", at[n]))
        n++;
    return at[n] == '"' || at[n] == '\'' ? n : SIZE_MAX;
}

bool python_text_starts(const char *at)
{
    return prefix_length(at) != SIZE_MAX;
}

static void add_utf8(struct text *out, uint32_t code)
{
    if (code < 0x80) {
        text_add_char(out, (char)code);
        return;
    }
    if (code < 0x800) {
        text_add_char(out, (char)(0xC0 | code >> 6));
    } else {
        if (code < 0x10000) {
            text_add_char(out, (char)(0xE0 | code >> 12));
        } else {
            text_add_char(out, (char)(0xF0 | code >> 18));
            text_add_char(out, (char)(0x80 | (code >> 12 & 0x3F)));
        }
        text_add_char(out, (char)(0x80 | (code >> 6 & 0x3F)));
    }
    text_add_char(out, (char)(0x80 | (code & 0x3F)));
}

/* Read a number of `least` to `most` digits in a base; false: fewer digits. */
static bool read_code(uint32_t *code, const char *digits, unsigned base, size_t least, size_t most,
                      size_t *used)
{
    size_t n = 0;

    *code = 0;
    for (; n < most; n++) {
        char c = (char)tolower((unsigned char)digits[n]);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;

        if (digit >= base)
            break;
        *code = *code * base + digit;
    }
    *used = n;
    return n >= least;
}

/* An escape that is a number: \x41, \101, A, \U00000041. */
static bool add_number(struct text *out, struct source *s)
{
    size_t digits = s->at[1] == 'x' ? 2 : s->at[1] == 'u' ? 4 : s->at[1] == 'U' ? 8 : 0, used;
    uint32_t code;
    bool ok = digits ? read_code(&code, s->at + 2, 16, digits, digits, &used)
                     : read_code(&code, s->at + 1, 8, 1, 3, &used);

    if (!ok || code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        diag_error(s->diag, s->place,
                   "'\\%c' is not followed by the number of a character other than 0", s->at[1]);
        return false;
    }
    add_utf8(out, code);
    source_step_by(s, (digits ? 2 : 1) + used);
    return true;
}

static bool add_escape(struct text *out, struct source *s)
{
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    const char *letter = s->at[1] ? strchr(letters, s->at[1]) : NULL;

    if (s->at[1] && strchr("xuU01234567", s->at[1]))
        return add_number(out, s);
    if (letter)
        text_add_char(out, meanings[letter - letters]);
    else if (s->at[1] != '\n')
        text_add_bytes(out, s->at, s->at[1] ? 2 : 1);
    source_step_by(s, s->at[1] ? 2 : 1);
    return true;
}

/* One string with its quotes. */
static bool read_one(struct text *out, struct source *s)
{
    size_t nprefix = prefix_length(s->at), nquotes;
    struct place open = s->place;
    bool raw = false;
    char quote;

    for (; nprefix > 0; nprefix--) {
        if (strchr("fFbB", *s->at)) {
            diag_error(s->diag, open, "string prefix '%c' is not supported; write a plain string",
                       *s->at);
            return false;
        }
        raw |= *s->at == 'r' || *s->at == 'R';
        source_step(s);
    }
    quote = *s->at;
    nquotes = s->at[1] == quote && s->at[2] == quote ? 3 : 1;
    source_step_by(s, nquotes);
    while (*s->at && (nquotes == 3 || *s->at != '\n')) {
        if (*s->at == quote && (nquotes == 1 || (s->at[1] == quote && s->at[2] == quote))) {
            source_step_by(s, nquotes);
            return true;
        }
        if (*s->at == '\\' && raw && s->at[1]) {
            text_add_bytes(out, s->at, 2);
            source_step_by(s, 2);
        } else if (*s->at == '\\' && !raw) {
            if (!add_escape(out, s))
                return false;
        } else {
            text_add_char(out, *s->at);
            source_step(s);
        }
    }
    diag_error(s->diag, open, "a string is not closed; expected %s",
               nquotes == 3   ? "three quotes"
               : quote == '"' ? "\""
                              : "'");
    return false;
}

bool python_text_read(struct text *out, struct source *s)
{
    while (python_text_starts(s->at)) {
        if (!read_one(out, s))
            return false;
        source_skip(s, s->depth > 0);
    }
    return true;
}
