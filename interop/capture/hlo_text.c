/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *hlo_past_comment(struct hlo_piece piece)
{
    bool to_end_of_line = piece.at[1] == '/';
    const char *end;

    piece.at += 2;
    end = to_end_of_line ? memchr(piece.at, '\n', (size_t)(piece.end - piece.at))
                         : memmem(piece.at, (size_t)(piece.end - piece.at), "*/", 2);
    if (!end)
        return piece.end;
    return to_end_of_line ? end : end + 2;
}

static bool begins_comment(const struct hlo_piece *piece)
{
    return piece->end - piece->at >= 2 && piece->at[0] == '/' &&
           (piece->at[1] == '*' || piece->at[1] == '/');
}

void hlo_skip(struct hlo_piece *piece)
{
    for (;;) {
        while (piece->at < piece->end && isspace((unsigned char)*piece->at))
            piece->at++;
        if (!begins_comment(piece))
            return;
        piece->at = hlo_past_comment(*piece);
    }
}

bool hlo_take(struct hlo_piece *piece, char c)
{
    hlo_skip(piece);
    if (piece->at == piece->end || *piece->at != c)
        return false;
    piece->at++;
    return true;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

bool hlo_take_word(struct hlo_piece *piece, const char *word)
{
    size_t n = strlen(word);

    hlo_skip(piece);
    if ((size_t)(piece->end - piece->at) < n || memcmp(piece->at, word, n))
        return false;
    if ((size_t)(piece->end - piece->at) > n && in_name(word[n - 1]) && in_name(piece->at[n]))
        return false;
    piece->at += n;
    return true;
}

bool hlo_take_name(struct hlo_piece *piece, struct hlo_piece *name)
{
    hlo_skip(piece);
    if (piece->at < piece->end && *piece->at == '%')
        piece->at++;
    *name = (struct hlo_piece){piece->at, piece->at};
    while (piece->at < piece->end && in_name(*piece->at))
        piece->at++;
    name->end = piece->at;
    return name->end > name->at;
}

bool hlo_last_name(struct hlo_piece piece, struct hlo_piece *name)
{
    while (piece.end > piece.at && isspace((unsigned char)piece.end[-1]))
        piece.end--;
    *name = (struct hlo_piece){piece.end, piece.end};
    while (name->at > piece.at && in_name(name->at[-1]))
        name->at--;
    return name->end > name->at;
}

bool hlo_take_number(struct hlo_piece *piece, uint64_t *out)
{
    uint64_t value = 0;
    const char *begin;

    hlo_skip(piece);
    begin = piece->at;
    for (; piece->at < piece->end && isdigit((unsigned char)*piece->at); piece->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*piece->at - '0'), &value))
            return false;
    *out = value;
    return piece->at > begin;
}

bool hlo_take_integer(struct hlo_piece *piece, int64_t *out)
{
    bool negative = hlo_take(piece, '-');
    uint64_t value;

    if (!hlo_take_number(piece, &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return piece->at == piece->end || *piece->at != '.';
}

const char *hlo_past_string(struct hlo_piece piece)
{
    const char *at = piece.at + 1;

    while (at < piece.end && *at != '"')
        at += *at == '\\' && piece.end - at > 1 ? 2 : 1;
    return at < piece.end ? at + 1 : piece.end;
}

struct hlo_piece hlo_take_until(struct hlo_piece *piece, char stop)
{
    struct hlo_piece taken = {piece->at, piece->at};
    size_t depth = 0;

    while (piece->at < piece->end) {
        char c = *piece->at;

        if (depth == 0 && c == stop)
            break;
        if (begins_comment(piece)) {
            piece->at = hlo_past_comment(*piece);
            continue;
        }
        if (c == '(' || c == '[' || c == '{')
            depth++;
        if ((c == ')' || c == ']' || c == '}') && depth > 0)
            depth--;
        piece->at = c == '"' ? hlo_past_string(*piece) : piece->at + 1;
    }
    taken.end = piece->at;
    return taken;
}

bool hlo_take_bracket(struct hlo_piece *piece, struct hlo_piece *inside)
{
    static const char opening[] = "([{", closing[] = ")]}";
    const char *which;

    hlo_skip(piece);
    which = piece->at < piece->end && *piece->at ? strchr(opening, *piece->at) : NULL;
    if (!which)
        return false;
    piece->at++;
    *inside = hlo_take_until(piece, closing[which - opening]);
    return hlo_take(piece, closing[which - opening]);
}

void hlo_take_until_blank(struct hlo_piece *piece)
{
    while (piece->at < piece->end && !isspace((unsigned char)*piece->at)) {
        struct hlo_piece inside;

        if (*piece->at != '[' && *piece->at != '{')
            piece->at++;
        else if (!hlo_take_bracket(piece, &inside))
            return;
    }
}

bool hlo_attribute(struct hlo_piece attributes, const char *key, struct hlo_piece *value)
{
    size_t n = strlen(key);

    while (attributes.at < attributes.end) {
        hlo_skip(&attributes);
        if ((size_t)(attributes.end - attributes.at) > n && !memcmp(attributes.at, key, n) &&
            attributes.at[n] == '=') {
            *value = (struct hlo_piece){attributes.at + n + 1, attributes.end};
            return true;
        }
        (void)hlo_take_until(&attributes, ',');
        if (!hlo_take(&attributes, ','))
            return false;
    }
    return false;
}

bool hlo_equal(struct hlo_piece piece, const char *string)
{
    size_t n = strlen(string);

    return (size_t)(piece.end - piece.at) == n && !memcmp(piece.at, string, n);
}

char *hlo_copy(struct hlo_piece piece)
{
    return strndup(piece.at, (size_t)(piece.end - piece.at));
}

/* ---- shapes ---- */

/* Bits of an element; -1: unknown type.  Types without elements (token) have 0. */
static int element_bits(struct hlo_piece type)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"pred", 8},   {"bf16", 16}, {"c64", 64},
                 {"c128", 128}, {"token", 0}, {"opaque", 0}};
    struct hlo_piece rest = type;
    uint64_t bits;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (hlo_equal(type, types[i].name))
            return types[i].bits;
    /* A letter and the number of bits: s4, u8, f32, f8e4m3fn. */
    if (rest.at == rest.end || !strchr("suf", *rest.at))
        return -1;
    rest.at++;
    return hlo_take_number(&rest, &bits) && bits >= 1 && bits <= 64 &&
                   (rest.at == rest.end || *type.at == 'f')
               ? (int)bits
               : -1;
}

/* Take extents, "[8,<=16]": bytes are `bits` times the extents. */
static bool take_extents(struct hlo_piece *piece, uint64_t bits, uint64_t *bytes)
{
    struct hlo_piece inside;
    uint64_t extent, total = bits;

    if (!hlo_take_bracket(piece, &inside))
        return false;
    for (hlo_skip(&inside); inside.at < inside.end; hlo_skip(&inside)) {
        (void)hlo_take_word(&inside, "<=");
        if (!hlo_take_number(&inside, &extent) || __builtin_mul_overflow(total, extent, &total))
            return false;
        (void)hlo_take(&inside, ',');
    }
    *bytes = total / 8 + (total % 8 != 0);
    return true;
}

static bool take_array(struct hlo_piece *piece, uint64_t *bytes)
{
    struct hlo_piece type, layout;
    int bits;

    if (!hlo_take_name(piece, &type))
        return false;
    bits = element_bits(type);
    if (bits < 0 || !take_extents(piece, (uint64_t)bits, bytes))
        return false;
    if (piece->at < piece->end && *piece->at == '{')
        (void)hlo_take_bracket(piece, &layout);
    return true;
}

/* Add up the bytes of all arrays inside a tuple. */
static bool sum_tuple(struct hlo_piece inside, uint64_t *bytes)
{
    uint64_t one;

    *bytes = 0;
    for (hlo_skip(&inside); inside.at < inside.end; hlo_skip(&inside)) {
        if (strchr("(),", *inside.at)) { /* nested tuples: their items add up in this loop too */
            inside.at++;
            continue;
        }
        if (!take_array(&inside, &one) || __builtin_add_overflow(*bytes, one, bytes))
            return false;
    }
    return true;
}

size_t hlo_take_shape(struct hlo_piece *piece, uint64_t *bytes, size_t room)
{
    struct hlo_piece tuple, item;
    size_t n = 0;

    hlo_skip(piece);
    if (piece->at == piece->end)
        return 0;
    if (*piece->at != '(')
        return take_array(piece, &bytes[0]) ? 1 : 0;
    if (!hlo_take_bracket(piece, &tuple))
        return 0;
    for (hlo_skip(&tuple); tuple.at < tuple.end; hlo_skip(&tuple)) {
        item = hlo_take_until(&tuple, ',');
        (void)hlo_take(&tuple, ',');
        if (n == room || !sum_tuple(item, &bytes[n]))
            return 0;
        n++;
    }
    return n;
}
