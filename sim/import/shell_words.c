/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "import/shell_words.h"

#include <stdlib.h>
#include <string.h>

void shell_words_fini(struct shell_words *words)
{
    text_fini(&words->bytes);
    text_fini(&words->places);
    free(words->list);
    memset(words, 0, sizeof *words);
}

void shell_words_clear(struct shell_words *words)
{
    text_clear(&words->bytes);
    text_clear(&words->places);
    words->count = 0;
    words->open = false;
}

static void add_byte(struct shell_words *words, char byte, uint32_t at)
{
    text_add_char(&words->bytes, byte);
    text_add_bytes(&words->places, (const char *)&at, sizeof at);
    words->failed |= words->bytes.failed || words->places.failed;
}

void shell_words_open(struct shell_words *words, uint32_t at)
{
    if (words->open || words->failed)
        return;
    if (words->count == words->room) {
        size_t more = words->room ? 2 * words->room : 16;
        struct shell_word *list = realloc(words->list, more * sizeof *list);

        if (!list) {
            words->failed = true;
            return;
        }
        words->list = list;
        words->room = more;
    }
    words->list[words->count++] = (struct shell_word){words->bytes.length, 0, at};
    words->open = true;
}

void shell_words_close(struct shell_words *words)
{
    if (words->open)
        add_byte(words, '\0', 0);
    words->open = false;
}

void shell_words_put(struct shell_words *words, char byte, uint32_t at)
{
    shell_words_open(words, at);
    if (words->failed)
        return;
    add_byte(words, byte, at);
    words->list[words->count - 1].length++;
}

const char *shell_words_text(const struct shell_words *words, size_t word)
{
    return text_get(&words->bytes) + words->list[word].from;
}

uint32_t shell_words_at(const struct shell_words *words, size_t word, size_t byte)
{
    const struct shell_word *w = &words->list[word];
    uint32_t at = w->at;

    if (byte < w->length)
        memcpy(&at, text_get(&words->places) + (w->from + byte) * sizeof at, sizeof at);
    return at;
}
