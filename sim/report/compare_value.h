/* compare_value.h - a value of a comparison as people read it, in tables, pictures and verdicts.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_VALUE_H
#define REPORT_COMPARE_VALUE_H

#include "report/compare_rows.h"

/* A column's heading in a line: "peak memory: most", "microbatches"; `between` is what stands between
 * a group and a title. */
void compare_add_heading(struct text *out, size_t c, const char *between);

/* A cell, without marks: "1.16 MiB", "7.1 %", "1.33x fewer". */
void compare_add_value(struct text *out, const struct compare_rows *rows, size_t row, size_t c);

#endif /* REPORT_COMPARE_VALUE_H */
