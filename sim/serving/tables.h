/* tables.h - costs of steps between those that were planned.
 *
 * The steps planned are grids: of decodes by sequences and context, of prefills by tokens and
 * context.  Between planned steps, and beyond them, times are linear in each of the two: products
 * grow with the tokens, attention with tokens times context.
 *
 * A step of several prompts takes as long as one prompt of all their tokens would, with the context
 * with which it has as many pairs of a query and a key as they have.  A step that prefills and
 * decodes takes as long as a prefill of the tokens of both, whose products read the weights once,
 * and the attention of the decodes, which is what their context adds to their step.
 *
 * Thread class: immutable once filled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_TABLES_H
#define SERVING_TABLES_H

#include <stddef.h>

#include "serving/costs.h"

#define TABLE_POINTS_MAX 48

/* Seconds by two numbers, each of at least two values that increase. */
struct serving_grid {
    double rows[TABLE_POINTS_MAX]; /* sequences, or tokens */
    double contexts[TABLE_POINTS_MAX];
    size_t nrows, ncontexts;
    double seconds[TABLE_POINTS_MAX][TABLE_POINTS_MAX]; /* [row][context] */
};

double grid_seconds(const struct serving_grid *grid, double rows, double context);

struct serving_tables {
    struct serving_costs costs;
    struct serving_grid decode, prefill;
    uint32_t draft; /* proposed tokens that each step of a decode verifies */
    double transfer_s_per_token, transfer_s; /* to bring a cache: for each token, and at least */
};

/* Set the functions of `costs`, which then read the tables. */
void tables_init(struct serving_tables *tables);

#endif /* SERVING_TABLES_H */
