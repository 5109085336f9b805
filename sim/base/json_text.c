/* A JSON pull parser (json_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_text.h"

#include <string.h>

void json_text_init(struct json_text *j, const char *text, size_t length)
{
    *j = (struct json_text){
        .begin = text, .at = text, .end = text + length, .line_begin = text, .line = 1};
}

static bool fail(struct json_text *j, const char *expected)
{
    if (!j->fault)
        j->fault = expected;
    return false;
}

static void skip_space(struct json_text *j)
{
    for (; j->at < j->end; j->at++) {
        if (*j->at == '\n') {
            j->line++;
            j->line_begin = j->at + 1;
        } else if (*j->at != ' ' && *j->at != '\t' && *j->at != '\r') {
            return;
        }
    }
}

char json_text_peek(struct json_text *j)
{
    if (j->fault)
        return '\0';
    skip_space(j);
    return j->at < j->end ? *j->at : '\0';
}

bool json_text_open(struct json_text *j, char bracket)
{
    if (json_text_peek(j) != bracket)
        return false;
    j->at++;
    j->opened = true;
    return true;
}

/* Whether another item follows in the array or object that ends with `bracket`. */
static bool next(struct json_text *j, char bracket)
{
    bool first = j->opened;
    char c = json_text_peek(j);

    j->opened = false;
    if (j->fault)
        return false;
    if (c == bracket) {
        j->at++;
        return false;
    }
    if (first && c)
        return true;
    if (c != ',')
        return fail(j, bracket == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    j->at++;
    return true;
}

bool json_text_item(struct json_text *j)
{
    return next(j, ']');
}

bool json_text_key(struct json_text *j, struct json_piece *key)
{
    if (!next(j, '}'))
        return false;
    if (!json_text_string(j, key))
        return fail(j, "expected a name in double quotes");
    if (json_text_peek(j) != ':')
        return fail(j, "expected ':'");
    j->at++;
    return true;
}

bool json_text_string(struct json_text *j, struct json_piece *out)
{
    const char *c;

    if (json_text_peek(j) != '"')
        return false;
    for (c = j->at + 1; c < j->end && *c != '"'; c++) {
        if ((unsigned char)*c < ' ' && *c != '\t') {
            j->at = c;
            return fail(j, "a control character within a string");
        }
        c += *c == '\\' && c + 1 < j->end && (unsigned char)c[1] >= ' ';
    }
    if (c >= j->end)
        return fail(j, "unterminated string; is the file truncated?");
    *out = (struct json_piece){j->at + 1, (size_t)(c - j->at - 1)};
    j->at = c + 1;
    return true;
}

static const char *digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The end of a word, if it starts at `at`; else NULL. */
static const char *word(const char *at, const char *end, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(end - at) >= n && !memcmp(at, text, n) ? at + n : NULL;
}

/* The end of the number at `at`; NULL if there is none. */
static const char *number_end(const char *at, const char *end)
{
    const char *begin, *after;

    at += at < end && *at == '-';
    after = word(at, end, "Infinity");
    after = after ? after : word(at, end, "NaN");
    if (after)
        return after;
    begin = at;
    at = digits(at, end);
    if (at == begin)
        return NULL;
    if (at < end && *at == '.')
        at = digits(at + 1, end);
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        begin = at;
        at = digits(at, end);
        if (at == begin)
            return NULL;
    }
    return at;
}

bool json_text_number(struct json_text *j, struct json_piece *out)
{
    const char *end;

    if (!json_text_peek(j))
        return false;
    end = number_end(j->at, j->end);
    if (!end)
        return false;
    *out = (struct json_piece){j->at, (size_t)(end - j->at)};
    j->at = end;
    return true;
}

bool json_text_int(struct json_text *j, int64_t *out)
{
    struct json_text before = *j;
    struct json_piece piece;
    int64_t value = 0;
    bool negative, good;

    if (!json_text_number(j, &piece))
        return false;
    negative = *piece.at == '-';
    good = piece.length > negative;
    for (size_t i = negative; i < piece.length && good; i++)
        good = piece.at[i] >= '0' && piece.at[i] <= '9' &&
               !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, piece.at[i] - '0', &value);
    if (!good) {
        *j = before;
        return false;
    }
    *out = negative ? -value : value;
    return true;
}

/* Consume a word if it comes next. */
static bool take_word(struct json_text *j, const char *text)
{
    const char *after = json_text_peek(j) ? word(j->at, j->end, text) : NULL;

    j->at = after ? after : j->at;
    return after;
}

bool json_text_true(struct json_text *j)
{
    return take_word(j, "true");
}

static bool skip_plain(struct json_text *j)
{
    struct json_piece piece;

    return json_text_string(j, &piece) || json_text_number(j, &piece) || take_word(j, "true") ||
           take_word(j, "false") || take_word(j, "null") || fail(j, "expected a value");
}

/* Iterative: a stack records which of the open brackets are braces. */
bool json_text_skip(struct json_text *j)
{
    bool braces[JSON_TEXT_DEPTH_MAX];
    struct json_piece key;
    size_t depth = 0;

    do {
        char c = json_text_peek(j);

        if (c == '{' || c == '[') {
            if (depth == JSON_TEXT_DEPTH_MAX)
                return fail(j, "arrays and objects are nested too deep");
            braces[depth++] = c == '{';
            (void)json_text_open(j, c);
        } else if (!skip_plain(j)) {
            return false;
        }
        while (depth && !(braces[depth - 1] ? json_text_key(j, &key) : json_text_item(j))) {
            if (j->fault)
                return false;
            depth--;
        }
    } while (depth);
    return true;
}

bool json_text_end(struct json_text *j)
{
    (void)json_text_peek(j);
    return !j->fault && (j->at == j->end || fail(j, "expected nothing after the last bracket"));
}

struct json_text json_text_again(const struct json_text *j)
{
    struct json_text again = *j;

    again.opened = false;
    return again;
}

struct place json_text_place(const struct json_text *j, const char *file)
{
    int column = 1;

    for (const char *c = j->line_begin; c < j->at && column < INT32_MAX; c++)
        column += ((unsigned char)*c & 0xc0) != 0x80;
    return (struct place){file, j->line, column};
}

void json_text_report(const struct json_text *j, const char *file, struct diag *diag)
{
    diag_error(diag, json_text_place(j, file), "%s%s", j->fault ? j->fault : "expected other JSON",
               j->at == j->end ? ", but the file ends; is it truncated?" : "");
}

bool json_piece_is(struct json_piece piece, const char *text)
{
    return piece.length == strlen(text) && !memcmp(piece.at, text, piece.length);
}

bool json_piece_begins(struct json_piece piece, const char *text)
{
    return piece.length >= strlen(text) && !memcmp(piece.at, text, strlen(text));
}

bool json_piece_has(struct json_piece piece, const char *text)
{
    return piece.length && memmem(piece.at, piece.length, text, strlen(text));
}

bool json_piece_thousandths(struct json_piece piece, int64_t *out)
{
    const char *at = piece.at, *end;
    int places = -1; /* digits after the decimal point */
    int64_t value = 0;
    bool negative;

    if (!piece.length)
        return false;
    end = at + piece.length;
    negative = *at == '-';
    at += negative;
    if (at == end)
        return false;
    for (; at < end && places < 3; at++) {
        if (*at == '.' && places < 0) {
            places = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *at - '0', &value))
            return false;
        places += places >= 0;
    }
    if (digits(at, end) != end)
        return false;
    for (places = places < 0 ? 0 : places; places < 3; places++)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    *out = negative ? -value : value;
    return true;
}
