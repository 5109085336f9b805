/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/assign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

/* Unknown bytes of a value are blamed on the variable: giving the variable makes them known. */
static void blame(struct shell *s, struct shell_words *value, const char *name, uint32_t at)
{
    for (size_t i = 0; i < value->count; i++)
        for (size_t j = 0; j < value->list[i].length; j++) {
            struct shell_origin origin = shell_words_origin(value, i, j);
            char *known = origin.doubt == SHELL_UNKNOWN ? shell_deciding(s, origin) : NULL;

            if (origin.doubt == SHELL_UNKNOWN && !known)
                shell_words_blame(value, i, j, shell_cause_add(s, at, name, SHELL_UNSURE));
            free(known);
        }
}

/* Set a variable to a value, which is freed. */
static void set_value(struct shell *s, const char *name, size_t length,
                      struct shell_words *value, uint32_t at)
{
    struct shell_variable *v =
        s->skipping > 0 ? NULL : shell_state_add(&s->state, name, length);

    if (!v || v->given || value->failed) {
        if (value->failed)
            diag_no_memory(s->diag);
        shell_words_fini(value);
        return;
    }
    blame(s, value, v->name, at);
    shell_words_fini(&v->value);
    v->value = *value;
    v->set = true;
    *value = (struct shell_words){.count = 0};
}

void shell_set_word(struct shell *s, const char *name, size_t length,
                     const struct shell_words *from, size_t word, size_t first)
{
    struct shell_words value = {.count = 0};

    shell_words_open(&value, shell_words_at(from, word, first));
    shell_words_put_part(&value, from, word, first, from->list[word].length, SHELL_SURE, 0);
    shell_words_close(&value);
    set_value(s, name, length, &value, shell_words_at(from, word, 0));
}

void shell_set_unknown(struct shell *s, const char *name, size_t length, uint32_t at)
{
    struct shell_words value = {.count = 0};

    shell_words_put(&value, '?', (struct shell_origin){at, 0, SHELL_UNKNOWN, false});
    shell_words_close(&value);
    set_value(s, name, length, &value, at);
}

void shell_unset(struct shell *s, const char *name, size_t length)
{
    struct shell_variable *v = shell_state_find(&s->state, name, length);

    if (v && !v->given && s->skipping == 0)
        v->set = false;
}

/* Length of "NAME=" or "NAME+="; 0: no assignment. */
size_t shell_assignment_length(const char *text)
{
    size_t n = shell_name_length(text), more = text[n] == '+';

    return n > 0 && text[n + more] == '=' ? n + more + 1 : 0;
}

/* Read NAME=WORD or NAME+=WORD: one word, the first of an array. */
static void read_one(struct shell *s, struct shell_words *value, const struct shell_words *before)
{
    struct shell_words word = {.count = 0};

    shell_words_open(&word, shell_origin(s, s->in.at).at);
    if (before && before->count > 0)
        shell_words_put_part(&word, before, 0, 0, before->list[0].length, SHELL_SURE, 0);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    shell_words_join(&word);
    shell_words_add(value, &word);
    shell_words_fini(&word);
    for (size_t i = 1; before && i < before->count; i++)
        shell_words_add_one(value, before, i);
}

void shell_assign(struct shell *s, size_t length)
{
    const char *name = shell_here(s);
    uint32_t from = shell_origin(s, s->in.at).at;
    bool more = name[length - 2] == '+', used;
    size_t named = length - 1 - more;
    struct shell_words value = {.count = 0}, before = {.count = 0};
    struct shell_variable *v = shell_state_find(&s->state, name, named);

    used = v && v->used;
    if (more && v && v->set && shell_spend(s, v->value.bytes.length))
        shell_words_add(&before, &v->value);
    s->in.at += length;
    if (*shell_here(s) == '(') {
        shell_words_add(&value, &before);
        shell_read_array(s, &value);
    } else {
        read_one(s, &value, more && v && v->set ? &before : NULL);
    }
    shell_words_fini(&before);
    set_value(s, name, named, &value, from);
    v = shell_state_find(&s->state, name, named);
    if (v)
        v->used = used; /* a variable's use in its own assignment does not count */
}

/* Length of "NAME[...]=" or "NAME[...]+="; 0: no assignment. */
size_t shell_element_length(const char *text)
{
    size_t n = shell_name_length(text), m = n;

    if (n == 0 || text[n] != '[')
        return 0;
    m += strcspn(text + n, "]= \t\n;|&()<>\"'");
    if (text[m] != ']')
        return 0;
    m += text[m + 1] == '+' ? 2 : 1;
    return text[m] == '=' ? m + 1 : 0;
}

/* Setting one element makes a whole list unknown. */
void shell_assign_element(struct shell *s, size_t length)
{
    struct shell_words value = {.count = 0};
    const char *name = shell_here(s);
    uint32_t at = shell_origin(s, s->in.at).at;

    s->in.at += length;
    shell_read_word(s, &value, SHELL_WHOLE);
    shell_words_fini(&value);
    shell_set_unknown(s, name, shell_name_length(name), at);
}

static size_t count_arguments(const struct shell *s)
{
    char name[24];
    size_t n = 0;
    const struct shell_variable *v;

    do {
        size_t length = (size_t)snprintf(name, sizeof name, "%zu", ++n);

        v = shell_state_find(&s->state, name, length);
    } while (v && v->set);
    return n - 1;
}

/* Make the words from `first` on the arguments $1, $2, ... */
void shell_set_arguments(struct shell *s, const struct shell_words *words, size_t first)
{
    char name[24];
    size_t before = count_arguments(s), n = words->count - first;

    for (size_t i = 0; i < n || i < before; i++) {
        size_t length = (size_t)snprintf(name, sizeof name, "%zu", i + 1);
        struct shell_variable *v = shell_state_find(&s->state, name, length);

        if (v)
            v->given = v->set = false;
        if (i < n)
            shell_set_word(s, name, length, words, first + i, 0);
    }
}

/* Append all arguments, a word each. */
void shell_get_arguments(const struct shell *s, struct shell_words *out)
{
    char name[24];
    size_t n = count_arguments(s);

    for (size_t i = 0; i < n; i++) {
        const struct shell_variable *v = shell_state_find(
            &s->state, name, (size_t)snprintf(name, sizeof name, "%zu", i + 1));

        shell_words_add(out, &v->value);
    }
}

/* ((i++)) and ((N = 2)) change variables to values that are not followed. */
void shell_forget_assigned(struct shell *s, size_t from, size_t end)
{
    struct text inner = TEXT_INIT;
    const char *text;
    bool assigns = false;

    text_add_bytes(&inner, s->in.bytes + from, end - from);
    text = text_get(&inner);
    for (const char *c = text; *c; c++)
        assigns |= (*c == '=' && c[1] != '=' && (c == text || !strchr("=!<>", c[-1]))) ||
                   (c[0] == '+' && c[1] == '+') || (c[0] == '-' && c[1] == '-') ||
                   !strncmp(c, "<<=", 3) || !strncmp(c, ">>=", 3);
    for (size_t n = 0; assigns && *text; text += n > 0 ? n : 1) {
        n = shell_name_length(text);
        if (n > 0)
            shell_set_unknown(s, text, n, shell_origin(s, from).at);
    }
    text_fini(&inner);
}
