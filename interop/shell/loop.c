/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/loop.h"

#include <stdlib.h>
#include <string.h>

#include "shell/assign.h"
#include "shell/expand.h"
#include "shell/fork.h"
#include "shell/lines.h"
#include "shell/test.h"

#define ROUND_BYTES 64 /* cost of a round, besides its text */

/* Run one round, from `body` on: the commands up to "done", which is passed. */
static void run_round(struct shell *s, size_t body, bool skip)
{
    s->in.at = body;
    s->skipping += skip;
    s->run->list(s);
    s->skipping -= skip;
    if (shell_spend(s, skip ? 0 : s->in.at - body + ROUND_BYTES))
        shell_expect(s, "done");
    if (s->leave == SHELL_CONTINUES)
        s->leave = SHELL_STAYS;
}

/* Whether another round follows. */
static bool goes_round(struct shell *s)
{
    bool stays = s->leave == SHELL_STAYS;

    if (s->leave == SHELL_BREAKS)
        s->leave = SHELL_STAYS;
    return stays && !shell_is_over(s);
}

/* Run a loop with an unknown number of rounds: variables of a round may change the next. */
static void run_unsure(struct shell *s, size_t from, size_t body, const char *name, size_t length,
                       uint16_t cause)
{
    for (int round = 0; round < 3 && !shell_is_over(s); round++) {
        struct shell_fork fork;

        shell_fork_open(s, &fork, cause);
        shell_fork_begin(s, &fork, false);
        s->rehearsing += round < 2;
        if (length > 0)
            shell_set_unknown(s, name, length, shell_origin(s, from).at);
        run_round(s, body, false);
        s->rehearsing -= round < 2;
        if (s->leave == SHELL_BREAKS)
            s->leave = SHELL_STAYS;
        shell_fork_end(s, &fork, false);
        shell_fork_close(s, &fork, false);
    }
}

/* Read the words after "in", or the arguments; false: an arithmetic loop, whose rounds are
 * unknown. */
static bool read_for_words(struct shell *s, struct shell_words *words)
{
    if (!strncmp(shell_here(s), "((", 2)) {
        shell_skip_brackets(s, '(', ')');
        return false;
    }
    shell_skip_lines(s);
    if (!shell_at_word(s, "in")) {
        shell_get_arguments(s, words);
        return true;
    }
    s->in.at += 2;
    for (shell_skip_gap(s); !shell_ends_word(s) && !shell_is_over(s); shell_skip_gap(s)) {
        shell_read_word(s, words, SHELL_PARTED);
        shell_words_close(words);
    }
    return true;
}

/* The cause of a doubt in the words; 0: all words are known. */
static uint16_t doubt_of(struct shell *s, const struct shell_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        size_t length = words->list[i].length, at = shell_words_doubt(words, i, 0, length);
        struct shell_origin origin = shell_words_origin(words, i, at);
        char *name;
        uint16_t cause;

        if (at == length)
            continue;
        name = shell_deciding(s, origin);
        cause = shell_cause_add(s, origin.at, name, SHELL_UNSURE);
        free(name);
        return cause;
    }
    return 0;
}

static void run_rounds(struct shell *s, size_t body, const char *name, size_t length,
                       const struct shell_words *words)
{
    struct shell_state before;
    bool doubtful = s->doubtful;

    shell_keep_state(s, &before);
    s->doubtful = false;
    if (words->count == 0)
        run_round(s, body, true);
    for (size_t i = 0; i < words->count; i++) {
        shell_set_word(s, name, length, words, i, 0);
        run_round(s, body, false);
        if (!goes_round(s))
            break;
    }
    shell_settle(s, &before, doubtful);
}

enum shell_tri shell_run_for(struct shell *s)
{
    struct shell_words words = {.count = 0};
    size_t from = s->in.at, length, body;
    const char *name;
    uint16_t cause;
    bool known;

    s->in.at += shell_at_word(s, "for") ? 3 : 6;
    shell_skip_gap(s);
    name = shell_here(s);
    length = shell_name_length(name);
    s->in.at += length;
    shell_skip_gap(s);
    known = read_for_words(s, &words);
    cause = known ? doubt_of(s, &words) : SHELL_UNNAMED;
    shell_skip_gap(s);
    s->in.at += *shell_here(s) == ';';
    shell_skip_lines(s);
    if (shell_expect(s, "do")) {
        body = s->in.at;
        if (s->skipping > 0)
            run_round(s, body, true);
        else if (cause > 0)
            run_unsure(s, from, body, name, length, cause);
        else
            run_rounds(s, body, name, length, &words);
    }
    if (words.failed)
        diag_no_memory(s->diag);
    shell_words_fini(&words);
    return shell_unsure(s);
}

enum shell_tri shell_run_while(struct shell *s)
{
    bool until = shell_at_word(s, "until"), doubtful = s->doubtful;
    size_t from = s->in.at, condition = from + 5;
    struct shell_state before;

    shell_keep_state(s, &before);
    s->doubtful = false;
    for (;;) {
        enum shell_tri holds;

        s->in.at = condition;
        holds = s->run->list(s);
        holds = until ? shell_not(holds) : holds;
        if (!shell_expect(s, "do"))
            break;
        if (holds == SHELL_UNSURE && s->skipping == 0 && s->leave == SHELL_STAYS) {
            run_unsure(s, from, s->in.at, "", 0, s->cause);
            break;
        }
        run_round(s, s->in.at, holds != SHELL_YES);
        if (!goes_round(s) || holds != SHELL_YES || s->skipping > 0)
            break;
    }
    shell_settle(s, &before, doubtful);
    return shell_unsure(s);
}
