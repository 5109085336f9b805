/* The answer first: which strategy to take, and what speaks against the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "report/compare_text.h"
#include "report/compare_verdict.h"
#include "view/html.h"
#include "view/parts.h"

/* A sentence of one of compare's lines, which begin with a small letter; nothing of an empty one.
 */
static void add_line(struct text *out, struct text *line)
{
    if (line->length > 0) {
        char first[2] = {text_get(line)[0], '\0'};

        if (first[0] >= 'a' && first[0] <= 'z')
            first[0] += 'A' - 'a';
        html_addf(out, "%s%s. ", first, text_get(line) + 1);
    }
    out->failed |= line->failed;
    text_fini(line);
}

/* The strategies that have the best of a column, where it is not the same in all. */
static void add_best(const struct compare_rows *rows, enum compare_id c, const char *what,
                     struct text *out)
{
    struct text line = TEXT_INIT;
    char buf[UNITS_TEXT_MAX];
    uint128 best = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        if (!rows->rows[i].best[c])
            continue;
        text_add(&line, line.length ? ", " : what);
        compare_add_name(rows, i, &line);
        best = rows->rows[i].values[c].whole;
    }
    if (line.length > 0)
        text_addf(&line, " (%s)", units_print_bytes(buf, sizeof buf, best));
    add_line(out, &line);
}

static void add_named(const struct compare_rows *rows, enum compare_id c, const char *value,
                      const char *what, struct text *out)
{
    struct text line = TEXT_INIT;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        const struct compare_value *v = &rows->rows[i].values[c];

        if (!v->known || strcmp(text_get(&v->text), value) != 0)
            continue;
        text_add(&line, line.length ? ", " : what);
        compare_add_name(rows, i, &line);
    }
    add_line(out, &line);
}

/* Of one strategy there is no winner: what it comes to. */
static void add_one(const struct compare_rows *rows, struct text *out)
{
    static const struct {
        enum compare_id c;
        const char *what;
    } figures[] = {{COMPARE_STEP, "Replayed step"},
                   {COMPARE_MODELLED, "Modelled step"},
                   {COMPARE_RECEIVED, "Total bytes received in a step"},
                   {COMPARE_PEAK, "Peak memory of a device"}};

    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        struct text value = TEXT_INIT;

        if (!rows->rows[0].values[figures[k].c].known)
            continue;
        compare_add_value(&value, rows, 0, figures[k].c);
        html_addf(out, "%s: %s. ", figures[k].what, text_get(&value));
        out->failed |= value.failed;
        text_fini(&value);
    }
}

void verdict_print(const struct compare_rows *rows, struct text *out)
{
    struct text line = TEXT_INIT;

    if (rows->compare->nresults > 1) {
        compare_verdict(rows, &line);
        add_line(out, &line);
        add_best(rows, COMPARE_RECEIVED, "fewest bytes received: ", out);
        add_best(rows, COMPARE_PEAK, "least peak memory: ", out);
    } else {
        add_one(rows, out);
    }
    add_named(rows, COMPARE_FITS, "NO", "does not fit its memory limit: ", out);
    add_named(rows, COMPARE_VERIFIED, "NOT OK", "wrong numbers: ", out);
    add_named(rows, COMPARE_VERIFIED, "ok", "agrees with the unsharded computation: ", out);
}
