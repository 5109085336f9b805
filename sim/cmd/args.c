/* Parsing command lines with argp, and suggesting options (args.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/args.h"

#include <argp.h>
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/foreign.h"
#include "base/nearest.h"
#include "command/command.h"
#include "scenario/scenario.h"
#include "search/space.h"

#define OPTION_HINT_MAX 128
#define NAME_MAX_BYTES 64 /* of an option, "--" included; a longer word is no option and is cut */
#define ROWS_MAX 48       /* of a command and its parts together */
#define KEY_FIRST 1000    /* argp's key of the first row, if that has no letter */

struct args_line {
    const char *program; /* in messages */
    const struct args *args;
    char *input;
    struct argp_option table[ROWS_MAX + 1]; /* for argp, ended by zeros */
    const struct args_row *rows[ROWS_MAX];
    char *inputs[ROWS_MAX]; /* the struct that each row is of */
    size_t nrows;
    bool given[ROWS_MAX];
    size_t nwords;
};

/* ---- unknown options ---- */

static bool takes_value(const struct argp_option *option)
{
    return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* The option that a word is the beginning of, as --strat is; NULL: none.  All options are offered
 * as what may have been meant. */
static const struct argp_option *find_long(const struct args_line *line, const char *word,
                                           struct nearest *near)
{
    const struct argp_option *found = NULL;

    for (size_t i = 0; i < line->nrows; i++) {
        const struct argp_option *option = &line->table[i];

        if (!option->name)
            continue;
        nearest_add(near, option->name);
        if (!found && !strncmp(option->name, word, strlen(word)))
            found = option;
    }
    return found;
}

static const struct argp_option *find_short(const struct args_line *line, int letter)
{
    for (size_t i = 0; i < line->nrows; i++)
        if (line->table[i].key == letter)
            return &line->table[i];
    return NULL;
}

/* End the program with a message of our own: that of getopt would show the word unescaped. */
static void refuse(const struct args_line *line, const char *what, const char *word,
                   const char *hint)
{
    fprintf(stderr, "%s: %s '", line->program, what);
    escape_put(stderr, word);
    fputs("'", stderr);
    escape_put(stderr, hint);
    fprintf(stderr, "\nTry '%s --help'.\n", line->program);
    exit(CMD_USAGE);
}

/* Whether a word is the last part of a scenario's key, but for a letter. */
static bool is_slip(const char *word, const char *key)
{
    const char *dot = strrchr(key, '.');
    struct nearest near;

    nearest_init(&near, word);
    nearest_add(&near, dot ? dot + 1 : key);
    return near.best != NULL;
}

/* The choice of a search that a word means, where the command has ranges of them; NULL: none. */
static const char *choice_meant(const struct args_line *line, const char *word)
{
    struct nearest unused;

    nearest_init(&unused, word);
    if (!find_long(line, "range", &unused))
        return NULL;
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (foreign_means(word, space_choice_name((enum space_choice)c)))
            return space_choice_name((enum space_choice)c);
    return NULL;
}

/* "; did you mean '--devices'?", or where a range of a search or a scenario says what the command
 * has no option for, "; a scenario says it: --set batch.size=VALUE". */
static const char *option_hint(const struct args_line *line, const struct nearest *near,
                               char buf[OPTION_HINT_MAX])
{
    const char *choice = near->best ? NULL : choice_meant(line, near->word);
    char key[NAME_MAX_BYTES];

    if (near->best)
        snprintf(buf, OPTION_HINT_MAX, "; did you mean '--%s'?", near->best);
    else if (choice)
        snprintf(buf, OPTION_HINT_MAX, "; did you mean '--range %s=VALUE'?", choice);
    else if (*scenario_nearest_option(near->word, key, sizeof key) &&
             (foreign_means(near->word, key) || is_slip(near->word, key)))
        snprintf(buf, OPTION_HINT_MAX,
                 find_short(line, 's') ? "; set the scenario's key: --set %s=VALUE"
                                       : "; set %s in the scenario",
                 key);
    else
        buf[0] = '\0';
    return buf;
}

/* End the program if no option begins with this long one.  Else returns whether the next word is
 * its value. */
static bool check_long(const struct args_line *line, const char *word)
{
    char name[NAME_MAX_BYTES], shown[NAME_MAX_BYTES], hint[OPTION_HINT_MAX];
    size_t length = strcspn(word, "=");
    const struct argp_option *option;
    struct nearest near;

    snprintf(name, sizeof name, "%.*s", (int)length, word);
    nearest_init(&near, name);
    nearest_add(&near, "help");
    nearest_add(&near, "usage");
    option = find_long(line, name, &near);
    if (option && strcmp(option->name, name) != 0 && choice_meant(line, name)) {
        option = NULL; /* "tp" is not the beginning of another word */
        near.best = NULL;
    }
    if (option)
        return takes_value(option) && !word[length];
    if (near.best && !strncmp(near.best, name, strlen(name)))
        return false; /* an option of argp itself */
    snprintf(shown, sizeof shown, "--%.*s", (int)(length < 48 ? length : 48), word);
    refuse(line, "unrecognized option", shown, option_hint(line, &near, hint));
    return false;
}

/* End the program if a letter of a word such as "qs" is no option; only argp's own '?' is one
 * without being in a table.  Else returns whether the next word is the value of the last letter. */
static bool check_short(const struct args_line *line, const char *letters)
{
    for (; *letters; letters++) {
        const struct argp_option *option = find_short(line, *letters);
        char one[2] = {*letters, '\0'};

        if (option && takes_value(option))
            return !letters[1];
        if (!option && *letters != '?')
            refuse(line, "invalid option --", one, "");
    }
    return false;
}

/* ---- a line ---- */

void args_error(const struct args_line *line, const char *fmt, ...)
{
    struct text raw = TEXT_INIT, shown = TEXT_INIT;
    bool whole;
    va_list args;

    va_start(args, fmt);
    text_addv(&raw, fmt, args);
    va_end(args);
    escape_add(&shown, text_get(&raw));
    whole = !shown.failed && !raw.failed;
    fprintf(stderr, "%s: %s\nTry '%s --help'.\n", line->program,
            whole ? text_get(&shown) : "out of memory", line->program);
    text_fini(&raw);
    text_fini(&shown);
    exit(whole ? CMD_USAGE : CMD_CANNOT);
}

bool args_given(const struct args_line *line, const char *name)
{
    for (size_t i = 0; i < line->nrows; i++)
        if (line->rows[i]->name && !strcmp(line->rows[i]->name, name))
            return line->given[i];
    return false;
}

static void add_rows(struct args_line *line, const struct args_row *row, char *input)
{
    for (; row && (row->name || row->help); row++) {
        struct argp_option *option = &line->table[line->nrows];

        assert(line->nrows < ROWS_MAX);
        *option = (struct argp_option){.name = row->name, .arg = row->value, .doc = row->help};
        if (row->take)
            option->key =
                row->letter & ~ARGS_BARE ? row->letter & ~ARGS_BARE : KEY_FIRST + (int)line->nrows;
        if (row->letter & ARGS_BARE)
            option->flags = OPTION_ARG_OPTIONAL;
        else if (row->name && !row->take)
            option->flags = OPTION_ALIAS;
        line->inputs[line->nrows] = input;
        line->rows[line->nrows++] = row;
    }
}

/* Take a word that is no option to its field; false: the command takes no words. */
static bool take_word(struct args_line *line, const struct args_word *word, char *input, char *arg)
{
    const struct args_row row = {.at = word->at, .size = word->size};

    if (word->again && (line->nwords > 0 || !word->take))
        args_error(line, word->again, arg);
    if (!word->take)
        return false;
    line->nwords++;
    word->take(&(struct args_value){line, &row, arg, input + word->at});
    return true;
}

/* The words of the line: the command's own, or those of a part, whose struct is then *input. */
static const struct args_word *word_of(const struct args_line *line, char **input)
{
    const struct args *args = line->args;

    *input = line->input;
    for (size_t p = 0; args->parts[p].part && !args->own.word.take; p++)
        if (args->parts[p].part->word.take) {
            *input += args->parts[p].at;
            return &args->parts[p].part->word;
        }
    return &args->own.word;
}

static error_t take_option(struct args_line *line, int key, char *arg)
{
    for (size_t i = 0; i < line->nrows; i++) {
        const struct args_row *row = line->rows[i];

        if (!row->take || line->table[i].key != key)
            continue;
        line->given[i] = true;
        /* A script's variable that is not set: --save="$runs". */
        if (arg && !*arg && row->value &&
            (!strcmp(row->value, "FILE") || !strcmp(row->value, "DIR")))
            args_error(line, "--%s is ''; expected the name of a %s", row->name,
                       row->value[0] == 'F' ? "file" : "folder");
        row->take(&(struct args_value){line, row, arg, line->inputs[i] + row->at});
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* argp's parser of every command. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args_line *line = state->input;
    char *input;
    const struct args_word *word = word_of(line, &input);

    switch (key) {
    case ARGP_KEY_ARG:
        return take_word(line, word, input, arg) ? 0 : ARGP_ERR_UNKNOWN;
    case ARGP_KEY_NO_ARGS:
        if (word->missing)
            args_error(line, "%s", word->missing);
        return 0;
    case ARGP_KEY_END:
        if (line->args->check)
            line->args->check(line, line->input);
        return 0;
    default:
        return take_option(line, key, arg);
    }
}

/* For argp's help: what stands at \f. */
static char *add_more(int key, const char *help, void *input)
{
    const struct args_line *line = input;
    const char *mark = help && key != ARGP_KEY_HELP_ARGS_DOC ? strchr(help, '\f') : NULL;
    struct text out = TEXT_INIT;

    if (!mark || !line->args->more)
        return (char *)(uintptr_t)help;
    text_addf(&out, "%.*s", (int)(mark - help), help);
    line->args->more(&out);
    text_add(&out, mark + 1);
    return text_take(&out); /* argp frees it */
}

void args_parse(const struct args *args, int argc, char **argv, void *input)
{
    static char help[] = "--help";
    struct args_line line = {.program = argv[0], .args = args, .input = input};
    const struct argp argp = {line.table, parse, args->operands, args->help, NULL, add_more, NULL};

    for (size_t p = 0; args->parts[p].part; p++) {
        const struct args_part *part = args->parts[p].part;

        if (part->begin && !part->begin(line.input + args->parts[p].at, argc))
            exit(CMD_CANNOT);
        add_rows(&line, part->rows, line.input + args->parts[p].at);
    }
    add_rows(&line, args->own.rows, input);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "-h") && !find_short(&line, 'h'))
            argv[i] = help;
        if (!strncmp(argv[i], "--", 2))
            i += check_long(&line, argv[i] + 2);
        else if (argv[i][0] == '-')
            i += check_short(&line, argv[i] + 1);
    }
    argp_parse(&argp, argc, argv, 0, NULL, &line);
}
