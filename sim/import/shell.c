/* Runs a script as it is read, command by command; commands that are not taken are read and
 * skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "import/shell.h"

#include <stdlib.h>
#include <string.h>

#include "import/shell_assign.h"
#include "import/shell_builtin.h"
#include "import/shell_expand.h"
#include "import/shell_fork.h"
#include "import/shell_redirect.h"
#include "import/shell_test.h"

#define ROUND_BYTES 64 /* cost of a round of a loop or of a call, besides its text */

static enum shell_tri run_list(struct shell *s);
static enum shell_tri run_command(struct shell *s);
static void run_script(struct shell *s);

static enum shell_tri unsure(struct shell *s)
{
    s->cause = SHELL_UNNAMED;
    return SHELL_UNSURE;
}

/* ---- lines, and texts of several lines ---- */

static bool is_shallow(struct shell *s)
{
    if (s->nested < SHELL_NESTED_MAX)
        return true;
    shell_report(s, s->in.at,
                 "commands are nested over 64 deep; expected the command with its values");
    s->expanded = SHELL_EXPANDED_BYTES_MAX + 1; /* nothing more is read */
    return false;
}

/* Read a word as a text of its own: a script in a string, or a here-document. */
static void run_text(struct shell *s, const struct shell_words *words, size_t word, bool apart)
{
    const struct shell_word *w = &words->list[word];
    char *bytes = malloc(w->length + 1);
    struct shell_origin *origins = calloc(w->length + 1, sizeof *origins);
    struct shell_text outer = s->in;
    size_t nfunctions = s->nfunctions;
    struct shell_fork fork;

    if (bytes && origins && is_shallow(s) && shell_spend(s, w->length + 1)) {
        s->nested++;
        memcpy(bytes, shell_words_text(words, word), w->length + 1);
        for (size_t i = 0; i <= w->length; i++)
            origins[i] = shell_words_origin(words, word, i < w->length || i == 0 ? i : i - 1);
        s->in = (struct shell_text){bytes, 0, origins};
        if (apart)
            shell_fork_apart(s, &fork);
        run_script(s);
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
            run_text(s, &text, 0, true);
        shell_words_fini(&text);
        free(texts[i].end);
    }
}

static void skip_lines(struct shell *s)
{
    for (;;) {
        shell_skip_gap(s);
        if (*shell_here(s) != '\n')
            return;
        take_line_end(s);
    }
}

/* ---- branches ---- */

struct branches {
    struct shell_fork fork;
    enum shell_tri reached; /* whether no earlier branch was taken */
    bool open, closed;
    size_t count;
};

static void skip_list(struct shell *s)
{
    s->skipping++;
    run_list(s);
    s->skipping--;
}

/* Run a branch if its condition holds and no earlier branch was taken. */
static void run_branch(struct shell *s, struct branches *b, enum shell_tri condition)
{
    enum shell_tri holds = shell_and(b->reached, condition), is_empty;

    if (s->skipping > 0 || s->leave != SHELL_STAYS || holds == SHELL_NO) {
        skip_list(s);
    } else if (holds == SHELL_YES) {
        run_list(s);
    } else {
        if (!b->open)
            shell_fork_open(s, &b->fork, s->cause);
        b->open = true;
        is_empty = s->causes[b->fork.cause].is_empty;
        b->closed |= condition == SHELL_YES;
        shell_fork_begin(s, &b->fork, b->closed);
        run_list(s);
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

static enum shell_tri run_if(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};

    do {
        uint16_t under = s->under;
        enum shell_tri condition;

        s->in.at += shell_at_word(s, "if") ? 2 : 4;
        if (b.reached == SHELL_UNSURE)
            s->under = b.fork.cause;
        s->skipping += b.reached == SHELL_NO;
        condition = run_list(s);
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
    return unsure(s);
}

/* Whether one of the patterns before ")" matches. */
static enum shell_tri read_patterns(struct shell *s, const struct shell_words *word)
{
    enum shell_tri out = SHELL_NO;

    for (;;) {
        struct shell_words pattern = {.count = 0};

        shell_skip_gap(s);
        shell_words_open(&pattern, shell_origin(s, s->in.at).at);
        shell_read_word(s, &pattern, SHELL_WHOLE);
        shell_words_close(&pattern);
        shell_words_join(&pattern);
        if (s->skipping == 0 && !pattern.failed && out != SHELL_YES)
            out = shell_or(out, shell_match(s, word, 0, &pattern, 0));
        shell_words_fini(&pattern);
        shell_skip_gap(s);
        if (*shell_here(s) != '|')
            return out;
        s->in.at++;
    }
}

static enum shell_tri run_case(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};
    struct shell_words word = {.count = 0};

    s->in.at += 4;
    shell_skip_gap(s);
    shell_words_open(&word, shell_origin(s, s->in.at).at);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    shell_words_join(&word);
    skip_lines(s);
    if (word.failed || !shell_expect(s, "in")) {
        shell_words_fini(&word);
        return unsure(s);
    }
    for (skip_lines(s); *shell_here(s) && !shell_at_word(s, "esac") && !shell_is_over(s);
         skip_lines(s)) {
        enum shell_tri condition;

        s->in.at += *shell_here(s) == '(';
        condition = read_patterns(s, &word);
        if (!shell_expect(s, ")"))
            break;
        run_branch(s, &b, condition);
        if (*shell_here(s) == ';') {
            bool goes_on = shell_here(s)[1] == '&' ||
                           (shell_here(s)[1] == ';' && shell_here(s)[2] == '&');

            if (goes_on)
                shell_report(s, s->in.at, "a case that goes on with the next; expected ;;");
            s->in.at += shell_here(s)[1] == '\0' ? 1 : shell_here(s)[1] == ';' && goes_on ? 3 : 2;
        }
    }
    close_branches(s, &b);
    shell_expect(s, "esac");
    shell_words_fini(&word);
    return unsure(s);
}

/* ---- loops ---- */

/* Run one round, from `body` on: the commands up to "done", which is passed. */
static void run_round(struct shell *s, size_t body, bool skip)
{
    s->in.at = body;
    s->skipping += skip;
    run_list(s);
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

/* After a loop or a function that may have been left early, changed variables are in doubt. */
static void settle(struct shell *s, struct shell_state *before, bool doubtful)
{
    if (s->doubtful)
        shell_state_merge(&s->state, before, s->cause);
    else
        shell_state_fini(before);
    s->doubtful = doubtful;
}

static void copy_state(struct shell *s, struct shell_state *to)
{
    *to = (struct shell_state){.failed = true};
    if (s->skipping == 0 && shell_spend(s, shell_state_bytes(&s->state) / 16))
        shell_state_copy(to, &s->state);
    else
        to->failed = false;
}

/* Read the words after "in", or the arguments; false: an arithmetic loop, whose rounds are
 * unknown. */
static bool read_for_words(struct shell *s, struct shell_words *words)
{
    if (!strncmp(shell_here(s), "((", 2)) {
        shell_skip_brackets(s, '(', ')');
        return false;
    }
    skip_lines(s);
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

    copy_state(s, &before);
    s->doubtful = false;
    if (words->count == 0)
        run_round(s, body, true);
    for (size_t i = 0; i < words->count; i++) {
        shell_set_word(s, name, length, words, i, 0);
        run_round(s, body, false);
        if (!goes_round(s))
            break;
    }
    settle(s, &before, doubtful);
}

static enum shell_tri run_for(struct shell *s)
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
    skip_lines(s);
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
    return unsure(s);
}

static enum shell_tri run_while(struct shell *s)
{
    bool until = shell_at_word(s, "until"), doubtful = s->doubtful;
    size_t from = s->in.at, condition = from + 5;
    struct shell_state before;

    copy_state(s, &before);
    s->doubtful = false;
    for (;;) {
        enum shell_tri holds;

        s->in.at = condition;
        holds = run_list(s);
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
    settle(s, &before, doubtful);
    return unsure(s);
}

/* ---- groups and functions ---- */

static enum shell_tri run_group(struct shell *s)
{
    enum shell_tri status;

    s->in.at++;
    status = run_list(s);
    shell_expect(s, "}");
    return status;
}

static enum shell_tri run_apart(struct shell *s)
{
    struct shell_fork fork;
    enum shell_tri status;

    if (s->skipping == 0)
        shell_fork_apart(s, &fork);
    s->in.at++;
    status = run_list(s);
    if (s->skipping == 0)
        shell_fork_back(s, &fork);
    shell_expect(s, ")");
    return status;
}

/* Length of "NAME ()"; 0: no function begins here. */
static size_t function_length(const char *text)
{
    size_t name = strcspn(text, " \t\r\n;|&()<>$\"'`\\={}"), n = name + strspn(text + name, " \t");

    if (name == 0 || text[n] != '(')
        return 0;
    n++;
    n += strspn(text + n, " \t");
    return text[n] == ')' ? n + 1 : 0;
}

/* Define a function: its body is read and skipped, and run when the function is called. */
static enum shell_tri define(struct shell *s, const char *name, size_t length)
{
    struct text copy = TEXT_INIT;
    struct shell_text body;

    skip_lines(s);
    body = s->in;
    s->skipping++;
    run_command(s);
    s->skipping--;
    if (s->skipping > 0)
        return SHELL_YES;
    if (s->nfunctions == SHELL_FUNCTIONS_MAX) {
        shell_report(s, body.at, "over 100 functions; expected the command with its values");
        return SHELL_YES;
    }
    text_add_bytes(&copy, name, length);
    s->functions[s->nfunctions].body = body;
    s->functions[s->nfunctions].name = text_take(&copy);
    if (s->functions[s->nfunctions].name)
        s->nfunctions++;
    else
        diag_no_memory(s->diag);
    return SHELL_YES;
}

/* function NAME { or function NAME() { */
static enum shell_tri read_function(struct shell *s)
{
    const char *name;
    size_t length;

    s->in.at += strlen("function");
    shell_skip_gap(s);
    name = shell_here(s);
    length = strcspn(name, " \t\r\n;|&()<>{}");
    s->in.at += length;
    shell_skip_gap(s);
    if (!strncmp(shell_here(s), "()", 2))
        s->in.at += 2;
    return define(s, name, length);
}

/* The last function with a name. */
static const struct shell_function *find_function(const struct shell *s, const char *name)
{
    for (size_t i = s->nfunctions; i-- > 0;)
        if (!strcmp(s->functions[i].name, name))
            return &s->functions[i];
    return NULL;
}

static enum shell_tri call(struct shell *s, const struct shell_function *f)
{
    struct shell_words arguments = {.count = 0};
    struct shell_text outer = s->in, body = f->body;
    struct shell_state before;
    bool doubtful = s->doubtful;
    enum shell_tri status;

    if (!shell_spend(s, ROUND_BYTES))
        return SHELL_UNSURE;
    copy_state(s, &before);
    s->doubtful = false;
    shell_get_arguments(s, &arguments);
    shell_set_arguments(s, &s->words, 1);
    s->in = body;
    status = run_command(s);
    shell_spend(s, s->in.at - body.at);
    s->in = outer;
    if (s->leave == SHELL_RETURNS) {
        s->leave = SHELL_STAYS;
        status = s->left_status == SHELL_UNSURE || s->doubtful ? unsure(s) : s->left_status;
    }
    shell_set_arguments(s, &arguments, 0);
    shell_words_fini(&arguments);
    settle(s, &before, doubtful);
    return status;
}

static enum shell_tri eval(struct shell *s)
{
    struct shell_words text = {.count = 0};

    for (size_t i = 1; i < s->words.count; i++) {
        shell_words_open(&text, s->words.list[i].at);
        shell_words_put_part(&text, &s->words, i, 0, s->words.list[i].length, SHELL_SURE, 0);
        shell_words_close(&text);
    }
    shell_words_join(&text);
    if (text.count > 0 && !text.failed)
        run_text(s, &text, 0, false);
    shell_words_fini(&text);
    return unsure(s);
}

/* Run source FILE [ARGUMENT...] with a file that the caller gave. */
static enum shell_tri run_file(struct shell *s, struct shell_file *file)
{
    struct shell_words arguments = {.count = 0};
    struct shell_text outer = s->in;
    bool with = s->words.count > 2;

    file->read = true;
    if (!is_shallow(s) || !shell_spend(s, ROUND_BYTES + strlen(s->text + file->from)))
        return SHELL_UNSURE;
    if (with) {
        shell_get_arguments(s, &arguments);
        shell_set_arguments(s, &s->words, 2);
    }
    s->nested++;
    s->in = (struct shell_text){s->text, file->from, NULL};
    run_script(s);
    s->in = outer;
    s->nested--;
    s->leave = s->leave == SHELL_RETURNS ? SHELL_STAYS : s->leave;
    if (with)
        shell_set_arguments(s, &arguments, 0);
    shell_words_fini(&arguments);
    return unsure(s);
}

/* ---- simple commands ---- */

static enum shell_tri tell(struct shell *s, size_t nhere)
{
    static const char *const writers[] = {"echo", "printf", "cat",  "sed",   "grep", "awk",
                                          "trap", "mkdir",  "tee",  "ulimit", "cd",  "pip",
                                          "ls",   "rm",     "cp",   "which", NULL};
    size_t script = shell_find_script(s);

    for (size_t i = nhere; i < s->nhere; i++)
        s->here[i].script = shell_reads_script(s);
    if (script > 0) {
        struct shell_words words = s->words;

        s->words = (struct shell_words){.count = 0};
        run_text(s, &words, script, true);
        shell_words_fini(&s->words);
        s->words = words;
    } else if (!shell_is_one_of(shell_words_text(&s->words, 0), writers) && s->rehearsing == 0) {
        s->on_command(s->context, s);
    }
    return unsure(s);
}

/* Execute the command in shell->words. */
static enum shell_tri execute(struct shell *s, size_t nhere)
{
    const char *name = shell_words_text(&s->words, 0);
    const struct shell_function *f = find_function(s, name);
    struct shell_file *file = shell_sourced(s);
    enum shell_tri status;

    if (f)
        return call(s, f);
    if (file)
        return run_file(s, file);
    if (shell_builtin(s, &status))
        return status;
    return !strcmp(name, "eval") ? eval(s) : tell(s, nhere);
}

/* Whether the words are a prefix such as exec, and the command's name comes next. */
static bool is_before_name(struct shell *s)
{
    static const char *const prefixes[] = {"exec", "time", "nohup", "command", "builtin", NULL};

    if (s->words.count != 1 || !shell_is_one_of(shell_words_text(&s->words, 0), prefixes))
        return false;
    shell_words_clear(&s->words);
    return true;
}

/* Read a command's words; completely unknown words may be anything. */
static void read_words(struct shell *s)
{
    bool begins = true;

    for (shell_skip_gap(s); !shell_is_over(s); shell_skip_gap(s)) {
        size_t assigned = begins ? shell_assignment_length(shell_here(s)) : 0;
        size_t element = begins ? shell_element_length(shell_here(s)) : 0;
        size_t redirected = shell_redirect_length(shell_here(s));

        if (redirected > 0) {
            shell_read_redirect(s, redirected);
        } else if (assigned > 0) {
            shell_assign(s, assigned);
        } else if (element > 0) {
            shell_assign_element(s, element);
        } else if (shell_ends_word(s)) {
            return;
        } else {
            shell_read_word(s, &s->words, SHELL_PARTED);
            shell_words_close(&s->words);
            if (!is_before_name(s))
                begins &= s->words.count == 0 || shell_is_declaring(s);
        }
    }
}

static enum shell_tri run_simple(struct shell *s)
{
    size_t nhere = s->nhere, from = s->in.at, length = function_length(shell_here(s));
    const char *name = shell_here(s);

    if (length > 0) {
        s->in.at += length;
        return define(s, name, strcspn(name, " \t("));
    }
    shell_words_clear(&s->words);
    read_words(s);
    if (s->in.at == from && !shell_is_over(s)) {
        shell_report(s, from, "a command was expected here, and none can begin so");
        s->in.at += *shell_here(s) != '\0';
    } else if (*shell_here(s) == '(' && !shell_is_over(s)) {
        shell_report(s, s->in.at, "a bracket in a command, which a shell does not take; expected "
                                  "it in quotes");
        s->in.at++;
    }
    if (s->words.failed)
        diag_no_memory(s->diag);
    else if (s->skipping == 0 && s->words.count > 0 && !shell_is_over(s))
        return execute(s, nhere);
    /* NAME=$(COMMAND) has the status of the command. */
    return s->words.count == 0 && (memchr(name, '`', s->in.at - from) ||
                                   memmem(name, s->in.at - from, "$(", 2))
               ? unsure(s)
               : SHELL_YES;
}

/* ---- commands, pipes, lists ---- */

static enum shell_tri run_compound(struct shell *s)
{
    if (!strncmp(shell_here(s), "((", 2))
        return shell_run_sum(s);
    if (*shell_here(s) == '(')
        return run_apart(s);
    if (shell_at_word(s, "{"))
        return run_group(s);
    if (shell_at_word(s, "[["))
        return shell_read_test(s);
    if (shell_at_word(s, "if"))
        return run_if(s);
    if (shell_at_word(s, "case"))
        return run_case(s);
    if (shell_at_word(s, "for") || shell_at_word(s, "select"))
        return run_for(s);
    if (shell_at_word(s, "while") || shell_at_word(s, "until"))
        return run_while(s);
    if (shell_at_word(s, "function"))
        return read_function(s);
    return run_simple(s);
}

static enum shell_tri run_command(struct shell *s)
{
    enum shell_tri status;

    shell_skip_gap(s);
    if (!is_shallow(s))
        return SHELL_NO;
    s->nested++;
    status = run_compound(s);
    shell_read_redirects(s);
    s->nested--;
    return status;
}

static enum shell_tri run_pipeline(struct shell *s)
{
    bool no = shell_at_word(s, "!");
    enum shell_tri status;

    s->in.at += no;
    status = run_command(s);
    while (*shell_here(s) == '|' && shell_here(s)[1] != '|' && !shell_is_over(s)) {
        struct shell_fork fork;
        bool runs = s->skipping == 0;

        s->in.at += shell_here(s)[1] == '&' ? 2 : 1;
        skip_lines(s);
        if (runs)
            shell_fork_apart(s, &fork);
        run_command(s);
        if (runs)
            shell_fork_back(s, &fork);
        status = unsure(s);
    }
    if (no && status == SHELL_UNSURE)
        shell_cause_change(s, true);
    return no ? shell_not(status) : status;
}

/* Run the right side of && or || if `need` holds. */
static enum shell_tri run_right(struct shell *s, enum shell_tri need, bool and)
{
    uint16_t cause = s->cause;
    struct shell_fork fork;
    enum shell_tri status;

    if (s->skipping > 0 || need == SHELL_YES)
        return run_pipeline(s);
    if (need == SHELL_NO) {
        s->skipping++;
        status = run_pipeline(s);
        s->skipping--;
        return status;
    }
    shell_fork_open(s, &fork, cause);
    shell_fork_begin(s, &fork, false);
    status = run_pipeline(s);
    shell_fork_end(s, &fork, s->causes[cause].is_empty == (and ? SHELL_YES : SHELL_NO));
    shell_fork_close(s, &fork, false);
    s->cause = cause;
    return status;
}

static enum shell_tri run_and_or(struct shell *s)
{
    enum shell_tri status = run_pipeline(s);

    for (shell_skip_gap(s); !shell_is_over(s); shell_skip_gap(s)) {
        bool and = !strncmp(shell_here(s), "&&", 2), left = s->leave != SHELL_STAYS;
        enum shell_tri right;

        if (!and && strncmp(shell_here(s), "||", 2) != 0)
            break;
        s->in.at += 2;
        skip_lines(s);
        s->skipping += left;
        right = run_right(s, and ? status : shell_not(status), and);
        s->skipping -= left;
        status = and ? shell_and(status, right) : shell_or(status, right);
        shell_cause_change(s, false);
    }
    return status;
}

/* Run commands up to a closing word; returns the status of the last command. */
static enum shell_tri run_list(struct shell *s)
{
    enum shell_tri status = SHELL_YES;

    for (;;) {
        bool left;

        skip_lines(s);
        left = s->leave != SHELL_STAYS;
        if (!*shell_here(s) || shell_at_closing(s) || shell_is_over(s) || (left && s->nested == 0))
            return status;
        if (*shell_here(s) == ';' || *shell_here(s) == '&') {
            s->in.at++;
            continue;
        }
        s->skipping += left;
        status = run_and_or(s);
        s->skipping -= left;
    }
}

/* Run all commands of a text. */
static void run_script(struct shell *s)
{
    while (*shell_here(s) && !shell_is_over(s) && (s->leave == SHELL_STAYS || s->nested > 0)) {
        run_list(s);
        if (shell_at_closing(s) && *shell_here(s) && !shell_is_over(s)) {
            shell_report(s, s->in.at, "what ends here has no beginning");
            s->in.at++;
        }
    }
}

/* ---- for the caller ---- */

bool shell_give(struct shell *s, const char *assignment)
{
    const char *sign = strchr(assignment, '=');
    size_t length = sign ? (size_t)(sign - assignment) : 0;
    struct shell_variable *v;

    if (length == 0 || (shell_name_length(assignment) != length &&
                        strspn(assignment, "0123456789") != length))
        return false;
    v = shell_state_add(&s->state, assignment, length);
    if (!v)
        return true;
    shell_words_fini(&v->value);
    shell_words_open(&v->value, 0);
    for (const char *c = sign + 1; *c; c++)
        shell_words_put(&v->value, *c, (struct shell_origin){.at = 0});
    shell_words_close(&v->value);
    v->set = v->given = true;
    return true;
}

void shell_run(struct shell *s, void (*on_command)(void *context, struct shell *shell),
               void *context)
{
    s->on_command = on_command;
    s->context = context;
    run_script(s);
    if (s->state.failed && s->state.count == SHELL_VARIABLES_MAX)
        shell_report(s, s->in.at, "over 1000 variables; expected the command with its values");
    else if (s->state.failed && diag_status(s->diag, 0) == 0)
        diag_no_memory(s->diag);
}

void shell_offer_variables(struct shell *s, struct text *names)
{
    for (size_t i = 0; i < s->state.count && !shell_is_over(s); i++) {
        const struct shell_variable *v = &s->state.list[i];
        bool options = false;

        if (!v->set || v->used || v->given)
            continue;
        shell_words_clear(&s->words);
        shell_put_variable(s, &s->words, v);
        for (size_t j = 0; j < s->words.count; j++)
            options |= !strncmp(shell_words_text(&s->words, j), "--", 2);
        if (!options)
            continue;
        text_addf(names, " %s", v->name);
        s->on_command(s->context, s);
    }
}

void shell_check_given(struct shell *s)
{
    for (size_t i = 1; i < s->nfiles; i++)
        if (!s->files[i].read)
            diag_error(s->diag, (struct place){s->files[i].path, 0, 0},
                       "the script reads no file of this name");
    for (size_t i = 0; i < s->state.count; i++)
        if (s->state.list[i].given && !s->state.list[i].used)
            diag_error(s->diag, (struct place){s->files[0].path, 0, 0},
                       "--set %.60s: nothing in the file uses such a variable",
                       s->state.list[i].name);
}
