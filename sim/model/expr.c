/* A recursive-descent parser for lines of a `graph:` section (expr.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"

struct parser {
    const char *text;
    size_t at;
    struct expr_line *line;
    char *free_names; /* free room for the next name */
    struct expr *last;
    uint32_t nnodes;
    uint32_t depth;
    size_t fault; /* byte of the first error */
    struct shd_error *err;
    int status; /* of the first error */
};

static void *fail(struct parser *p, size_t at, int status, const char *what)
{
    if (p->status != SHD_OK)
        return NULL;
    p->fault = at;
    p->status = shd_error_set(p->err, status, "%s", what);
    return NULL;
}

/* Fail with "'*' where a name ... was expected", or with the end of the line. */
static void *fail_expected(struct parser *p, const char *expected)
{
    unsigned char c = (unsigned char)p->text[p->at];

    if (p->status != SHD_OK)
        return NULL;
    p->fault = p->at;
    if (c == '\0')
        p->status = shd_error_set(p->err, SHD_EINVAL, "the line ends; expected %s", expected);
    else if (c > ' ' && c < 0x7f)
        p->status = shd_error_set(p->err, SHD_EINVAL, "'%c' here; expected %s", c, expected);
    else
        p->status = shd_error_set(p->err, SHD_EINVAL, "byte 0x%02x here; expected %s", c, expected);
    return NULL;
}

static void skip_spaces(struct parser *p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n')
        p->at++;
}

/* Skip spaces and consume `c` if it comes next. */
static bool accept(struct parser *p, char c)
{
    skip_spaces(p);
    if (p->text[p->at] != c)
        return false;
    p->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Bytes of the name that begins at `text`; 0: none. */
static size_t name_length(const char *text)
{
    size_t n = 0;

    if (!is_letter(text[0]))
        return 0;
    while (is_letter(text[n]) || is_digit(text[n]) || text[n] == '.')
        n++;
    return n;
}

/* Copy `length` bytes from the current position and advance.  A name has at least one byte and a
 * NUL, and names are separated, so that twice the line's length holds all of them. */
static const char *take(struct parser *p, size_t length)
{
    char *name = p->free_names;

    memcpy(name, p->text + p->at, length);
    name[length] = '\0';
    p->free_names += length + 1;
    p->at += length;
    return name;
}

static const char *parse_name(struct parser *p, const char *expected)
{
    size_t length;

    skip_spaces(p);
    length = name_length(p->text + p->at);
    if (length == 0)
        return fail_expected(p, expected);
    return take(p, length);
}

static struct expr *add(struct parser *p, enum expr_kind kind, size_t at, const char *name)
{
    struct expr *e;

    if (p->status != SHD_OK)
        return NULL;
    if (p->nnodes++ == EXPR_NODES_MAX)
        return fail(p, at, SHD_ERANGE, "the line has too many parts");
    e = calloc(1, sizeof *e);
    if (!e)
        return fail(p, at, SHD_ENOMEM, "no memory for the line");
    e->kind = kind;
    e->at = at;
    e->name = name;
    if (p->last)
        p->last->next = e;
    else
        p->line->all = e;
    p->last = e;
    return e;
}

static struct expr *call(struct parser *p, size_t at, const char *name, const struct expr *a,
                         const struct expr *b)
{
    struct expr *e = a ? add(p, EXPR_CALL, at, name) : NULL;

    if (!e)
        return NULL;
    e->args[e->nargs++] = a;
    if (b)
        e->args[e->nargs++] = b;
    return e;
}

static void parse_dims(struct parser *p, struct expr_dims *dims)
{
    if (!accept(p, '['))
        return;
    dims->given = true;
    if (accept(p, ']'))
        return;
    do {
        skip_spaces(p);
        if (dims->count == EXPR_DIMS_MAX) {
            fail(p, p->at, SHD_ERANGE, "more than 12 dimensions");
            return;
        }
        dims->at[dims->count] = p->at;
        dims->names[dims->count] = parse_name(p, "the name of a dimension");
        if (!dims->names[dims->count++])
            return;
    } while (accept(p, ','));
    if (!accept(p, ']'))
        fail_expected(p, "',' or ']'");
}

/* Bytes of a number: digits, a decimal point, an exponent. */
static size_t number_length(const char *text)
{
    size_t n = 0, digits = 0;

    for (; is_digit(text[n]); n++)
        digits++;
    if (text[n] == '.')
        for (n++; is_digit(text[n]); n++)
            digits++;
    if (digits == 0)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t e = n + 1;

        if (text[e] == '+' || text[e] == '-')
            e++;
        if (is_digit(text[e]))
            for (n = e; is_digit(text[n]);)
                n++;
    }
    return n;
}

static struct expr *parse_number(struct parser *p)
{
    size_t at = p->at, length = number_length(p->text + at);
    struct expr *e;
    double value;

    if (length == 0)
        return fail_expected(p, "a number, a name, or '('");
    value = strtod(take(p, length), NULL);
    if (!isfinite(value))
        return fail(p, at, SHD_ERANGE, "a number that is too large");
    e = add(p, EXPR_NUMBER, at, NULL);
    if (e)
        e->number = value;
    return e;
}

/* Forward declarations: the grammar is recursive. */
static struct expr *parse_sum(struct parser *p);
static struct expr *parse_factor(struct parser *p);

/* Parse "causal" of "causal=true"; NULL if the argument has no key. */
static const char *parse_key(struct parser *p)
{
    size_t length, after;

    skip_spaces(p);
    length = name_length(p->text + p->at);
    after = p->at + length;
    while (length > 0 && p->text[after] == ' ')
        after++;
    if (length == 0 || p->text[after] != '=')
        return NULL;
    const char *key = take(p, length);
    p->at = after + 1;
    return key;
}

static void parse_arguments(struct parser *p, struct expr *e)
{
    if (accept(p, ')'))
        return;
    do {
        if (e->nargs == EXPR_ARGS_MAX) {
            fail(p, p->at, SHD_ERANGE, "more than 9 arguments");
            return;
        }
        e->keys[e->nargs] = parse_key(p);
        e->args[e->nargs] = parse_sum(p);
        if (!e->args[e->nargs++])
            return;
    } while (accept(p, ','));
    if (!accept(p, ')'))
        fail_expected(p, "an operator, ',' or ')'");
}

static struct expr *parse_named(struct parser *p)
{
    size_t at = p->at;
    const char *name = parse_name(p, "a name");
    bool is_call = accept(p, '(');
    bool is_infinity = name && !is_call && !strcmp(name, "inf");
    struct expr *e = add(p, is_call ? EXPR_CALL : is_infinity ? EXPR_NUMBER : EXPR_NAME, at, name);

    if (e && is_infinity)
        e->number = INFINITY;
    if (e && is_call)
        parse_arguments(p, e);
    if (e)
        parse_dims(p, &e->dims);
    return e;
}

static struct expr *parse_factor_in(struct parser *p)
{
    size_t at;
    struct expr *e;

    skip_spaces(p);
    at = p->at;
    if (accept(p, '-'))
        return call(p, at, "neg", parse_factor(p), NULL);
    if (is_letter(p->text[at]))
        return parse_named(p);
    if (!accept(p, '('))
        return parse_number(p);
    e = parse_sum(p);
    if (e && !accept(p, ')'))
        fail_expected(p, "an operator or ')'");
    return e;
}

static struct expr *parse_factor(struct parser *p)
{
    struct expr *e;

    if (p->depth == EXPR_DEPTH_MAX)
        return fail(p, p->at, SHD_ERANGE, "brackets more than 64 deep");
    p->depth++;
    e = parse_factor_in(p);
    p->depth--;
    return e;
}

static struct expr *parse_product(struct parser *p)
{
    struct expr *e = parse_factor(p);

    while (e && p->status == SHD_OK) {
        size_t at;

        skip_spaces(p);
        at = p->at;
        if (accept(p, '*'))
            e = call(p, at, "mul", e, parse_factor(p));
        else if (accept(p, '/'))
            e = call(p, at, "div", e, parse_factor(p));
        else
            return e;
    }
    return NULL;
}

static struct expr *parse_sum(struct parser *p)
{
    struct expr *e = parse_product(p);

    while (e && p->status == SHD_OK) {
        size_t at;

        skip_spaces(p);
        at = p->at;
        if (accept(p, '+'))
            e = call(p, at, "add", e, parse_product(p));
        else if (accept(p, '-'))
            e = call(p, at, "sub", e, parse_product(p));
        else
            return e;
    }
    return NULL;
}

static void parse_line(struct parser *p)
{
    p->line->name = parse_name(p, "the name of the result");
    if (p->status == SHD_OK)
        parse_dims(p, &p->line->dims);
    if (p->status == SHD_OK && !accept(p, '='))
        fail_expected(p, "'='");
    if (p->status == SHD_OK)
        p->line->value = parse_sum(p);
    skip_spaces(p);
    if (p->status == SHD_OK && p->text[p->at] != '\0')
        fail_expected(p, "an operator or the end of the line");
}

int expr_parse(struct expr_line **out, const char *text, size_t *at, struct shd_error *err)
{
    struct parser p = {.text = text, .err = err};
    size_t length = strlen(text);

    *at = 0;
    if (length > EXPR_LINE_MAX)
        return shd_error_set(err, SHD_ERANGE, "a line of %zu bytes; expected at most %d", length,
                             EXPR_LINE_MAX);
    p.line = calloc(1, sizeof *p.line);
    if (p.line)
        p.line->names = malloc(2 * length + 2);
    if (!p.line || !p.line->names) {
        expr_destroy(p.line);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the line");
    }
    p.free_names = p.line->names;
    parse_line(&p);
    if (p.status == SHD_OK) {
        *out = p.line;
        return SHD_OK;
    }
    *at = p.fault;
    expr_destroy(p.line);
    return p.status;
}

void expr_destroy(struct expr_line *line)
{
    if (!line)
        return;
    while (line->all) {
        struct expr *next = line->all->next;

        free(line->all);
        line->all = next;
    }
    free(line->names);
    free(line);
}

static void print_dims(const struct expr_dims *dims, struct text *out)
{
    if (!dims->given)
        return;
    text_add_char(out, '[');
    for (uint32_t d = 0; d < dims->count; d++)
        text_addf(out, "%s%s", d ? "," : "", dims->names[d]);
    text_add_char(out, ']');
}

static void print_expr(const struct expr *e, struct text *out)
{
    char buf[40];

    if (e->kind == EXPR_NUMBER) {
        text_add(out, isinf(e->number) ? "inf" : json_out_print_double(buf, sizeof buf, e->number));
        return;
    }
    text_add(out, e->name);
    if (e->kind == EXPR_CALL) {
        text_add_char(out, '(');
        for (uint32_t i = 0; i < e->nargs; i++) {
            text_add(out, i ? ", " : "");
            if (e->keys[i])
                text_addf(out, "%s=", e->keys[i]);
            print_expr(e->args[i], out);
        }
        text_add_char(out, ')');
    }
    print_dims(&e->dims, out);
}

void expr_print(const struct expr_line *line, struct text *out)
{
    text_add(out, line->name);
    print_dims(&line->dims, out);
    text_add(out, " = ");
    print_expr(line->value, out);
}
