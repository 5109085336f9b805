/* moe.h - a mixture of experts: a router sends each token through a few of many mlps.
 *
 * y = the sum over a token's choices of gate * expert(x), or expert(gate * x), plus the shared
 * experts' mlp(x), which may have a gate of its own, the sigmoid of a product with x.  Tokens
 * are sent to the devices of their experts and back; an expert computes only the rows that it
 * received.  Sources: N.  Shazeer et al., arXiv 1701.06538; W.  Fedus et al., arXiv 2101.03961
 * (capacity, auxiliary loss); B.  Zoph et al., arXiv 2202.08906 (z loss); DeepSeek-V3, arXiv
 * 2412.19437, section 2.1.2 (sigmoid, groups, bias).
 *
 * Places where a sharding may be asked for, under the layer's name: in, router (on the logits),
 * rows (the experts' inputs, [expert, slot, embed]), hidden (inside experts), results (the experts'
 * outputs), out; and those of shared, an mlp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_MOE_H
#define GRAPH_LAYERS_MOE_H

#include "graph/graph.h"
#include "graph/layers/mlp.h"

/* Weights, as nodes; GRAPH_NONE for absent weights.  If the routing is to copies, the kernels have
 * those in place of experts, and biases of kernels do. */
struct moe_weights {
    uint32_t router; /* [embed, expert] */
    uint32_t bias;   /* [expert]; added to scores for the choice only, and not learned */
    uint32_t gate;   /* [expert, embed, expert_mlp]; gated layers only */
    uint32_t up;     /* [expert, embed, expert_mlp] */
    uint32_t down;   /* [expert, expert_mlp, embed] */
    bool biased;     /* the biases below exist, as far as their kernels exist */
    uint32_t router_bias;        /* [expert]; of the logits, and learned */
    uint32_t gate_bias, up_bias; /* [expert, expert_mlp] */
    uint32_t down_bias;          /* [expert, embed] */
    bool has_shared;
    struct mlp_weights shared;
    bool has_shared_gate;
    uint32_t shared_gate; /* [embed, 1] */
};

/* Zeros mean none or the default, except for top_k and scale. */
struct moe_opts {
    uint32_t top_k;
    bool sigmoid;                       /* independent scores per expert; false: a softmax over
                                           all */
    bool after;                         /* gates are a softmax over the chosen experts' logits */
    bool renormalize;                   /* divide gates by their sum; with `after` it is 1 */
    bool gates_input;                   /* gates multiply the experts' inputs; needs top_k 1 */
    double scale;                       /* of gates */
    uint32_t groups, kept;              /* of experts; graph_topk() */
    bool by_largest;                    /* a group's score is its largest, not its two largest */
    uint32_t token_groups;              /* groups of tokens with queues of their own; 0: one */
    bool sums; /* weigh experts' rows where experts are, and add up those of a token on their way
                  back; false: bring each back, then weigh them */
    const struct kern_routing *routing; /* defines the queues, and what a plan counts */
    uint32_t ids; /* int32 [batch, seq, choice], replaces the router's choice; GRAPH_NONE: the
                     router chooses */
    double aux, z; /* factors of the two losses */
    struct mlp_activation activation;
};

/* Results, as nodes. */
struct moe {
    uint32_t y;      /* dimensions as x */
    uint32_t probs;  /* [batch, seq, expert], float32 of 16-bit types */
    uint32_t ids;    /* int32 [batch, seq, choice] */
    uint32_t gates;  /* [batch, seq, choice] */
    uint32_t chosen; /* [expert]: number of choices for each expert, before any is dropped */
    uint32_t loss;   /* sum of the two losses; GRAPH_NONE if neither has a factor */
};

/* x[batch, seq, embed]. */
struct moe layer_moe(struct graph *graph, const char *name, uint32_t x,
                     const struct moe_weights *weights, const struct moe_opts *opts);

#endif /* GRAPH_LAYERS_MOE_H */
