/* Rewriting characters, escapes and classes (regex/rewrite.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rewrite.h"

#include <inttypes.h>
#include <string.h>

#define CHAR_MAX_CODE 0x10ffff

int rewrite_read(struct rewrite *r, uint32_t *out)
{
    /* The least character of each length: longer encodings of smaller ones are invalid UTF-8. */
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)r->at;
    uint32_t c = *p++;
    int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : -1;

    c &= more > 0 ? 0x3fU >> more : 0x7fU;
    for (int i = 0; i < more; i++) {
        if ((*p & 0xc0) != 0x80)
            return rewrite_fail(r, r->at, "no UTF-8");
        c = c << 6 | (*p++ & 0x3f);
    }
    if (more < 0 || c < least[more] || c > CHAR_MAX_CODE || (c >= 0xd800 && c <= 0xdfff))
        return rewrite_fail(r, r->at, "no UTF-8");
    r->at = (const char *)p;
    *out = c;
    return SHD_OK;
}

static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void put_plain(struct rewrite *r, uint32_t c)
{
    if (is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '/')
        rewrite_put(r, "%c", (char)c);
    else
        rewrite_put(r, "\\x{%" PRIx32 "}", c);
}

/* Whether only a-z match both cases, as under Python's (?a): PCRE2 folds all of Unicode. */
static bool folds_ascii(const struct rewrite *r)
{
    return r->flags & REWRITE_IGNORECASE && r->flags & REWRITE_ASCII;
}

void rewrite_put_char(struct rewrite *r, uint32_t c)
{
    if (c >= 0xd800 && c <= 0xdfff) /* UTF-8 has no surrogates: nothing matches */
        rewrite_put(r, "(?!)");
    else if (folds_ascii(r) && is_letter(c))
        rewrite_put(r, "[%c%c]", (char)c, (char)(c ^ 0x20));
    else
        put_plain(r, c);
}

/* A category inside brackets.  White space of Python has the four separators from U+001C, and not
 * the Mongolian vowel separator. */
static const char *category(uint32_t letter, bool ascii)
{
    switch (letter) {
    case 'd':
        return ascii ? "0-9" : "\\d";
    case 'D':
        return ascii ? "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}" : "\\D";
    case 'w':
        return ascii ? "0-9A-Z_a-z" : "\\w";
    case 'W':
        return ascii ? "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"
                     : "\\W";
    case 's':
        return ascii ? "\\x{9}-\\x{d}\\x{20}"
                     : "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                       "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
    default:
        return ascii ? "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}"
                     : "\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"
                       "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"
                       "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";
    }
}

/* ---- escapes ---- */

/* What an escape or an item of a class stands for. */
struct meaning {
    bool category; /* c is one of the letters dDsSwW */
    uint32_t c;
};

static int read_hex(struct rewrite *r, const char *start, int ndigits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < ndigits; i++, r->at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit =
            *r->at ? strchr(digits, is_letter((unsigned char)*r->at) ? *r->at | 0x20 : *r->at)
                   : NULL;

        if (!digit)
            return rewrite_fail(r, start, "incomplete escape");
        *out = *out << 4 | (uint32_t)(digit - digits);
    }
    return *out <= CHAR_MAX_CODE ? SHD_OK : rewrite_fail(r, start, "bad escape: no such character");
}

/* Read at most two more octal digits. */
static int read_octal(struct rewrite *r, const char *start, uint32_t *value)
{
    for (int i = 0; i < 2 && *r->at >= '0' && *r->at <= '7'; i++)
        *value = *value << 3 | (uint32_t)(*r->at++ - '0');
    return *value <= 0377 ? SHD_OK
                          : rewrite_fail(r, start, "octal escape value outside of range 0-0o377");
}

/* Read an escape after the backslash, by the rules outside or inside a character class. */
static int read_escape(struct rewrite *r, bool in_class, struct meaning *out)
{
    static const char letters[] = "abfnrtv";
    static const char controls[] = "\a\b\f\n\r\t\v";
    const char *start = r->at - 1, *found;
    uint32_t c;
    int status =
        *r->at ? rewrite_read(r, &c) : rewrite_fail(r, start, "bad escape (end of pattern)");

    if (status)
        return status;
    *out = (struct meaning){c < 0x80 && strchr("dDsSwW", (int)c), c};
    if (out->category)
        return SHD_OK;
    if (c == 'x' || c == 'u' || c == 'U')
        return read_hex(r, start, c == 'x' ? 2 : c == 'u' ? 4 : 8, &out->c);
    if (c == 'N')
        return shd_error_set(r->err, SHD_EUNSUPPORTED,
                             "characters by name (\\N) at position %zu of the pattern; write \\u",
                             rewrite_position(r, start));
    if (c == '0' || (in_class && c >= '0' && c <= '7')) {
        out->c = c - '0';
        return read_octal(r, start, &out->c);
    }
    found = is_letter(c) ? strchr(letters, (int)c) : NULL;
    if (found)
        out->c = (uint32_t)controls[found - letters];
    else if (is_letter(c) || (c >= '0' && c <= '9'))
        return rewrite_fail(r, start, "bad escape \\%c", (char)c);
    return SHD_OK;
}

int rewrite_escape(struct rewrite *r)
{
    struct meaning is;
    int status = read_escape(r, false, &is);

    if (!status && is.category)
        rewrite_put(r, "[%s]", category(is.c, r->flags & REWRITE_ASCII));
    else if (!status)
        rewrite_put_char(r, is.c);
    return status;
}

/* ---- classes ---- */

static void put_range(struct rewrite *r, uint32_t low, uint32_t high)
{
    if (low >= 0xd800 && low <= 0xdfff)
        low = 0xe000;
    if (high >= 0xd800 && high <= 0xdfff)
        high = 0xd7ff;
    if (low > high)
        return;
    put_plain(r, low);
    if (high > low) {
        rewrite_put(r, "-");
        put_plain(r, high);
    }
}

/* Append a range, and in the other case what of it is among the letters. */
static void put_item(struct rewrite *r, uint32_t low, uint32_t high)
{
    put_range(r, low, high);
    for (const char *first = folds_ascii(r) ? "aA" : ""; *first; first++) {
        uint32_t a = (uint32_t)*first, z = a + 25;

        if (low <= z && high >= a)
            put_range(r, (low > a ? low : a) ^ 0x20, (high < z ? high : z) ^ 0x20);
    }
}

static int read_item(struct rewrite *r, struct meaning *out)
{
    out->category = false;
    if (*r->at != '\\')
        return rewrite_read(r, &out->c);
    r->at++;
    return read_escape(r, true, out);
}

/* Rewrite an item or a range. */
static int rewrite_item(struct rewrite *r)
{
    const char *start = r->at;
    struct meaning low, high;
    int status = read_item(r, &low);

    if (status)
        return status;
    if (r->at[0] != '-' || r->at[1] == ']' || !r->at[1]) {
        if (low.category)
            rewrite_put(r, "%s", category(low.c, r->flags & REWRITE_ASCII));
        else
            put_item(r, low.c, low.c);
        return SHD_OK;
    }
    r->at++;
    status = read_item(r, &high);
    if (status)
        return status;
    if (low.category || high.category || high.c < low.c)
        return rewrite_fail(r, start, "bad character range");
    put_item(r, low.c, high.c);
    return SHD_OK;
}

int rewrite_class(struct rewrite *r)
{
    const char *start = r->at - 1;
    bool negated = *r->at == '^';
    size_t before = r->length, length;

    r->at += negated;
    rewrite_put(r, negated ? "[^" : "[");
    length = r->length;
    do {
        int status =
            *r->at ? rewrite_item(r) : rewrite_fail(r, start, "unterminated character set");

        if (status)
            return status;
    } while (*r->at != ']');
    r->at++;
    if (r->length > length) {
        rewrite_put(r, "]");
    } else { /* only surrogates, which no text has */
        r->length = before;
        rewrite_put(r, negated ? "(?s:.)" : "(?!)");
    }
    return SHD_OK;
}
