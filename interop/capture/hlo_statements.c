/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_statements.h"

#include <ctype.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* State of the scanner: position and end, depth of brackets, the last non-blank character, and
 * whether an equals sign was seen outside of brackets, as after an instruction's name. */
struct scan {
    const char *at, *end;
    size_t depth;
    char last;
    bool has_name;
};

static struct hlo_piece rest_of(const struct scan *s)
{
    return (struct hlo_piece){s->at, s->end};
}

/* Whether "name =" or "ROOT name =" comes next. */
static bool begins_instruction(const struct scan *s)
{
    struct hlo_piece rest = rest_of(s), name;

    (void)hlo_take_word(&rest, "ROOT");
    return hlo_take_name(&rest, &name) && hlo_take(&rest, '=');
}

/* Step over a character, a string or a comment. */
static void step(struct scan *s)
{
    struct hlo_piece rest = rest_of(s);
    char c = *s->at;

    if (c == '/' && s->end - s->at > 1 && (s->at[1] == '/' || s->at[1] == '*')) {
        s->at = hlo_past_comment(rest);
        return;
    }
    s->at = c == '"' ? hlo_past_string(rest) : s->at + 1;
    s->depth += c == '(' || c == '[' || c == '{';
    s->depth -= (c == ')' || c == ']' || c == '}') && s->depth > 0;
    s->has_name |= c == '=' && s->depth == 0;
    if (!isspace((unsigned char)c))
        s->last = c;
}

static bool to_be_continued(const struct scan *s, const char *signs)
{
    struct hlo_piece rest = rest_of(s);

    hlo_skip(&rest);
    return s->last == ',' || s->last == '=' ||
           (rest.at < rest.end && *rest.at && strchr(signs, *rest.at));
}

static void to_end_of_line(struct scan *s)
{
    while (s->at < s->end && *s->at != '\n')
        s->at++;
}

/* Whether a brace opens a computation: braces of layouts stand right behind "]", of attributes
 * behind "=". */
static bool opens_computation(const struct scan *s)
{
    char before = s->at[-1];

    return s->last != '=' && (isspace((unsigned char)before) || isalnum((unsigned char)before) ||
                              before == ')' || before == '_');
}

static void scan_outside(struct scan *s)
{
    if (isdigit((unsigned char)*s->at)) {
        to_end_of_line(s);
        return;
    }
    for (const char *begin = s->at; s->at < s->end; step(s)) {
        if (s->depth)
            continue;
        if (*s->at == '{' && s->at > begin && opens_computation(s)) {
            s->at++;
            return;
        }
        if (*s->at == '\n' && !to_be_continued(s, "{-,"))
            return;
    }
}

static void scan_inside(struct scan *s)
{
    if (*s->at == '}') {
        s->at++;
        if (s->at < s->end && *s->at == ',')
            to_end_of_line(s);
        return;
    }
    for (; s->at < s->end; step(s)) {
        if (s->depth)
            continue;
        if (*s->at == '}' || (*s->at == '\n' && !to_be_continued(s, ",")))
            return;
        if (is_blank(*s->at) && s->has_name && s->last != ',' && s->last != '=' &&
            begins_instruction(s))
            return;
    }
}

struct hlo_piece hlo_take_statement(struct hlo_piece *text, bool inside)
{
    struct hlo_piece statement;
    struct scan s;

    hlo_skip(text);
    s = (struct scan){.at = text->at, .end = text->end};
    statement.at = text->at;
    if (s.at < s.end && inside)
        scan_inside(&s);
    else if (s.at < s.end)
        scan_outside(&s);
    text->at = statement.end = s.at;
    return statement;
}

bool hlo_is_head(struct hlo_piece *statement)
{
    if (statement->at == statement->end || statement->end[-1] != '{')
        return false;
    statement->end--;
    return true;
}
