/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/words.h"

#define WORD_ENDS " \t\r\n;|&()<>"

/* ---- letters ---- */

static bool is_name(char c, bool first)
{
    return c == '_' || isalpha((unsigned char)c) || (!first && isdigit((unsigned char)c));
}

size_t shell_name_length(const char *text)
{
    size_t n = 0;

    while (is_name(text[n], n == 0))
        n++;
    return n;
}

bool shell_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

size_t shell_goes_on(const char *text)
{
    if (text[0] != '\\')
        return 0;
    return text[1] == '\n' ? 2 : text[1] == '\r' && text[2] == '\n' ? 3 : 0;
}

/* ---- places ---- */

const char *shell_here(const struct shell *s)
{
    return s->in.bytes + s->in.at;
}

struct shell_origin shell_origin(const struct shell *s, size_t at)
{
    return s->in.origins ? s->in.origins[at] : (struct shell_origin){.at = (uint32_t)at};
}

struct place shell_place_at(const struct shell *s, uint32_t at)
{
    size_t i = s->nfiles - 1;

    while (i > 0 && s->files[i].from > at)
        i--;
    return (struct place){s->files[i].path, s->places[at].line, s->places[at].column};
}

void shell_report(const struct shell *s, size_t at, const char *what)
{
    diag_error(s->diag, shell_place_at(s, shell_origin(s, at).at), "%s", what);
}

bool shell_spend(struct shell *s, size_t nbytes)
{
    bool over = s->expanded > SHELL_EXPANDED_BYTES_MAX;

    s->expanded += over ? 0 : nbytes;
    if (!over && s->expanded > SHELL_EXPANDED_BYTES_MAX)
        shell_report(s, s->in.at,
                     "variables and loops expand to over 1 MiB; expected the command with its "
                     "values");
    return s->expanded <= SHELL_EXPANDED_BYTES_MAX;
}

bool shell_is_over(const struct shell *s)
{
    return diag_is_full(s->diag) || s->expanded > SHELL_EXPANDED_BYTES_MAX || s->words.failed ||
           s->state.failed || s->diag->no_memory;
}

/* ---- words with a meaning ---- */

bool shell_at_word(const struct shell *s, const char *word)
{
    size_t n = strlen(word);
    char c;

    if (strncmp(shell_here(s), word, n) != 0)
        return false;
    c = shell_here(s)[n];
    return !c || strchr(WORD_ENDS, c);
}

/* Words and signs that end a list of commands. */
bool shell_at_closing(const struct shell *s)
{
    size_t length = strcspn(shell_here(s), WORD_ENDS);

    return words_has_bytes("then elif else fi do done esac }", shell_here(s), length) ||
           *shell_here(s) == ')' || !strncmp(shell_here(s), ";;", 2) ||
           !strncmp(shell_here(s), ";&", 2);
}

bool shell_expect(struct shell *s, const char *word)
{
    struct text what = TEXT_INIT;
    bool is = shell_at_word(s, word);

    if (is) {
        s->in.at += strlen(word);
    } else if (!shell_is_over(s)) {
        text_addf(&what, "expected '%s' here", word);
        shell_report(s, s->in.at, text_get(&what));
        s->in.at += strlen(shell_here(s)); /* the rest is not read */
    }
    text_fini(&what);
    return is;
}

/* ---- causes ---- */

uint16_t shell_cause_add(struct shell *s, uint32_t at, const char *name, enum shell_tri is_empty)
{
    struct text copy = TEXT_INIT;
    struct shell_cause *c;

    for (size_t i = SHELL_UNNAMED + 1; name && i < s->ncauses; i++) {
        c = &s->causes[i];
        if (c->at == at && c->is_empty == is_empty && !strcmp(c->name, name))
            return (uint16_t)i;
    }
    if (!name || s->ncauses == SHELL_CAUSES_MAX)
        return SHELL_UNNAMED;
    text_add(&copy, name);
    c = &s->causes[s->ncauses];
    *c = (struct shell_cause){.at = at, .is_empty = is_empty, .name = text_take(&copy)};
    if (!c->name) {
        diag_no_memory(s->diag);
        return SHELL_UNNAMED;
    }
    return (uint16_t)s->ncauses++;
}

enum shell_tri shell_unsure(struct shell *s)
{
    s->cause = SHELL_UNNAMED;
    return SHELL_UNSURE;
}

void shell_cause_change(struct shell *s, bool opposite)
{
    const struct shell_cause *c = &s->causes[s->cause];
    enum shell_tri other = c->is_empty == SHELL_YES ? SHELL_NO : SHELL_YES;

    if (c->is_empty != SHELL_UNSURE)
        s->cause = shell_cause_add(s, c->at, c->name, opposite ? other : SHELL_UNSURE);
}

char *shell_deciding(const struct shell *s, struct shell_origin origin)
{
    const char *from = s->text + origin.at, *of_cause = s->causes[origin.cause].name;
    struct text name = TEXT_INIT;
    size_t brace, length;

    if (origin.doubt == SHELL_UNKNOWN && from[0] == '$') {
        brace = from[1] == '{';
        length = shell_name_length(from + 1 + brace);
        if (length == 0)
            length = strspn(from + 1 + brace, "0123456789");
        if (length > 0 && (!brace || (from[2 + length] && strchr(":-=+?}[", from[2 + length]))))
            text_add_bytes(&name, from + 1 + brace, length);
    }
    if (name.length == 0 && of_cause)
        text_add(&name, of_cause);
    return name.length > 0 ? text_take(&name) : NULL;
}

size_t shell_unknown_length(const char *text)
{
    size_t n;

    if (text[0] == '<')
        return strcspn(text, ">") + 1;
    if (text[0] == '`')
        return strcspn(text + 1, "`\n") + 2;
    if (text[0] == '$' && (text[1] == '(' || text[1] == '{')) {
        n = strcspn(text, text[1] == '{' ? "}\n" : ")\n");
        return n + strspn(text + n, ")}");
    }
    n = text[0] == '$';
    while (is_name(text[n], false))
        n++;
    return n == 1 && text[0] == '$' && text[1] ? 2 : n; /* $1, $? */
}

/* ---- the whole ---- */

/* Set the places of a file's bytes, and of its end. */
static void set_places(struct shell_place *places, const char *text, int line, int column)
{
    for (size_t i = 0; i == 0 || text[i - 1]; i++) {
        places[i] = (struct shell_place){line, column};
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text[i] & 0xC0) != 0x80) {
            column++;
        }
    }
}

bool shell_reader_init(struct shell *s, struct place first, const char *text, struct diag *diag)
{
    *s = (struct shell){.in = {.bytes = text},
                        .text = text,
                        .files = {{.path = first.file}},
                        .nfiles = 1,
                        .length = strlen(text) + 1,
                        .diag = diag};
    text_init(&s->unread);
    s->places = malloc(s->length * sizeof *s->places);
    s->causes = calloc(SHELL_CAUSES_MAX, sizeof *s->causes);
    s->functions = calloc(SHELL_FUNCTIONS_MAX, sizeof *s->functions);
    s->ncauses = SHELL_UNNAMED + 1;
    if (!s->places || !s->causes || !s->functions) {
        diag_no_memory(diag);
        shell_reader_fini(s);
        return false;
    }
    s->causes[0].is_empty = s->causes[SHELL_UNNAMED].is_empty = SHELL_UNSURE;
    set_places(s->places, text, first.line, first.column);
    return true;
}

struct shell_file *shell_find_file(struct shell *s, const char *path)
{
    for (size_t i = 1; i < s->nfiles; i++)
        if (!strcmp(file_name(s->files[i].path), file_name(path)))
            return &s->files[i];
    return NULL;
}

bool shell_add_file(struct shell *s, const char *path, const char *text)
{
    size_t n = strlen(text) + 1;
    struct shell_place *places;
    char *joined;

    if (s->nfiles > SHELL_FILES_MAX || shell_find_file(s, path)) {
        diag_error(s->diag, (struct place){path, 0, 0}, "%s",
                   s->nfiles > SHELL_FILES_MAX ? "a script may read at most 16 files"
                                               : "two files of this name; expected one");
        return false;
    }
    joined = malloc(s->length + n);
    places = realloc(s->places, (s->length + n) * sizeof *places);
    s->places = places ? places : s->places;
    if (!joined || !places) {
        free(joined);
        diag_no_memory(s->diag);
        return false;
    }
    memcpy(joined, s->text, s->length);
    memcpy(joined + s->length, text, n);
    set_places(places + s->length, text, 1, 1);
    s->files[s->nfiles++] = (struct shell_file){path, s->length, false};
    free(s->joined);
    s->text = s->in.bytes = s->joined = joined;
    s->length += n;
    return true;
}

void shell_reader_fini(struct shell *s)
{
    for (size_t i = 0; i < s->ncauses && s->causes; i++)
        free(s->causes[i].name);
    for (size_t i = 0; i < s->nfunctions; i++)
        free(s->functions[i].name);
    for (size_t i = 0; i < s->nhere; i++)
        free(s->here[i].end);
    free(s->causes);
    free(s->functions);
    free(s->places);
    free(s->joined);
    shell_state_fini(&s->state);
    shell_words_fini(&s->words);
    text_fini(&s->unread);
    *s = (struct shell){.text = ""};
}
