/* compare_rows.h - the columns of a comparison, and the value of each strategy in each column.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_ROWS_H
#define REPORT_COMPARE_ROWS_H

#include "base/pack.h"
#include "base/uint128.h"
#include "report/compare.h"

enum compare_kind {
    COMPARE_TEXT,
    COMPARE_COUNT, /* whole */
    COMPARE_BYTES, /* whole */
    COMPARE_RATIO, /* mean / max */
    COMPARE_SECONDS,
    COMPARE_SHARE, /* a fraction, shown in percent */
    COMPARE_ERROR, /* relative */
    COMPARE_TIMES  /* base / value, said in words: "1.80x fewer" */
};

/* In the order of the table. */
enum compare_id {
    COMPARE_SCENARIO,
    COMPARE_STRATEGY,
    COMPARE_MESH,
    COMPARE_MICROBATCHES,
    COMPARE_MODE,
    COMPARE_DEVICES,
    COMPARE_DEVICE_RECEIVED,
    COMPARE_BYTES_TIMES,
    COMPARE_MEMORY_TIMES,
    COMPARE_STEP_TIMES,
    COMPARE_DOMINATED,
    COMPARE_RECEIVED,
    COMPARE_FORWARD,
    COMPARE_BACKWARD,
    COMPARE_OPTIMIZER,
    COMPARE_COLLECTIVES,
    COMPARE_FLOPS,
    COMPARE_FLOPS_BALANCE,
    COMPARE_ATTENTION,
    COMPARE_EXPERTS,
    COMPARE_EFFICIENCY,
    COMPARE_BUBBLE,
    COMPARE_PEAK,
    COMPARE_PEAK_BALANCE,
    COMPARE_FITS,
    COMPARE_STEP,
    COMPARE_SPREAD,
    COMPARE_BUSY,
    COMPARE_WAITING,
    COMPARE_EXPOSED,
    COMPARE_MODELLED,
    COMPARE_MFU,
    COMPARE_MODELLED_EXPOSED,
    COMPARE_MODELLED_WAITING,
    COMPARE_NEEDED,
    COMPARE_MODELLED_ERROR, /* unknown: no step of the cluster was measured */
    COMPARE_MEASURED,
    COMPARE_VERIFIED,
    COMPARE_LARGEST_ERROR,
    COMPARE_BY_AXIS,
    COMPARE_BY_OP,
    COMPARE_WHY,
    COMPARE_NCOLUMNS
};

_Static_assert((int)COMPARE_NCOLUMNS <= COMPARE_COLUMNS_MAX, "callers have room");

struct compare_column {
    const char *key;   /* in CSV and JSON */
    const char *group; /* above the title in the table */
    const char *title; /* NULL: not in the table */
    enum compare_kind kind;
    int better;              /* -1: less is, 1: more is, 0: neither */
    const char *less, *more; /* COMPARE_TIMES: the words */
};

extern const struct compare_column compare_columns[COMPARE_NCOLUMNS];

struct compare_value {
    bool known;
    uint128 whole;    /* COMPARE_COUNT, COMPARE_BYTES */
    double number;    /* set for these kinds, too, and for all others */
    struct text text; /* COMPARE_TEXT */
};

struct compare_row {
    struct compare_value values[COMPARE_NCOLUMNS];
    bool best[COMPARE_NCOLUMNS];
    bool good; /* numbers are right, and the step fits in memory */
};

/* Set the values that do not depend on other strategies, in a zeroed row.  SHD_ENOMEM.  Free the
 * row with compare_row_fini() either way. */
SHD_MUST_CHECK int compare_row_init(struct compare_row *row, const struct result *result,
                                    struct shd_error *err);
void compare_row_fini(struct compare_row *row);

/* Pack a row as bytes for another process, and unpack; false: no memory, or not the bytes of a
 * row. */
void compare_row_pack(const struct compare_row *row, struct text *out);
bool compare_row_unpack(struct compare_row *out, struct unpack *from);

struct compare_rows {
    const struct compare *compare;
    struct compare_row *rows;        /* one a result */
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
