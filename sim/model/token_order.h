/* model/token_order.h - which keys attention sees, and the order of a sequence's tokens.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_TOKEN_ORDER_H
#define MODEL_TOKEN_ORDER_H

#include "graph/graph.h"
#include "graph/layers/ring_attention.h"
#include "scenario/scenario.h"

/* Rows of the batch with documents of their own; later rows repeat them.  Enough rows to differ,
 * and few enough for a small array however large the batch is. */
#define CONTEXT_ROWS_MAX 16

/* What layers see, by the first three of enum scenario_layer_type; NULL where plain attention
 * suffices: one document, all of it seen, contiguous tokens and all keys local; and of types that
 * no layer has. */
struct context_sights {
    const struct attention_sight *of[SCENARIO_LAYER_FULL_PLAIN];
};

/* Add the inputs that define which keys attention sees: spans of each type of layers, and positions
 * for each step of a ring.  Must be called after the model's first input, whose first dimension is
 * the batch.  All NULL after an error.  They live as long as the graph. */
void context_add(struct context_sights *out, struct graph *graph, const struct scenario *scenario,
                 uint32_t batch, uint32_t seq);

/* The order of tokens over context.axis, of `extent` of them. */
struct kern_order context_order(const struct scenario *scenario, int64_t extent);

/* Whether a layer has a type, one of the first three. */
bool context_has_type(const struct scenario *scenario, enum scenario_layer_type type);

/* Put all inputs with a dimension `seq`, model inputs and cotangents alike, into the token order of
 * the scenario. */
void context_order_inputs(struct graph *graph, const struct scenario *scenario);

#endif /* MODEL_TOKEN_ORDER_H */
