/* compare_rows.h - the columns of a comparison, and the value of each strategy in each column.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_ROWS_H
#define REPORT_COMPARE_ROWS_H

#include "report/compare.h"
#include "report/figures.h"

struct compare_rows {
    const struct compare *compare;
    struct figures *rows;            /* one a result */
    bool (*best)[NFIGURES];          /* [result] */
    bool several_scenarios, by_file; /* a row's name has the scenario, or the file */
    bool none_is_good;
    double error_elsewhere; /* of modelled steps on clusters without measurements */
    size_t *order;          /* printed rows, in order ... */
    size_t nshown;          /* ... and their number */
};

/* SHD_ENOMEM.  Free with compare_rows_fini() either way. */
SHD_MUST_CHECK int compare_rows_init(struct compare_rows *out, const struct compare *compare,
                                     struct shd_error *err);
void compare_rows_fini(struct compare_rows *rows);

/* Add a strategy's name, with its scenario if the comparison has several. */
void compare_add_name(const struct compare_rows *rows, size_t row, struct text *out);

/* Whether all strategies compute the same: only then one can be best. */
bool compare_same_model(const struct compare_rows *rows);

/* Whether all strategies are right and fit, and differ at most in the batch and in a padded
 * vocabulary: then their modelled times of a token compare. */
bool compare_is_by_token(const struct compare_rows *rows);

/* If strategies do not compute the same, add the difference: "these differ in more than the layout
 * (float32, bfloat16)". */
void compare_add_different(const struct compare_rows *rows, struct text *out);

/* Whether any row has a value in a column. */
bool compare_is_used(const struct compare_rows *rows, size_t column);

/* Error bound of a row's modelled step, as a fraction of the step. */
double compare_modelled_error(const struct compare_rows *rows, size_t row);

/* Whether the values of two rows in a column differ only by noise, or modelled steps by no more
 * than the model's error; exact columns have no ties. */
bool compare_is_tie(const struct compare_rows *rows, size_t column, size_t a, size_t b);

/* The row of the fastest replayed step that is good; nresults: none. */
size_t compare_fastest(const struct compare_rows *rows);

#endif /* REPORT_COMPARE_ROWS_H */
