/* The kinds of values of options (args.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/args.h"
#include "jobs/asked.h"
#include "run/backend.h"

/* Numbers in a field of some size. */
static void store(const struct args_row *row, void *at, long n)
{
    if (row->size == sizeof(int32_t))
        *(int32_t *)at = (int32_t)n;
    else
        *(int64_t *)at = n;
}

void args_switch(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    (void)line, (void)row, (void)arg;
    *(bool *)at = true;
}

void args_set(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    (void)line, (void)arg;
    store(row, at, row->least);
}

void args_text(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    (void)line, (void)row;
    *(const char **)at = arg;
}

void args_count(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    char *end;
    long n = strtol(arg, &end, 10); /* LONG_MAX if too large */

    if (!isdigit((unsigned char)*arg) || *end || n < row->least || n > row->most)
        args_error(line, "--%s is '%s'; expected a whole number from %ld to %ld", row->name, arg,
                   row->least, row->most);
    store(row, at, n);
}

void args_size(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    long n = 0;

    if (!asked_size(&n, arg, row->least, row->most))
        args_error(line, "--%s is '%s'; expected a whole number from %ld to %ld (4k is 4096)",
                   row->name, arg, row->least, row->most);
    store(row, at, n);
}

void args_bytes(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    struct shd_error err;

    if (units_parse_memory(at, arg, &err) != SHD_OK)
        args_error(line, "--%s: %s", row->name, err.text);
}

/* The number of the word among those in "a|b|c", or -1. */
static int find_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (int i = 0; words; i++) {
        if (strcspn(words, "|") == length && !strncmp(words, word, length))
            return i;
        words = strchr(words, '|');
        words += words != NULL;
    }
    return -1;
}

/* "a|b|c" as "a, b or c". */
static void add_words(struct text *out, const char *words)
{
    for (const char *s = words; *s; s++) {
        if (*s != '|')
            text_add_char(out, *s);
        else
            text_add(out, strchr(s + 1, '|') ? ", " : " or ");
    }
}

void args_choice(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    int found = arg ? find_word(row->value, arg) : (int)row->least;
    struct text words = TEXT_INIT;

    if (found < 0) {
        add_words(&words, row->value);
        args_error(line, "--%s is '%s'; expected %s", row->name, arg, text_get(&words));
    }
    store(row, at, found);
}

void args_list(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    size_t *n = (size_t *)(void *)((char *)at - row->at + row->size);

    if (*n == (size_t)row->most)
        args_error(line, "--%s more than %ld times", row->name, row->most);
    ((const char **)at)[(*n)++] = arg;
}

void args_words(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    size_t *n = (size_t *)(void *)((char *)at - row->at + row->size);

    (void)line;
    (*(const char ***)at)[(*n)++] = arg;
}

void args_memory(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    if (!backend_find(arg))
        args_error(line, "--%s is '%s'; expected mmap, malloc%s", row->name, arg,
                   backend_find("jemalloc") ? " or jemalloc" : "");
    *(const char **)at = arg;
}
