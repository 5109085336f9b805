/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/source.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "base/words.h"

#define QUOTED_MAX 24 /* bytes of a text that are shown */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

void source_step(struct source *s)
{
    if (*s->at == '\n') {
        s->place.line++;
        s->place.column = 1;
    } else if (((unsigned char)*s->at & 0xC0) != 0x80) {
        s->place.column++;
    }
    s->at++;
}

void source_step_by(struct source *s, size_t n)
{
    while (n-- > 0)
        source_step(s);
}

void source_skip(struct source *s, bool lines)
{
    for (;;) {
        if (s->at[0] == '\\' && (s->at[1] == '\n' || (s->at[1] == '\r' && s->at[2] == '\n')))
            source_step_by(s, s->at[1] == '\n' ? 1 : 2); /* and the end of the line below */
        else if (lines && *s->at == '#')
            while (s->at[1] && s->at[1] != '\n')
                source_step(s);
        else if (!*s->at || !strchr(lines ? " \t\r\f\n" : " \t\r\f", *s->at))
            return;
        source_step(s);
    }
}

size_t source_word(const struct source *s, const char *words)
{
    size_t n = 0;

    while (is_letter(s->at[n]))
        n++;
    return words_has_bytes(words, s->at, n) ? n : 0;
}

bool source_name(struct source *s, struct text *out, bool scopes)
{
    if (!is_letter(*s->at) || isdigit((unsigned char)*s->at))
        return false;
    do {
        text_add_char(out, *s->at);
        source_step(s);
    } while (is_letter(*s->at) ||
             ((*s->at == '.' || (scopes && *s->at == '/')) && is_letter(s->at[1])));
    return true;
}

void source_unexpected(struct source *s, const char *expected)
{
    size_t n = strcspn(s->at, "\r\n");

    if (n == 0)
        diag_error(s->diag, s->place, "the %s ends here; expected %s", *s->at ? "line" : "text",
                   expected);
    else
        diag_error(s->diag, s->place,
                   "'%.*s' cannot be read; expected %s; only literals are read and no Python "
                   "is run: write out the value that print() shows",
                   (int)utf8_cut(s->at, n, QUOTED_MAX), s->at, expected);
}
