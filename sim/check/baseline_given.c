/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/baseline_given.h"

#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 3 /* options named in a sentence */

/* Options, or sections of options, that decide what is computed, or on which cluster: when one
 * changes, old figures describe something else.  All other options belong to the layout, as does
 * one in a section whose subject is NULL.  The first row that fits decides. */
static const struct {
    const char *key, *subject;
} subjects[] = {
    {"model.vocab_multiple", NULL}, /* padding follows from tensor parallelism */
    {"model", "the model"},         {"graph", "the model"},
    {"moe", "the model"},           {"mla", "the model"},
    {"batch.size", "the batch"},    {"batch.seq", "the batch"},
    {"batch.source", "the batch"},  {"data", "the data"},
    {"step", "the step"},           {"context.documents", "the data"},
    {"steps", "the step"},          {"optimizer", "the step"},
    {"loss_scale", "the step"},     {"types", "the types"},
    {"hardware", "the hardware"},   {"slices", "the hardware"},
    {"straggler", "the hardware"},
};
#define NSUBJECTS (sizeof subjects / sizeof *subjects)

static const char *subject_of(const char *key)
{
    for (size_t i = 0; i < NSUBJECTS; i++) {
        size_t n = strlen(subjects[i].key);

        if (!strncmp(key, subjects[i].key, n) && (!key[n] || key[n] == '.'))
            return subjects[i].subject;
    }
    return NULL;
}

static const struct baseline_given *find(const struct baseline *b, const char *key)
{
    for (size_t i = 0; i < b->ngiven; i++)
        if (!strcmp(b->given[i].key, key))
            return &b->given[i];
    return NULL;
}

bool baseline_given_change(struct baseline_change *out, const struct baseline *was,
                           const struct baseline *is, size_t k, struct place place)
{
    const struct baseline_given *a, *b;
    const char *key;

    if (!was->has_given || !is->has_given)
        return false;
    key = k < is->ngiven ? is->given[k].key : was->given[k - is->ngiven].key;
    a = find(was, key);
    b = find(is, key);
    if (k >= is->ngiven && b) /* already counted among the options of `is` */
        return false;
    *out = (struct baseline_change){key, a ? a->value : NULL, b ? b->value : NULL, subject_of(key),
                                    b ? b->place : a->place};
    if (!out->place.file)
        out->place = place;
    return !a || !b || strcmp(a->value, b->value) != 0;
}

void baseline_given_print(struct text *out, const struct baseline_change *c)
{
    text_addf(out, "%s is %s, was %s", c->key, c->is ? c->is : "the default",
              c->was ? c->was : "the default");
}

static void add_options(struct text *out, const struct baseline *was, const struct baseline *is)
{
    size_t ntold = 0, nmore = 0;

    for (size_t k = 0; k < was->ngiven + is->ngiven; k++) {
        struct baseline_change change;

        if (!baseline_given_change(&change, was, is, k, (struct place){NULL, 0, 0}) ||
            !change.subject)
            continue;
        if (ntold == TOLD_MAX) {
            nmore++;
            continue;
        }
        text_add(out, ntold++ ? ", " : "");
        baseline_given_print(out, &change);
    }
    if (nmore > 0)
        text_addf(out, " and %zu more", nmore);
}

/* Sequences times their length; 0: one of them is not given. */
static double tokens_of(const struct baseline *b)
{
    const struct baseline_given *size = find(b, "batch.size"), *seq = find(b, "batch.seq");

    return size && seq ? strtod(size->value, NULL) * strtod(seq->value, NULL) : 0;
}

bool baseline_given_tokens(double *was_tokens, double *is_tokens, const struct baseline *was,
                           const struct baseline *is)
{
    bool batch = false;

    for (size_t k = 0; k < was->ngiven + is->ngiven; k++) {
        struct baseline_change change;

        if (!baseline_given_change(&change, was, is, k, (struct place){NULL, 0, 0}) ||
            !change.subject)
            continue;
        /* Longer sequences have another amount of attention for each token. */
        if (strcmp(change.key, "batch.size") != 0)
            return false;
        batch = true;
    }
    *was_tokens = tokens_of(was);
    *is_tokens = tokens_of(is);
    return batch && *was_tokens > 0 && *is_tokens > 0;
}

bool baseline_given_subjects(struct text *out, const struct baseline *was,
                             const struct baseline *is)
{
    const char *list[NSUBJECTS];
    size_t n = 0;

    for (size_t k = 0; k < was->ngiven + is->ngiven; k++) {
        struct baseline_change change;
        size_t seen = 0;

        if (!baseline_given_change(&change, was, is, k, (struct place){NULL, 0, 0}) ||
            !change.subject)
            continue;
        while (seen < n && strcmp(list[seen], change.subject) != 0)
            seen++;
        if (seen == n)
            list[n++] = change.subject;
    }
    for (size_t i = 0; i < n; i++)
        text_addf(out, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", list[i]);
    if (n == 0)
        return false;
    text_add(out, " changed: ");
    add_options(out, was, is);
    return true;
}
