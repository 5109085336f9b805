/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "rules/python_text.h"

static struct value *value_new(struct source *s, enum value_kind kind, struct place place)
{
    struct value *v = calloc(1, sizeof *v);

    if (!v) {
        diag_no_memory(s->diag);
        return NULL;
    }
    v->kind = kind;
    v->place = place;
    return v;
}

void value_destroy(struct value *value)
{
    if (!value)
        return;
    for (size_t i = 0; i < value->nitems; i++) {
        value_destroy(value->items[i]);
        if (value->keys)
            free(value->keys[i]);
    }
    free(value->items);
    free(value->keys);
    free(value->text);
    free(value);
}

/* Add an item, with its `key`, to a value, which then owns both.  False, both freed: no memory. */
static bool add_item(struct source *s, struct value *v, struct value *item, char *key)
{
    if (!array_make_room(&v->items, v->nitems, sizeof *v->items) ||
        (v->kind == VALUE_CALL && !array_make_room(&v->keys, v->nitems, sizeof *v->keys))) {
        diag_no_memory(s->diag);
        value_destroy(item);
        free(key);
        return false;
    }
    if (v->keys)
        v->keys[v->nitems] = key;
    v->items[v->nitems++] = item;
    return true;
}

/* Give a value its text; NULL: no memory. */
static struct value *with_text(struct source *s, struct value *v, struct text *text)
{
    if (v) {
        text_add(text, ""); /* text_take() needs a text, even an empty one */
        v->text = text_take(text);
        if (!v->text) {
            diag_no_memory(s->diag);
            value_destroy(v);
            v = NULL;
        }
    }
    text_fini(text);
    return v;
}

/* Read the keyword of an argument, `keyword = value`, if the argument has a keyword. */
static bool read_keyword(struct source *s, char **key)
{
    struct source ahead = *s;
    struct text name = TEXT_INIT;
    bool found;

    *key = NULL;
    found = source_name(&ahead, &name, false);
    if (found)
        source_skip(&ahead, true);
    found = found && ahead.at[0] == '=' && ahead.at[1] != '=';
    if (found) {
        source_step(&ahead);
        *s = ahead;
        *key = text_take(&name);
        if (!*key)
            diag_no_memory(s->diag);
    }
    text_fini(&name);
    return !found || *key;
}

static bool read_colon(struct source *s)
{
    source_skip(s, true);
    if (*s->at != ':') {
        source_unexpected(s, "':' behind a key");
        return false;
    }
    source_step(s);
    return true;
}

/* Read items up to the closing bracket, which is passed; `*comma`: there was a comma. */
static bool read_items(struct source *s, struct value *v, char close, bool *comma)
{
    const char expected[] = {'\'', close, '\'', ' ', 'o', 'r', ' ', '\'', ',', '\'', '\0'};

    *comma = false;
    for (source_skip(s, true); *s->at != close; source_skip(s, true)) {
        struct value *item;
        char *key = NULL;

        if (v->kind == VALUE_CALL && !read_keyword(s, &key))
            return false;
        source_skip(s, true);
        item = value_read(s);
        if (!item)
            free(key);
        if (!item || !add_item(s, v, item, key))
            return false;
        if (v->kind == VALUE_DICT) {
            if (!read_colon(s))
                return false;
            source_skip(s, true);
            item = value_read(s);
            if (!item || !add_item(s, v, item, NULL))
                return false;
        }
        source_skip(s, true);
        if (*s->at == close)
            break;
        if (*s->at != ',') {
            source_unexpected(s, expected);
            return false;
        }
        source_step(s);
        *comma = true;
    }
    source_step(s);
    return true;
}

/* Read a value in brackets; (x) is x itself. */
static struct value *read_brackets(struct source *s, struct value *v, char close)
{
    struct place open = s->place;
    bool comma, paren = *s->at == '(' && v && v->kind == VALUE_LIST;
    struct value *only;

    if (!v)
        return NULL;
    if (s->depth >= VALUE_DEPTH_MAX) {
        diag_error(s->diag, open, "brackets are nested more than %d deep", VALUE_DEPTH_MAX);
        value_destroy(v);
        return NULL;
    }
    source_step(s);
    s->depth++;
    if (!read_items(s, v, close, &comma)) {
        value_destroy(v);
        return NULL;
    }
    s->depth--;
    if (!paren || comma || v->nitems != 1)
        return v;
    only = v->items[0];
    v->nitems = 0;
    value_destroy(v);
    return only;
}

static struct value *read_number(struct source *s)
{
    struct place place = s->place;
    char digits[64];
    size_t n = 0;
    const char *c = s->at;
    struct value *v;
    char *end;

    for (; *c && (isalnum((unsigned char)*c) || strchr("_.+-", *c)); c++) {
        if ((*c == '+' || *c == '-') && c > s->at && tolower((unsigned char)c[-1]) != 'e')
            break;
        if (*c != '_' && n < sizeof digits - 1)
            digits[n++] = *c;
    }
    digits[n] = '\0';
    v = value_new(s, VALUE_INT, place);
    if (!v)
        return NULL;
    errno = 0;
    v->number = strtoll(digits, &end, 10);
    if (*end || errno) {
        v->kind = VALUE_REAL;
        errno = 0;
        (void)strtod(digits, &end);
    }
    if (*end || end == digits || n == sizeof digits - 1) {
        diag_error(s->diag, place, "'%.40s' is not a number", digits);
        value_destroy(v);
        return NULL;
    }
    source_step_by(s, (size_t)(c - s->at));
    return v;
}

static struct value *read_text(struct source *s)
{
    struct value *v = value_new(s, VALUE_TEXT, s->place);
    struct text text = TEXT_INIT;

    if (v && !python_text_read(&text, s)) {
        value_destroy(v);
        v = NULL;
    }
    return with_text(s, v, &text);
}

/* None, True, False, a name, a call, gin's @name, @name() and %NAME. */
static struct value *read_name(struct source *s)
{
    struct value *v = value_new(s, VALUE_NAME, s->place);
    struct text name = TEXT_INIT;
    bool gin = *s->at == '@' || *s->at == '%';
    const char *text;

    if (gin)
        source_step(s);
    if (v && !source_name(s, &name, gin)) {
        source_unexpected(s, gin ? "a name" : "a value");
        value_destroy(v);
        v = NULL;
    }
    text = text_get(&name);
    if (v && !gin && !strcmp(text, "None"))
        v->kind = VALUE_NONE;
    else if (v && !gin && (!strcmp(text, "True") || !strcmp(text, "False")))
        v->kind = VALUE_BOOL;
    if (v && v->kind == VALUE_BOOL)
        v->number = *text == 'T';
    if (v && v->kind == VALUE_NAME && *s->at == '(')
        v->kind = VALUE_CALL;
    v = with_text(s, v, &name);
    return v && v->kind == VALUE_CALL ? read_brackets(s, v, ')') : v;
}

static struct value *read_ellipsis(struct source *s)
{
    struct value *v = value_new(s, VALUE_NAME, s->place);
    struct text text = TEXT_INIT;

    source_step_by(s, 3);
    text_add(&text, "...");
    return with_text(s, v, &text);
}

struct value *value_read(struct source *s)
{
    source_skip(s, s->depth > 0);
    if (*s->at == '(')
        return read_brackets(s, value_new(s, VALUE_LIST, s->place), ')');
    if (*s->at == '[')
        return read_brackets(s, value_new(s, VALUE_LIST, s->place), ']');
    if (*s->at == '{')
        return read_brackets(s, value_new(s, VALUE_DICT, s->place), '}');
    if (python_text_starts(s->at))
        return read_text(s);
    if (!strncmp(s->at, "...", 3))
        return read_ellipsis(s);
    if (isdigit((unsigned char)*s->at) ||
        (*s->at && strchr("-+.", *s->at) && isdigit((unsigned char)s->at[1])))
        return read_number(s);
    return read_name(s);
}

/* ---- what it says ---- */

const char *value_last_name(const struct value *value)
{
    const char *dot;

    if (value->kind != VALUE_NAME && value->kind != VALUE_CALL)
        return "";
    dot = strrchr(value->text, '.');
    return dot && dot[1] ? dot + 1 : value->text;
}

const struct value *value_argument(const struct value *call, const char *keyword, size_t position)
{
    if (call->kind != VALUE_CALL)
        return NULL;
    for (size_t i = 0; i < call->nitems; i++) {
        if (call->keys[i] && keyword && !strcmp(call->keys[i], keyword))
            return call->items[i];
        if (!call->keys[i] && position-- == 0)
            return call->items[i];
    }
    return NULL;
}

const char *value_describe(const struct value *value, char *buf, size_t size)
{
    switch (value->kind) {
    case VALUE_NONE:
        snprintf(buf, size, "None");
        break;
    case VALUE_BOOL:
        snprintf(buf, size, "%s", value->number ? "True" : "False");
        break;
    case VALUE_INT:
        snprintf(buf, size, "%" PRId64, value->number);
        break;
    case VALUE_REAL:
        snprintf(buf, size, "a fraction");
        break;
    case VALUE_TEXT:
        snprintf(buf, size, "'%.60s'", value->text);
        break;
    case VALUE_LIST:
        snprintf(buf, size, "a list of %zu", value->nitems);
        break;
    case VALUE_DICT:
        snprintf(buf, size, "a dict of %zu", value->nitems / 2);
        break;
    case VALUE_NAME:
        snprintf(buf, size, "the name '%.60s'", value->text);
        break;
    case VALUE_CALL:
        snprintf(buf, size, "a call of '%.60s'", value->text);
        break;
    }
    return buf;
}
