/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/baseline_lines.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

struct pairs {
    const struct baseline *was, *is;
    size_t *of_is, *of_was; /* [line] matching line of the other baseline; NONE: no match */
    size_t *length;         /* [line of `is`] of the longest row of lines in their old order that
                               ends here */
};

/* How many lines before a line have its key. */
static size_t count_before(const struct baseline *b, size_t line)
{
    size_t n = 0;

    for (size_t i = 0; i < line; i++)
        n += !strcmp(b->lines[i].key, b->lines[line].key);
    return n;
}

static bool pairs_init(struct pairs *p, const struct baseline *was, const struct baseline *is)
{
    size_t n = is->nlines + was->nlines + is->nlines;

    *p = (struct pairs){was, is, malloc((n + 1) * sizeof *p->of_is), NULL, NULL};
    if (!p->of_is)
        return false;
    p->of_was = p->of_is + is->nlines;
    p->length = p->of_was + was->nlines;
    for (size_t i = 0; i < n; i++)
        p->of_is[i] = NONE;
    for (size_t i = 0; i < is->nlines; i++) {
        size_t nth = count_before(is, i);

        for (size_t k = 0; k < was->nlines; k++)
            if (!strcmp(was->lines[k].key, is->lines[i].key) && count_before(was, k) == nth) {
                p->of_is[i] = k;
                p->of_was[k] = i;
            }
    }
    return true;
}

/* ---- lines that moved ---- */

/* The section of lines whose order counts, up to its end in the key; 0: it does not count. */
static size_t ordered_section(const char *key)
{
    static const char *const sections[] = {"mesh.", "params ", "constraints "};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!strncmp(key, sections[i], strlen(sections[i])))
            return strlen(sections[i]);
    return 0;
}

/* Whether line `k` may stand before line `i` in a row of lines that kept their order. */
static bool is_before(const struct pairs *p, size_t k, size_t i, size_t section)
{
    return p->of_is[k] != NONE && p->of_is[k] < p->of_is[i] &&
           !strncmp(p->is->lines[k].key, p->is->lines[i].key, section);
}

static void find_lengths(struct pairs *p)
{
    for (size_t i = 0; i < p->is->nlines; i++) {
        size_t section = ordered_section(p->is->lines[i].key);

        p->length[i] = section > 0 && p->of_is[i] != NONE;
        for (size_t k = 0; k < i && p->length[i] > 0; k++)
            if (is_before(p, k, i, section) && p->length[k] >= p->length[i])
                p->length[i] = p->length[k] + 1;
    }
}

/* Mark with length 0 the lines of the longest row of each section that kept its order; the other
 * lines of it moved. */
static void unmark_kept(struct pairs *p)
{
    size_t n = p->is->nlines;

    for (size_t end = n; end-- > 0;) {
        size_t section = ordered_section(p->is->lines[end].key), best = end, wanted;
        bool last = section > 0;

        for (size_t i = end + 1; i < n && last; i++)
            last = strncmp(p->is->lines[i].key, p->is->lines[end].key, section) != 0;
        if (!last)
            continue;
        for (size_t i = 0; i < end; i++)
            if (!strncmp(p->is->lines[i].key, p->is->lines[end].key, section) &&
                p->length[i] > p->length[best])
                best = i;
        wanted = p->length[best];
        for (size_t i = best + 1, next = NONE; i-- > 0 && wanted > 0;) {
            if (p->length[i] != wanted || (next != NONE && !is_before(p, i, next, section)))
                continue;
            p->length[i] = 0;
            next = i;
            wanted--;
        }
    }
}

/* ---- what is told ---- */

static struct place or_else(struct place place, struct place other)
{
    return place.file ? place : other;
}

static const char *shown(const char *value)
{
    return value[0] ? value : "given";
}

static void tell_line(struct diag *causes, const struct pairs *p, size_t i, struct place place)
{
    const struct baseline_line *is = &p->is->lines[i];
    const struct baseline_line *was = p->of_is[i] == NONE ? NULL : &p->was->lines[p->of_is[i]];

    if (!was)
        diag_error(causes, or_else(is->key_place, place), "%s%s%s is new", is->key,
                   is->value[0] ? " " : "", is->value);
    else if (strcmp(is->value, was->value) != 0)
        diag_error(causes, or_else(is->place, place), "%s is %s, was %s", is->key, shown(is->value),
                   shown(was->value));
    else if (p->length[i] > 0)
        diag_error(causes, or_else(is->key_place, place), "%s has moved", is->key);
}

static void tell_gone(struct diag *causes, const struct pairs *p, size_t k, struct place place)
{
    const struct baseline_line *was = &p->was->lines[k];
    size_t before = k;

    while (before > 0 && p->of_was[before] == NONE)
        before--;
    if (p->of_was[before] != NONE)
        place = or_else(p->is->lines[p->of_was[before]].key_place, place);
    else if (p->is->nlines > 0)
        place = or_else(p->is->lines[0].key_place, place);
    diag_error(causes, place, "%s%s%s is gone", was->key, was->value[0] ? " " : "", was->value);
}

void baseline_lines_diff(struct diag *causes, const struct baseline *was, const struct baseline *is,
                         struct place place)
{
    struct pairs p;

    if (!was->has_lines || !is->has_lines)
        return;
    if (!pairs_init(&p, was, is)) {
        diag_no_memory(causes);
        return;
    }
    find_lengths(&p);
    unmark_kept(&p);
    for (size_t i = 0; i < is->nlines; i++)
        tell_line(causes, &p, i, place);
    for (size_t k = 0; k < was->nlines; k++)
        if (p.of_was[k] == NONE)
            tell_gone(causes, &p, k, place);
    free(p.of_is);
}

bool baseline_lines_differ(const struct baseline *was, const struct baseline *is)
{
    struct diag causes = DIAG_INIT;
    bool differ;

    baseline_lines_diff(&causes, was, is, (struct place){NULL, 0, 0});
    differ = causes.nerrors > 0;
    diag_fini(&causes);
    return differ;
}
