/* Worse or better, in one sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "store/baseline.h"

/* What is judged: less is better. */
struct figure {
    const char *name;
    uint128 was, is;
    bool is_flops; /* else bytes */
};

static const char *print(char *buf, const struct figure *f, uint128 n)
{
    return f->is_flops ? units_print_count(buf, UNITS_TEXT_MAX, n)
                       : units_print_bytes(buf, UNITS_TEXT_MAX, n);
}

/* A change that rounds to nothing is told in full: "+0.0004 % (14680120, was 14680064)". */
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
        text_addf(out, "(%s, was %s)", UINT128_DIGITS(f->is), UINT128_DIGITS(f->was));
}

void baseline_verdict(struct text *out, const struct baseline *was, const struct baseline *is)
{
    const struct baseline_totals *a = &was->totals, *b = &is->totals;
    const struct figure figures[] = {
        {"total received", a->received_bytes, b->received_bytes, false},
        {"peak memory", a->peak_memory_bytes_most, b->peak_memory_bytes_most, false},
        {"flops of a device", a->flops_most, b->flops_most, true},
    };
    size_t n = sizeof figures / sizeof *figures, nmore = 0, nless = 0, nsaid = 0;

    for (size_t i = 0; i < n; i++) {
        nmore += figures[i].is > figures[i].was;
        nless += figures[i].is < figures[i].was;
    }
    if (nmore + nless == 0) {
        text_add(out, "neither worse nor better: as many bytes received, as much memory and as "
                      "many flops, but not the same layout");
        return;
    }
    text_add(out, nmore && nless ? "better and worse: " : nmore ? "worse: " : "better: ");
    for (size_t i = 0; i < n; i++)
        if (figures[i].is != figures[i].was)
            add_figure(out, &figures[i], nsaid++ ? ", " : "");
}
