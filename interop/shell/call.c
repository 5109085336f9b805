/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/call.h"

#include <stdlib.h>
#include <string.h>

#include "shell/assign.h"
#include "shell/expand.h"
#include "shell/fork.h"
#include "shell/lines.h"

#define CALL_BYTES 64 /* cost of a call, besides its text */

size_t shell_function_length(const char *text)
{
    size_t name = strcspn(text, " \t\r\n;|&()<>$\"'`\\={}"), n = name + strspn(text + name, " \t");

    if (name == 0 || text[n] != '(')
        return 0;
    n++;
    n += strspn(text + n, " \t");
    return text[n] == ')' ? n + 1 : 0;
}

enum shell_tri shell_define(struct shell *s, const char *name, size_t length)
{
    struct text copy = TEXT_INIT;
    struct shell_text body;

    shell_skip_lines(s);
    body = s->in;
    s->skipping++;
    s->run->command(s);
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

enum shell_tri shell_read_function(struct shell *s)
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
    return shell_define(s, name, length);
}

const struct shell_function *shell_find_function(const struct shell *s, const char *name)
{
    for (size_t i = s->nfunctions; i-- > 0;)
        if (!strcmp(s->functions[i].name, name))
            return &s->functions[i];
    return NULL;
}

enum shell_tri shell_call(struct shell *s, const struct shell_function *f)
{
    struct shell_words arguments = {.count = 0};
    struct shell_text outer = s->in, body = f->body;
    struct shell_state before;
    bool doubtful = s->doubtful;
    enum shell_tri status;

    if (!shell_spend(s, CALL_BYTES))
        return SHELL_UNSURE;
    shell_keep_state(s, &before);
    s->doubtful = false;
    shell_get_arguments(s, &arguments);
    shell_set_arguments(s, &s->words, 1);
    s->in = body;
    status = s->run->command(s);
    shell_spend(s, s->in.at - body.at);
    s->in = outer;
    if (s->leave == SHELL_RETURNS) {
        s->leave = SHELL_STAYS;
        status = s->left_status == SHELL_UNSURE || s->doubtful ? shell_unsure(s) : s->left_status;
    }
    shell_set_arguments(s, &arguments, 0);
    shell_words_fini(&arguments);
    shell_settle(s, &before, doubtful);
    return status;
}

enum shell_tri shell_eval(struct shell *s)
{
    struct shell_words text = {.count = 0};

    for (size_t i = 1; i < s->words.count; i++)
        shell_words_add_one(&text, &s->words, i);
    shell_words_join(&text);
    if (text.count > 0 && !text.failed)
        shell_run_text(s, &text, 0, false);
    shell_words_fini(&text);
    return shell_unsure(s);
}

enum shell_tri shell_run_file(struct shell *s, struct shell_file *file)
{
    struct shell_words arguments = {.count = 0};
    struct shell_text outer = s->in;
    bool with = s->words.count > 2;

    file->read = true;
    if (!shell_is_shallow(s) || !shell_spend(s, CALL_BYTES + strlen(s->text + file->from)))
        return SHELL_UNSURE;
    if (with) {
        shell_get_arguments(s, &arguments);
        shell_set_arguments(s, &s->words, 2);
    }
    s->nested++;
    s->in = (struct shell_text){s->text, file->from, NULL};
    shell_run_script(s);
    s->in = outer;
    s->nested--;
    s->leave = s->leave == SHELL_RETURNS ? SHELL_STAYS : s->leave;
    if (with)
        shell_set_arguments(s, &arguments, 0);
    shell_words_fini(&arguments);
    return shell_unsure(s);
}
