/* Translating repeats, positions and sequences of Python patterns (regex/python.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "python.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* Maximum nesting of groups, PCRE2's own default.  It bounds the stack that translation and
 * compilation need. */
#define DEPTH_MAX 250

#define REPEAT_MAX 65535 /* maximum of PCRE2 */

static uint64_t clip(uint64_t n)
{
    return n < REGEX_WIDTH_MAX ? n : REGEX_WIDTH_MAX;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? REGEX_WIDTH_MAX : clip(product);
}

static struct regex_width sum(struct regex_width a, struct regex_width b)
{
    return (struct regex_width){clip(a.min + b.min), clip(a.max + b.max)};
}

struct regex_width regex_either(struct regex_width a, struct regex_width b)
{
    return (struct regex_width){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

void regex_add_item(struct regex_sequence *sequence, enum regex_item item, struct regex_width width)
{
    sequence->before = sum(sequence->before, sequence->last);
    sequence->last = width;
    sequence->item = item;
}

static const struct regex_width one = {1, 1};
static const struct regex_width zero = {0, 0};

size_t regex_position(const struct regex_parse *parse)
{
    return parse->tokens[parse->at].position;
}

/* Repeats */

struct repeat {
    uint64_t min;
    uint64_t max; /* UINT64_MAX: no limit */
};

static bool read_count(struct regex_parse *parse, uint64_t *out)
{
    bool any = false;

    for (; regex_sees_digit(parse); any = true) {
        uint32_t digit = regex_get(parse)->c - '0';

        *out = any ? clip(times(*out, 10) + digit) : digit;
    }
    return any;
}

/* Read what follows a '{'.  If that is not a repeat, but a literal brace, *is_repeat is cleared and
 * nothing is consumed. */
static int read_braces(struct regex_parse *parse, struct repeat *out, bool *is_repeat)
{
    size_t start = parse->at;
    size_t position = regex_position(parse);

    if (regex_sees(parse, '}')) {
        *is_repeat = false;
        return SHD_OK;
    }

    bool has_min = read_count(parse, &out->min);

    if (regex_match(parse, ','))
        read_count(parse, &out->max);
    else if (has_min)
        out->max = out->min;
    if (!regex_match(parse, '}')) {
        parse->at = start;
        *is_repeat = false;
        return SHD_OK;
    }
    if (out->min >= UINT32_MAX || (out->max >= UINT32_MAX && out->max != UINT64_MAX))
        return regex_fail(parse, position, "the repetition number is too large");
    if (out->max < out->min)
        return regex_fail(parse, position, "min repeat greater than max repeat");
    if (out->min > REPEAT_MAX || (out->max > REPEAT_MAX && out->max != UINT64_MAX))
        return shd_error_set(parse->err, SHD_EUNSUPPORTED,
                             "more than %d repeats at position %zu of the pattern", REPEAT_MAX,
                             position);
    return SHD_OK;
}

static void put_repeat(struct regex_parse *parse, const struct repeat *repeat)
{
    regex_put(parse, "{");
    regex_put_number(parse, repeat->min);
    if (repeat->max != repeat->min)
        regex_put(parse, ",");
    if (repeat->max != repeat->min && repeat->max != UINT64_MAX)
        regex_put_number(parse, repeat->max);
    regex_put(parse, "}");
}

static int parse_repeat(struct regex_parse *parse, const struct regex_token *token,
                        struct regex_sequence *sequence)
{
    struct repeat repeat = {token->c == '+', token->c == '?' ? 1 : UINT64_MAX};
    bool is_repeat = true;

    if (token->c == '{') {
        int status = read_braces(parse, &repeat, &is_repeat);

        if (status)
            return status;
    }
    if (!is_repeat) {
        regex_put_literal(parse, '{');
        regex_add_item(sequence, REGEX_ITEM_OTHER, one);
        return SHD_OK;
    }
    if (sequence->item == REGEX_ITEM_NONE || sequence->item == REGEX_ITEM_PLACE)
        return regex_fail(parse, token->position, "nothing to repeat");
    if (sequence->item == REGEX_ITEM_REPEAT)
        return regex_fail(parse, token->position, "multiple repeat");

    put_repeat(parse, &repeat);
    if (regex_match(parse, '?'))
        regex_put(parse, "?");
    else if (regex_match(parse, '+'))
        regex_put(parse, "+");
    sequence->item = REGEX_ITEM_REPEAT;
    sequence->last.min = times(sequence->last.min, repeat.min);
    sequence->last.max = times(sequence->last.max, repeat.max);
    return SHD_OK;
}

/* Places */

/* Append \b, the edge of a word, or with `inner` \B, any other position.  Under (?a) words consist
 * of a-z, 0-9 and '_'.  In an empty text Python finds no \B. */
static void put_edge(struct regex_parse *parse, bool inner)
{
    if (inner)
        regex_put(parse, "(?!\\A\\z)");
    if (!(parse->flags & REGEX_ASCII)) {
        regex_put(parse, inner ? "\\B" : "\\b");
        return;
    }
    regex_put(parse, inner ? "(?!" : "(?:");
    regex_put(parse, "(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z])");
    regex_put(parse, ")");
}

/* Append the position that an escape, '^' or '$' stands for; false for any other token. */
static bool put_place(struct regex_parse *parse, const struct regex_token *token)
{
    bool multiline = parse->flags & REGEX_MULTILINE;

    if (!token->escaped) {
        if (token->c != '^' && token->c != '$')
            return false;
        if (token->c == '^')
            regex_put(parse, multiline ? "(?m:^)" : "\\A");
        else
            regex_put(parse, multiline ? "(?m:$)" : "$");
        return true;
    }
    switch (token->c) {
    case 'A':
        regex_put(parse, "\\A");
        return true;
    case 'Z':
        regex_put(parse, "\\z");
        return true;
    case 'b':
    case 'B':
        put_edge(parse, token->c == 'B');
        return true;
    default:
        return false;
    }
}

/* Sequences */

static int parse_escape(struct regex_parse *parse, const struct regex_token *token,
                        struct regex_sequence *sequence)
{
    struct regex_char read;

    if (token->c >= '1' && token->c <= '9')
        return regex_parse_number_escape(parse, token, sequence);

    int status = regex_read_escape(parse, token, false, &read);

    if (status)
        return status;
    if (read.category)
        regex_put_category(parse, read.c);
    else
        regex_put_literal(parse, read.c);
    regex_add_item(sequence, REGEX_ITEM_OTHER, one);
    return SHD_OK;
}

static void skip_line(struct regex_parse *parse)
{
    while (!regex_match(parse, '\n') && regex_get(parse)->c != REGEX_END)
        ;
}

/* Whether a token is white space or a comment that verbose mode ignores; a comment is consumed. */
static bool is_skipped(struct regex_parse *parse, const struct regex_token *token)
{
    if (!(parse->flags & REGEX_VERBOSE) || token->escaped)
        return false;
    if (token->c == '#') {
        skip_line(parse);
        return true;
    }
    return token->c == ' ' || (token->c >= '\t' && token->c <= '\r');
}

static int parse_item(struct regex_parse *parse, const struct regex_token *token, bool first,
                      struct regex_sequence *sequence)
{
    if (put_place(parse, token)) {
        regex_add_item(sequence, REGEX_ITEM_PLACE, zero);
        return SHD_OK;
    }
    if (token->escaped)
        return parse_escape(parse, token, sequence);
    switch (token->c) {
    case '(':
        return regex_parse_group(parse, token->position, first, sequence);
    case '*':
    case '+':
    case '?':
    case '{':
        return parse_repeat(parse, token, sequence);
    case '[':
        regex_add_item(sequence, REGEX_ITEM_OTHER, one);
        return regex_read_class(parse);
    case '.':
        regex_put(parse, parse->flags & REGEX_DOTALL ? "(?s:.)" : "[^\\n]");
        break;
    default:
        regex_put_literal(parse, token->c);
        break;
    }
    regex_add_item(sequence, REGEX_ITEM_OTHER, one);
    return SHD_OK;
}

int regex_parse_sequence(struct regex_parse *parse, bool first, struct regex_width *width)
{
    struct regex_sequence sequence = {.item = REGEX_ITEM_NONE};

    while (!regex_sees(parse, '|') && !regex_sees(parse, ')')) {
        const struct regex_token *token = regex_get(parse);

        if (token->c == REGEX_END)
            break;
        if (is_skipped(parse, token))
            continue;

        int status = parse_item(parse, token, first, &sequence);

        if (status)
            return status;
    }
    *width = sum(sequence.before, sequence.last);
    return SHD_OK;
}

int regex_parse_alternatives(struct regex_parse *parse, bool top, struct regex_width *width)
{
    *width = zero;
    if (++parse->depth > DEPTH_MAX)
        return regex_fail(parse, regex_position(parse), "groups are nested too deeply");

    int status = regex_parse_sequence(parse, top, width);

    while (!status && regex_match(parse, '|')) {
        struct regex_width next;

        regex_put(parse, "|");
        status = regex_parse_sequence(parse, false, &next);
        if (!status)
            *width = regex_either(*width, next);
    }
    parse->depth--;
    return status;
}

static int parse_pattern(struct regex_parse *parse, const char *pattern)
{
    struct regex_width width;
    int status = regex_read_tokens(parse, pattern);

    if (!status)
        status = regex_parse_alternatives(parse, true, &width);
    if (status)
        return status;
    if (regex_sees(parse, ')'))
        return regex_fail(parse, regex_position(parse), "unbalanced parenthesis");
    if (parse->last_condition >= parse->ngroups)
        return regex_fail(parse, parse->last_condition_position, "invalid group reference");
    return SHD_OK;
}

int regex_python_translate(char **out, const char *pattern, struct shd_error *err)
{
    size_t size = strlen(pattern) + 2; /* never more tokens or groups than characters */
    struct regex_parse parse = {.ngroups = 1, .size = size, .err = err};

    parse.tokens = calloc(size, sizeof(*parse.tokens));
    parse.groups = calloc(size, sizeof(*parse.groups));
    parse.out = calloc(1, size);

    int status = SHD_OK;

    if (parse.tokens && parse.groups && parse.out)
        status = parse_pattern(&parse, pattern);
    if (!status && !(parse.tokens && parse.groups && parse.out))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
    free(parse.tokens);
    free(parse.groups);
    if (status)
        free(parse.out);
    else
        *out = parse.out;
    return status;
}
