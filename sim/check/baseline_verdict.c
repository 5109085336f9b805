/* Verdict on a changed layout, worse or better, in one sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "check/baseline.h"
#include "check/baseline_given.h"

/* The figures on which the verdict rests, the step first: the number of them. */
static size_t judged_figures(enum figure_id out[NFIGURES])
{
    enum figure_id id;
    size_t n = 0;

    for (int rank = 1; (id = figure_kept(rank)) < NFIGURES; rank++)
        if (figure_table[id].judged)
            out[n++] = id;
    return n;
}

static void add_number(struct text *out, enum figure_id id, const struct figure_value *v)
{
    figure_add_number(out, id, v->whole, v->number);
}

/* Add the number in full: seconds in nanoseconds. */
static void add_digits(struct text *out, enum figure_id id, const struct figure_value *v)
{
    if (figure_is_whole(id))
        text_add(out, UINT128_DIGITS(v->whole));
    else
        text_addf(out, "%.0f ns", v->number * 1e9);
}

/* Add a figure with its change.  A change that rounds away is printed in full: "+0.0004 %
 * (14680120, was 14680064)". */
static void add_change(struct text *out, enum figure_id id, const struct figure_value *was,
                       const struct figure_value *is)
{
    double percent = 100 * (is->number - was->number) / was->number;
    struct text a = TEXT_INIT, b = TEXT_INIT;

    text_addf(out, "%s ", figure_table[id].label);
    if (was->number > 0)
        text_addf(out, fabs(percent) < 0.05 ? "%+.1g %% " : "%+.1f %% ", percent);
    add_number(&a, id, was);
    add_number(&b, id, is);
    if (!strcmp(text_get(&a), text_get(&b))) {
        text_clear(&a);
        text_clear(&b);
        add_digits(&a, id, was);
        add_digits(&b, id, is);
    }
    text_addf(out, "(%s, was %s)", text_get(&b), text_get(&a));
    out->failed |= a.failed || b.failed;
    text_fini(&a);
    text_fini(&b);
}

static bool has_more(const struct baseline *a, const struct baseline *b, enum figure_id id)
{
    return !baseline_has_same(a, b, id) &&
           a->figures.values[id].number > b->figures.values[id].number;
}

/* A longer step is worse, whatever else shrinks: all other costs matter only through step time. */
static const char *judge(const struct baseline *was, const struct baseline *is,
                         const enum figure_id *ids, size_t n)
{
    size_t nmore = 0, nless = 0;

    for (size_t i = 0; i < n; i++) {
        nmore += has_more(is, was, ids[i]);
        nless += has_more(was, is, ids[i]);
    }
    if (has_more(is, was, ids[0]))
        return "worse";
    return nmore && nless ? "better and worse" : nmore ? "worse" : nless ? "better" : NULL;
}

/* Add "worse by token: 1.10 us, was 1.00 us (+10.0 %): " of steps of other numbers of tokens; false
 * if they cannot be compared so. */
static bool add_by_token(struct text *out, const struct baseline *was, const struct baseline *is)
{
    const struct figure_value *a = &was->figures.values[FIGURE_MODELLED_STEP];
    const struct figure_value *b = &is->figures.values[FIGURE_MODELLED_STEP];
    double was_tokens, is_tokens, change;

    if (!a->known || !b->known || !(a->number > 0) ||
        !baseline_given_tokens(&was_tokens, &is_tokens, was, is))
        return false;
    change = b->number / is_tokens / (a->number / was_tokens) - 1;
    text_addf(out, "%s by token: %.3g us of the step, was %.3g us (%+.1f %%): ",
              fabs(change) <= BASELINE_CLOSE ? "the same"
              : change > 0                   ? "worse"
                                             : "better",
              b->number / is_tokens * 1e6, a->number / was_tokens * 1e6, change * 100);
    return true;
}

void baseline_verdict(struct text *out, const struct baseline *was, const struct baseline *is)
{
    const struct figure_value *a = was->figures.values, *b = is->figures.values;
    enum figure_id ids[NFIGURES];
    size_t n = judged_figures(ids), nsaid = 0;
    const char *judgement = judge(was, is, ids, n);
    bool is_other = baseline_given_subjects(out, was, is);

    text_add(out, is_other ? "; " : "");
    if (!is_other || !add_by_token(out, was, is))
        text_addf(out, "%s: ", is_other || !judgement ? "neither worse nor better" : judgement);
    if (!judgement)
        text_addf(out, "%sequal bytes received, memory and flops%s",
                  a[FIGURE_MODELLED_STEP].known && b[FIGURE_MODELLED_STEP].known
                      ? "equal step time, "
                      : "",
                  is_other ? "" : ", but another layout");
    for (size_t i = 0; i < n; i++) {
        if (baseline_has_same(was, is, ids[i]))
            continue;
        text_add(out, nsaid++ ? ", " : "");
        add_change(out, ids[i], &a[ids[i]], &b[ids[i]]);
    }
}
