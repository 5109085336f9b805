/* Words are made as a shell makes them: what stands unquoted in a variable is parted at spaces,
 * what stands in double quotes is not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "import/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum quoting { PARTED, WHOLE };

static bool is_name(char c, bool first)
{
    return c == '_' || isalpha((unsigned char)c) || (!first && isdigit((unsigned char)c));
}

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (is_name(text[n], n == 0))
        n++;
    return n;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A backslash at the end of a line: its length with the line's end, or 0. */
static size_t goes_on(const char *text)
{
    if (text[0] != '\\')
        return 0;
    return text[1] == '\n' ? 2 : text[1] == '\r' && text[2] == '\n' ? 3 : 0;
}

static void report(const struct shell *s, size_t at, const char *what)
{
    diag_error(s->diag, (struct place){s->file, s->places[at].line, s->places[at].column}, "%s",
               what);
}

/* ---- variables ---- */

static struct shell_variable *find_variable(struct shell *s, const char *name, size_t length)
{
    for (size_t i = 0; i < s->nvariables; i++)
        if (!strncmp(s->variables[i].name, name, length) && !s->variables[i].name[length])
            return &s->variables[i];
    return NULL;
}

static struct shell_variable *add_variable(struct shell *s, const char *name, size_t length)
{
    struct text copy = TEXT_INIT;

    if (s->nvariables == SHELL_VARIABLES_MAX) {
        report(s, s->at, "over 1000 variables; expected the command with its values");
        return NULL;
    }
    text_add_bytes(&copy, name, length);
    s->variables[s->nvariables] = (struct shell_variable){.name = text_take(&copy)};
    if (!s->variables[s->nvariables].name) {
        diag_no_memory(s->diag);
        return NULL;
    }
    return &s->variables[s->nvariables++];
}

/* Copy a byte that a variable had. */
static void put_expanded(struct shell *s, struct shell_words *out, char byte, uint32_t at)
{
    if (s->expanded++ == SHELL_EXPANDED_BYTES_MAX)
        report(s, s->at, "variables come to over 16 MiB; expected the command with its values");
    if (s->expanded <= SHELL_EXPANDED_BYTES_MAX)
        shell_words_put(out, byte, at);
}

static void put_word(struct shell *s, struct shell_words *out, const struct shell_words *from,
                     size_t word, enum quoting quoting)
{
    const char *text = shell_words_text(from, word);

    if (s->expanded > SHELL_EXPANDED_BYTES_MAX)
        return;
    if (quoting == WHOLE)
        shell_words_open(out, from->list[word].at);
    for (size_t i = 0; i < from->list[word].length; i++)
        if (quoting == PARTED && is_space(text[i]))
            shell_words_close(out);
        else
            put_expanded(s, out, text[i], shell_words_at(from, word, i));
}

/* All words of an array, or the first. */
static void put_variable(struct shell *s, struct shell_words *out, const struct shell_words *value,
                         bool all, enum quoting quoting)
{
    for (size_t i = 0; i < value->count && (all || i == 0); i++) {
        if (i > 0)
            shell_words_close(out);
        put_word(s, out, value, i, quoting);
    }
}

/* ---- parts of a word ---- */

static void read_part(struct shell *s, struct shell_words *out, enum quoting quoting);

/* Skip what stands in brackets, with those inside and quotes; the text is at the first. */
static void skip_brackets(struct shell *s, char open, char close)
{
    size_t from = s->at;
    char quote = 0;
    int depth = 0;

    for (; s->text[s->at]; s->at++) {
        char c = s->text[s->at];

        if (c == '\\' && quote != '\'' && s->text[s->at + 1])
            s->at++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == open)
            depth++;
        else if (c == close && --depth == 0)
            break;
    }
    if (s->text[s->at])
        s->at++;
    else
        report(s, from, "a bracket that does not end");
}

static void skip_backticks(struct shell *s)
{
    size_t from = s->at++;

    while (s->text[s->at] && s->text[s->at] != '`')
        s->at += s->text[s->at] == '\\' && s->text[s->at + 1] ? 2 : 1;
    if (s->text[s->at])
        s->at++;
    else
        report(s, from, "a quote that does not end");
}

/* The word of ${NAME:-WORD}, up to where its bracket ends; `=` gives it to the variable, too. */
static void read_default(struct shell *s, struct shell_words *out, size_t end,
                         struct shell_words *given, enum quoting quoting)
{
    struct shell_words value = {.count = 0};

    if (++s->depth > SHELL_DEPTH_MAX)
        report(s, s->at, "${...} is nested over 16 deep; expected the command with its values");
    else
        while (s->at + 1 < end)
            read_part(s, &value, WHOLE);
    s->depth--;
    shell_words_close(&value);
    put_variable(s, out, &value, true, quoting);
    out->failed |= value.failed;
    if (given) {
        shell_words_fini(given);
        *given = value;
    } else {
        shell_words_fini(&value);
    }
}

/* ${NAME}, ${NAME[@]}, ${NAME:-WORD} and the like; others are not known. */
static void read_braces(struct shell *s, struct shell_words *out, enum quoting quoting)
{
    uint32_t from = (uint32_t)s->at;
    const char *name = s->text + s->at + 2;
    size_t length = name_length(name), end;
    struct shell_variable *v = length > 0 ? find_variable(s, name, length) : NULL;
    const char *rest = name + length;
    bool all = !strncmp(rest, "[@]", 3) || !strncmp(rest, "[*]", 3);
    bool colon, has;

    s->at++;
    skip_brackets(s, '{', '}');
    end = s->at;
    rest += all ? 3 : 0;
    colon = *rest == ':';
    rest += colon;
    has = v && v->value.count > 0 && (!colon || v->value.list[0].length > 0);
    if (length == 0 || (*rest == '}' ? colon || !v : !*rest || !strchr("-=+", *rest))) {
        shell_words_put(out, SHELL_UNKNOWN, from);
    } else if (has && *rest != '+') {
        put_variable(s, out, &v->value, all, quoting);
    } else if (*rest != '}' && (*rest == '+') == has) {
        if (*rest == '=' && !v)
            v = add_variable(s, name, length);
        s->at = (size_t)(rest + 1 - s->text);
        read_default(s, out, end, *rest == '=' && v ? &v->value : NULL, quoting);
        s->at = end;
    }
}

static void read_dollar(struct shell *s, struct shell_words *out, enum quoting quoting)
{
    uint32_t from = (uint32_t)s->at;
    const char *name = s->text + s->at + 1;
    size_t length = name_length(name);
    const struct shell_variable *v;

    if (*name == '(') {
        s->at++;
        skip_brackets(s, '(', ')');
        shell_words_put(out, SHELL_UNKNOWN, from);
    } else if (*name == '{') {
        read_braces(s, out, quoting);
    } else if (*name == '@' || *name == '*') {
        s->at += 2;
    } else if (length > 0) {
        s->at += 1 + length;
        v = find_variable(s, name, length);
        if (v)
            put_variable(s, out, &v->value, false, quoting);
        else
            shell_words_put(out, SHELL_UNKNOWN, from);
    } else if (isdigit((unsigned char)*name) || (*name && strchr("#?$!-", *name))) {
        s->at += 2;
        shell_words_put(out, SHELL_UNKNOWN, from);
    } else {
        s->at++;
        if (*name != '"' && *name != '\'')
            shell_words_put(out, '$', from);
    }
}

static void read_double_quotes(struct shell *s, struct shell_words *out)
{
    size_t from = s->at++;
    bool anything = false; /* but "$@" and arrays, which may be no word at all */

    while (s->text[s->at] && s->text[s->at] != '"') {
        char c = s->text[s->at];
        bool array = c == '$' &&
                     (s->text[s->at + 1] == '@' ||
                      !strncmp(s->text + s->at + 2 +
                                   name_length(s->text + s->at + 1 + (s->text[s->at + 1] == '{')),
                               "[@]", 3));

        anything |= !array;
        if (goes_on(s->text + s->at)) {
            s->at += goes_on(s->text + s->at);
        } else if (c == '\\' && s->text[s->at + 1] && strchr("$`\"\\", s->text[s->at + 1])) {
            shell_words_put(out, s->text[s->at + 1], (uint32_t)s->at + 1);
            s->at += 2;
        } else if (c == '$' || c == '`') {
            read_part(s, out, WHOLE);
        } else {
            shell_words_put(out, c, (uint32_t)s->at++);
        }
    }
    if (anything || s->at == from + 1)
        shell_words_open(out, (uint32_t)from);
    if (s->text[s->at])
        s->at++;
    else
        report(s, from, "a quote that does not end");
}

static void read_single_quotes(struct shell *s, struct shell_words *out)
{
    size_t from = s->at++;

    shell_words_open(out, (uint32_t)from);
    for (; s->text[s->at] && s->text[s->at] != '\''; s->at++)
        shell_words_put(out, s->text[s->at], (uint32_t)s->at);
    if (s->text[s->at])
        s->at++;
    else
        report(s, from, "a quote that does not end");
}

static void read_part(struct shell *s, struct shell_words *out, enum quoting quoting)
{
    char c = s->text[s->at];

    if (goes_on(s->text + s->at)) {
        s->at += goes_on(s->text + s->at);
    } else if (c == '"') {
        read_double_quotes(s, out);
    } else if (c == '\'') {
        read_single_quotes(s, out);
    } else if (c == '$') {
        read_dollar(s, out, quoting);
    } else if (c == '`') {
        shell_words_put(out, SHELL_UNKNOWN, (uint32_t)s->at);
        skip_backticks(s);
    } else {
        s->at += c == '\\' && s->text[s->at + 1];
        shell_words_put(out, s->text[s->at], (uint32_t)s->at);
        s->at++;
    }
}

/* ---- words and assignments ---- */

static bool ends_word(const struct shell *s, char close)
{
    char c = s->text[s->at], before = s->at > 0 ? s->text[s->at - 1] : '\0';

    if (!c || is_space(c) || (close && c == close))
        return true;
    return c == ';' || c == '|' || (c == '&' && before != '>' && before != '<');
}

static void read_word(struct shell *s, struct shell_words *out, char close, enum quoting quoting)
{
    while (!ends_word(s, close) && !diag_is_full(s->diag))
        read_part(s, out, quoting);
}

/* Spaces, lines that go on, comments; and ends of lines. */
static void skip_gap(struct shell *s, bool lines)
{
    for (;;) {
        char c = s->text[s->at];

        if (goes_on(s->text + s->at))
            s->at += goes_on(s->text + s->at);
        else if (c == '#')
            s->at += strcspn(s->text + s->at, "\n");
        else if (c && is_space(c) && (c != '\n' || lines))
            s->at++;
        else
            return;
    }
}

/* The words of (...), up to its end. */
static void read_array(struct shell *s, struct shell_words *out)
{
    size_t from = s->at++;

    for (skip_gap(s, true); s->text[s->at] && s->text[s->at] != ')'; skip_gap(s, true)) {
        size_t before = s->at;

        read_word(s, out, ')', PARTED);
        shell_words_close(out);
        if (s->at == before)
            s->at++; /* an operator, which an array has none of */
    }
    if (s->text[s->at])
        s->at++;
    else
        report(s, from, "a bracket that does not end");
}

/* How long "NAME=" or "NAME+=" is; 0: it is none. */
static size_t assignment_length(const char *text)
{
    size_t n = name_length(text), more = text[n] == '+';

    return n > 0 && text[n + more] == '=' ? n + more + 1 : 0;
}

static void assign(struct shell *s, size_t length)
{
    const char *name = s->text + s->at;
    uint32_t from = (uint32_t)s->at;
    bool more = name[length - 2] == '+';
    size_t named = length - 1 - more;
    struct shell_words value = {.count = 0};
    struct shell_variable *v;
    bool array;

    s->at += length;
    v = find_variable(s, name, named);
    array = s->text[s->at] == '(';
    if (more && v)
        put_variable(s, &value, &v->value, true, WHOLE);
    if (array || value.count > 1)
        shell_words_close(&value);
    if (s->conditions > 0)
        shell_words_put(&value, SHELL_UNKNOWN, from);
    if (array)
        read_array(s, &value);
    else {
        shell_words_open(&value, (uint32_t)s->at);
        read_word(s, &value, '\0', WHOLE);
    }
    shell_words_close(&value);
    if (!v)
        v = add_variable(s, name, named);
    if (!v || value.failed) {
        if (value.failed)
            diag_no_memory(s->diag);
        shell_words_fini(&value);
        return;
    }
    shell_words_fini(&v->value);
    v->value = value;
}

/* ---- commands ---- */

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

/* A word at the place of a command's name: whether the name is yet to come. */
static bool take_keyword(struct shell *s, const char *word)
{
    static const char *const opens[] = {"if", "for", "while", "until", "case", "select", NULL};
    static const char *const closes[] = {"fi", "done", "esac", NULL};
    static const char *const others[] = {"then",     "do",   "else",    "elif",  "{",
                                         "}",        "!",    "export",  "local", "declare",
                                         "readonly", "time", "typeset", "exec",  NULL};

    if (is_one_of(word, opens))
        s->conditions++;
    else if (is_one_of(word, closes))
        s->conditions -= s->conditions > 0;
    else
        return is_one_of(word, others);
    return true;
}

/* A text of several lines for a command, <<END: past it; `at` is at the end of the line. */
static void skip_here_text(struct shell *s, const char *end)
{
    size_t length = strlen(end);

    while (s->text[s->at]) {
        const char *line;

        s->at++;
        line = s->text + s->at + strspn(s->text + s->at, "\t");
        s->at += strcspn(s->text + s->at, "\n");
        if (!strncmp(line, end, length) && (line[length] == '\n' || !line[length]))
            return;
    }
}

/* The end that a word announces; free it; NULL: none. */
static char *here_end(const struct shell *s)
{
    struct text end = TEXT_INIT;

    for (size_t i = 0; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);

        if (strncmp(word, "<<", 2) != 0 || word[2] == '<')
            continue;
        word += 2 + (word[2] == '-');
        if (!*word && i + 1 < s->words.count)
            word = shell_words_text(&s->words, i + 1);
        text_add(&end, word);
    }
    return end.length > 0 ? text_take(&end) : NULL;
}

static void end_command(struct shell *s)
{
    char *here = s->text[s->at] == '\n' ? here_end(s) : NULL;

    if (here)
        skip_here_text(s, here);
    free(here);
    if (s->text[s->at])
        s->at++;
    if (s->words.failed)
        diag_no_memory(s->diag);
}

bool shell_next(struct shell *s)
{
    bool begins = true;

    shell_words_clear(&s->words);
    skip_gap(s, true);
    if (!s->text[s->at] || s->words.failed || s->expanded > SHELL_EXPANDED_BYTES_MAX)
        return false;
    for (skip_gap(s, false); !diag_is_full(s->diag); skip_gap(s, false)) {
        size_t first = s->words.count;
        size_t length = begins ? assignment_length(s->text + s->at) : 0;

        if (length > 0) {
            assign(s, length);
            continue;
        }
        if (ends_word(s, '\0'))
            break;
        read_word(s, &s->words, '\0', PARTED);
        shell_words_close(&s->words);
        if (begins && s->words.count == first + 1)
            begins = take_keyword(s, shell_words_text(&s->words, first));
        else if (s->words.count > first)
            begins = false;
    }
    end_command(s);
    return true;
}

bool shell_init(struct shell *s, struct place first, const char *text, struct diag *diag)
{
    size_t length = strlen(text);

    *s = (struct shell){.text = text, .file = first.file, .diag = diag};
    s->places = malloc((length + 1) * sizeof *s->places);
    s->variables = calloc(SHELL_VARIABLES_MAX, sizeof *s->variables);
    if (!s->places || !s->variables) {
        diag_no_memory(diag);
        shell_fini(s);
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        s->places[i] = (struct shell_place){first.line, first.column};
        if (text[i] == '\n') {
            first.line++;
            first.column = 1;
        } else if (((unsigned char)text[i] & 0xC0) != 0x80) {
            first.column++;
        }
    }
    return true;
}

void shell_fini(struct shell *s)
{
    for (size_t i = 0; i < s->nvariables; i++) {
        free(s->variables[i].name);
        shell_words_fini(&s->variables[i].value);
    }
    free(s->variables);
    free(s->places);
    shell_words_fini(&s->words);
    *s = (struct shell){.text = ""};
}

/* ---- for the caller ---- */

struct place shell_place(const struct shell *s, size_t word, size_t byte)
{
    uint32_t at = shell_words_at(&s->words, word, byte);

    return (struct place){s->file, s->places[at].line, s->places[at].column};
}

struct place shell_end(const struct shell *s)
{
    return (struct place){s->file, s->places[s->at].line, s->places[s->at].column};
}

bool shell_is_unknown(const struct shell *s, size_t word)
{
    return strchr(shell_words_text(&s->words, word), SHELL_UNKNOWN);
}

/* How long what is not known is in the file: up to its bracket or quote, or its name. */
static size_t unknown_length(const char *text)
{
    size_t n;

    if (text[0] == '`')
        return strcspn(text + 1, "`\n") + 2;
    if (text[0] == '$' && (text[1] == '(' || text[1] == '{')) {
        n = strcspn(text, text[1] == '{' ? "}\n" : ")\n");
        return n + strspn(text + n, ")}");
    }
    n = text[0] == '$';
    while (is_name(text[n], false))
        n++;
    return n == 1 && text[0] == '$' ? 2 : n; /* $1, $? */
}

void shell_report_unknown(const struct shell *s, size_t word)
{
    const char *text = shell_words_text(&s->words, word);
    uint32_t at = shell_words_at(&s->words, word, strcspn(text, "\x01"));
    const char *from = s->text + at;
    size_t length = unknown_length(from);
    const char *why = from[0] == '`' || !strncmp(from, "$(", 2) ? "is worked out by a shell"
                      : from[0] != '$' ? "is set under a condition or in a loop"
                                       : "is not set in this file";

    if (from[0] == '$' && from[1] == '{' && from[2 + name_length(from + 2)] != '}')
        why = "is worked out by a shell";
    diag_error(s->diag, (struct place){s->file, s->places[at].line, s->places[at].column},
               "'%.*s' %s, and no shell is run; expected the command with its values, as it is "
               "printed with torchrun() { echo torchrun \"$@\"; } on top of the script",
               (int)(length < 40 ? length : 40), from, why);
}

char *shell_unset(const struct shell *s, size_t word)
{
    const struct shell_word *w = &s->words.list[word];
    const char *from = s->text + shell_words_at(&s->words, word, 0);
    size_t brace = from[0] == '$' && from[1] == '{';
    size_t length = from[0] == '$' ? name_length(from + 1 + brace) : 0;
    struct text name = TEXT_INIT;

    if (w->length != 1 || !shell_is_unknown(s, word) || length == 0 ||
        (brace && from[2 + length] != '}'))
        return NULL;
    text_add_char(&name, '$');
    text_add_bytes(&name, from + 1 + brace, length);
    return text_take(&name);
}
