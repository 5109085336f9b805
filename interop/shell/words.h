/* shell/words.h - words with, for each byte, its place in a file and whether the byte is
 * certain.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_WORDS_H
#define SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum shell_doubt {
    SHELL_SURE,
    SHELL_MAYBE,  /* set under a condition that is not decided */
    SHELL_UNKNOWN /* one byte for an unknown value, such as the output of a command */
};

/* The origin of a byte. */
struct shell_origin {
    uint32_t at;    /* in the file, in bytes */
    uint16_t cause; /* why there is doubt, see shell/reader.h; 0: the text at `at` itself */
    uint8_t doubt;  /* enum shell_doubt */
    bool quoted;
};

struct shell_word {
    size_t from; /* in bytes, ended by NUL */
    size_t length;
    uint32_t at; /* beginning in the file, also of an empty word */
};

struct shell_words {
    struct text bytes;
    struct text origins;     /* a struct shell_origin for each of `bytes` */
    struct shell_word *list; /* `open`: the last word is being written */
    size_t count;
    bool open;
    bool failed; /* no memory; for good */
};

/* Words of zeros are empty. */
void shell_words_fini(struct shell_words *words);
void shell_words_clear(struct shell_words *words);

/* Begin the next word here, unless a word is open. */
void shell_words_open(struct shell_words *words, uint32_t at);
void shell_words_close(struct shell_words *words);

/* Append a byte to the open word, which is opened if necessary. */
void shell_words_put(struct shell_words *words, char byte, struct shell_origin origin);

/* Append bytes of another word to the open word; unless `doubt` is SHELL_SURE, `doubt` and `cause`
 * become those of the bytes. */
void shell_words_put_part(struct shell_words *words, const struct shell_words *from, size_t word,
                          size_t first, size_t end, enum shell_doubt doubt, uint16_t cause);

/* Append all words of `from` as separate words; or one word of `from`. */
void shell_words_add(struct shell_words *words, const struct shell_words *from);
void shell_words_add_one(struct shell_words *words, const struct shell_words *from, size_t word);

/* Join all words to one, separated by spaces. */
void shell_words_join(struct shell_words *words);

const char *shell_words_text(const struct shell_words *words, size_t word);
uint32_t shell_words_at(const struct shell_words *words, size_t word, size_t byte);
struct shell_origin shell_words_origin(const struct shell_words *words, size_t word, size_t byte);

/* Set the cause of the doubt about a byte. */
void shell_words_blame(struct shell_words *words, size_t word, size_t byte, uint16_t cause);

/* The first byte in doubt from `first` on, before `end`; `end`: none. */
size_t shell_words_doubt(const struct shell_words *words, size_t word, size_t first, size_t end);

/* Whether two words have the same bytes, with the same doubts. */
bool shell_words_same(const struct shell_words *a, size_t i, const struct shell_words *b, size_t j);

#endif /* SHELL_WORDS_H */
