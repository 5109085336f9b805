/* import/shell_words.h - words that know, for each of their bytes, where in a file it stands, and
 * whether it is sure to be there.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_WORDS_H
#define IMPORT_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum shell_doubt {
    SHELL_SURE,
    SHELL_MAYBE,  /* it is set so under a condition that is not decided */
    SHELL_UNKNOWN /* one byte for what is not known, such as the output of a command */
};

/* Where a byte comes from. */
struct shell_origin {
    uint32_t at;    /* in the file, in bytes */
    uint16_t cause; /* why there is doubt, see import/shell_reader.h; 0: what is written at `at` */
    uint8_t doubt;  /* enum shell_doubt */
    bool quoted;
};

struct shell_word {
    size_t from; /* in bytes, ended by NUL */
    size_t length;
    uint32_t at; /* where it begins in the file, also when it is empty */
};

struct shell_words {
    struct text bytes;
    struct text origins;     /* a struct shell_origin for each of `bytes` */
    struct shell_word *list; /* `open`: the last is being written */
    size_t count;
    bool open;
    bool failed; /* no memory; for good */
};

/* All zeros is none. */
void shell_words_fini(struct shell_words *words);
void shell_words_clear(struct shell_words *words);

/* The next word begins here, unless one is open. */
void shell_words_open(struct shell_words *words, uint32_t at);
void shell_words_close(struct shell_words *words);

/* A byte of the open word, which is opened if need be. */
void shell_words_put(struct shell_words *words, char byte, struct shell_origin origin);

/* Bytes of a word of others, to the open word; `doubt` and `cause` are theirs unless SHELL_SURE. */
void shell_words_put_part(struct shell_words *words, const struct shell_words *from, size_t word,
                          size_t first, size_t end, enum shell_doubt doubt, uint16_t cause);

/* Add all words of others, each a word of its own. */
void shell_words_add(struct shell_words *words, const struct shell_words *from);

/* Make one word of all, with a space between two. */
void shell_words_join(struct shell_words *words);

const char *shell_words_text(const struct shell_words *words, size_t word);
uint32_t shell_words_at(const struct shell_words *words, size_t word, size_t byte);
struct shell_origin shell_words_origin(const struct shell_words *words, size_t word, size_t byte);

/* Say why there is doubt of a byte. */
void shell_words_blame(struct shell_words *words, size_t word, size_t byte, uint16_t cause);

/* The first byte from `first` on, before `end`, of which there is doubt; `end`: there is none. */
size_t shell_words_doubt(const struct shell_words *words, size_t word, size_t first, size_t end);

/* Whether two words have the same bytes, with the same doubts. */
bool shell_words_same(const struct shell_words *a, size_t i, const struct shell_words *b, size_t j);

#endif /* IMPORT_SHELL_WORDS_H */
