/* Printing a value of a comparison for people (compare_value.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_value.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"

#define SAME 0.005 /* ratios that print as 1.00 */

/* "tp=6291456 dp=2097184" for people: "tp 6.00 MiB, dp 2.00 MiB". */
static void add_sums(struct text *out, const char *sums)
{
    for (size_t n = 0; *sums; n++) {
        size_t name = strcspn(sums, "="), length = strcspn(sums, " ");
        uint128 value = 0;

        for (size_t i = name + 1; i < length; i++)
            value = 10 * value + (unsigned)(sums[i] - '0');
        text_addf(out, "%s%.*s %s", n ? ", " : "", (int)name, sums, units_print_bytes(value).text);
        sums += length + (sums[length] == ' ');
    }
}

/* value / base in words. */
static void add_times(struct text *out, const struct figure_row *column, double ratio)
{
    if (fabs(ratio - 1) < SAME)
        text_add(out, "same");
    else if (ratio < 1)
        text_addf(out, "%.2fx %s", 1 / ratio, column->less);
    else if (isfinite(ratio))
        text_addf(out, "%.2fx %s", ratio, column->more);
    else
        text_addf(out, "%s than none", column->more);
}

void compare_add_heading(struct text *out, size_t c, const char *between)
{
    const struct figure_row *column = &figure_table[c];
    size_t length = strlen(column->group);

    if (length > 0 && column->group[length - 1] == '-') { /* one word, broken over two lines */
        text_add_bytes(out, column->group, length - 1);
        between = "";
    } else {
        text_add(out, column->group);
    }
    text_add(out, length > 0 ? between : "");
    text_add(out, column->title ? column->title : column->key);
}

void compare_add_value(struct text *out, const struct compare_rows *rows, size_t row, size_t c)
{
    const struct figure_value *v = &rows->rows[row].values[c];
    bool relative = figure_table[c].unit == FIGURE_TIMES;
    size_t from = out->length;

    if (c == FIGURE_STRATEGY)
        compare_add_name(rows, row, out);
    else if (relative && row == rows->compare->base)
        text_add(out, "base");
    else if (c == FIGURE_STEP_TIMES &&
             compare_is_tie(rows, FIGURE_REPLAYED_STEP, row, rows->compare->base))
        text_add(out, "within noise");
    else if (!v->known)
        text_add(out, c == FIGURE_DOMINATED ? "" : "-");
    else if (c == FIGURE_BY_AXIS || c == FIGURE_BY_OP)
        add_sums(out, text_get(&v->text));
    else if (figure_table[c].unit == FIGURE_TEXT)
        text_add(out, text_get(&v->text));
    else if (!relative)
        figure_add_number(out, (enum figure_id)c, v->whole, v->number);
    else
        add_times(out, &figure_table[c], v->number);
    escape_from(out, from);
}
