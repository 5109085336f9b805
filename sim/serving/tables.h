/* tables.h - costs of steps between those that were planned.
 *
 * The steps planned are grids: of decodes by sequences and context, of prefills by tokens and
 * context.  Between planned steps, and beyond them, times are linear in each of the two: products
 * grow with the tokens, attention with tokens times context.
 *
 * Of every planned step the time of attention is known apart.  A step of several prompts, or of
 * prompts and decodes, is one step: all but attention takes as long as in a prefill of all their
 * tokens, whose products read the weights once; prompts attend as so many of their mean length do,
 * of which only the first takes what the least attention does, as one kernel attends for all; and
 * decodes attend as in a step of their own.
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
#define TABLE_CONTEXTS_MAX 16

/* Seconds by two numbers, each of at least two values that increase. */
struct serving_grid {
    double rows[TABLE_POINTS_MAX]; /* sequences, or tokens */
    double contexts[TABLE_CONTEXTS_MAX];
    size_t nrows, ncontexts;
    double seconds[TABLE_POINTS_MAX][TABLE_CONTEXTS_MAX];   /* [row][context] */
    double attention[TABLE_POINTS_MAX][TABLE_CONTEXTS_MAX]; /* the part of them in attention */
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
