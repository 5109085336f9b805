/* compare_verdict.h - the answer of a comparison in a sentence or two: the winner, its lead and
 * over which strategy, the reason, and the price.
 *
 * Steps on a stated cluster decide if every strategy has one; else replayed steps, unless within
 * noise of each other; else the bytes that a device receives.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_VERDICT_H
#define REPORT_COMPARE_VERDICT_H

#include "report/compare_rows.h"

/* Append sentences; nothing for a single strategy.  Without memory `out` has failed. */
void compare_verdict(const struct compare_rows *rows, struct text *out);

/* The column on which the verdict rests; NFIGURES: none. */
enum figure_id compare_verdict_column(const struct compare_rows *rows);

#endif /* REPORT_COMPARE_VERDICT_H */
