/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/branch.h"

#include "shell/expand.h"
#include "shell/fork.h"
#include "shell/lines.h"
#include "shell/test.h"

struct branches {
    struct shell_fork fork;
    enum shell_tri reached; /* whether no earlier branch was taken */
    bool open, closed;
    size_t count;
};

static void skip_list(struct shell *s)
{
    s->skipping++;
    s->run->list(s);
    s->skipping--;
}

/* Run a branch if its condition holds and no earlier branch was taken. */
static void run_branch(struct shell *s, struct branches *b, enum shell_tri condition)
{
    enum shell_tri holds = shell_and(b->reached, condition), is_empty;

    if (s->skipping > 0 || s->leave != SHELL_STAYS || holds == SHELL_NO) {
        skip_list(s);
    } else if (holds == SHELL_YES) {
        s->run->list(s);
    } else {
        if (!b->open)
            shell_fork_open(s, &b->fork, s->cause);
        b->open = true;
        is_empty = s->causes[b->fork.cause].is_empty;
        b->closed |= condition == SHELL_YES;
        shell_fork_begin(s, &b->fork, b->closed);
        s->run->list(s);
        shell_fork_end(s, &b->fork,
                       (b->count == 0 && is_empty == SHELL_YES) ||
                           (b->count == 1 && is_empty == SHELL_NO && condition == SHELL_YES));
    }
    b->reached = shell_and(b->reached, shell_not(condition));
    b->count++;
}

static void close_branches(struct shell *s, struct branches *b)
{
    if (b->open)
        shell_fork_close(s, &b->fork, b->closed);
}

enum shell_tri shell_run_if(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};

    do {
        uint16_t under = s->under;
        enum shell_tri condition;

        s->in.at += shell_at_word(s, "if") ? 2 : 4;
        if (b.reached == SHELL_UNSURE)
            s->under = b.fork.cause;
        s->skipping += b.reached == SHELL_NO;
        condition = s->run->list(s);
        s->skipping -= b.reached == SHELL_NO;
        s->under = under;
        if (!shell_expect(s, "then"))
            break;
        run_branch(s, &b, condition);
    } while (shell_at_word(s, "elif"));
    if (shell_at_word(s, "else")) {
        s->in.at += 4;
        run_branch(s, &b, SHELL_YES);
    }
    close_branches(s, &b);
    shell_expect(s, "fi");
    return shell_unsure(s);
}

/* Whether one of the patterns before ")" matches. */
static enum shell_tri read_patterns(struct shell *s, const struct shell_words *word)
{
    enum shell_tri out = SHELL_NO;

    for (;;) {
        struct shell_words pattern = {.count = 0};

        shell_skip_gap(s);
        shell_read_whole(s, &pattern);
        if (s->skipping == 0 && !pattern.failed && out != SHELL_YES)
            out = shell_or(out, shell_match(s, word, 0, &pattern, 0));
        shell_words_fini(&pattern);
        shell_skip_gap(s);
        if (*shell_here(s) != '|')
            return out;
        s->in.at++;
    }
}

enum shell_tri shell_run_case(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};
    struct shell_words word = {.count = 0};

    s->in.at += 4;
    shell_skip_gap(s);
    shell_read_whole(s, &word);
    shell_skip_lines(s);
    if (word.failed || !shell_expect(s, "in")) {
        shell_words_fini(&word);
        return shell_unsure(s);
    }
    for (shell_skip_lines(s); *shell_here(s) && !shell_at_word(s, "esac") && !shell_is_over(s);
         shell_skip_lines(s)) {
        enum shell_tri condition;

        s->in.at += *shell_here(s) == '(';
        condition = read_patterns(s, &word);
        if (!shell_expect(s, ")"))
            break;
        run_branch(s, &b, condition);
        if (*shell_here(s) == ';') {
            bool goes_on =
                shell_here(s)[1] == '&' || (shell_here(s)[1] == ';' && shell_here(s)[2] == '&');

            if (goes_on)
                shell_report(s, s->in.at, "a case that falls through to the next; expected ;;");
            s->in.at += shell_here(s)[1] == '\0' ? 1 : shell_here(s)[1] == ';' && goes_on ? 3 : 2;
        }
    }
    close_branches(s, &b);
    shell_expect(s, "esac");
    shell_words_fini(&word);
    return shell_unsure(s);
}
