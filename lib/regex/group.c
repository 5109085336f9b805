/* regex/group.c - translating groups and references to groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "parse.h"

static int put_reference(struct regex_parse *parse, size_t group, size_t position,
                         struct regex_sequence *sequence)
{
    if (!parse->groups[group].closed)
        return regex_fail(parse, position, "cannot refer to an open group");
    if (parse->lookbehind_groups > 0 && group >= parse->lookbehind_groups)
        return regex_fail(parse, position,
                          "cannot refer to a group of the same look-behind pattern");
    regex_put(parse, "\\g{");
    regex_put_number(parse, group);
    regex_put(parse, "}");
    regex_add_item(sequence, REGEX_ITEM_OTHER, parse->groups[group].width);
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

int regex_parse_number_escape(struct regex_parse *parse, const struct regex_token *token,
                              struct regex_sequence *sequence)
{
    size_t group = token->c - '0';

    if (regex_sees_digit(parse)) {
        const struct regex_token *second = regex_get(parse);

        group = group * 10 + (second->c - '0');
        if (token->c < '8' && is_octal(second) && is_octal(second + 1)) {
            uint32_t c =
                (token->c - '0') << 6 | (second->c - '0') << 3 | (regex_get(parse)->c - '0');

            if (c > 0377)
                return regex_fail(parse, token->position,
                                  "octal escape value outside of range 0-0o377");
            regex_put_literal(parse, c);
            regex_add_item(sequence, REGEX_ITEM_OTHER, (struct regex_width){1, 1});
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

/* Read a name and the terminator after it; returns the name's first token and its length in
 * tokens. */
static int read_name(struct regex_parse *parse, uint32_t terminator, size_t *name, size_t *length)
{
    *name = parse->at;
    while (!regex_sees(parse, terminator)) {
        if (regex_get(parse)->c == REGEX_END)
            return regex_fail(parse, regex_position(parse), "unterminated group name");
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

/* The number of the group with a name; 0 if there is none. */
static size_t find_group(const struct regex_parse *parse, size_t name, size_t length)
{
    for (size_t g = 1; g < parse->ngroups; g++) {
        const struct regex_group *group = &parse->groups[g];

        if (group->name_length == length && same_name(parse, group->name, name, length))
            return g;
    }
    return 0;
}

static int parse_named_reference(struct regex_parse *parse, struct regex_sequence *sequence)
{
    size_t name;
    size_t length;
    size_t position = regex_position(parse);
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

/* Read a run of flag letters.  It may be empty; the caller reports that where it is wrong. */
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

/* Whether PCRE2 should ignore case; under (?a) the translation spells out both cases instead. */
static bool folds(unsigned flags)
{
    return (flags & REGEX_IGNORECASE) && !(flags & REGEX_ASCII);
}

/* Read flags: "ims)" for the whole pattern, or "ims-x:" for one group; *global tells which. */
static int parse_flags(struct regex_parse *parse, bool *global, unsigned *flags)
{
    const unsigned type = REGEX_ASCII | REGEX_UNICODE;
    size_t position = regex_position(parse);
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
        return regex_fail(parse, regex_position(parse), "unknown flag or missing ':' or ')'");
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
        return regex_fail(parse, position, "missing ), unterminated subpattern");
    regex_put(parse, ")");
    return SHD_OK;
}

/* Translate the inside of a group whose opening was written, and its ')'. */
static int parse_inside(struct regex_parse *parse, size_t position, struct regex_width *width)
{
    int status = regex_parse_alternatives(parse, false, width);

    return status ? status : close_group(parse, position);
}

static int parse_capture(struct regex_parse *parse, size_t position, size_t name, size_t length,
                         struct regex_sequence *sequence)
{
    size_t group = parse->ngroups++;
    struct regex_width width;

    parse->groups[group] = (struct regex_group){.name = name, .name_length = length};
    regex_put(parse, "(");

    int status = parse_inside(parse, position, &width);

    parse->groups[group].width = width;
    parse->groups[group].closed = true;
    regex_add_item(sequence, REGEX_ITEM_OTHER, width);
    return status;
}

static int parse_named_capture(struct regex_parse *parse, size_t position,
                               struct regex_sequence *sequence)
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
                             struct regex_sequence *sequence)
{
    struct regex_width width;

    regex_put(parse, opening);

    int status = parse_inside(parse, position, &width);

    regex_add_item(sequence, REGEX_ITEM_OTHER, width);
    return status;
}

static int parse_look(struct regex_parse *parse, size_t position, const char *opening,
                      struct regex_sequence *sequence)
{
    struct regex_width width;

    regex_put(parse, opening);

    int status = parse_inside(parse, position, &width);

    regex_add_item(sequence, REGEX_ITEM_OTHER, (struct regex_width){0, 0});
    return status;
}

static int parse_lookbehind(struct regex_parse *parse, size_t position,
                            struct regex_sequence *sequence)
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
    regex_add_item(sequence, REGEX_ITEM_OTHER, (struct regex_width){0, 0});
    return status;
}

/* Read the group of a condition, by name or number. */
static int read_condition(struct regex_parse *parse, size_t *group)
{
    size_t name;
    size_t length;
    size_t position = regex_position(parse);
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
    if (*group > parse->last_condition) { /* the group may be defined later: checked at the end */
        parse->last_condition = *group;
        parse->last_condition_position = position;
    }
    return SHD_OK;
}

static int parse_condition(struct regex_parse *parse, size_t position,
                           struct regex_sequence *sequence)
{
    size_t group;
    struct regex_width yes;
    struct regex_width no = {0, 0};
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
    status = regex_parse_sequence(parse, false, &yes);
    if (!status && regex_match(parse, '|')) {
        regex_put(parse, "|");
        status = regex_parse_sequence(parse, false, &no);
    }
    if (!status && regex_sees(parse, '|'))
        status = regex_fail(parse, position, "conditional backref with more than two branches");
    if (!status)
        status = close_group(parse, position);
    if (!status)
        regex_add_item(sequence, REGEX_ITEM_OTHER, regex_either(yes, no));
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
                            struct regex_sequence *sequence)
{
    unsigned outer = parse->flags;
    unsigned flags = outer;
    bool global;
    int status = parse_flags(parse, &global, &flags);

    if (status)
        return status;
    parse->flags = flags;
    if (global) {
        if (!first || sequence->item != REGEX_ITEM_NONE)
            return regex_fail(parse, position, "global flags not at the start of the expression");
        regex_put(parse, folds(flags) ? "(?i)" : "(?-i)");
        return SHD_OK;
    }
    status = parse_plain_group(parse, position, folds(flags) ? "(?i:" : "(?-i:", sequence);
    parse->flags = outer;
    return status;
}

/* Translate what follows "(?P". */
static int parse_python_group(struct regex_parse *parse, size_t position,
                              struct regex_sequence *sequence)
{
    if (regex_match(parse, '<'))
        return parse_named_capture(parse, position, sequence);
    if (regex_match(parse, '='))
        return parse_named_reference(parse, sequence);
    return regex_fail(parse, position, "unknown extension ?P");
}

int regex_parse_group(struct regex_parse *parse, size_t position, bool first,
                      struct regex_sequence *sequence)
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
