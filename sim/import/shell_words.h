/* import/shell_words.h - words that know, for each of their bytes, where in a file it stands.
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

/* A byte that stands for what is not known, such as the output of a command: where it stands is
 * where that is written. */
#define SHELL_UNKNOWN '\x01'

struct shell_word {
    size_t from; /* in bytes, ended by NUL */
    size_t length;
    uint32_t at; /* where it begins in the file, also when it is empty */
};

struct shell_words {
    struct text bytes;
    struct text places;      /* a uint32_t for each of `bytes` */
    struct shell_word *list; /* `open`: the last is being written */
    size_t count, room;
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
void shell_words_put(struct shell_words *words, char byte, uint32_t at);

const char *shell_words_text(const struct shell_words *words, size_t word);
uint32_t shell_words_at(const struct shell_words *words, size_t word, size_t byte);

#endif /* IMPORT_SHELL_WORDS_H */
