/* short_conv.h - causal depthwise convolutions of a few taps along the sequence, and the layer of
 * LFM2 that is one between two gates.
 *
 * A token reads itself and the taps - 1 tokens before it.  If the sequence is sharded, devices
 * exchange these as halos.  The windows are an array of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_SHORT_CONV_H
#define GRAPH_LAYERS_SHORT_CONV_H

#include "graph/graph.h"

/* x[batch, seq, ..] with taps[tap, ..] -> x's dimensions. */
uint32_t layer_taps(struct graph *graph, const char *name, uint32_t x, uint32_t taps);

struct short_conv_weights {
    uint32_t in, gate, value; /* [embed, conv]; `in` gates before, `gate` behind the taps */
    uint32_t taps;            /* [tap, conv] */
    uint32_t o;               /* [conv, embed] */
};

/* x[batch, seq, embed] -> o (gate x . taps(in x . value x)), x's dimensions.  Places: in, hidden (of
 * all with the dimension conv), out. */
uint32_t layer_short_conv(struct graph *graph, const char *name, uint32_t x,
                          const struct short_conv_weights *weights);

#endif /* GRAPH_LAYERS_SHORT_CONV_H */
