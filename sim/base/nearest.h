/* base/nearest.h - "did you mean": the known word nearest to an unknown one.
 *
 * Uses the edit distance in which swapping two neighbours counts once; case is ignored, and '-'
 * equals '_'.  A word farther away than a third of its length (at least 1; 0 for a single letter)
 * is not offered, with three exceptions: our name for another system's term (base/foreign.h),
 * ranked by the distance of the two sections; and, if nothing else is near, a word that shares a
 * prefix, or a name that reads alike once punctuation is removed ("org/Llama-3-8B").
 * A word that differs by punctuation alone is nearer than any other.
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

/* The nearest of a list of words; NULL when none is near enough. */
const char *nearest_find(const char *word, const char *const *words, size_t nwords);

/* Whether the best match is a single typing error away and so hardly ambiguous: only for words of
 * at least eight letters. */
bool nearest_is_slip(const struct nearest *nearest);

struct nearest_text {
    char text[96]; /* a word of 40 bytes (nearest.c), the text around it, and the NUL */
};

/* "; did you mean 'd_model'?" or "", to be appended to a message. */
struct nearest_text nearest_hint(const struct nearest *nearest);

#endif /* BASE_NEAREST_H */
