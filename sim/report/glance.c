/* The page's first table: strategies from the winner on, with bars of what decides.
 *
 * What all strategies have alike is a sentence instead of a column; strategies that the verdict
 * does not tell apart are said to tie.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "report/compare_text.h"
#include "report/compare_value.h"
#include "report/compare_verdict.h"
#include "report/html.h"
#include "report/parts.h"

#define ROWS_SHOWN_MAX 12
#define COLUMNS_MAX 4

static const enum figure_id figures[] = {FIGURE_MODELLED_STEP, FIGURE_REPLAYED_STEP,
                                         FIGURE_RECEIVED_MOST, FIGURE_PEAK_MOST};

struct glance {
    const struct compare_rows *rows;
    enum figure_id decides; /* NFIGURES: nothing */
    size_t *order;          /* from the winner on; those that are wrong or do not fit come last */
    enum figure_id columns[COLUMNS_MAX];
    size_t ncolumns;
};

static bool is_less(const struct glance *g, size_t a, size_t b)
{
    const struct figures *x = &g->rows->rows[a], *y = &g->rows->rows[b];

    if (x->good != y->good)
        return x->good;
    if (g->decides == NFIGURES || !x->values[g->decides].known)
        return false;
    return !y->values[g->decides].known ||
           x->values[g->decides].number < y->values[g->decides].number;
}

static bool glance_init(struct glance *g, const struct compare_rows *rows)
{
    size_t n = rows->compare->nresults;

    *g = (struct glance){.rows = rows, .decides = compare_verdict_column(rows)};
    g->order = calloc(n + 1, sizeof *g->order);
    for (size_t i = 0; g->order && i < n; i++) {
        size_t at = i;

        for (; at > 0 && is_less(g, i, g->order[at - 1]); at--)
            g->order[at] = g->order[at - 1];
        g->order[at] = i;
    }
    return g->order != NULL;
}

/* Whether a strategy cannot be told from the winner by what decides. */
static bool is_tie(const struct glance *g, size_t row)
{
    const struct figures *winner = &g->rows->rows[g->order[0]], *r = &g->rows->rows[row];

    if (!r->good || !winner->good || g->decides == NFIGURES || !r->values[g->decides].known)
        return false;
    return row != g->order[0] &&
           (r->values[g->decides].number <= winner->values[g->decides].number ||
            compare_is_tie(g->rows, g->decides, g->order[0], row));
}

/* Say what a strategy is in the verdict. */
static const char *badge_of(const struct glance *g, size_t row)
{
    const char *fits = text_get(&g->rows->rows[row].values[FIGURE_FITS].text);
    bool ties = false, bytes = g->decides == FIGURE_RECEIVED_MOST;

    if (!g->rows->rows[row].good)
        return strcmp(fits, "NO") == 0 ? "does not fit" : "wrong numbers";
    for (size_t i = 0; i < g->rows->compare->nresults; i++)
        ties |= is_tie(g, i);
    if (g->decides == NFIGURES || (row != g->order[0] && !is_tie(g, row)))
        return "";
    if (g->decides == FIGURE_PEAK_MOST)
        return "the only strategy that is correct and fits";
    if (ties)
        return bytes ? "ties for the fewest bytes" : "ties for the fastest";
    return bytes ? "fewest bytes" : "fastest";
}

/* ---- columns ---- */

static void add_value(const struct glance *g, size_t row, enum figure_id id, struct text *out)
{
    struct text value = TEXT_INIT;

    compare_add_value(&value, g->rows, row, id);
    literal_add_xml(out, text_get(&value));
    text_drop(out, &value);
}

/* Whether all strategies have a figure, and it reads the same. */
static bool is_uniform(const struct glance *g, enum figure_id id, struct text *out)
{
    struct text first = TEXT_INIT, other = TEXT_INIT;
    bool same = true;

    compare_add_value(&first, g->rows, 0, id);
    for (size_t i = 0; i < g->rows->compare->nresults && same; i++) {
        text_clear(&other);
        compare_add_value(&other, g->rows, i, id);
        same = g->rows->rows[i].values[id].known && !strcmp(text_get(&first), text_get(&other));
    }
    text_drop(out, &first);
    text_drop(out, &other);
    return same;
}

/* Choose the columns whose values differ; tell the others. */
static void choose_columns(struct glance *g, struct text *out)
{
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        if (!compare_is_used(g->rows, figures[k]))
            continue;
        if (!is_uniform(g, figures[k], out)) {
            g->columns[g->ncolumns++] = figures[k];
            continue;
        }
        text_addf(out, "<p>Equal %s: ", figure_table[figures[k]].label);
        add_value(g, 0, figures[k], out);
        text_add(out, ".</p>\n");
    }
}

static double most_of(const struct glance *g, enum figure_id id)
{
    double most = 0;

    for (size_t i = 0; i < g->rows->compare->nresults; i++)
        if (g->rows->rows[i].values[id].known && g->rows->rows[i].values[id].number > most)
            most = g->rows->rows[i].values[id].number;
    return most;
}

/* ---- the table ---- */

static void print_cell(const struct glance *g, size_t row, enum figure_id id, struct text *out)
{
    const struct figure_value *v = &g->rows->rows[row].values[id];
    bool best = compare_is_marked(g->rows, row, id, out);
    double most = most_of(g, id);

    text_addf(out, "<td%s>", best ? " data-best" : "");
    if (v->known && most > 0)
        text_addf(out, "<i style=\"width:%.1f%%\"></i>", 100 * v->number / most);
    add_value(g, row, id, out);
    text_add(out, best ? " *<span class=v> best</span></td>" : "</td>");
}

static void print_row(const struct glance *g, size_t row, struct text *out)
{
    const char *badge = badge_of(g, row);
    struct text name = TEXT_INIT;

    compare_add_name(g->rows, row, &name);
    text_addf(out, "<tr><th scope=row><a href=\"#s%zu\">", row + 1);
    literal_add_xml(out, text_get(&name));
    text_add(out, "</a>");
    if (*badge)
        text_addf(out, " <span class=badge>%s</span>", badge);
    text_add(out, "</th>");
    for (size_t c = 0; c < g->ncolumns; c++)
        print_cell(g, row, g->columns[c], out);
    text_add(out, "</tr>\n");
    text_drop(out, &name);
}

static void print_table(const struct glance *g, struct text *out)
{
    size_t n = g->rows->compare->nresults, shown = n < ROWS_SHOWN_MAX ? n : ROWS_SHOWN_MAX;

    text_add(out, "<div class=wide role=region aria-label=\"Strategies at a glance\" tabindex=0>\n"
                  "<table class=glance><caption>Bars begin at 0; * is the best of the column.");
    if (shown < n)
        text_addf(out, " The first %zu of %zu.", shown, n);
    text_add(out, "</caption>\n<thead><tr><th scope=col>strategy</th>");
    for (size_t c = 0; c < g->ncolumns; c++) {
        text_add(out, "<th scope=col>");
        literal_add_xml(out, figure_table[g->columns[c]].label);
        text_add(out, "</th>");
    }
    text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < shown; i++)
        print_row(g, g->order[i], out);
    text_add(out, "</tbody></table></div>\n");
}

size_t glance_print(const struct compare_rows *rows, struct text *out)
{
    struct glance g;
    size_t first = 0;

    if (!glance_init(&g, rows)) {
        out->failed = true;
    } else if (rows->compare->nresults > 1) {
        first = g.order[0];
        text_add(out, "<section aria-labelledby=glance>\n"
                      "<h2 id=glance>Best first</h2>\n");
        choose_columns(&g, out);
        if (g.ncolumns > 0)
            print_table(&g, out);
        text_add(out, "</section>\n");
    }
    free(g.order);
    return first;
}
