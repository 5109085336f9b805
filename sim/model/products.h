/* products.h - the products that a scenario rounds to 8 or 4 bits.
 *
 * Thread class: as graph.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_PRODUCTS_H
#define MODEL_PRODUCTS_H

#include "base/diag.h"
#include "base/text.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* A pattern for the products of routed experts. */
#define MODEL_EXPERT_PRODUCTS "moe/(up|gate|down)$"

/* Round the products of weights and activations that the scenario does not except, in a graph that
 * has its gradients but no recomputation.  Errors go to `diag` or stay in the graph. */
void model_round_products(struct graph *graph, const struct scenario *scenario, struct diag *diag);

/* Report patterns of products.except that were given, and that match neither a product that
 * `except` was asked for nor one that other models have. */
struct match;
void model_check_except(const struct match *except, struct diag *diag);

/* Whether a node of the forward phase is a product of a weight and an activation; sets whether it
 * is rounded. */
bool model_is_product(bool *rounded, const struct graph *graph, uint32_t node);

/* The types of the codes that a scenario's products multiply: of weights and activations, and of
 * gradients.  False: its products are not rounded. */
bool model_product_codes(enum shd_dtype out[2], const struct scenario *scenario);

/* ", products rounded to e4m3 tensorwise, ..."; nothing where none is rounded. */
void model_describe_products(struct text *out, const struct scenario *scenario);

#endif /* MODEL_PRODUCTS_H */
