/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "regex_python.h"

#include <stdlib.h>
#include <string.h>

#include "regex_parse.h"

#define DEPTH_MAX 250
#define REPEAT_MAX 65535 /* PCRE2's */

/* A sequence being translated: its width, and what its last item was. */
struct sequence {
    struct regex_width before; /* of the items before the last */
    struct regex_width last;
    enum { ITEM_NONE, ITEM_PLACE, ITEM_REPEAT, ITEM_OTHER } item;
};

static int parse_alternatives(struct regex_parse *parse, bool top, struct regex_width *width);

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

static struct regex_width either(struct regex_width a, struct regex_width b)
{
    return (struct regex_width){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

static void add_item(struct sequence *sequence, int item, struct regex_width width)
{
    sequence->before = sum(sequence->before, sequence->last);
    sequence->last = width;
    sequence->item = item;
}

static const struct regex_width one = {1, 1};
static const struct regex_width zero = {0, 0};

static size_t position_of(const struct regex_parse *parse)
{
    return parse->tokens[parse->at].position;
}

/* References and names */

static int put_reference(struct regex_parse *parse, size_t group, size_t position,
                         struct sequence *sequence)
{
    if (!parse->groups[group].closed)
        return regex_fail(parse, position, "cannot refer to an open group");
    if (parse->lookbehind_groups > 0 && group >= parse->lookbehind_groups)
        return regex_fail(parse, position,
                          "cannot refer to a group of the same look-behind pattern");
    regex_put(parse, "\\g{");
    regex_put_number(parse, group);
    regex_put(parse, "}");
    add_item(sequence, ITEM_OTHER, parse->groups[group].width);
    return SHD_OK;
}

static bool is_digit(const struct regex_token *token)
{
    return token->c >= '0' && token->c <= '9' && !token->escaped;
}

static bool is_octal(const struct regex_token *token)
{
    return is_digit(token) && token->c < '8';
}

/* A backslash and a digit from 1: three octal digits are a character, else it is a reference of one
 * or two digits. */
static int parse_number_escape(struct regex_parse *parse, const struct regex_token *token,
                               struct sequence *sequence)
{
    size_t group = token->c - '0';

    if (regex_sees_digit(parse)) {
        const struct regex_token *second = regex_get(parse);

        group = group * 10 + (second->c - '0');
        if (token->c < '8' && is_octal(second) && is_octal(second + 1)) {
            uint32_t c = (token->c - '0') << 6 | (second->c - '0') << 3 |
                         (regex_get(parse)->c - '0');

            if (c > 0377)
                return regex_fail(parse, token->position,
                                  "octal escape value outside of range 0-0o377");
            regex_put_literal(parse, c);
            add_item(sequence, ITEM_OTHER, one);
            return SHD_OK;
        }
    }
    if (group >= parse->ngroups)
        return regex_fail(parse, token->position, "invalid group reference");
    return put_reference(parse, group, token->position, sequence);
}

static bool is_name_char(const struct regex_token *token, bool first)
{
    uint32_t c = token->c;

    if (token->escaped)
        return false;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80 ||
           (!first && is_digit(token));
}

/* Read up to the terminator: the first token of the name and its length. */
static int read_name(struct regex_parse *parse, uint32_t terminator, size_t *name, size_t *length)
{
    *name = parse->at;
    while (!regex_sees(parse, terminator)) {
        if (regex_get(parse)->c == REGEX_END)
            return regex_fail(parse, position_of(parse), "unterminated group name");
    }
    *length = parse->at - *name;
    parse->at++;
    if (*length == 0)
        return regex_fail(parse, parse->tokens[*name].position, "missing group name");
    return SHD_OK;
}

static bool is_name(const struct regex_parse *parse, size_t name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!is_name_char(&parse->tokens[name + i], i == 0))
            return false;
    }
    return true;
}

static bool same_name(const struct regex_parse *parse, size_t a, size_t b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (parse->tokens[a + i].c != parse->tokens[b + i].c)
            return false;
    }
    return true;
}

/* The group of a name, or 0. */
static size_t find_group(const struct regex_parse *parse, size_t name, size_t length)
{
    for (size_t g = 1; g < parse->ngroups; g++) {
        const struct regex_group *group = &parse->groups[g];

        if (group->name_length == length && same_name(parse, group->name, name, length))
            return g;
    }
    return 0;
}

static int parse_named_reference(struct regex_parse *parse, struct sequence *sequence)
{
    size_t name;
    size_t length;
    size_t position = position_of(parse);
    int status = read_name(parse, ')', &name, &length);

    if (status)
        return status;
    if (!is_name(parse, name, length))
        return regex_fail(parse, position, "bad character in group name");

    size_t group = find_group(parse, name, length);

    if (group == 0)
        return regex_fail(parse, position, "unknown group name");
    return put_reference(parse, group, position, sequence);
}

/* Flags */

static unsigned flag_of(const struct regex_token *token)
{
    if (token->escaped)
        return 0;
    switch (token->c) {
    case 'i':
        return REGEX_IGNORECASE;
    case 'm':
        return REGEX_MULTILINE;
    case 's':
        return REGEX_DOTALL;
    case 'x':
        return REGEX_VERBOSE;
    case 'a':
        return REGEX_ASCII;
    case 'u':
        return REGEX_UNICODE;
    default:
        return 0;
    }
}

/* A run of flag letters, none allowed only by the caller. */
static unsigned read_flags(struct regex_parse *parse)
{
    unsigned flags = 0;
    unsigned flag;

    while ((flag = flag_of(&parse->tokens[parse->at])) != 0) {
        flags |= flag;
        parse->at++;
    }
    return flags;
}

/* Whether PCRE2 is to fold case; under (?a) the translation does it. */
static bool folds(unsigned flags)
{
    return (flags & REGEX_IGNORECASE) && !(flags & REGEX_ASCII);
}

/* "ims)" for all of the pattern, or "ims-x:" for a group; *global tells which. */
static int parse_flags(struct regex_parse *parse, bool *global, unsigned *flags)
{
    const unsigned type = REGEX_ASCII | REGEX_UNICODE;
    size_t position = position_of(parse);
    unsigned on = read_flags(parse);
    unsigned off = 0;

    *global = false;
    if ((on & type) == type)
        return regex_fail(parse, position, "flags 'a' and 'u' are incompatible");
    if (on && regex_match(parse, ')')) {
        *global = true;
        *flags = parse->flags | on;
        if ((*flags & type) == type)
            return regex_fail(parse, position, "flags 'a' and 'u' are incompatible");
        return SHD_OK;
    }
    if (regex_match(parse, '-')) {
        off = read_flags(parse);
        if (!off || off & type)
            return regex_fail(parse, position, "bad flags to turn off");
    }
    if (!regex_match(parse, ':'))
        return regex_fail(parse, position_of(parse), "unknown flag or missing ':' or ')'");
    if (on & off)
        return regex_fail(parse, position, "a flag is turned on and off");
    *flags = parse->flags;
    if (on & type)
        *flags &= ~type;
    *flags = (*flags | on) & ~off;
    return SHD_OK;
}

/* Groups */

static int close_group(struct regex_parse *parse, size_t position)
{
    if (!regex_match(parse, ')'))
        return regex_fail(parse, position, "missing ')' of the group that starts");
    regex_put(parse, ")");
    return SHD_OK;
}

/* The inside of a group whose opening was put, and its end. */
static int parse_inside(struct regex_parse *parse, size_t position, struct regex_width *width)
{
    int status = parse_alternatives(parse, false, width);

    return status ? status : close_group(parse, position);
}

static int parse_capture(struct regex_parse *parse, size_t position, size_t name, size_t length,
                         struct sequence *sequence)
{
    size_t group = parse->ngroups++;
    struct regex_width width;

    parse->groups[group] = (struct regex_group){.name = name, .name_length = length};
    regex_put(parse, "(");

    int status = parse_inside(parse, position, &width);

    parse->groups[group].width = width;
    parse->groups[group].closed = true;
    add_item(sequence, ITEM_OTHER, width);
    return status;
}

static int parse_named_capture(struct regex_parse *parse, size_t position,
                               struct sequence *sequence)
{
    size_t name;
    size_t length;
    int status = read_name(parse, '>', &name, &length);

    if (status)
        return status;
    if (!is_name(parse, name, length))
        return regex_fail(parse, position, "bad character in the name of the group");
    if (find_group(parse, name, length) > 0)
        return regex_fail(parse, position, "redefinition of a group name");
    return parse_capture(parse, position, name, length, sequence);
}

static int parse_plain_group(struct regex_parse *parse, size_t position, const char *opening,
                             struct sequence *sequence)
{
    struct regex_width width;

    regex_put(parse, opening);

    int status = parse_inside(parse, position, &width);

    add_item(sequence, ITEM_OTHER, width);
    return status;
}

static int parse_look(struct regex_parse *parse, size_t position, const char *opening,
                      struct sequence *sequence)
{
    struct regex_width width;

    regex_put(parse, opening);

    int status = parse_inside(parse, position, &width);

    add_item(sequence, ITEM_OTHER, zero);
    return status;
}

static int parse_lookbehind(struct regex_parse *parse, size_t position, struct sequence *sequence)
{
    const struct regex_token *token = regex_get(parse);
    bool is_outermost = parse->lookbehind_groups == 0;
    struct regex_width width;

    if (token->escaped || (token->c != '=' && token->c != '!'))
        return regex_fail(parse, position, "unknown extension ?<");
    if (is_outermost)
        parse->lookbehind_groups = parse->ngroups;
    regex_put(parse, token->c == '=' ? "(?<=" : "(?<!");

    int status = parse_inside(parse, position, &width);

    if (is_outermost)
        parse->lookbehind_groups = 0;
    if (!status && width.min != width.max)
        status = regex_fail(parse, position, "look-behind requires fixed-width pattern");
    add_item(sequence, ITEM_OTHER, zero);
    return status;
}

static int parse_sequence(struct regex_parse *parse, bool first, struct regex_width *width);

/* The group that a condition asks for, by name or number. */
static int read_condition(struct regex_parse *parse, size_t *group)
{
    size_t name;
    size_t length;
    size_t position = position_of(parse);
    int status = read_name(parse, ')', &name, &length);

    if (status)
        return status;
    if (is_name(parse, name, length)) {
        *group = find_group(parse, name, length);
        return *group > 0 ? SHD_OK : regex_fail(parse, position, "unknown group name");
    }
    *group = 0;
    for (size_t i = 0; i < length; i++) {
        const struct regex_token *token = &parse->tokens[name + i];

        if (!is_digit(token) || *group > 100000000)
            return regex_fail(parse, position, "bad character in group name");
        *group = *group * 10 + (token->c - '0');
    }
    if (*group == 0)
        return regex_fail(parse, position, "bad group number");
    if (*group > parse->last_condition) { /* it may come later: looked at in the end */
        parse->last_condition = *group;
        parse->last_condition_position = position;
    }
    return SHD_OK;
}

static int parse_condition(struct regex_parse *parse, size_t position, struct sequence *sequence)
{
    size_t group;
    struct regex_width yes;
    struct regex_width no = zero;
    int status = read_condition(parse, &group);

    if (status)
        return status;
    if (parse->lookbehind_groups > 0 &&
        (group >= parse->lookbehind_groups || !parse->groups[group].closed))
        return regex_fail(parse, position,
                          "cannot refer to an open group or one of the same look-behind pattern");
    regex_put(parse, "(?(");
    regex_put_number(parse, group);
    regex_put(parse, ")");
    status = parse_sequence(parse, false, &yes);
    if (!status && regex_match(parse, '|')) {
        regex_put(parse, "|");
        status = parse_sequence(parse, false, &no);
    }
    if (!status && regex_sees(parse, '|'))
        status = regex_fail(parse, position, "conditional backref with more than two branches");
    if (!status)
        status = close_group(parse, position);
    if (!status)
        add_item(sequence, ITEM_OTHER, either(yes, no));
    return status;
}

static int skip_comment(struct regex_parse *parse, size_t position)
{
    while (!regex_match(parse, ')')) {
        if (regex_get(parse)->c == REGEX_END)
            return regex_fail(parse, position, "unterminated comment");
    }
    return SHD_OK;
}

static int parse_flag_group(struct regex_parse *parse, size_t position, bool first,
                            struct sequence *sequence)
{
    unsigned outer = parse->flags;
    unsigned flags = outer;
    bool global;
    int status = parse_flags(parse, &global, &flags);

    if (status)
        return status;
    parse->flags = flags;
    if (global) {
        if (!first || sequence->item != ITEM_NONE)
            return regex_fail(parse, position,
                              "global flags not at the start of the expression");
        regex_put(parse, folds(flags) ? "(?i)" : "(?-i)");
        return SHD_OK;
    }
    status = parse_plain_group(parse, position, folds(flags) ? "(?i:" : "(?-i:", sequence);
    parse->flags = outer;
    return status;
}

/* What follows "(?P". */
static int parse_python_group(struct regex_parse *parse, size_t position,
                              struct sequence *sequence)
{
    if (regex_match(parse, '<'))
        return parse_named_capture(parse, position, sequence);
    if (regex_match(parse, '='))
        return parse_named_reference(parse, sequence);
    return regex_fail(parse, position, "unknown extension ?P");
}

static int parse_group(struct regex_parse *parse, size_t position, bool first,
                       struct sequence *sequence)
{
    if (!regex_match(parse, '?'))
        return parse_capture(parse, position, 0, 0, sequence);
    if (flag_of(&parse->tokens[parse->at]) || regex_sees(parse, '-'))
        return parse_flag_group(parse, position, first, sequence);

    const struct regex_token *token = regex_get(parse);

    switch (token->escaped ? '\\' : token->c) {
    case 'P':
        return parse_python_group(parse, position, sequence);
    case ':':
        return parse_plain_group(parse, position, "(?:", sequence);
    case '>':
        return parse_plain_group(parse, position, "(?>", sequence);
    case '#':
        return skip_comment(parse, position);
    case '=':
        return parse_look(parse, position, "(?=", sequence);
    case '!':
        return parse_look(parse, position, "(?!", sequence);
    case '<':
        return parse_lookbehind(parse, position, sequence);
    case '(':
        return parse_condition(parse, position, sequence);
    default:
        return regex_fail(parse, position, "unknown extension");
    }
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

/* What follows '{' when it is a repeat; *is_repeat is cleared, and nothing consumed, when it is
 * only a brace. */
static int read_braces(struct regex_parse *parse, struct repeat *out, bool *is_repeat)
{
    size_t start = parse->at;
    size_t position = position_of(parse);

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
                        struct sequence *sequence)
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
        add_item(sequence, ITEM_OTHER, one);
        return SHD_OK;
    }
    if (sequence->item == ITEM_NONE || sequence->item == ITEM_PLACE)
        return regex_fail(parse, token->position, "nothing to repeat");
    if (sequence->item == ITEM_REPEAT)
        return regex_fail(parse, token->position, "multiple repeat");

    put_repeat(parse, &repeat);
    if (regex_match(parse, '?'))
        regex_put(parse, "?");
    else if (regex_match(parse, '+'))
        regex_put(parse, "+");
    sequence->item = ITEM_REPEAT;
    sequence->last.min = times(sequence->last.min, repeat.min);
    sequence->last.max = times(sequence->last.max, repeat.max);
    return SHD_OK;
}

/* Places */

/* A word's edge: of a-z, 0-9 and '_' only under (?a).  Python finds no inner place in an empty
 * text. */
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

/* A place in the text that an escape or '^' or '$' stands for; false where it is none. */
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
                        struct sequence *sequence)
{
    struct regex_char read;

    if (token->c >= '1' && token->c <= '9')
        return parse_number_escape(parse, token, sequence);

    int status = regex_read_escape(parse, token, false, &read);

    if (status)
        return status;
    if (read.category)
        regex_put_category(parse, read.c);
    else
        regex_put_literal(parse, read.c);
    add_item(sequence, ITEM_OTHER, one);
    return SHD_OK;
}

static void skip_line(struct regex_parse *parse)
{
    while (!regex_match(parse, '\n') && regex_get(parse)->c != REGEX_END)
        ;
}

/* White space and comments of the verbose form. */
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
                      struct sequence *sequence)
{
    if (put_place(parse, token)) {
        add_item(sequence, ITEM_PLACE, zero);
        return SHD_OK;
    }
    if (token->escaped)
        return parse_escape(parse, token, sequence);
    switch (token->c) {
    case '(':
        return parse_group(parse, token->position, first, sequence);
    case '*':
    case '+':
    case '?':
    case '{':
        return parse_repeat(parse, token, sequence);
    case '[':
        add_item(sequence, ITEM_OTHER, one);
        return regex_read_class(parse);
    case '.':
        regex_put(parse, parse->flags & REGEX_DOTALL ? "(?s:.)" : "[^\\n]");
        break;
    default:
        regex_put_literal(parse, token->c);
        break;
    }
    add_item(sequence, ITEM_OTHER, one);
    return SHD_OK;
}

/* Items up to '|', ')' or the end; `first` where global flags may stand. */
static int parse_sequence(struct regex_parse *parse, bool first, struct regex_width *width)
{
    struct sequence sequence = {.item = ITEM_NONE};

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

static int parse_alternatives(struct regex_parse *parse, bool top, struct regex_width *width)
{
    *width = zero;
    if (++parse->depth > DEPTH_MAX)
        return regex_fail(parse, position_of(parse), "groups are nested too deeply");

    int status = parse_sequence(parse, top, width);

    while (!status && regex_match(parse, '|')) {
        struct regex_width next;

        regex_put(parse, "|");
        status = parse_sequence(parse, false, &next);
        if (!status)
            *width = either(*width, next);
    }
    parse->depth--;
    return status;
}

/* Text to tokens */

/* The character at *text, which is moved behind it; REGEX_END where it is not UTF-8. */
static uint32_t decode(const unsigned char **text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = *text;
    uint32_t c = *p++;
    int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : -1;

    if (more < 0)
        return REGEX_END;
    c &= more > 0 ? 0x3fU >> more : 0x7fU;
    for (int i = 0; i < more; i++) {
        if ((*p & 0xc0) != 0x80)
            return REGEX_END;
        c = c << 6 | (*p++ & 0x3f);
    }
    *text = p;
    return c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? REGEX_END : c;
}

static int read_tokens(struct regex_parse *parse, const char *pattern)
{
    const unsigned char *p = (const unsigned char *)pattern;
    size_t position = 0;
    size_t n = 0;

    while (*p) {
        struct regex_token token = {.position = position++};

        token.c = decode(&p);
        if (token.c == '\\') {
            if (!*p)
                return regex_fail(parse, token.position, "bad escape (end of pattern)");
            token.escaped = true;
            token.c = decode(&p);
            position++;
        }
        if (token.c == REGEX_END)
            return regex_fail(parse, token.position, "no UTF-8");
        parse->tokens[n++] = token;
    }
    parse->tokens[n] = (struct regex_token){.c = REGEX_END, .position = position};
    return SHD_OK;
}

static int parse_pattern(struct regex_parse *parse, const char *pattern)
{
    struct regex_width width;
    int status = read_tokens(parse, pattern);

    if (!status)
        status = parse_alternatives(parse, true, &width);
    if (status)
        return status;
    if (regex_sees(parse, ')'))
        return regex_fail(parse, position_of(parse), "unbalanced parenthesis");
    if (parse->last_condition >= parse->ngroups)
        return regex_fail(parse, parse->last_condition_position, "invalid group reference");
    return SHD_OK;
}

int regex_python_translate(char **out, const char *pattern, struct shd_error *err)
{
    size_t size = strlen(pattern) + 2; /* no more tokens and groups than characters */
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
