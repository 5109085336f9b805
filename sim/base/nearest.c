/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 40 /* longer words are not offered, nor looked for */

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace, swap neighbours. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    size_t rows[3][WORD_MAX + 1]; /* row i of the table is rows[i % 3] */

    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t differ = fold(a[i - 1]) != fold(b[j - 1]);
            row[j] = min(above[j - 1] + differ, min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = min(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

void nearest_init(struct nearest *nearest, const char *word)
{
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = 0;
}

void nearest_add(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->word);

    if (length == 0 || length > WORD_MAX || strlen(candidate) > WORD_MAX)
        return;
    /* A single letter must match: by one edit it becomes any other. */
    size_t allowed = length < 6 ? length > 1 : length / 3;
    size_t distance = edit_distance(nearest->word, candidate);
    /* A word of one or two letters is one edit away from half of all short names. */
    if (length <= 2 && distance > 0 && strlen(candidate) != length)
        return;
    if (distance > allowed || (nearest->best && distance >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = distance;
}

const char *nearest_find(const char *word, const char *const *words, size_t nwords)
{
    struct nearest nearest;

    nearest_init(&nearest, word);
    for (size_t i = 0; i < nwords; i++)
        nearest_add(&nearest, words[i]);
    return nearest.best;
}

const char *nearest_hint(const struct nearest *nearest, char *buf, size_t size)
{
    if (nearest->best)
        snprintf(buf, size, "; did you mean '%s'?", nearest->best);
    else
        snprintf(buf, size, "%s", "");
    return buf;
}
