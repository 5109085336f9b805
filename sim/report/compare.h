/* compare.h - strategies side by side: their results as one table, in Markdown, CSV or JSON.
 *
 * A column holds one quantity of every strategy; what is measured, replayed or counted never shares
 * one.  The best of a column is marked; of replayed times, which are noisy, only where it is better
 * by more than noise, and what is not is called a tie ("within_noise" in JSON, by strategy).  A
 * strategy is dominated when another computes the same with no more devices, bytes received, peak
 * memory and flops of the busiest device, and less of one of them; these are exact, so that the
 * verdict is the same every time.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <shd/error.h>

#include "base/screen.h"
#include "base/text.h"
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

struct compare_row;

/* A result of which another process has the record. */
struct compare_planned {
    struct compare_row *row;
    struct text json; /* its object, where JSON is to be printed */
};

struct compare {
    const struct result *results;
    size_t nresults; /* one at least */
    size_t base;     /* what the others are compared with */
    const struct compare_planned *planned; /* one a result, which has no record then; or NULL */
    const struct compare_skipped *skipped;
    size_t nskipped;
    const bool *columns; /* of tables, by their number; NULL: those that tell strategies apart */
    int sort;            /* the column by which strategies are sorted, the best first; -1: not */
    size_t top;          /* so many are printed; 0: all */
};

/* Mark the columns that a name stands for: a key of CSV, a group's heading ("replayed"), or "all";
 * false: there is none.  compare_hint() tells the nearest, as nearest_hint() does. */
#define COMPARE_COLUMNS_MAX 64
bool compare_find_columns(bool *out, const char *name);
const char *compare_hint(char *buf, size_t size, const char *name);

/* The column of a key by which one can sort; -1: there is none. */
int compare_find_sort(const char *name);

const char *compare_format_name(enum compare_format format);

/* The format that a file's name asks for by its ending; false: none does. */
bool compare_format_of(enum compare_format *out, const char *path);

/* `screen` is for COMPARE_TABLE.  SHD_ENOMEM. */
SHD_MUST_CHECK int compare_print(const struct compare *compare, enum compare_format format,
                                 const struct screen *screen, struct text *out,
                                 struct shd_error *err);

#endif /* REPORT_COMPARE_H */
