/* Parsing command lines with argp, and suggesting options (args.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/args.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/foreign.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/units.h"
#include "jobs/command.h"
#include "run/backend.h"
#include "scenario/scenario.h"
#include "search/space.h"

#define OPTION_HINT_MAX 128
#define NAME_MAX_BYTES 64 /* of an option, "--" included; a longer word is no option and is cut */

static bool is_end(const struct argp_option *option)
{
    return !option->name && !option->key && !option->doc;
}

/* Whether a word is the beginning of an option's name, as --strat is; *takes_value is set by the
 * first such option.  All options are offered as what may have been meant. */
static bool find_long(const struct argp *argp, const char *name, bool *takes_value,
                      struct nearest *near)
{
    bool found = false;

    for (const struct argp_option *o = argp->options; o && !is_end(o); o++) {
        if (!o->name)
            continue;
        nearest_add(near, o->name);
        if (found || strncmp(o->name, name, strlen(name)) != 0)
            continue;
        found = true;
        *takes_value = o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
    }
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        found = find_long(c->argp, name, takes_value, near) || found;
    return found;
}

static bool short_takes_value(const struct argp *argp, int key)
{
    for (const struct argp_option *o = argp->options; o && !is_end(o); o++)
        if (o->key == key)
            return o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        if (short_takes_value(c->argp, key))
            return true;
    return false;
}

static bool has_short(const struct argp *argp, int key)
{
    for (const struct argp_option *o = argp->options; o && !is_end(o); o++)
        if (o->key == key)
            return true;
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        if (has_short(c->argp, key))
            return true;
    return false;
}

/* End the program with a message of our own: that of getopt would show the word unescaped. */
static void refuse(const char *program, const char *what, const char *word, const char *hint)
{
    fprintf(stderr, "%s: %s '", program, what);
    escape_put(stderr, word);
    fputs("'", stderr);
    escape_put(stderr, hint);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
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
static const char *choice_meant(const struct argp *argp, const char *word)
{
    struct nearest unused;
    bool takes_value;

    nearest_init(&unused, word);
    if (!find_long(argp, "range", &takes_value, &unused))
        return NULL;
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (foreign_means(word, space_choice_name((enum space_choice)c)))
            return space_choice_name((enum space_choice)c);
    return NULL;
}

/* "; did you mean '--devices'?", or where a range of a search or a scenario says what the command
 * has no option for, "; a scenario says it: --set batch.size=VALUE". */
static const char *option_hint(const struct argp *argp, const struct nearest *near,
                               char buf[OPTION_HINT_MAX])
{
    const char *choice = near->best ? NULL : choice_meant(argp, near->word);
    char key[NAME_MAX_BYTES];

    if (near->best)
        snprintf(buf, OPTION_HINT_MAX, "; did you mean '--%s'?", near->best);
    else if (choice)
        snprintf(buf, OPTION_HINT_MAX, "; did you mean '--range %s=VALUE'?", choice);
    else if (*scenario_nearest_option(near->word, key, sizeof key) &&
             (foreign_means(near->word, key) || is_slip(near->word, key)))
        snprintf(buf, OPTION_HINT_MAX,
                 short_takes_value(argp, 's') ? "; a scenario says it: --set %s=VALUE"
                                              : "; a scenario says it, by its key %s",
                 key);
    else
        buf[0] = '\0';
    return buf;
}

/* End the program if no option begins with this long one.  Else returns whether the next word is
 * its value. */
static bool check_long(const struct argp *argp, const char *program, const char *word)
{
    char name[NAME_MAX_BYTES], shown[NAME_MAX_BYTES], hint[OPTION_HINT_MAX];
    size_t length = strcspn(word, "=");
    bool takes_value = false;
    struct nearest near;

    snprintf(name, sizeof name, "%.*s", (int)length, word);
    nearest_init(&near, name);
    nearest_add(&near, "help");
    nearest_add(&near, "usage");
    if (find_long(argp, name, &takes_value, &near))
        return takes_value && !word[length];
    if (near.best && !strncmp(near.best, name, strlen(name)))
        return false; /* an option of argp itself */
    snprintf(shown, sizeof shown, "--%.*s", (int)(length < 48 ? length : 48), word);
    refuse(program, "unrecognized option", shown, option_hint(argp, &near, hint));
    return false;
}

/* End the program if a letter of a word such as "qs" is no option; only argp's own '?' is one
 * without being in a table.  Else returns whether the next word is the value of the last letter. */
static bool check_short(const struct argp *argp, const char *program, const char *letters)
{
    for (; *letters; letters++) {
        char one[2] = {*letters, '\0'};

        if (short_takes_value(argp, *letters))
            return !letters[1];
        if (!has_short(argp, *letters) && *letters != '?')
            refuse(program, "invalid option --", one, "");
    }
    return false;
}

void args_error(const struct argp_state *state, const char *fmt, ...)
{
    struct text raw = TEXT_INIT, shown = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&raw, fmt, args);
    va_end(args);
    escape_add(&shown, text_get(&raw));
    fprintf(stderr, "%s: %s\nTry '%s --help'.\n", state->name,
            shown.failed || raw.failed ? "no memory to say why" : text_get(&shown), state->name);
    text_fini(&raw);
    text_fini(&shown);
    exit(CMD_USAGE);
}

void args_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static char help[] = "--help";

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "-h") && !has_short(argp, 'h'))
            argv[i] = help;
        if (!strncmp(argv[i], "--", 2))
            i += check_long(argp, argv[0], argv[i] + 2);
        else if (argv[i][0] == '-')
            i += check_short(argp, argv[0], argv[i] + 1);
    }
    argp_parse(argp, argc, argv, 0, NULL, input);
}

long args_parse_count(const char *option, const char *arg, long least, long most,
                      const struct argp_state *state)
{
    char *end;
    long n = strtol(arg, &end, 10); /* LONG_MAX if too large */

    if (!isdigit((unsigned char)*arg) || *end || n < least || n > most)
        args_error(state, "--%s is '%s'; expected a whole number from %ld to %ld", option, arg,
                   least, most);
    return n;
}

bool args_read_size(long *out, const char *arg, long least, long most)
{
    char *end;
    long n = strtol(arg, &end, 10), unit = *end == 'k' || *end == 'K' ? 1024 : 1;

    end += unit > 1;
    if (!isdigit((unsigned char)*arg) || *end || n > most / unit || n * unit < least)
        return false;
    *out = n * unit;
    return true;
}

long args_parse_size(const char *option, const char *arg, long least, long most,
                     const struct argp_state *state)
{
    long n = least;

    if (!args_read_size(&n, arg, least, most))
        args_error(state, "--%s is '%s'; expected a whole number from %ld to %ld (4k is 4096)",
                   option, arg, least, most);
    return n;
}

uint64_t args_parse_bytes(const char *option, const char *arg, const struct argp_state *state)
{
    struct shd_error err;
    uint64_t bytes = 0;

    if (units_parse_memory(&bytes, arg, &err) != SHD_OK)
        args_error(state, "--%s: %s", option, err.text);
    return bytes;
}

const char *args_parse_memory(const char *arg, const struct argp_state *state)
{
    if (!backend_find(arg))
        args_error(state, "--memory is '%s'; expected mmap, malloc%s", arg,
                   backend_find("jemalloc") ? " or jemalloc" : "");
    return arg;
}
