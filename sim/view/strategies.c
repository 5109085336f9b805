/* Strategies side by side, as `compare` has them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "base/json_out.h"
#include "report/compare_text.h"
#include "view/html.h"
#include "view/parts.h"

static bool is_text(size_t c)
{
    return compare_columns[c].kind == COMPARE_TEXT;
}

/* One strategy alone is compared with nothing. */
static bool is_shown(const struct compare_rows *rows, size_t c)
{
    bool relative = compare_columns[c].kind == COMPARE_TIMES;

    return compare_is_shown(rows, c) && (rows->compare->nresults > 1 || !relative);
}

static void print_head(const struct compare_rows *rows, struct text *out)
{
    text_add(out, "<thead><tr>");
    for (size_t c = 0; c < COMPARE_NCOLUMNS; c++) {
        const struct compare_column *column = &compare_columns[c];

        if (!is_shown(rows, c))
            continue;
        text_addf(out, "<th scope=\"col\"%s><button type=\"button\">",
                  is_text(c) ? "" : " class=n");
        html_addf(out, "%s%s%s", column->group, column->group[0] ? ": " : "", column->title);
        text_add(out, "</button></th>");
    }
    text_add(out, "</tr></thead>\n");
}

/* What the script sorts by: the exact number. */
static void print_number(const struct compare_value *v, struct text *out)
{
    char number[32];

    if (v->known && isfinite(v->number))
        text_addf(out, " data-v=\"%s\"", json_out_print_double(number, sizeof number, v->number));
}

static void print_cell(const struct compare_rows *rows, size_t row, size_t c, struct text *out)
{
    const struct compare_value *v = &rows->rows[row].values[c];
    bool best = compare_is_marked(rows, row, c, out);
    struct text value = TEXT_INIT;

    if (c == COMPARE_DEVICES) /* to the last one */
        text_add(&value, UINT128_DIGITS(v->whole));
    else
        compare_add_value(&value, rows, row, c);
    if (c == COMPARE_STRATEGY)
        text_addf(out, "<th scope=\"row\"><a href=\"#s%zu\">", row + 1);
    else
        text_addf(out, "<td%s%s", is_text(c) ? "" : " class=n", best ? " data-best" : "");
    if (c != COMPARE_STRATEGY && !is_text(c))
        print_number(v, out);
    text_add(out, c == COMPARE_STRATEGY ? "" : ">");
    html_add(out, text_get(&value));
    if (best)
        text_add(out, "<span class=best title=\"best of the column\"> *<span class=v> best"
                      "</span></span>");
    text_add(out, c == COMPARE_STRATEGY ? "</a></th>" : "</td>");
    out->failed |= value.failed;
    text_fini(&value);
}

void strategies_print(const struct compare_rows *rows, struct text *out)
{
    text_add(out, "<div class=wide role=region aria-label=\"Table of strategies\" tabindex=0>\n"
                  "<table class=\"list sorts\" id=table><caption>Each row is a strategy; * is the "
                  "best of a column. A column's name sorts by it.</caption>\n");
    print_head(rows, out);
    text_add(out, "<tbody>\n");
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        text_addf(out, "<tr data-strategy=%zu>", i + 1);
        for (size_t c = 0; c < COMPARE_NCOLUMNS; c++)
            if (is_shown(rows, c))
                print_cell(rows, i, c, out);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table></div>\n");
}
