/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/lines.h"

#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"
#include "shell/fork.h"
#include "shell/redirect.h"

bool shell_is_shallow(struct shell *s)
{
    if (s->nested < SHELL_NESTED_MAX)
        return true;
    shell_report(s, s->in.at,
                 "commands are nested over 64 deep; expected the command with its values");
    s->expanded = SHELL_EXPANDED_BYTES_MAX + 1; /* nothing more is read */
    return false;
}

void shell_run_script(struct shell *s)
{
    while (*shell_here(s) && !shell_is_over(s) && (s->leave == SHELL_STAYS || s->nested > 0)) {
        s->run->list(s);
        if (shell_at_closing(s) && *shell_here(s) && !shell_is_over(s)) {
            shell_report(s, s->in.at, "this ends a block that was not begun");
            s->in.at++;
        }
    }
}

void shell_run_text(struct shell *s, const struct shell_words *words, size_t word, bool apart)
{
    const struct shell_word *w = &words->list[word];
    char *bytes = malloc(w->length + 1);
    struct shell_origin *origins = calloc(w->length + 1, sizeof *origins);
    struct shell_text outer = s->in;
    size_t nfunctions = s->nfunctions;
    struct shell_fork fork;

    if (bytes && origins && shell_is_shallow(s) && shell_spend(s, w->length + 1)) {
        s->nested++;
        memcpy(bytes, shell_words_text(words, word), w->length + 1);
        for (size_t i = 0; i <= w->length; i++)
            origins[i] = shell_words_origin(words, word, i < w->length || i == 0 ? i : i - 1);
        s->in = (struct shell_text){bytes, 0, origins};
        if (apart)
            shell_fork_apart(s, &fork);
        shell_run_script(s);
        if (apart)
            shell_fork_back(s, &fork);
        s->in = outer;
        s->nested--;
        while (s->nfunctions > nfunctions)
            free(s->functions[--s->nfunctions].name);
    } else if (!bytes || !origins) {
        diag_no_memory(s->diag);
    }
    free(bytes);
    free(origins);
}

/* Pass the end of a line, and the here-documents that were announced on the line. */
static void take_line_end(struct shell *s)
{
    struct shell_here texts[SHELL_HERE_TEXTS_MAX];
    size_t n = s->nhere;

    s->in.at++;
    memcpy(texts, s->here, sizeof texts);
    s->nhere = 0;
    for (size_t i = 0; i < n; i++) {
        struct shell_words text = {.count = 0};

        if (texts[i].end)
            shell_read_here_text(s, &texts[i], &text);
        if (texts[i].script && s->skipping == 0 && text.count > 0 && !text.failed)
            shell_run_text(s, &text, 0, true);
        shell_words_fini(&text);
        free(texts[i].end);
    }
}

void shell_skip_lines(struct shell *s)
{
    for (;;) {
        shell_skip_gap(s);
        if (*shell_here(s) != '\n')
            return;
        take_line_end(s);
    }
}
