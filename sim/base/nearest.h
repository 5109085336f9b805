/* base/nearest.h - "did you mean": the known word nearest to one that is not known.
 *
 * Nearest by edit distance where swapping two neighbours counts once; case and the difference of
 * '-' and '_' count nothing.  A word further than a third of its length (at least 1, of a single
 * letter 0) is not offered, but for three: ours for what other systems say (base/foreign.h), as
 * near as the sections that the two are in; and, where nothing else is, one that begins alike, or
 * that reads alike without what stands between letters and digits ("org/Llama-3-8B").
 *
 * Thread class: a value owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

struct nearest {
    const char *word;
    const char *best; /* NULL: none near enough so far; among equals the first added */
    size_t distance;
};

void nearest_init(struct nearest *nearest, const char *word);
void nearest_add(struct nearest *nearest, const char *candidate);

/* The same for a list; NULL when nothing is near enough. */
const char *nearest_find(const char *word, const char *const *words, size_t nwords);

/* Whether the best is a slip of one letter away, as hardly another word is: of those with eight
 * letters at least. */
bool nearest_is_slip(const struct nearest *nearest);

#define NEAREST_HINT_MAX 96 /* bytes: a word of 40 (nearest.c), what is around it, the end */

/* "; did you mean 'd_model'?" or "" into buf; returns buf, to be printed behind a message. */
const char *nearest_hint(const struct nearest *nearest, char *buf, size_t size);

#endif /* BASE_NEAREST_H */
