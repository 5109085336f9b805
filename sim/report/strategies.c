/* Table of the strategies side by side, with the columns of `compare`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/json_out.h"
#include "base/literal.h"
#include "report/compare_text.h"
#include "report/compare_value.h"
#include "report/parts.h"

#define SHORT_MAX 16 /* bytes; longer names may break over lines */

static bool is_text(size_t c)
{
    return figure_table[c].unit == FIGURE_TEXT;
}

/* Choose columns in compare's order, the deciding ones first; a single strategy has no column that
 * compares it. */
static size_t choose_columns(size_t chosen[NFIGURES], const struct compare_rows *rows)
{
    size_t order[NFIGURES], n = compare_column_order(order, rows), nchosen = 0;

    for (size_t i = 0; i < n; i++)
        if (rows->compare->nresults > 1 || figure_table[order[i]].unit != FIGURE_TIMES)
            chosen[nchosen++] = order[i];
    return nchosen;
}

static void print_head(const size_t *columns, size_t ncolumns, struct text *out)
{
    text_add(out, "<thead><tr>");
    for (size_t i = 0; i < ncolumns; i++) {
        text_addf(out, "<th scope=\"col\"%s><button type=\"button\">",
                  is_text(columns[i]) ? "" : " class=n");
        compare_add_heading(out, columns[i], ": ");
        text_add(out, "</button></th>");
    }
    text_add(out, "</tr></thead>\n");
}

/* Add the exact number, by which the script sorts. */
static void print_number(const struct figure_value *v, struct text *out)
{
    char number[32];

    if (v->known && isfinite(v->number))
        text_addf(out, " data-v=\"%s\"", json_out_print_double(number, sizeof number, v->number));
}

static void print_cell(const struct compare_rows *rows, size_t row, size_t c, struct text *out)
{
    const struct figure_value *v = &rows->rows[row].values[c];
    bool best = compare_is_marked(rows, row, c, out);
    struct text value = TEXT_INIT;

    if (c == FIGURE_DEVICES) /* all digits */
        text_add(&value, UINT128_DIGITS(v->whole));
    else
        compare_add_value(&value, rows, row, c);
    if (c == FIGURE_STRATEGY)
        text_addf(out, "<th scope=\"row\"%s><a href=\"#s%zu\">",
                  strlen(text_get(&value)) <= SHORT_MAX ? " class=short" : "", row + 1);
    else
        text_addf(out, "<td%s%s", is_text(c) ? "" : " class=n", best ? " data-best" : "");
    if (c != FIGURE_STRATEGY && !is_text(c))
        print_number(v, out);
    text_add(out, c == FIGURE_STRATEGY ? "" : ">");
    literal_add_xml(out, text_get(&value));
    if (best)
        text_add(out, "<span class=best title=\"best of the column\"> *<span class=v> best"
                      "</span></span>");
    text_add(out, c == FIGURE_STRATEGY ? "</a></th>" : "</td>");
    text_drop(out, &value);
}

void strategies_print(const struct compare_rows *rows, struct text *out)
{
    size_t columns[NFIGURES], ncolumns = choose_columns(columns, rows);

    text_add(out, "<div class=wide role=region aria-label=\"Table of strategies\" tabindex=0>\n"
                  "<table class=\"list sorts\" id=table><caption>One row per strategy; * is the "
                  "best of a column. Click a heading to sort.</caption>\n");
    print_head(columns, ncolumns, out);
    text_add(out, "<tbody>\n");
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        text_addf(out, "<tr data-strategy=%zu>", i + 1);
        for (size_t c = 0; c < ncolumns; c++)
            print_cell(rows, i, columns[c], out);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table></div>\n");
}
