/* model/serving.h - the tokens of a step of serving, and the cache of those before.
 *
 * A step takes in the same number of tokens of each sequence, behind those that are kept.  A
 * prefill that begins attends to its own tokens; all others attend to the cache, into which the
 * new tokens' keys and values were written.  The tokens that a decode makes are state: each step
 * reads those that the step before made, and adds its own to the list of all.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_SERVING_H
#define MODEL_SERVING_H

#include "graph/graph.h"
#include "graph/layers/cached_attention.h"
#include "model/token_order.h"
#include "scenario/scenario.h"

/* The KV caches of layers, by layer type (full, window, chunk); NULL for types without a layer. A
 * layer with a window or chunks keeps only the tokens inside. */
struct serving_caches {
    const struct attention_cache *of[SCENARIO_LAYER_FULL_PLAIN];
};

/* Add the inputs that say where tokens are kept and, unless the cache begins, which of them layers
 * see.  True: it begins.  Both live as long as the graph. */
bool serving_add(struct serving_caches *caches, struct context_sights *out, struct graph *graph,
                 const struct scenario *scenario, uint32_t batch, uint32_t seq);

/* Arrays of a step by name: the input that is the tokens made last, or a prompt; what a prefill
 * makes; all that a decode makes; what a draft proposes. */
#define SERVING_TOKENS "tokens"
#define SERVING_NEXT "next"
#define SERVING_MADE "made"
#define SERVING_DRAFT "draft"

/* The ids of a step's tokens, [batch, seq]: a prompt's, or the ones made last and, with a draft,
 * what it proposes to follow; and the input that is state. */
struct serving_ids {
    uint32_t all, state;
    uint32_t draft; /* what is proposed, [batch, draft]; GRAPH_NONE: nothing */
};
struct serving_ids serving_tokens(struct graph *graph, const struct scenario *scenario,
                                  uint32_t batch, uint32_t seq);

/* x[batch, seq, ..] of the tokens behind which tokens are made: of a prefill the last one alone,
 * [batch, last, ..], whose dimension becomes *seq. */
uint32_t serving_last(struct graph *graph, const struct scenario *scenario, uint32_t x,
                      uint32_t *seq);

/* Make the most likely tokens of logits[batch, seq, vocab] an output, and in a decode the next
 * step's tokens. */
void serving_choose(struct graph *graph, const struct scenario *scenario, uint32_t logits,
                    uint32_t vocab, const struct serving_ids *ids);

#endif /* MODEL_SERVING_H */
