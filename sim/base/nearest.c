/* Finding the known word nearest to a given one (base/nearest.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign.h"

#define WORD_MAX 40         /* longer words are neither offered nor searched for */
#define NAME_LEAST 6        /* least letters and digits of names compared by reads_alike() */
#define EDIT (WORD_MAX + 1) /* distance of one edit; smaller amounts break ties */

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

/* Bit set of the letters and digits in a word; other characters may share a bit. */
static uint64_t letters_of(const char *word)
{
    uint64_t letters = 0;

    for (; *word; word++) {
        unsigned c = (unsigned char)fold(*word);

        letters |= UINT64_C(1) << ((c < 'a' ? c : c - 'a' + 'A') & 63);
    }
    return letters;
}

/* A lower bound of edit_distance(), much faster.  Each letter that only one word has needs an edit,
 * and one edit removes at most one such letter from each word. */
static size_t edits_at_least(const char *a, const char *b)
{
    uint64_t of_a = letters_of(a), of_b = letters_of(b);
    size_t only_a = (size_t)__builtin_popcountll(of_a & ~of_b);
    size_t only_b = (size_t)__builtin_popcountll(of_b & ~of_a);
    size_t na = strlen(a), nb = strlen(b), least = na > nb ? na - nb : nb - na;

    least = only_a > least ? only_a : least;
    return only_b > least ? only_b : least;
}

void nearest_init(struct nearest *nearest, const char *word)
{
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = 0;
}

/* A dotted name without its last component. */
static const char *section_of(const char *name, char section[WORD_MAX + 1])
{
    const char *dot = strrchr(name, '.');

    snprintf(section, WORD_MAX + 1, "%.*s", dot ? (int)(dot - name) : 0, name);
    return section;
}

/* Distance of another system's word to our name: the edit distance of their sections.  A word
 * without a section matches any; a name whose section is part of the word ranks first (batch_size:
 * batch.size).
 */
static size_t foreign_distance(const char *word, const char *candidate)
{
    char theirs[WORD_MAX + 1], ours[WORD_MAX + 1];

    section_of(candidate, ours);
    if (*section_of(word, theirs))
        return EDIT * edit_distance(theirs, ours);
    return *ours && strstr(word, ours) ? 0 : 1;
}

/* Whether one word is a prefix, of at least three letters, of the other: h100 means h100-sxm, and
 * megatron-lm means megatron. */
static bool begins_alike(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = min(na, nb);

    for (size_t i = 0; i < n; i++)
        if (fold(a[i]) != fold(b[i]))
            return false;
    return n >= 3 && !(na > nb && isalpha((unsigned char)a[nb]));
}

/* Reduce a name's last path component to letters and digits: "org/Meta-Model-3-8B" gives
 * metamodel38b. */
static size_t squeeze(const char *name, char out[WORD_MAX + 1])
{
    const char *slash = strrchr(name, '/');
    size_t n = 0;

    for (const char *c = slash ? slash + 1 : name; *c && n < WORD_MAX; c++)
        if (isalnum((unsigned char)*c))
            out[n++] = (char)tolower((unsigned char)*c);
    out[n] = '\0';
    return n;
}

/* Whether names are the same but for punctuation: phi-4 is phi4, and not the nearer phi-2. */
static bool is_spelt_apart(const char *word, const char *candidate)
{
    char a[WORD_MAX + 1], b[WORD_MAX + 1];

    return !strchr(word, '/') && !strchr(candidate, '/') && squeeze(word, a) >= 3 &&
           squeeze(candidate, b) >= 3 && !strcmp(a, b);
}

/* Whether names of models or machines resemble each other despite many edits: one contains the
 * other, or they share the first three quarters of `word`. */
static bool reads_alike(const char *word, const char *candidate, size_t *distance)
{
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    size_t na = squeeze(word, a), nb = squeeze(candidate, b), same = 0;

    while (same < na && a[same] == b[same])
        same++;
    *distance = na > nb ? na - nb : nb - na;
    return min(na, nb) >= NAME_LEAST && (strstr(a, b) || strstr(b, a) || 4 * same >= 3 * na);
}

/* Whether a candidate is near enough to be offered, and its distance. */
static bool is_near(const char *word, const char *candidate, size_t *distance)
{
    size_t length = strlen(word), ncandidate = strlen(candidate);

    if (length == 0 || length > WORD_MAX || ncandidate > WORD_MAX)
        return false;
    if (foreign_means(word, candidate)) {
        *distance = foreign_distance(word, candidate);
        return true;
    }
    if (is_spelt_apart(word, candidate)) {
        *distance = 0;
        return true;
    }
    /* A single letter must match exactly: one edit turns it into any other. */
    size_t allowed = length < 6 ? length > 1 : length / 3;
    bool alike = begins_alike(word, length, candidate, ncandidate);
    size_t edits = edits_at_least(word, candidate);
    if (alike || edits <= allowed)
        edits = edit_distance(word, candidate);
    *distance = EDIT * edits + !alike; /* the prefix breaks a tie: tpu-v5 means tpu-v5e rather
                                          than tpu-v4 */
    /* A word of one or two letters is one edit away from half of all short names. */
    if (edits <= allowed && !(length <= 2 && edits > 0 && ncandidate != length))
        return true;
    *distance += EDIT * WORD_MAX; /* after all candidates within `allowed` edits */
    if (alike)
        return true;
    alike = reads_alike(word, candidate, distance);
    *distance += 2 * EDIT * WORD_MAX;
    return alike;
}

void nearest_add(struct nearest *nearest, const char *candidate)
{
    size_t distance;

    if (!is_near(nearest->word, candidate, &distance) ||
        (nearest->best && distance >= nearest->distance))
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

bool nearest_is_slip(const struct nearest *nearest)
{
    return nearest->best && nearest->distance < 2 * EDIT && strlen(nearest->word) >= 8;
}

struct nearest_text nearest_hint(const struct nearest *nearest)
{
    struct nearest_text out = {""};

    if (nearest->best)
        snprintf(out.text, sizeof out.text, "; did you mean '%s'?", nearest->best);
    return out;
}
