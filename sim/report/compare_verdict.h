/* compare_verdict.h - the answer of a comparison in a sentence or two: who wins, by how much over
 * whom, why, and what it costs.
 *
 * Steps on a stated cluster decide where all have one; else replayed steps, unless they are within
 * noise of each other; else the bytes that a device receives.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_VERDICT_H
#define REPORT_COMPARE_VERDICT_H

#include "report/compare_rows.h"

/* Append sentences; nothing where there is one strategy only.  A lack of memory is in `out`. */
void compare_verdict(const struct compare_rows *rows, struct text *out);

/* The column on which that rests; COMPARE_NCOLUMNS: on none. */
enum compare_id compare_verdict_column(const struct compare_rows *rows);

#endif /* REPORT_COMPARE_VERDICT_H */
