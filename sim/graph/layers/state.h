/* state.h - what layers with a state in place of attention have in common: their weights, and what
 * they compute of the tokens before linear attention (gated_delta.h, mamba.h, lightning.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_STATE_H
#define GRAPH_LAYERS_STATE_H

#include "graph/graph.h"

/* What a layer calls its parts, as papers and modules do. */
struct state_names {
    const char *q, *k, *v, *gate, *decay;
};

extern const struct state_names state_names_delta;     /* q, key, value, gate, decay */
extern const struct state_names state_names_mamba;     /* c, b, x, z, dt */
extern const struct state_names state_names_lightning; /* q, k, v, gate; no decay of weights */

/* Of the projections, before their convolutions and biases, and of the output; 0: 1. */
struct state_factors {
    double q, k, v, gate, decay, out;
};

struct state_weights {
    const struct state_names *names;
    uint32_t q, k;              /* [embed, key_heads, key_dim] */
    uint32_t v, gate;           /* [embed, heads, value_dim] */
    uint32_t decay;             /* [embed, heads]; KDA: [rank, heads, key_dim] */
    uint32_t decay_in, gate_in; /* delta rules: [embed, rank], by which the tokens are projected
                                   before decay and gate; GRAPH_NONE: by these alone */
    uint32_t beta;              /* delta rules: [embed, heads] */
    uint32_t q_taps, k_taps, v_taps; /* [tap, ..] with the dimensions of heads of q, k, v;
                                        GRAPH_NONE: no convolution */
    uint32_t q_bias, k_bias, v_bias; /* of the taps; GRAPH_NONE: none */
    uint32_t log, bias;              /* of the decay: [heads]; KDA: bias [heads, key_dim] */
    uint32_t skip;                   /* Mamba-2: [heads] */
    uint32_t scale;                  /* of the norm: delta [value_dim], others [heads, value_dim];
                                        GRAPH_NONE: none */
    uint32_t o;                      /* [heads, value_dim, embed] */
    double norm_eps;
    bool norm_first; /* Mamba-2: the norm is before the gate */
    struct state_factors factors;
};

/* Linear attention's operands. */
struct state_operands {
    uint32_t q, k, v;
};

/* silu(taps(x[batch, seq, embed] projected) + bias) of q, k and v, each with its own heads.  Places
 * where a sharding may be asked for, under the layer's name: projected; q on v, and `keys` on q
 * and k. */
struct state_operands layer_state_operands(struct graph *graph, const char *name, uint32_t x,
                                           const char *keys, const struct state_weights *weights);

/* softplus(x projected + bias), x as the decay's projection reads it: [batch, seq, heads], of KDA
 * [.., key_dim], in the type of sums. */
uint32_t layer_state_steps(struct graph *graph, const char *name, uint32_t x,
                           const struct state_weights *weights);

/* -exp(log) steps: logarithms of the factors by which a state decays. */
uint32_t layer_state_decay(struct graph *graph, const char *name, uint32_t steps,
                           const struct state_weights *weights);

/* x[batch, seq, heads, dim] with its heads repeated to `heads`. */
uint32_t layer_state_repeated(struct graph *graph, const char *name, uint32_t x, uint32_t heads);

/* silu or sigmoid, `fn`, of x projected, as v; x as the gate's projection reads it. */
uint32_t layer_state_gate(struct graph *graph, const char *name, uint32_t x, enum kern_fn fn,
                          const struct state_weights *weights);

/* The heads' outputs times o, with the dimensions of x. */
uint32_t layer_state_out(struct graph *graph, const char *name, uint32_t heads, uint32_t x,
                         const struct state_weights *weights);

#endif /* GRAPH_LAYERS_STATE_H */
