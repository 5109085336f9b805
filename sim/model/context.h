/* model/context.h - what is seen of a sequence, and in which order its tokens lie.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include "graph/graph.h"
#include "graph/layers/ring_attention.h"
#include "scenario/scenario.h"

/* The rows of a batch with documents of their own; those behind have the documents of these again.
 * Enough to differ, and so few that they stay small however large the batch is. */
#define CONTEXT_ROWS_MAX 16

/* Add the inputs that tell attention what is seen: spans, and positions for each place of a ring.
 * To be called behind the model's first input, whose first dimension is that of the batch.
 *
 * NULL where plain attention does: one document, no window, tokens as they come, keys that are all
 * there; or after an error.  Lives as long as the graph. */
const struct attention_sight *context_add(struct graph *graph, const struct scenario *scenario,
                                          uint32_t batch, uint32_t seq);

/* Let all inputs with a dimension `seq` lie in the order that the scenario asks for: arrays of the
 * model and what its outputs are multiplied with. */
void context_order_inputs(struct graph *graph, const struct scenario *scenario);

#endif /* MODEL_CONTEXT_H */
