/* Verdict on a changed layout, worse or better, in one sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "store/baseline.h"
#include "store/baseline_given.h"

enum unit { BYTES, FLOPS, NANOSECONDS };

/* A figure to compare; less is better. */
struct figure {
    const char *name;
    uint128 was, is;
    enum unit unit;
};

static const char *print(char *buf, const struct figure *f, uint128 n)
{
    switch (f->unit) {
    case FLOPS:
        return units_print_count(buf, UNITS_TEXT_MAX, n);
    case NANOSECONDS:
        return units_print_seconds(buf, UNITS_TEXT_MAX, (double)n * 1e-9);
    default:
        return units_print_bytes(buf, UNITS_TEXT_MAX, n);
    }
}

/* The modelled step, shown as unchanged if either baseline lacks it or the change is rounding. */
static struct figure step_figure(const struct baseline *was, const struct baseline *is)
{
    struct figure f = {"modelled step", was->modelled.step_ns, is->modelled.step_ns, NANOSECONDS};

    if (f.was == 0 || f.is == 0 || baseline_is_close(f.was, f.is))
        f.is = f.was;
    return f;
}

/* Add a figure with its change.  A change that rounds away is printed in full: "+0.0004 %
 * (14680120, was 14680064)". */
static void add_figure(struct text *out, const struct figure *f, const char *before)
{
    char was[UNITS_TEXT_MAX], is[UNITS_TEXT_MAX];
    double percent = 100 * ((double)f->is - (double)f->was) / (double)f->was;

    text_addf(out, "%s%s ", before, f->name);
    if (f->was > 0)
        text_addf(out, fabs(percent) < 0.05 ? "%+.1g %% " : "%+.1f %% ", percent);
    if (strcmp(print(is, f, f->is), print(was, f, f->was)) != 0)
        text_addf(out, "(%s, was %s)", is, was);
    else
        text_addf(out, "(%s%s, was %s)", UINT128_DIGITS(f->is), f->unit == NANOSECONDS ? " ns" : "",
                  UINT128_DIGITS(f->was));
}

/* A longer step is worse, whatever else shrinks: all other costs matter only through step time. */
static const char *judge(const struct figure *figures, size_t n)
{
    size_t nmore = 0, nless = 0;

    for (size_t i = 0; i < n; i++) {
        nmore += figures[i].is > figures[i].was;
        nless += figures[i].is < figures[i].was;
    }
    if (figures[0].is > figures[0].was)
        return "worse";
    return nmore && nless ? "better and worse" : nmore ? "worse" : nless ? "better" : NULL;
}

void baseline_verdict(struct text *out, const struct baseline *was, const struct baseline *is)
{
    const struct baseline_totals *a = &was->totals, *b = &is->totals;
    const struct figure figures[] = {
        step_figure(was, is), /* printed first */
        {"total received", a->received_bytes, b->received_bytes, BYTES},
        {"peak memory", a->peak_memory_bytes_most, b->peak_memory_bytes_most, BYTES},
        {"flops of a device", a->flops_most, b->flops_most, FLOPS},
    };
    size_t n = sizeof figures / sizeof *figures, nsaid = 0;
    const char *judgement = judge(figures, n);
    bool is_other = baseline_given_subjects(out, was, is);

    text_add(out, is_other ? "; " : "");
    text_addf(out, "%s: ", is_other || !judgement ? "neither worse nor better" : judgement);
    if (!judgement)
        text_addf(out, "%sas many bytes received, as much memory and as many flops%s",
                  is->modelled.step_ns > 0 && was->modelled.step_ns > 0 ? "as long a step, " : "",
                  is_other ? "" : ", but not the same layout");
    for (size_t i = 0; i < n; i++)
        if (figures[i].is != figures[i].was)
            add_figure(out, &figures[i], nsaid++ ? ", " : "");
}
