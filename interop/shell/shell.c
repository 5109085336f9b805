/* Runs a script as it is read, command by command; commands that are not taken are read and
 * skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shell/shell.h"

#include <string.h>

#include "base/words.h"
#include "shell/assign.h"
#include "shell/branch.h"
#include "shell/builtin.h"
#include "shell/call.h"
#include "shell/expand.h"
#include "shell/fork.h"
#include "shell/lines.h"
#include "shell/loop.h"
#include "shell/redirect.h"
#include "shell/test.h"

/* ---- simple commands ---- */

static enum shell_tri tell(struct shell *s, size_t nhere)
{
    static const char writers[] =
        "echo printf cat sed grep awk trap mkdir tee ulimit cd pip ls rm cp which";
    size_t script = shell_find_script(s);

    for (size_t i = nhere; i < s->nhere; i++)
        s->here[i].script = shell_reads_script(s);
    if (script > 0) {
        struct shell_words words = s->words;

        s->words = (struct shell_words){.count = 0};
        shell_run_text(s, &words, script, true);
        shell_words_fini(&s->words);
        s->words = words;
    } else if (!words_has(writers, shell_words_text(&s->words, 0)) && s->rehearsing == 0) {
        s->on_command(s->context, s);
    }
    return shell_unsure(s);
}

/* Execute the command in shell->words. */
static enum shell_tri execute(struct shell *s, size_t nhere)
{
    const char *name = shell_words_text(&s->words, 0);
    const struct shell_function *f = shell_find_function(s, name);
    struct shell_file *file = shell_sourced(s);
    enum shell_tri status;

    if (f)
        return shell_call(s, f);
    if (file)
        return shell_run_file(s, file);
    if (shell_builtin(s, &status))
        return status;
    return !strcmp(name, "eval") ? shell_eval(s) : tell(s, nhere);
}

/* Whether the words are a prefix such as exec, and the command's name comes next. */
static bool is_before_name(struct shell *s)
{
    if (s->words.count != 1 ||
        !words_has("exec time nohup command builtin", shell_words_text(&s->words, 0)))
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

        size_t placeholder = shell_placeholder_length(shell_here(s));

        if (placeholder > 0) {
            shell_read_placeholder(s, placeholder);
        } else if (redirected > 0) {
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
    size_t nhere = s->nhere, from = s->in.at, length = shell_function_length(shell_here(s));
    const char *name = shell_here(s);

    if (length > 0) {
        s->in.at += length;
        return shell_define(s, name, strcspn(name, " \t("));
    }
    shell_words_clear(&s->words);
    read_words(s);
    if (s->in.at == from && !shell_is_over(s)) {
        shell_report(s, from, "expected a command");
        s->in.at += *shell_here(s) != '\0';
    } else if (*shell_here(s) == '(' && !shell_is_over(s)) {
        shell_report(s, s->in.at, "unexpected bracket in a command; expected quotes around it");
        s->in.at++;
    }
    if (s->words.failed)
        diag_no_memory(s->diag);
    else if (s->skipping == 0 && s->words.count > 0 && !shell_is_over(s))
        return execute(s, nhere);
    /* NAME=$(COMMAND) has the status of the command. */
    return s->words.count == 0 &&
                   (memchr(name, '`', s->in.at - from) || memmem(name, s->in.at - from, "$(", 2))
               ? shell_unsure(s)
               : SHELL_YES;
}

/* ---- commands, pipes, lists ---- */

static enum shell_tri run_group(struct shell *s)
{
    enum shell_tri status;

    s->in.at++;
    status = s->run->list(s);
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
    status = s->run->list(s);
    if (s->skipping == 0)
        shell_fork_back(s, &fork);
    shell_expect(s, ")");
    return status;
}

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
        return shell_run_if(s);
    if (shell_at_word(s, "case"))
        return shell_run_case(s);
    if (shell_at_word(s, "for") || shell_at_word(s, "select"))
        return shell_run_for(s);
    if (shell_at_word(s, "while") || shell_at_word(s, "until"))
        return shell_run_while(s);
    if (shell_at_word(s, "function"))
        return shell_read_function(s);
    return run_simple(s);
}

static enum shell_tri run_command(struct shell *s)
{
    enum shell_tri status;

    shell_skip_gap(s);
    if (!shell_is_shallow(s))
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
        shell_skip_lines(s);
        if (runs)
            shell_fork_apart(s, &fork);
        run_command(s);
        if (runs)
            shell_fork_back(s, &fork);
        status = shell_unsure(s);
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
    shell_fork_end(s, &fork, s->causes[cause].is_empty == (and? SHELL_YES : SHELL_NO));
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

        if (!and&&strncmp(shell_here(s), "||", 2) != 0)
            break;
        s->in.at += 2;
        shell_skip_lines(s);
        s->skipping += left;
        right = run_right(s, and? status : shell_not(status), and);
        s->skipping -= left;
        status = and? shell_and(status, right) : shell_or(status, right);
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

        shell_skip_lines(s);
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

/* ---- for the caller ---- */

static const struct shell_runner runner = {run_list, run_command};

bool shell_give(struct shell *s, const char *assignment)
{
    const char *sign = strchr(assignment, '=');
    size_t length = sign ? (size_t)(sign - assignment) : 0;
    struct shell_variable *v;

    if (length == 0 ||
        (shell_name_length(assignment) != length && strspn(assignment, "0123456789") != length))
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
               void (*on_operand)(void *context, struct shell *shell,
                                  const struct shell_variable *variable),
               void *context)
{
    s->run = &runner;
    s->on_command = on_command;
    s->on_operand = on_operand;
    s->context = context;
    shell_run_script(s);
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
                       "the script reads no file with this name");
    for (size_t i = 0; i < s->state.count; i++)
        if (s->state.list[i].given && !s->state.list[i].used)
            diag_error(s->diag, (struct place){s->files[0].path, 0, 0},
                       "--set %.60s: the file does not use this variable", s->state.list[i].name);
}
