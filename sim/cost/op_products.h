/* op_products.h - products that engines of serving make in one kernel.
 *
 * Engines keep the weights of products that read the same rows side by side: queries, keys and
 * values, or gate and up, are one product of more columns.  A program has a product for each.
 *
 * Thread class: not thread safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_PRODUCTS_H
#define COST_OP_PRODUCTS_H

#include "cost/op_seconds.h"

/* Give the first of such products the columns of all, and the others no time, in the chains of
 * `seconds`. */
void op_products_find(struct op_seconds *seconds);

#endif /* COST_OP_PRODUCTS_H */
