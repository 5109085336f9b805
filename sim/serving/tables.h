/* tables.h - costs of steps, interpolated between planned steps.
 *
 * The planned steps form two grids: decodes by sequences and context, and prefills by tokens and
 * context.  Between and beyond planned steps, times are bilinear in the two: matmuls grow with the
 * tokens, attention with tokens times context.
 *
 * For each planned step the time of attention is known separately.  A step may mix several prompts
 * and decodes.  Everything but attention then takes as long as in one prefill of all their tokens,
 * because matmuls read the weights once.  Attention of the prompts takes as long as for equally many
 * prompts of their mean length, with the smallest planned attention counted once, as one kernel
 * serves all.  Attention of the decodes takes as long as in a step without prompts.
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

/* Seconds as a function of two variables, each with at least two ascending values. */
struct serving_grid {
    double rows[TABLE_POINTS_MAX]; /* sequences, or tokens */
    double contexts[TABLE_CONTEXTS_MAX];
    size_t nrows, ncontexts;
    double seconds[TABLE_POINTS_MAX][TABLE_CONTEXTS_MAX];   /* [row][context] */
    double attention[TABLE_POINTS_MAX][TABLE_CONTEXTS_MAX]; /* of these, in attention */
};

double grid_seconds(const struct serving_grid *grid, double rows, double context);

struct serving_tables {
    struct serving_costs costs;
    struct serving_grid decode, prefill;
    uint32_t draft; /* proposed tokens that each step of a decode verifies */
    double transfer_s_per_token, transfer_s; /* to transfer a cache: per token, plus a constant */
};

/* Set the functions of `costs`, which then read the tables. */
void tables_init(struct serving_tables *tables);

#endif /* SERVING_TABLES_H */
