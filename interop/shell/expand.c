/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/expand.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/sum.h"

static void put(struct shell *s, struct shell_words *out, char byte, size_t at,
                enum shell_quoting quoting)
{
    struct shell_origin origin = shell_origin(s, at);

    origin.quoted = quoting == SHELL_QUOTED;
    shell_words_put(out, byte, origin);
}

static void put_unknown(struct shell *s, struct shell_words *out, size_t at, uint16_t cause,
                        enum shell_quoting quoting)
{
    struct shell_origin origin = shell_origin(s, at);

    if (origin.doubt != SHELL_UNKNOWN)
        origin.cause = cause;
    origin.doubt = SHELL_UNKNOWN;
    origin.quoted = quoting == SHELL_QUOTED;
    shell_words_put(out, '?', origin);
}

static void put_number(struct shell *s, struct shell_words *out, int64_t number, size_t at,
                       enum shell_quoting quoting)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRId64, number);
    for (size_t i = 0; digits[i]; i++)
        put(s, out, digits[i], at, quoting);
}

/* ---- variables ---- */

static void put_word(struct shell *s, struct shell_words *out, const struct shell_words *from,
                     size_t word, enum shell_quoting quoting)
{
    const char *text = shell_words_text(from, word);

    if (quoting != SHELL_PARTED)
        shell_words_open(out, from->list[word].at);
    for (size_t i = 0; i < from->list[word].length; i++) {
        struct shell_origin origin = shell_words_origin(from, word, i);

        origin.quoted = quoting == SHELL_QUOTED;
        if (quoting == SHELL_PARTED && shell_is_space(text[i]))
            shell_words_close(out);
        else if (shell_spend(s, 1))
            shell_words_put(out, text[i], origin);
        else
            return;
    }
}

/* Append all words of an array, or the first. */
static void put_value(struct shell *s, struct shell_words *out, const struct shell_words *value,
                      bool all, enum shell_quoting quoting)
{
    for (size_t i = 0; i < value->count && (all || i == 0); i++) {
        if (i > 0)
            shell_words_close(out);
        put_word(s, out, value, i, quoting);
    }
}

void shell_put_variable(struct shell *s, struct shell_words *out, const struct shell_variable *v)
{
    put_value(s, out, &v->value, true, SHELL_PARTED);
    shell_words_close(out);
}

static const struct shell_variable *argument(struct shell *s, size_t number)
{
    char name[24];
    const struct shell_variable *v;

    s->asked_arguments = true;
    v = shell_state_find(&s->state, name, (size_t)snprintf(name, sizeof name, "%zu", number));
    return v && v->set ? v : NULL;
}

static void put_arguments(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    const struct shell_variable *v;

    for (size_t i = 1; (v = argument(s, i)) != NULL; i++) {
        if (i > 1)
            shell_words_close(out);
        put_value(s, out, &v->value, false, quoting);
    }
}

static int64_t count_arguments(struct shell *s)
{
    int64_t n = 0;

    while (argument(s, (size_t)n + 1))
        n++;
    return n;
}

/* Length of a variable's name or an argument's number. */
static size_t parameter_length(const char *text)
{
    size_t n = shell_name_length(text);

    return n > 0 ? n : strspn(text, "0123456789");
}

/* The variable with a name if it is set; marks it as used. */
static struct shell_variable *look_up(struct shell *s, const char *name, size_t length)
{
    struct shell_variable *v = shell_state_find(&s->state, name, length);

    if (v)
        v->used = true;
    s->asked_arguments |= isdigit((unsigned char)*name) && *name != '0';
    return v && v->set ? v : NULL;
}

/* ---- brackets ---- */

void shell_skip_brackets(struct shell *s, char open, char close)
{
    const char *text = s->in.bytes;
    size_t from = s->in.at, at = from;
    char quote = 0;
    int depth = 0;

    for (; text[at]; at++) {
        char c = text[at];

        if (c == '\\' && quote != '\'' && text[at + 1])
            at++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == open)
            depth++;
        else if (c == close && --depth == 0)
            break;
    }
    s->in.at = at + (text[at] != '\0');
    if (!text[at])
        shell_report(s, from, "a bracket is not closed");
}

static void skip_backticks(struct shell *s)
{
    const char *text = s->in.bytes;
    size_t from = s->in.at, at = from + 1;

    while (text[at] && text[at] != '`')
        at += text[at] == '\\' && text[at + 1] ? 2 : 1;
    s->in.at = at + (text[at] != '\0');
    if (!text[at])
        shell_report(s, from, "a quote is not closed");
}

void shell_read_until(struct shell *s, struct shell_words *out, size_t end)
{
    while (s->in.at < end && !shell_is_over(s))
        shell_read_part(s, out, SHELL_WHOLE);
    shell_words_close(out);
}

/* ---- ${...} ---- */

struct braces {
    size_t from, end; /* in the text; `end` is behind the bracket */
    const char *name;
    size_t length;
    bool all, colon;
    char form; /* } - = + ? as in ${NAME:-WORD}; 0: another form */
    size_t word;
};

static struct braces find_braces(struct shell *s)
{
    struct braces b = {.from = s->in.at, .name = s->in.bytes + s->in.at + 2};
    const char *rest;

    s->in.at++;
    shell_skip_brackets(s, '{', '}');
    b.end = s->in.at;
    b.length = parameter_length(b.name);
    rest = b.name + b.length;
    if (b.length == 0)
        return b;
    b.all = !strncmp(rest, "[@]", 3) || !strncmp(rest, "[*]", 3);
    rest += b.all ? 3 : 0;
    b.colon = *rest == ':';
    rest += b.colon;
    b.form = *rest && strchr("-=+?}", *rest) && (*rest != '}' || !b.colon) ? *rest : '\0';
    b.word = (size_t)(rest + 1 - s->in.bytes);
    return b;
}

/* Append the word of ${NAME:-WORD}; `=` also assigns the word to the variable. */
static void put_default(struct shell *s, struct shell_words *out, const struct braces *b,
                        enum shell_quoting quoting)
{
    struct shell_words value = {.count = 0};
    struct shell_variable *v;

    s->in.at = b->word;
    if (++s->depth > SHELL_DEPTH_MAX)
        shell_report(s, s->in.at,
                     "${...} is nested over 16 deep; expected the command with its values");
    else
        shell_read_until(s, &value, b->end - 1);
    s->depth--;
    s->in.at = b->end;
    put_value(s, out, &value, true, quoting);
    out->failed |= value.failed;
    v = b->form == '=' && s->skipping == 0 ? shell_state_add(&s->state, b->name, b->length) : NULL;
    if (v && !v->given) {
        shell_words_fini(&v->value);
        v->value = value;
        v->set = v->used = true;
    } else {
        shell_words_fini(&value);
    }
}

/* Whether a variable has a value for ${NAME:-WORD}. */
static enum shell_tri has_value(const struct shell_variable *v, bool colon)
{
    if (!v || v->value.count == 0)
        return SHELL_NO;
    if (!colon && v->value.count > 0)
        return SHELL_YES;
    if (v->value.list[0].length == 0)
        return v->value.count > 1 ? SHELL_YES : SHELL_NO;
    for (size_t i = 0; i < v->value.list[0].length; i++)
        if (shell_words_origin(&v->value, 0, i).doubt == SHELL_SURE)
            return SHELL_YES;
    return SHELL_UNSURE;
}

static void read_braces(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    struct braces b = find_braces(s);
    const struct shell_variable *v = b.length > 0 ? look_up(s, b.name, b.length) : NULL;
    enum shell_tri has = has_value(v, b.colon);

    if (s->in.bytes[b.from + 2] == '@' && s->in.bytes[b.from + 3] == '}')
        put_arguments(s, out, quoting);
    else if (s->in.bytes[b.from + 2] == '#' && s->in.bytes[b.from + 3] == '}')
        put_number(s, out, count_arguments(s), b.from, quoting);
    else if (!b.form || (!v && (b.form == '}' || b.form == '?')) ||
             (has == SHELL_UNSURE && b.form != '}'))
        put_unknown(s, out, b.from, 0, quoting);
    else if (b.form == '}' || (has == SHELL_YES && b.form != '+'))
        put_value(s, out, &v->value, b.all, quoting);
    else if (b.form != '?' && (b.form == '+') == (has == SHELL_YES))
        put_default(s, out, &b, quoting);
}

/* ---- $((...)) ---- */

/* The cause of an unknown sum: a variable in doubt, or a variable that is not set. */
static uint16_t cause_of_sum(struct shell *s, const struct shell_words *inner, size_t from)
{
    size_t doubt = shell_words_doubt(inner, 0, 0, inner->list[0].length), length = 0;
    struct text name = TEXT_INIT;
    const char *culprit = NULL;
    char *of = NULL;
    uint16_t cause;
    int64_t value;

    if (doubt < inner->list[0].length)
        of = shell_deciding(s, shell_words_origin(inner, 0, doubt));
    else
        shell_sum(&value, shell_words_text(inner, 0), &s->state, &culprit, &length);
    text_add_bytes(&name, culprit ? culprit : "", length);
    cause = shell_cause_add(s, shell_origin(s, from).at,
                            of           ? of
                            : length > 0 ? text_get(&name)
                                         : NULL,
                            SHELL_UNSURE);
    text_fini(&name);
    free(of);
    return cause;
}

/* Pass on the variables that a sum names between two bytes of the text. */
static void tell_operands(struct shell *s, size_t from, size_t end)
{
    size_t n;

    for (size_t at = from; at < end && s->skipping == 0 && s->on_operand; at += n ? n : 1) {
        const struct shell_variable *v;

        n = shell_name_length(s->in.bytes + at);
        v = n > 0 ? shell_state_find(&s->state, s->in.bytes + at, n) : NULL;
        if (v && v->set && !v->given)
            s->on_operand(s->context, s, v);
    }
}

bool shell_read_sum(struct shell *s, int64_t *out, uint16_t *cause)
{
    struct shell_words inner = {.count = 0};
    size_t from = s->in.at, end, length;
    const char *culprit;
    bool known;

    shell_skip_brackets(s, '(', ')');
    end = s->in.at;
    s->in.at = from + 2;
    shell_words_open(&inner, shell_origin(s, from).at);
    if (++s->depth <= SHELL_DEPTH_MAX && end >= from + 4)
        shell_read_until(s, &inner, end - 2);
    s->depth--;
    s->in.at = end;
    shell_words_close(&inner);
    shell_words_join(&inner);
    known = !inner.failed &&
            shell_words_doubt(&inner, 0, 0, inner.list[0].length) == inner.list[0].length &&
            shell_sum(out, shell_words_text(&inner, 0), &s->state, &culprit, &length);
    *cause = known || inner.failed ? 0 : cause_of_sum(s, &inner, from);
    if (known)
        tell_operands(s, from, end);
    if (inner.failed)
        diag_no_memory(s->diag);
    shell_words_fini(&inner);
    return known;
}

static void put_sum(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    size_t from = s->in.at++;
    int64_t value = 0;
    uint16_t cause;

    if (shell_read_sum(s, &value, &cause))
        put_number(s, out, value, from, quoting);
    else
        put_unknown(s, out, from, cause, quoting);
}

/* ---- $(basename X), $(dirname X), $(echo X), which ask for nothing but their words ---- */

/* Append the output of a command with known words; false: another command. */
static bool put_printed(struct shell *s, struct shell_words *out, struct shell_words *words,
                        size_t from, enum shell_quoting quoting)
{
    const char *name = shell_words_text(words, 0), *text, *slash;
    bool base = !strcmp(name, "basename"), dir = !strcmp(name, "dirname");
    struct shell_words printed = {.count = 0};
    size_t length;

    if (words->count != 2 || (!base && !dir && strcmp(name, "echo") != 0))
        return false;
    text = shell_words_text(words, 1);
    length = strlen(text);
    slash = strrchr(text, '/');
    if (*text == '-' || (slash && (!slash[1] || (dir && slash == text))))
        return false; /* with a slash at the end, or of the root alone */
    if (dir && !slash) {
        put(s, out, '.', from, quoting);
        return true;
    }
    shell_words_open(&printed, shell_origin(s, from).at);
    shell_words_put_part(&printed, words, 1, base && slash ? (size_t)(slash + 1 - text) : 0,
                         dir ? (size_t)(slash - text) : length, SHELL_SURE, 0);
    shell_words_close(&printed);
    put_word(s, out, &printed, 0, quoting);
    out->failed |= printed.failed;
    shell_words_fini(&printed);
    return true;
}

/* Append the output of $(COMMAND); the first word in doubt determines the variable that would
 * settle an unknown output. */
static void put_command(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    struct shell_words words = {.count = 0};
    size_t from = s->in.at, end;
    uint16_t cause = 0;
    bool known = true;

    s->in.at++;
    shell_skip_brackets(s, '(', ')');
    end = s->in.at;
    s->in.at = from + 2;
    if (++s->depth <= SHELL_DEPTH_MAX)
        for (shell_skip_gap(s); s->in.at + 1 < end && !shell_ends_word(s); shell_skip_gap(s)) {
            shell_read_word(s, &words, SHELL_PARTED);
            shell_words_close(&words);
        }
    known = s->in.at + 1 == end && words.count > 0 && !words.failed;
    s->depth--;
    s->in.at = end;
    for (size_t i = 0; known && i < words.count; i++) {
        size_t length = words.list[i].length, at = shell_words_doubt(&words, i, 0, length);
        char *name = at < length ? shell_deciding(s, shell_words_origin(&words, i, at)) : NULL;

        known = at == length;
        if (name)
            cause = shell_cause_add(s, shell_origin(s, from).at, name, SHELL_UNSURE);
        free(name);
    }
    if (!known || !put_printed(s, out, &words, from, quoting))
        put_unknown(s, out, from, cause, quoting);
    shell_words_fini(&words);
}

/* ---- parts ---- */

static void read_dollar(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    size_t from = s->in.at;
    const char *name = s->in.bytes + from + 1;
    size_t length = isdigit((unsigned char)*name) ? 1 : shell_name_length(name);
    const struct shell_variable *v;

    if (name[0] == '(' && name[1] == '(') {
        put_sum(s, out, quoting);
    } else if (*name == '(') {
        put_command(s, out, quoting);
    } else if (*name == '{') {
        read_braces(s, out, quoting);
    } else if (*name == '@' || *name == '*') {
        s->in.at += 2;
        put_arguments(s, out, quoting);
    } else if (*name == '#') {
        s->in.at += 2;
        put_number(s, out, count_arguments(s), from, quoting);
    } else if (length > 0) {
        s->in.at += 1 + length;
        v = look_up(s, name, length);
        if (v)
            put_value(s, out, &v->value, false, quoting);
        else
            put_unknown(s, out, from, 0, quoting);
    } else if (*name && strchr("?$!-", *name)) {
        s->in.at += 2;
        put_unknown(s, out, from, 0, quoting);
    } else {
        s->in.at++;
        if (quoting == SHELL_QUOTED || (*name != '"' && *name != '\''))
            put(s, out, '$', from, quoting);
    }
}

/* Whether a text is "$@" or "${LIST[@]}", which expand to no word at all if empty. */
static bool is_list(const char *text)
{
    size_t brace = text[0] == '$' && text[1] == '{';

    if (text[0] != '$')
        return false;
    if (text[1 + brace] == '@')
        return true;
    return brace && !strncmp(text + 2 + shell_name_length(text + 2), "[@]", 3);
}

void shell_read_quoted(struct shell *s, struct shell_words *out, const char *escapes)
{
    const char *c = s->in.bytes + s->in.at;

    if (shell_goes_on(c)) {
        s->in.at += shell_goes_on(c);
    } else if (c[0] == '\\' && c[1] && strchr(escapes, c[1])) {
        put(s, out, c[1], s->in.at + 1, SHELL_QUOTED);
        s->in.at += 2;
    } else if (*c == '$' || *c == '`') {
        shell_read_part(s, out, SHELL_QUOTED);
    } else {
        put(s, out, *c, s->in.at, SHELL_QUOTED);
        s->in.at++;
    }
}

static void read_double_quotes(struct shell *s, struct shell_words *out)
{
    const char *text = s->in.bytes;
    size_t from = s->in.at++;
    bool anything = text[s->in.at] == '"';

    while (text[s->in.at] && text[s->in.at] != '"' && !shell_is_over(s)) {
        anything |= !is_list(text + s->in.at);
        shell_read_quoted(s, out, "$`\"\\");
    }
    if (anything)
        shell_words_open(out, shell_origin(s, from).at);
    if (text[s->in.at])
        s->in.at++;
    else
        shell_report(s, from, "a quote is not closed");
}

static void read_single_quotes(struct shell *s, struct shell_words *out)
{
    const char *text = s->in.bytes;
    size_t from = s->in.at++;

    shell_words_open(out, shell_origin(s, from).at);
    for (; text[s->in.at] && text[s->in.at] != '\''; s->in.at++)
        put(s, out, text[s->in.at], s->in.at, SHELL_QUOTED);
    if (text[s->in.at])
        s->in.at++;
    else
        shell_report(s, from, "a quote is not closed");
}

void shell_read_part(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    const char *c = s->in.bytes + s->in.at;

    if (shell_goes_on(c)) {
        s->in.at += shell_goes_on(c);
    } else if (*c == '"' && quoting != SHELL_QUOTED) {
        read_double_quotes(s, out);
    } else if (*c == '\'' && quoting != SHELL_QUOTED) {
        read_single_quotes(s, out);
    } else if (*c == '$') {
        read_dollar(s, out, quoting);
    } else if (*c == '`') {
        put_unknown(s, out, s->in.at, 0, quoting);
        skip_backticks(s);
    } else if (c[0] == '\\' && c[1]) {
        put(s, out, c[1], s->in.at + 1, SHELL_QUOTED);
        s->in.at += 2;
    } else {
        put(s, out, *c, s->in.at, quoting);
        s->in.at++;
    }
}

/* ---- words ---- */

bool shell_ends_word(const struct shell *s)
{
    char c = s->in.bytes[s->in.at];

    return !c || shell_is_space(c) || strchr(";|&()<>", c);
}

void shell_read_word(struct shell *s, struct shell_words *out, enum shell_quoting quoting)
{
    while (!shell_ends_word(s) && !shell_is_over(s))
        shell_read_part(s, out, quoting);
}

void shell_read_whole(struct shell *s, struct shell_words *out)
{
    shell_words_open(out, shell_origin(s, s->in.at).at);
    shell_read_word(s, out, SHELL_WHOLE);
    shell_words_close(out);
    shell_words_join(out);
}

void shell_skip_gap(struct shell *s)
{
    for (;;) {
        const char *c = s->in.bytes + s->in.at;

        if (shell_goes_on(c))
            s->in.at += shell_goes_on(c);
        else if (*c == '#')
            s->in.at += strcspn(c, "\n");
        else if (shell_is_space(*c) && *c != '\n')
            s->in.at++;
        else
            return;
    }
}

/* Read a word of an array; operators in the word are allowed, unlike in a shell. */
static void read_element(struct shell *s, struct shell_words *out)
{
    const char *c = s->in.bytes + s->in.at;

    while (*c && *c != ')' && !shell_is_space(*c) && !shell_is_over(s)) {
        if (*c == '(') {
            shell_report(s, s->in.at, "unexpected bracket in a list; expected quotes around it");
            s->in.at++;
        } else {
            shell_read_part(s, out, SHELL_PARTED);
        }
        c = s->in.bytes + s->in.at;
    }
    shell_words_close(out);
}

void shell_read_array(struct shell *s, struct shell_words *out)
{
    size_t from = s->in.at++;

    while (s->in.bytes[s->in.at] && s->in.bytes[s->in.at] != ')' && !shell_is_over(s)) {
        shell_skip_gap(s);
        if (s->in.bytes[s->in.at] == '\n')
            s->in.at++;
        else
            read_element(s, out);
    }
    if (s->in.bytes[s->in.at])
        s->in.at++;
    else
        shell_report(s, from, "a bracket is not closed");
}
