/* compare_text.h - a comparison for people: a table as wide as the screen, and Markdown.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_TEXT_H
#define REPORT_COMPARE_TEXT_H

#include "report/compare_rows.h"

/* In as many blocks as it takes, each with the strategies' names before it.  A lack of memory is in
 * `out`. */
void compare_print_table(const struct compare_rows *rows, const struct screen *screen,
                         struct text *out);

/* One table, as GitHub reads it. */
void compare_print_markdown(const struct compare_rows *rows, struct text *out);

/* What is compared: "strategies: 5 strategies, executed; 2 layers of mlp ...". */
void compare_add_title(const struct compare *compare, struct text *out);

/* Whether a cell is marked as the best of its column: the best, and what shows the same as that; no
 * cell where all show the same.  A lack of memory is in `out`. */
bool compare_is_marked(const struct compare_rows *rows, size_t row, size_t c, struct text *out);

/* Whether these have a column. */
bool compare_is_shown(const struct compare_rows *rows, size_t c);

/* The columns that these have, in the order in which a table that is wider than its screen has
 * them: the strategy, what the verdict rests on, what else tells strategies apart, then the others.
 * Returns how many there are. */
size_t compare_column_order(size_t order[COMPARE_NCOLUMNS], const struct compare_rows *rows);

#endif /* REPORT_COMPARE_TEXT_H */
