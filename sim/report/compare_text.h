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

/* A cell as these show it, without marks; and whether they have its column. */
void compare_add_value(struct text *out, const struct compare_rows *rows, size_t row, size_t c);
bool compare_is_shown(const struct compare_rows *rows, size_t c);

#endif /* REPORT_COMPARE_TEXT_H */
