/* Translating characters, escapes and classes (regex/parse.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int regex_fail(const struct regex_parse *parse, size_t position, const char *what)
{
    /* Python's messages where Python has one, so that users can look it up. */
    return shd_error_set(parse->err, SHD_EREGEX, "%s at position %zu", what, position);
}

bool regex_sees(const struct regex_parse *parse, uint32_t c)
{
    const struct regex_token *token = &parse->tokens[parse->at];

    return token->c == c && !token->escaped;
}

bool regex_match(struct regex_parse *parse, uint32_t c)
{
    if (!regex_sees(parse, c))
        return false;
    parse->at++;
    return true;
}

const struct regex_token *regex_get(struct regex_parse *parse)
{
    const struct regex_token *token = &parse->tokens[parse->at];

    if (token->c != REGEX_END)
        parse->at++;
    return token;
}

bool regex_sees_digit(const struct regex_parse *parse)
{
    const struct regex_token *token = &parse->tokens[parse->at];

    return token->c >= '0' && token->c <= '9' && !token->escaped;
}

void regex_put(struct regex_parse *parse, const char *text)
{
    size_t length = strlen(text);

    if (!parse->out)
        return;
    if (parse->length + length + 1 > parse->size) {
        size_t size = 2 * (parse->length + length + 1);
        char *out = realloc(parse->out, size);

        if (!out) {
            free(parse->out);
            size = 0;
        }
        parse->out = out;
        parse->size = size;
        if (!out)
            return;
    }
    memcpy(parse->out + parse->length, text, length + 1);
    parse->length += length;
}

void regex_put_number(struct regex_parse *parse, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    regex_put(parse, text);
}

static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void regex_put_char(struct regex_parse *parse, uint32_t c)
{
    char text[16];

    if (is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '/')
        snprintf(text, sizeof(text), "%c", (char)c);
    else
        snprintf(text, sizeof(text), "\\x{%" PRIx32 "}", c);
    regex_put(parse, text);
}

/* Whether only a-z should match both cases, as under Python's (?a).  PCRE2 would fold all of
 * Unicode, so the translation spells out both cases instead. */
static bool folds_ascii(const struct regex_parse *parse)
{
    return parse->flags & REGEX_IGNORECASE && parse->flags & REGEX_ASCII;
}

static bool is_surrogate(uint32_t c)
{
    return c >= 0xd800 && c <= 0xdfff;
}

void regex_put_literal(struct regex_parse *parse, uint32_t c)
{
    if (is_surrogate(c)) { /* UTF-8 has no surrogates, so nothing can match */
        regex_put(parse, "(?!)");
    } else if (folds_ascii(parse) && is_letter(c)) {
        regex_put(parse, "[");
        regex_put_char(parse, c);
        regex_put_char(parse, c ^ 0x20);
        regex_put(parse, "]");
    } else {
        regex_put_char(parse, c);
    }
}

/* The text of a category inside brackets.  White space is listed by character, since Python
 * includes the four separators from U+001C and excludes the Mongolian vowel separator. */
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

void regex_put_category(struct regex_parse *parse, uint32_t letter)
{
    regex_put(parse, "[");
    regex_put(parse, category(letter, parse->flags & REGEX_ASCII));
    regex_put(parse, "]");
}

static int hex_value(const struct regex_token *token)
{
    uint32_t c = token->c;

    if (token->escaped)
        return -1;
    if (c >= '0' && c <= '9')
        return (int)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (int)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (int)(c - 'A') + 10 : -1;
}

static int read_hex(struct regex_parse *parse, const struct regex_token *token, int ndigits,
                    uint32_t *out)
{
    uint32_t value = 0;

    for (int i = 0; i < ndigits; i++) {
        int digit = hex_value(&parse->tokens[parse->at]);

        if (digit < 0)
            return regex_fail(parse, token->position, "incomplete escape");
        value = value << 4 | (uint32_t)digit;
        parse->at++;
    }
    if (value > 0x10ffff)
        return regex_fail(parse, token->position, "bad escape: no such character");
    *out = value;
    return SHD_OK;
}

/* Read up to two more octal digits after the first. */
static int read_octal(struct regex_parse *parse, const struct regex_token *token, uint32_t *out)
{
    uint32_t value = token->c - '0';

    for (int i = 0; i < 2 && regex_sees_digit(parse) && parse->tokens[parse->at].c < '8'; i++)
        value = value << 3 | (regex_get(parse)->c - '0');
    if (value > 0377)
        return regex_fail(parse, token->position, "octal escape value outside of range 0-0o377");
    *out = value;
    return SHD_OK;
}

int regex_read_escape(struct regex_parse *parse, const struct regex_token *token, bool in_class,
                      struct regex_char *out)
{
    static const char letters[] = "abfnrtv";
    static const char controls[] = "\a\b\f\n\r\t\v";
    uint32_t c = token->c;
    const char *found = c < 0x80 && c ? strchr(letters, (int)c) : NULL;

    *out = (struct regex_char){false, c};
    if (c < 0x80 && c && strchr("dDsSwW", (int)c)) {
        out->category = true;
        return SHD_OK;
    }
    if (found) {
        out->c = (uint32_t)controls[found - letters];
        return SHD_OK;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return read_hex(parse, token, c == 'x' ? 2 : c == 'u' ? 4 : 8, &out->c);
    if (c == 'N')
        return shd_error_set(parse->err, SHD_EUNSUPPORTED,
                             "characters by name (\\N) at position %zu of the pattern; write \\u",
                             token->position);
    if (c == '0' || (in_class && c >= '0' && c <= '7'))
        return read_octal(parse, token, &out->c);
    if (is_letter(c) || (c >= '0' && c <= '9')) {
        char what[] = "bad escape \\?";

        what[sizeof what - 2] = (char)c;
        return regex_fail(parse, token->position, what);
    }
    return SHD_OK;
}

static void put_range(struct regex_parse *parse, uint32_t low, uint32_t high)
{
    if (is_surrogate(low))
        low = 0xe000;
    if (is_surrogate(high))
        high = 0xd7ff;
    if (low > high)
        return;
    regex_put_char(parse, low);
    if (high > low) {
        regex_put(parse, "-");
        regex_put_char(parse, high);
    }
}

/* Append, in the other case, the part of a range that is among the 26 letters from `first` on. */
static void put_folded(struct regex_parse *parse, uint32_t low, uint32_t high, uint32_t first)
{
    uint32_t start = low > first ? low : first;
    uint32_t stop = high < first + 25 ? high : first + 25;

    if (start <= stop)
        put_range(parse, start ^ 0x20, stop ^ 0x20);
}

static void put_item(struct regex_parse *parse, uint32_t low, uint32_t high)
{
    put_range(parse, low, high);
    if (folds_ascii(parse)) {
        put_folded(parse, low, high, 'a');
        put_folded(parse, low, high, 'A');
    }
}

static int read_item(struct regex_parse *parse, const struct regex_token *token,
                     struct regex_char *out)
{
    if (token->escaped)
        return regex_read_escape(parse, token, true, out);
    *out = (struct regex_char){false, token->c};
    return SHD_OK;
}

static void put_class_char(struct regex_parse *parse, struct regex_char item)
{
    if (item.category)
        regex_put(parse, category(item.c, parse->flags & REGEX_ASCII));
    else
        put_item(parse, item.c, item.c);
}

static bool ends(const struct regex_token *token)
{
    return token->c == ']' && !token->escaped;
}

/* Translate one item or range of a class.  Sets *last if a '-' and the final ']' followed. */
static int read_range(struct regex_parse *parse, const struct regex_token *token, bool *last)
{
    struct regex_char low;
    struct regex_char high;
    int status = read_item(parse, token, &low);

    if (status)
        return status;
    if (!regex_match(parse, '-')) {
        put_class_char(parse, low);
        return SHD_OK;
    }

    const struct regex_token *that = regex_get(parse);

    if (that->c == REGEX_END)
        return regex_fail(parse, that->position, "unterminated character set");
    if (ends(that)) {
        put_class_char(parse, low);
        put_item(parse, '-', '-');
        *last = true;
        return SHD_OK;
    }
    status = read_item(parse, that, &high);
    if (status)
        return status;
    if (low.category || high.category || high.c < low.c)
        return regex_fail(parse, token->position, "bad character range");
    put_item(parse, low.c, high.c);
    return SHD_OK;
}

int regex_read_class(struct regex_parse *parse)
{
    size_t start = parse->tokens[parse->at].position - 1;
    bool negated = regex_match(parse, '^');
    bool first = true;
    bool last = false;

    size_t before = parse->length;

    regex_put(parse, negated ? "[^" : "[");

    size_t length = parse->length;

    while (!last) {
        const struct regex_token *token = regex_get(parse);

        if (token->c == REGEX_END)
            return regex_fail(parse, start, "unterminated character set");
        if (ends(token) && !first)
            break;
        first = false;

        int status = read_range(parse, token, &last);

        if (status)
            return status;
    }
    if (parse->length > length) {
        regex_put(parse, "]");
    } else { /* the class has only surrogates, which UTF-8 text never has */
        parse->length = before;
        regex_put(parse, negated ? "(?s:.)" : "(?!)");
    }
    return SHD_OK;
}
