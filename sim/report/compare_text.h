/* compare_text.h - a comparison for people: a table as wide as the screen, and Markdown.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_TEXT_H
#define REPORT_COMPARE_TEXT_H

#include "report/compare_rows.h"

/* Print a table in as many blocks as the screen needs, each beginning with the strategies' names.
 * Without memory `out` has failed. */
void compare_print_table(const struct compare_rows *rows, const struct screen *screen,
                         struct text *out);

/* Print one Markdown table in GitHub's syntax. */
void compare_print_markdown(const struct compare_rows *rows, struct text *out);

/* Add the subject of the comparison: "strategies: 5 strategies, executed; 2 layers of mlp ...". */
void compare_add_title(const struct compare *compare, struct text *out);

/* Whether a cell is marked as the best of its column: the best cell and all cells that show the
 * same text; none if all cells of the column do.  Without memory `out` has failed. */
bool compare_is_marked(const struct compare_rows *rows, size_t row, size_t c, struct text *out);

/* Whether the comparison has a column. */
bool compare_is_shown(const struct compare_rows *rows, size_t c);

/* Order the columns of the comparison as a table wider than its screen would: the strategy, the
 * columns that decide the verdict, other columns with differing values, then the rest.  Returns
 * their number. */
size_t compare_column_order(size_t order[NFIGURES], const struct compare_rows *rows);

#endif /* REPORT_COMPARE_TEXT_H */
