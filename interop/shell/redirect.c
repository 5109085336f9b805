/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/redirect.h"

#include <ctype.h>
#include <string.h>

#include "shell/expand.h"

static void read_here_end(struct shell *s)
{
    struct shell_words word = {.count = 0};
    struct text end = TEXT_INIT;
    bool tabs = *shell_here(s) == '-', quoted = false;

    s->in.at += tabs;
    shell_skip_gap(s);
    shell_words_open(&word, shell_origin(s, s->in.at).at);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    for (size_t i = 0; i < word.list[0].length && !word.failed; i++)
        quoted |= shell_words_origin(&word, 0, i).quoted;
    if (s->nhere == SHELL_HERE_TEXTS_MAX) {
        shell_report(s, s->in.at, "more than 8 here-documents on one line");
    } else {
        text_add(&end, word.failed ? "" : shell_words_text(&word, 0));
        s->here[s->nhere++] = (struct shell_here){text_take(&end), tabs, quoted, false};
    }
    shell_words_fini(&word);
}

/* Length of a redirection's operator, without its file: "2>", "&>>"; 0: no redirection. */
size_t shell_redirect_length(const char *text)
{
    size_t n = *text == '&' ? 1 : strspn(text, "0123456789"), m = strspn(text + n, "<>");

    if (m == 0 || (*text == '&' && text[n] != '>'))
        return 0;
    return n + (m > 3 ? 3 : m);
}

size_t shell_placeholder_length(const char *text)
{
    size_t n = 1;

    if (*text != '<' || !isalpha((unsigned char)text[1]))
        return 0;
    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("-_./", text[n])))
        n++;
    return text[n] == '>' && (!text[n + 1] || strchr(" \t\n\r\\:", text[n + 1])) ? n + 1 : 0;
}

void shell_read_placeholder(struct shell *s, size_t length)
{
    struct shell_origin origin = shell_origin(s, s->in.at);

    origin.doubt = SHELL_UNKNOWN;
    shell_words_open(&s->words, origin.at);
    shell_words_put(&s->words, '?', origin);
    s->in.at += length;
    if (*shell_here(s) == ':')
        shell_read_word(s, &s->words, SHELL_PARTED);
    shell_words_close(&s->words);
}

void shell_read_redirect(struct shell *s, size_t length)
{
    struct shell_words file = {.count = 0};
    const char *op = shell_here(s) + length;
    bool text = length >= 2 && op[-1] == '<' && op[-2] == '<' && (length < 3 || op[-3] != '<');

    s->in.at += length;
    if (text) {
        read_here_end(s);
        return;
    }
    if (*op == '(') { /* <(COMMAND) */
        shell_skip_brackets(s, '(', ')');
        return;
    }
    s->in.at += *op == '&' || *op == '|';
    shell_skip_gap(s);
    shell_read_word(s, &file, SHELL_WHOLE);
    shell_words_fini(&file);
}

void shell_read_redirects(struct shell *s)
{
    size_t length;

    for (shell_skip_gap(s); (length = shell_redirect_length(shell_here(s))) > 0; shell_skip_gap(s))
        shell_read_redirect(s, length);
}

/* Read the text up to the line `end`, which is passed. */
void shell_read_here_text(struct shell *s, const struct shell_here *h, struct shell_words *out)
{
    size_t length = strlen(h->end), from = s->in.at;
    bool runs = h->script && s->skipping == 0;

    shell_words_open(out, shell_origin(s, s->in.at).at);
    while (*shell_here(s) && !shell_is_over(s)) {
        const char *line = shell_here(s) + (h->tabs ? strspn(shell_here(s), "\t") : 0);
        size_t n = strcspn(line, "\n"), next = (size_t)(line - s->in.bytes) + n;

        n -= n > 0 && line[n - 1] == '\r';
        if (n == length && !strncmp(line, h->end, length)) {
            s->in.at = next + (s->in.bytes[next] == '\n');
            break;
        }
        next += s->in.bytes[next] == '\n';
        while (runs && s->in.at < next && !shell_is_over(s))
            if (h->quoted) {
                shell_words_put(out, *shell_here(s), shell_origin(s, s->in.at));
                s->in.at++;
            } else {
                shell_read_quoted(s, out, "$`\\");
            }
        s->in.at = s->in.at < next ? next : s->in.at;
        if (!*shell_here(s))
            shell_report(s, from, "the here-document (<<) of the previous line is not closed");
    }
    shell_words_close(out);
    shell_words_join(out);
}
