/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void shell_words_fini(struct shell_words *words)
{
    text_fini(&words->bytes);
    text_fini(&words->origins);
    free(words->list);
    memset(words, 0, sizeof *words);
}

void shell_words_clear(struct shell_words *words)
{
    text_clear(&words->bytes);
    text_clear(&words->origins);
    words->count = 0;
    words->open = false;
}

static void add_byte(struct shell_words *words, char byte, struct shell_origin origin)
{
    text_add_char(&words->bytes, byte);
    text_add_bytes(&words->origins, (const char *)&origin, sizeof origin);
    words->failed |= words->bytes.failed || words->origins.failed;
}

void shell_words_open(struct shell_words *words, uint32_t at)
{
    if (words->open || words->failed)
        return;
    if (!array_make_room(&words->list, words->count, sizeof *words->list)) {
        words->failed = true;
        return;
    }
    words->list[words->count++] = (struct shell_word){words->bytes.length, 0, at};
    words->open = true;
}

void shell_words_close(struct shell_words *words)
{
    if (words->open)
        add_byte(words, '\0', (struct shell_origin){.at = 0});
    words->open = false;
}

void shell_words_put(struct shell_words *words, char byte, struct shell_origin origin)
{
    shell_words_open(words, origin.at);
    if (words->failed)
        return;
    add_byte(words, byte, origin);
    words->list[words->count - 1].length++;
}

void shell_words_put_part(struct shell_words *words, const struct shell_words *from, size_t word,
                          size_t first, size_t end, enum shell_doubt doubt, uint16_t cause)
{
    for (size_t i = first; i < end; i++) {
        struct shell_origin origin = shell_words_origin(from, word, i);

        if (doubt != SHELL_SURE && origin.doubt == SHELL_SURE) {
            origin.doubt = (uint8_t)doubt;
            origin.cause = cause;
        }
        shell_words_put(words, shell_words_text(from, word)[i], origin);
    }
}

void shell_words_add_one(struct shell_words *words, const struct shell_words *from, size_t word)
{
    shell_words_open(words, from->list[word].at);
    shell_words_put_part(words, from, word, 0, from->list[word].length, SHELL_SURE, 0);
    shell_words_close(words);
}

void shell_words_add(struct shell_words *words, const struct shell_words *from)
{
    shell_words_close(words);
    for (size_t i = 0; i < from->count; i++)
        shell_words_add_one(words, from, i);
    words->failed |= from->failed;
}

void shell_words_join(struct shell_words *words)
{
    struct shell_words one = {.count = 0};

    if (words->count < 2)
        return;
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            shell_words_put(&one, ' ', (struct shell_origin){.at = words->list[i].at});
        shell_words_open(&one, words->list[i].at);
        shell_words_put_part(&one, words, i, 0, words->list[i].length, SHELL_SURE, 0);
    }
    shell_words_close(&one);
    one.failed |= words->failed;
    shell_words_fini(words);
    *words = one;
}

const char *shell_words_text(const struct shell_words *words, size_t word)
{
    return text_get(&words->bytes) + words->list[word].from;
}

struct shell_origin shell_words_origin(const struct shell_words *words, size_t word, size_t byte)
{
    const struct shell_word *w = &words->list[word];
    struct shell_origin origin = {.at = w->at};

    if (byte < w->length)
        memcpy(&origin, text_get(&words->origins) + (w->from + byte) * sizeof origin,
               sizeof origin);
    return origin;
}

uint32_t shell_words_at(const struct shell_words *words, size_t word, size_t byte)
{
    return shell_words_origin(words, word, byte).at;
}

void shell_words_blame(struct shell_words *words, size_t word, size_t byte, uint16_t cause)
{
    struct shell_origin origin = shell_words_origin(words, word, byte);

    origin.cause = cause;
    if (byte < words->list[word].length)
        memcpy(words->origins.data + (words->list[word].from + byte) * sizeof origin, &origin,
               sizeof origin);
}

size_t shell_words_doubt(const struct shell_words *words, size_t word, size_t first, size_t end)
{
    while (first < end && shell_words_origin(words, word, first).doubt == SHELL_SURE)
        first++;
    return first;
}

bool shell_words_same(const struct shell_words *a, size_t i, const struct shell_words *b, size_t j)
{
    size_t length = a->list[i].length;

    if (length != b->list[j].length ||
        memcmp(shell_words_text(a, i), shell_words_text(b, j), length) != 0)
        return false;
    for (size_t k = 0; k < length; k++) {
        struct shell_origin x = shell_words_origin(a, i, k), y = shell_words_origin(b, j, k);

        /* Unknown bytes are equal only if they come from the same place. */
        if (x.doubt != y.doubt || (x.doubt == SHELL_UNKNOWN && x.at != y.at))
            return false;
    }
    return true;
}
