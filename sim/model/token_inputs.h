/* model/token_inputs.h - the token ids that a model with a vocabulary reads, and its labels.
 *
 * In a text, sequence r of b begins at byte r * (size of the text / b) and advances by its length
 * in each step; at the end the text starts over.  Labels are one byte ahead.  So a step reads the
 * same data however it is sharded over devices and microbatches.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_TOKEN_INPUTS_H
#define MODEL_TOKEN_INPUTS_H

#include "graph/graph.h"
#include "scenario/scenario.h"

/* A part of each sequence's window on the text. */
struct tokens_part {
    uint64_t first; /* first token, from the start of the window */
    uint64_t each;  /* tokens by which the window advances in a step */
};

/* Add an input [batch, seq] of integers below the vocabulary size: bytes of the scenario's text, or
 * else random ones. */
uint32_t tokens_add(struct graph *graph, const struct scenario *scenario, const char *name,
                    uint32_t batch, uint32_t seq, struct tokens_part part);

#endif /* MODEL_TOKEN_INPUTS_H */
