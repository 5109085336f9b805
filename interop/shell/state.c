/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void shell_state_fini(struct shell_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        free(state->list[i].name);
        shell_words_fini(&state->list[i].value);
    }
    free(state->list);
    *state = (struct shell_state){.count = 0};
}

struct shell_variable *shell_state_find(const struct shell_state *state, const char *name,
                                        size_t length)
{
    for (size_t i = 0; i < state->count; i++)
        if (!strncmp(state->list[i].name, name, length) && !state->list[i].name[length])
            return &state->list[i];
    return NULL;
}

static bool make_room(struct shell_state *state)
{
    return state->count < SHELL_VARIABLES_MAX &&
           array_make_room(&state->list, state->count, sizeof *state->list);
}

struct shell_variable *shell_state_add(struct shell_state *state, const char *name, size_t length)
{
    struct shell_variable *v = shell_state_find(state, name, length);
    struct text copy = TEXT_INIT;

    if (v)
        return v;
    text_add_bytes(&copy, name, length);
    if (copy.failed || !make_room(state)) {
        text_fini(&copy);
        state->failed = true;
        return NULL;
    }
    v = &state->list[state->count++];
    *v = (struct shell_variable){.name = text_take(&copy)};
    return v;
}

void shell_state_copy(struct shell_state *copy, const struct shell_state *state)
{
    *copy = (struct shell_state){.failed = state->failed};
    for (size_t i = 0; i < state->count && !copy->failed; i++) {
        const struct shell_variable *from = &state->list[i];
        struct shell_variable *to = shell_state_add(copy, from->name, strlen(from->name));

        if (!to)
            return;
        shell_words_add(&to->value, &from->value);
        to->set = from->set;
        to->given = from->given;
        to->used = from->used;
        copy->failed |= to->value.failed;
    }
}

size_t shell_state_bytes(const struct shell_state *state)
{
    size_t bytes = 0;

    for (size_t i = 0; i < state->count; i++)
        bytes += sizeof *state->list + state->list[i].value.bytes.length;
    return bytes;
}

/* Length of the common beginning of two words, up to a space, so that the rest begins with a whole
 * part. */
static size_t common_length(const struct shell_words *a, size_t i, const struct shell_words *b,
                            size_t j)
{
    const char *x = shell_words_text(a, i), *y = shell_words_text(b, j);
    size_t n = 0, end = 0;

    for (; n < a->list[i].length && n < b->list[j].length && x[n] == y[n] &&
           shell_words_origin(a, i, n).doubt == SHELL_SURE &&
           shell_words_origin(b, j, n).doubt == SHELL_SURE;
         n++)
        if (x[n] == ' ' || x[n] == '\t' || x[n] == '\n')
            end = n + 1;
    if ((n == a->list[i].length && (!y[n] || y[n] == ' ')) ||
        (n == b->list[j].length && (!x[n] || x[n] == ' ')))
        end = n;
    return end;
}

/* Append the rest of a value, from a byte of a word on, as SHELL_MAYBE. */
static void put_rest(struct shell_words *out, const struct shell_words *from, size_t word,
                     size_t first, uint16_t cause)
{
    for (; word < from->count; word++, first = 0) {
        shell_words_open(out, from->list[word].at);
        shell_words_put_part(out, from, word, first, from->list[word].length, SHELL_MAYBE, cause);
        shell_words_close(out);
    }
}

/* Merge two values of one word into one word. */
static void merge_one(struct shell_words *out, const struct shell_words *a,
                      const struct shell_words *b, uint16_t cause)
{
    size_t same = common_length(a, 0, b, 0);
    struct shell_origin gap = {b->list[0].at, cause, SHELL_MAYBE, false};

    shell_words_open(out, a->list[0].at);
    shell_words_put_part(out, a, 0, 0, same, SHELL_SURE, 0);
    shell_words_put_part(out, a, 0, same, a->list[0].length, SHELL_MAYBE, cause);
    shell_words_put(out, ' ', gap);
    shell_words_put_part(out, b, 0, same, b->list[0].length, SHELL_MAYBE, cause);
    shell_words_close(out);
}

static void merge_value(struct shell_words *value, struct shell_words *other, uint16_t cause)
{
    struct shell_words out = {.failed = value->failed || other->failed};
    size_t same = 0;

    while (same < value->count && same < other->count && shell_words_same(value, same, other, same))
        same++;
    if (same == value->count && same == other->count)
        return;
    if (value->count == 1 && other->count == 1) {
        merge_one(&out, value, other, cause);
    } else {
        for (size_t i = 0; i < same; i++)
            shell_words_add_one(&out, value, i);
        put_rest(&out, value, same, 0, cause);
        put_rest(&out, other, same, 0, cause);
    }
    shell_words_fini(value);
    *value = out;
}

static void merge_variable(struct shell_variable *v, struct shell_variable *other, uint16_t cause)
{
    struct shell_origin nothing = {0, cause, SHELL_MAYBE, false};

    v->used |= other->used;
    if (!v->set && !other->set)
        return;
    if (v->set && other->set) {
        merge_value(&v->value, &other->value, cause);
    } else {
        struct shell_words set = v->set ? v->value : other->value, out = {.count = 0};

        put_rest(&out, &set, 0, 0, cause);
        if (set.count == 1 && set.list[0].length == 0) {
            nothing.at = set.list[0].at;
            shell_words_clear(&out);
            shell_words_put(&out, ' ', nothing);
            shell_words_close(&out);
        }
        shell_words_fini(&v->value);
        v->value = out;
        v->set = true;
    }
}

void shell_state_merge(struct shell_state *state, struct shell_state *other, uint16_t cause)
{
    state->failed |= other->failed;
    for (size_t i = 0; i < other->count && !state->failed; i++) {
        const char *name = other->list[i].name;
        struct shell_variable *v = i < state->count && !strcmp(state->list[i].name, name)
                                       ? &state->list[i]
                                       : shell_state_add(state, name, strlen(name));

        if (v)
            merge_variable(v, &other->list[i], cause);
        state->failed |= v && v->value.failed;
    }
    for (size_t i = other->count; i < state->count && !state->failed; i++) {
        struct shell_variable unset = {.set = false};

        if (!shell_state_find(other, state->list[i].name, strlen(state->list[i].name)))
            merge_variable(&state->list[i], &unset, cause);
    }
    shell_state_fini(other);
}
