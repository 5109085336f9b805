/* model/tokens.h - the whole numbers that a model with a vocabulary reads, and its labels.
 *
 * Of a text, sequence r of b begins at byte r * (size of the text / b) and reads on by its length
 * in each step; behind its end the text begins again.  Labels are one byte further on.  So what a
 * step reads is the same however it is sharded over devices and microbatches.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_TOKENS_H
#define MODEL_TOKENS_H

#include "graph/graph.h"
#include "scenario/scenario.h"

/* Part of each sequence's window on the text. */
struct tokens_part {
    uint64_t first; /* its first token, from the window's beginning */
    uint64_t each;  /* tokens by which the window moves on in a step */
};

/* An input [batch, seq] of whole numbers below the vocabulary: bytes of the scenario's text, or
 * else random ones. */
uint32_t tokens_add(struct graph *graph, const struct scenario *scenario, const char *name,
                    uint32_t batch, uint32_t seq, struct tokens_part part);

#endif /* MODEL_TOKENS_H */
