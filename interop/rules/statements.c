/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/statements.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "rules/python_text.h"

#define HOPS_MAX 32 /* how far a name is followed through other names */

struct reader {
    struct source source;
    struct statements *out;
    struct text block; /* gin: the prefix of names indented below it */
    int block_column;
};

/* ---- passing over ---- */

/* Pass the text up to the character `end` outside brackets and strings, or up to the end of the
 * statement's last line.  False with a report: a string does not end. */
static bool pass_to(struct source *s, char end)
{
    int depth = 0;

    for (;;) {
        source_skip(s, depth > 0);
        if (!*s->at || *s->at == '#' || (depth <= 0 && (*s->at == '\n' || *s->at == end)))
            return true;
        if (python_text_starts(s->at)) {
            struct text ignored = TEXT_INIT;
            bool ok = python_text_read(&ignored, s);

            text_fini(&ignored);
            if (!ok)
                return false;
            continue;
        }
        depth += strchr("([{", *s->at) ? 1 : strchr(")]}", *s->at) ? -1 : 0;
        source_step(s);
    }
}

static bool at_end_of_line(struct source *s)
{
    source_skip(s, false);
    return !*s->at || *s->at == '\n' || *s->at == '#' || *s->at == ';';
}

/* ---- statements ---- */

static bool add(struct reader *r, const char *name, bool include, struct place place,
                struct value *value)
{
    struct statements *all = r->out;
    const char *scope = strrchr(name, '/');
    char *copy = strdup(scope ? scope + 1 : name);

    if (all->count == STATEMENTS_MAX && copy) {
        diag_error(r->source.diag, place, "over %d statements", STATEMENTS_MAX);
        free(copy);
        value_destroy(value);
        return false;
    }
    if (!copy || !array_make_room(&all->list, all->count, sizeof *all->list)) {
        free(copy);
        value_destroy(value);
        diag_no_memory(r->source.diag);
        return false;
    }
    all->list[all->count++] = (struct statement){copy, include, place, value};
    return true;
}

/* Read the value of a statement; nothing may follow the value. */
static bool read_value(struct reader *r, const char *name, bool include, struct place place)
{
    struct value *value = value_read(&r->source);

    if (!value || !add(r, name, include, place, value))
        return false;
    if (at_end_of_line(&r->source)) {
        if (*r->source.at == ';')
            source_step(&r->source);
        return true;
    }
    source_unexpected(&r->source, "the end of the line");
    return false;
}

/* Read the rest of a line that begins with a name: " = value", ": type = value", gin's ":". */
static bool read_named(struct reader *r, const struct text *name, struct source start)
{
    struct source *s = &r->source;
    struct text full = TEXT_INIT;
    bool ok = true;

    source_skip(s, false);
    if (*s->at == ':') {
        source_step(s);
        if (at_end_of_line(s)) {
            text_clear(&r->block);
            text_add(&r->block, text_get(name));
            r->block_column = start.place.column;
            return true;
        }
        if (!pass_to(s, '='))
            return false;
        if (*s->at != '=')
            return true; /* the type of a name that gets no value */
    }
    if (*s->at != '=' || s->at[1] == '=') {
        *s = start;
        return read_value(r, "", false, start.place);
    }
    source_step(s);
    if (start.place.column > r->block_column && r->block.length > 0)
        text_addf(&full, "%s.", text_get(&r->block));
    text_add(&full, text_get(name));
    if (full.failed) {
        diag_no_memory(s->diag);
        ok = false;
    }
    ok = ok && read_value(r, text_get(&full), false, start.place);
    text_fini(&full);
    return ok;
}

static bool read_statement(struct reader *r)
{
    struct source *s = &r->source, start = *s;
    struct text name = TEXT_INIT;
    size_t length;
    bool ok;

    if (*s->at == '@' || source_word(s, "import from pass raise assert global del"))
        return pass_to(s, '\0');
    if (source_word(s, "def class async")) {
        ok = pass_to(s, ':');
        if (ok && *s->at == ':')
            source_step(s);
        return ok;
    }
    length = source_word(s, "return include");
    if (length && (*s->at == 'r' || (s->at[7] == ' ' && strchr(" '\"", s->at[8])))) {
        source_step_by(s, length);
        if (*start.at == 'r' && at_end_of_line(s))
            return true;
        return read_value(r, "", *start.at == 'i', start.place);
    }
    length = source_word(s, "if elif else for while with try except finally match yield lambda not "
                            "await");
    if (length) {
        diag_error(s->diag, s->place,
                   "'%.*s' is not run; expected literals: write plain values, or let Python print "
                   "them",
                   (int)length, s->at);
        return false;
    }
    ok = source_name(s, &name, true);
    if (name.failed)
        diag_no_memory(s->diag);
    ok = ok ? !name.failed && read_named(r, &name, start) : read_value(r, "", false, start.place);
    text_fini(&name);
    return ok;
}

void statements_read(struct statements *out, struct place first, const char *text, size_t length,
                     struct diag *diag)
{
    struct reader r = {.source = {text, first, diag, 0}, .out = out, .block = TEXT_INIT};
    struct source *s = &r.source;

    *out = (struct statements){0, NULL};
    for (;;) {
        source_skip(s, true);
        if (!*s->at || (s->place.column <= r.block_column && r.block.length > 0))
            text_clear(&r.block);
        if (!*s->at || !read_statement(&r))
            break;
    }
    if (!*s->at && s->at != text + length && diag->nerrors == 0)
        diag_error(diag, s->place, "a zero byte; expected text");
    if (r.block.failed)
        diag_no_memory(diag);
    text_fini(&r.block);
}

void statements_fini(struct statements *statements)
{
    for (size_t i = 0; i < statements->count; i++) {
        free(statements->list[i].name);
        value_destroy(statements->list[i].value);
    }
    free(statements->list);
    *statements = (struct statements){0, NULL};
}

/* ---- names ---- */

const struct value *statements_resolve(const struct statements *statements,
                                       const struct value *value)
{
    for (int hops = 0; value && value->kind == VALUE_NAME && hops < HOPS_MAX; hops++) {
        const struct value *bound = NULL;

        for (size_t i = statements->count; !bound && i-- > 0;)
            if (!strcmp(statements->list[i].name, value->text))
                bound = statements->list[i].value;
        if (!bound || bound == value)
            break;
        value = bound;
    }
    return value;
}

/* Whether `name` is "parameter" or ends with ".parameter", the part before it being `owner`. */
static bool is_parameter(const char *name, const char *owner, const char *parameter)
{
    size_t n = strlen(name), m = strlen(parameter), o = owner ? strlen(owner) : 0;

    if (n < m || strcmp(name + n - m, parameter) != 0 || (n > m && name[n - m - 1] != '.'))
        return false;
    if (!owner)
        return true;
    if (n < m + 1 + o || strncmp(name + n - m - 1 - o, owner, o) != 0)
        return false;
    return n == m + 1 + o || name[n - m - o - 2] == '.';
}

/* The keyword's value in the last call, inside a value, that has the keyword. */
static const struct value *find_keyword(const struct value *v, const char *owner,
                                        const char *parameter)
{
    const struct value *found = NULL;

    if (v->kind != VALUE_CALL)
        return NULL;
    if (!owner || !strcmp(value_last_name(v), owner))
        found = value_argument(v, parameter, SIZE_MAX);
    for (size_t i = v->nitems; !found && i-- > 0;)
        found = find_keyword(v->items[i], owner, parameter);
    return found;
}

const struct value *statements_find(const struct statements *statements, const char *owner,
                                    const char *parameter)
{
    for (size_t i = statements->count; i-- > 0;) {
        const struct statement *s = &statements->list[i];
        const struct value *found = is_parameter(s->name, owner, parameter)
                                        ? s->value
                                        : find_keyword(s->value, owner, parameter);

        if (found)
            return statements_resolve(statements, found);
    }
    return NULL;
}
