/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/builtin.h"

#include <string.h>

#include "base/file.h"
#include "base/words.h"

#include "shell/assign.h"
#include "shell/test.h"

static enum shell_tri leave(struct shell *s)
{
    const char *word = shell_words_text(&s->words, 0);

    s->leave = !strcmp(word, "exit")     ? SHELL_EXITS
               : !strcmp(word, "return") ? SHELL_RETURNS
               : !strcmp(word, "break")  ? SHELL_BREAKS
                                         : SHELL_CONTINUES;
    s->left_status = s->words.count < 2                             ? SHELL_UNSURE
                     : !strcmp(shell_words_text(&s->words, 1), "0") ? SHELL_YES
                     : shell_words_doubt(&s->words, 1, 0, 1) == 1   ? SHELL_NO
                                                                    : SHELL_UNSURE;
    s->left_line = shell_place_at(s, shell_words_at(&s->words, 0, 0)).line;
    return SHELL_YES;
}

/* Set the command's variables to unknown values, which only a shell knows. */
static enum shell_tri set_all_unknown(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);

        for (size_t n; *word; word += n > 0 ? n : 1) {
            n = shell_name_length(word);
            if (n > 0)
                shell_set_unknown(s, word, n, shell_words_at(&s->words, i, 0));
        }
    }
    return shell_unsure(s);
}

/* export "NAME=VALUE" */
static enum shell_tri declare(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i), *sign = strchr(word, '=');
        size_t length = shell_name_length(word);

        if (!sign || *word == '-')
            continue;
        if (length > 0 && word[length] == '=' &&
            shell_words_doubt(&s->words, i, 0, length) == length)
            shell_set_word(s, word, length, &s->words, i, length + 1);
        else
            diag_error(s->diag, shell_place_at(s, shell_words_at(&s->words, i, 0)),
                       "the name of the variable to set is unknown; expected NAME=VALUE");
    }
    return SHELL_YES;
}

static enum shell_tri unset_all(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);

        shell_unset(s, word, strlen(word));
    }
    return SHELL_YES;
}

static enum shell_tri shift(struct shell *s)
{
    struct shell_words arguments = {.count = 0};
    const char *by = s->words.count > 1 ? shell_words_text(&s->words, 1) : "1";
    size_t n = *by >= '0' && *by <= '9' && !by[1] ? (size_t)(*by - '0') : 1;

    shell_get_arguments(s, &arguments);
    if (n <= arguments.count)
        shell_set_arguments(s, &arguments, n);
    shell_words_fini(&arguments);
    return SHELL_YES;
}

/* set -- WORD...; other arguments are switches of the shell. */
static enum shell_tri set_words(struct shell *s)
{
    if (s->words.count > 1 && !strcmp(shell_words_text(&s->words, 1), "--"))
        shell_set_arguments(s, &s->words, 2);
    return SHELL_YES;
}

struct shell_file *shell_sourced(struct shell *s)
{
    const char *name = shell_words_text(&s->words, 0);

    if (s->words.count < 2 || (strcmp(name, ".") != 0 && strcmp(name, "source") != 0))
        return NULL;
    return shell_find_file(s, shell_words_text(&s->words, 1));
}

/* Note a file that is not read; a shell's startup files set no options. */
static enum shell_tri note_source(struct shell *s)
{
    static const char harmless[] = "activate .bashrc .profile .bash_profile conda.sh";
    const char *path = s->words.count > 1 ? shell_words_text(&s->words, 1) : "";
    const char *name = file_name(path);
    uint32_t at = shell_words_at(&s->words, 0, 0);

    if (!words_has(harmless, name) && s->rehearsing == 0) {
        s->unread_at = at;
        text_addf(&s->unread, "%s%.100s (line %d)", s->unread.length > 0 ? ", " : "",
                  !strcmp(name, "?") ? "a file" : name, shell_place_at(s, at).line);
    }
    return shell_unsure(s);
}

static enum shell_tri test_words(struct shell *s)
{
    const char *name = shell_words_text(&s->words, 0);
    size_t end = s->words.count;

    if (*name == '[' && !strcmp(shell_words_text(&s->words, end - 1), "]"))
        end--;
    return shell_test(s, &s->words, 1, end, false);
}

static enum shell_tri say_yes(struct shell *s)
{
    (void)s;
    return SHELL_YES;
}

static enum shell_tri say_no(struct shell *s)
{
    (void)s;
    return SHELL_NO;
}

static const struct builtin {
    const char *names;
    enum shell_tri (*run)(struct shell *s);
} builtins[] = {
    {": true echo printf", say_yes},
    {"false", say_no},
    {"export declare local readonly typeset", declare},
    {"exit return break continue", leave},
    {"read mapfile readarray getopts let", set_all_unknown},
    {"[ test", test_words},
    {"unset", unset_all},
    {"shift", shift},
    {"set", set_words},
    {"source .", note_source},
};

/* The builtin of the command in shell->words; NULL: another command, or none. */
static const struct builtin *find_builtin(const struct shell *s)
{
    const char *name = s->words.count > 0 ? shell_words_text(&s->words, 0) : "";

    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (words_has(builtins[i].names, name))
            return &builtins[i];
    return NULL;
}

bool shell_builtin(struct shell *s, enum shell_tri *status)
{
    const struct builtin *builtin = find_builtin(s);

    if (builtin)
        *status = builtin->run(s);
    return builtin;
}

bool shell_is_declaring(const struct shell *s)
{
    const struct builtin *builtin = find_builtin(s);

    return builtin && builtin->run == declare;
}

/* The number of the script's word in a command like sh -c SCRIPT, also after other words (srun ...
 * bash -c SCRIPT). */
size_t shell_find_script(const struct shell *s)
{
    bool is_shell = false;

    for (size_t i = 0; i + 1 < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);
        size_t length = strlen(word);

        if (is_shell && length > 1 && word[0] == '-' && word[1] != '-' && word[length - 1] == 'c')
            return i + 1;
        is_shell |= words_has("sh bash /bin/sh /bin/bash", word);
    }
    return 0;
}

/* Whether the texts behind << are scripts for the command. */
bool shell_reads_script(const struct shell *s)
{
    for (size_t i = 0; i < s->words.count; i++)
        if (words_has("sh bash sbatch /bin/sh /bin/bash ssh", shell_words_text(&s->words, i)))
            return true;
    return false;
}
