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
#include "command/asked.h"
#include "run/backend.h"

/* Numbers in a field of some size. */
static void store(const struct args_value *v, long n)
{
    if (v->row->size == sizeof(int32_t))
        *(int32_t *)v->at = (int32_t)n;
    else
        *(int64_t *)v->at = n;
}

/* The count of a list. */
static size_t *count_of(const struct args_value *v)
{
    return (size_t *)(void *)((char *)v->at - v->row->at + v->row->size);
}

void args_switch(const struct args_value *v)
{
    *(bool *)v->at = true;
}

void args_set(const struct args_value *v)
{
    store(v, v->row->least);
}

void args_text(const struct args_value *v)
{
    *(const char **)v->at = v->arg;
}

void args_count(const struct args_value *v)
{
    char *end;
    long n = strtol(v->arg, &end, 10); /* LONG_MAX if too large */

    if (!isdigit((unsigned char)*v->arg) || *end || n < v->row->least || n > v->row->most)
        args_error(v->line, "--%s is '%s'; expected a whole number from %ld to %ld", v->row->name,
                   v->arg, v->row->least, v->row->most);
    store(v, n);
}

void args_size(const struct args_value *v)
{
    long n = 0;

    if (!asked_size(&n, v->arg, v->row->least, v->row->most))
        args_error(v->line, "--%s is '%s'; expected a whole number from %ld to %ld (4k is 4096)",
                   v->row->name, v->arg, v->row->least, v->row->most);
    store(v, n);
}

void args_bytes(const struct args_value *v)
{
    struct shd_error err;

    if (units_parse_memory(v->at, v->arg, &err) != SHD_OK)
        args_error(v->line, "--%s: %s", v->row->name, err.text);
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

void args_choice(const struct args_value *v)
{
    int found = v->arg ? find_word(v->row->value, v->arg) : (int)v->row->least;
    struct text words = TEXT_INIT;

    if (found < 0) {
        add_words(&words, v->row->value);
        args_error(v->line, "--%s is '%s'; expected %s", v->row->name, v->arg, text_get(&words));
    }
    store(v, found);
}

void args_list(const struct args_value *v)
{
    size_t *n = count_of(v);

    if (*n == (size_t)v->row->most)
        args_error(v->line, "--%s is given more than %ld times", v->row->name, v->row->most);
    ((const char **)v->at)[(*n)++] = v->arg;
}

void args_words(const struct args_value *v)
{
    size_t *n = count_of(v);

    (*(const char ***)v->at)[(*n)++] = v->arg;
}

void args_memory(const struct args_value *v)
{
    if (!backend_find(v->arg))
        args_error(v->line, "--%s is '%s'; expected mmap, malloc%s", v->row->name, v->arg,
                   backend_find("jemalloc") ? " or jemalloc" : "");
    *(const char **)v->at = v->arg;
}
