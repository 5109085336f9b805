/* compare.h - strategies side by side: their results as one table, in Markdown, CSV or JSON.
 *
 * A column holds one quantity of every strategy; measured, replayed and counted quantities never
 * share a column.  The best of a column is marked; in replayed times, which are noisy, only if it
 * is better by more than noise, else it is called a tie ("within_noise" in JSON, by strategy).  A
 * strategy is dominated when another computes the same with no more devices, bytes received, peak
 * memory and flops of the busiest device, and less of one of them; these figures are exact, so that
 * the verdict is the same every time.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <shd/error.h>

#include "base/nearest.h"
#include "base/screen.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/result.h"

enum compare_format {
    COMPARE_TABLE,
    COMPARE_MARKDOWN,
    COMPARE_CSV,
    COMPARE_JSON,
    COMPARE_NFORMATS
};

/* A strategy that is not compared, and why. */
struct compare_skipped {
    const char *scenario, *strategy, *why;
};

/* A result whose record is in another process. */
struct compare_planned {
    struct figures *row;
    struct text json; /* its JSON object, if JSON is printed */
};

struct compare {
    const struct result *results;
    size_t nresults; /* one at least */
    size_t base;     /* number of the baseline result of the comparison */
    const struct compare_planned *planned; /* one for each result, which then has no record; or
                                              NULL */
    const struct compare_skipped *skipped;
    size_t nskipped;
    const bool *columns; /* [column] printed in tables; NULL: columns whose values differ */
    int sort;            /* column by which strategies are sorted, best first; -1: unsorted */
    size_t top;          /* strategies printed; 0: all */
};

/* Mark the columns that a name stands for: a key of CSV, a group's heading ("replayed"), or "all";
 * false: unknown name.  compare_hint() suggests the nearest name, as nearest_hint() does. */
bool compare_find_columns(bool *out, const char *name);
struct nearest_text compare_hint(const char *name);

/* The column to sort by, from its key; -1: none. */
int compare_find_sort(const char *name);

const char *compare_format_name(enum compare_format format);

/* The format that a file name's ending asks for; false: none. */
bool compare_format_of(enum compare_format *out, const char *path);

/* `screen` is for COMPARE_TABLE.  SHD_ENOMEM. */
SHD_MUST_CHECK int compare_print(const struct compare *compare, enum compare_format format,
                                 const struct screen *screen, struct text *out,
                                 struct shd_error *err);

#endif /* REPORT_COMPARE_H */
