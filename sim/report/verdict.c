/* The verdict: the best strategy, and the drawbacks of the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "base/units.h"
#include "report/compare_text.h"
#include "report/compare_value.h"
#include "report/compare_verdict.h"
#include "report/html.h"
#include "report/parts.h"

/* Append a line, if it has text, and free it. */
static void add_line(struct text *out, struct text *line, const char *end)
{
    if (line->length > 0)
        html_addf(out, "%s%s ", text_get(line), end);
    out->failed |= line->failed;
    text_fini(line);
}

/* Name the strategies that are best in a column; nothing if all have the same value. */
static void add_best(const struct compare_rows *rows, enum figure_id c, const char *what,
                     struct text *out)
{
    struct text line = TEXT_INIT;
    uint128 best = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        if (!compare_is_marked(rows, i, c, out))
            continue;
        text_add(&line, line.length ? ", " : what);
        compare_add_name(rows, i, &line);
        best = rows->rows[i].values[c].whole;
    }
    if (line.length > 0)
        text_addf(&line, " (%s)", units_print_bytes(best).text);
    add_line(out, &line, ".");
}

static void add_named(const struct compare_rows *rows, enum figure_id c, const char *value,
                      const char *what, struct text *out)
{
    struct text line = TEXT_INIT;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        const struct figure_value *v = &rows->rows[i].values[c];

        if (!v->known || strcmp(text_get(&v->text), value) != 0)
            continue;
        text_add(&line, line.length ? ", " : what);
        compare_add_name(rows, i, &line);
    }
    add_line(out, &line, ".");
}

/* A single strategy has no winner: print its figures. */
static void add_one(const struct compare_rows *rows, struct text *out)
{
    static const enum figure_id figures[] = {FIGURE_REPLAYED_STEP, FIGURE_MODELLED_STEP,
                                             FIGURE_RECEIVED, FIGURE_PEAK_MOST};

    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        const char *label = figure_table[figures[k]].label;
        struct text value = TEXT_INIT;

        if (!rows->rows[0].values[figures[k]].known)
            continue;
        compare_add_value(&value, rows, 0, figures[k]);
        html_addf(out, "%c%s: %s. ", toupper((unsigned char)label[0]), label + 1, text_get(&value));
        text_drop(out, &value);
    }
}

void verdict_print(const struct compare_rows *rows, struct text *out)
{
    struct text line = TEXT_INIT;

    if (rows->compare->nresults > 1) {
        compare_verdict(rows, &line);
        add_line(out, &line, "");
        add_best(rows, FIGURE_RECEIVED, "Fewest bytes received: ", out);
        add_best(rows, FIGURE_PEAK_MOST, "Least peak memory: ", out);
    } else {
        add_one(rows, out);
    }
    add_named(rows, FIGURE_FITS, "NO", "Does not fit its memory limit: ", out);
    add_named(rows, FIGURE_VERIFIED, "NOT OK", "Wrong numbers: ", out);
    add_named(rows, FIGURE_VERIFIED, "not finite", "Not finite, also unsharded: ", out);
    add_named(rows, FIGURE_VERIFIED, "ok", "Agrees with the unsharded computation: ", out);
}
