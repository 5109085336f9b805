/* moe.h - a mixture of experts: a router sends each token through a few of many mlps.
 *
 * y = the sum over a token's choices of gate * expert(x), and the shared experts' mlp(x).  Tokens
 * are brought to the devices that have their experts, and back; an expert computes the rows that it
 * got and no others.  Sources: N. Shazeer et al., arXiv 1701.06538; W. Fedus et al., arXiv
 * 2101.03961 (capacity, auxiliary loss); B. Zoph et al., arXiv 2202.08906 (z loss); DeepSeek-V3,
 * arXiv 2412.19437, section 2.1.2 (sigmoid, groups, bias).
 *
 * Places where a sharding may be asked for, under the layer's name: in, router (on the logits),
 * rows (on what experts read, [expert, slot, embed]), hidden (inside experts), results (on what
 * they write), out; and those of shared, an mlp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_MOE_H
#define GRAPH_LAYERS_MOE_H

#include "graph/graph.h"
#include "graph/layers/mlp.h"

/* Weights, as nodes; GRAPH_NONE for those that the layer does not have. */
struct moe_weights {
    uint32_t router; /* [embed, expert] */
    uint32_t bias;   /* [expert]; added to scores for the choice alone, and not learned */
    uint32_t gate;   /* [expert, embed, expert_mlp]; gated layers only */
    uint32_t up;     /* [expert, embed, expert_mlp] */
    uint32_t down;   /* [expert, expert_mlp, embed] */
    bool has_shared;
    struct mlp_weights shared;
};

/* Zeros are none, or as usual; but top_k and scale. */
struct moe_opts {
    uint32_t top_k;
    bool sigmoid;                       /* scores of experts apart; else a softmax over all */
    bool renormalize;                   /* gates are divided by their sum */
    double scale;                       /* of gates */
    uint32_t groups, kept;              /* of experts; graph_topk() */
    uint32_t token_groups;              /* with queues of their own; 0: one */
    const struct kern_routing *routing; /* the queues, and what a plan goes by */
    uint32_t ids; /* int32 [batch, seq, choice] in place of the router's choice; GRAPH_NONE: that */
    double aux, z; /* factors of the two losses */
    enum kern_fn activation;
};

/* Results, as nodes. */
struct moe {
    uint32_t y;      /* as x */
    uint32_t probs;  /* [batch, seq, expert], float32 of 16-bit types */
    uint32_t ids;    /* int32 [batch, seq, choice] */
    uint32_t gates;  /* [batch, seq, choice] */
    uint32_t chosen; /* [expert]: how many choices fell on it, before any was dropped */
    uint32_t loss;   /* the two losses, or GRAPH_NONE where neither has a factor */
};

/* x[batch, seq, embed]. */
struct moe layer_moe(struct graph *graph, const char *name, uint32_t x,
                     const struct moe_weights *weights, const struct moe_opts *opts);

#endif /* GRAPH_LAYERS_MOE_H */
