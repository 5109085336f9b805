/* weights.h - the parameters of the presets' layers: names, dimensions and initial values.
 *
 * Names are those of checkpoints: layers/0/attn/q/kernel, layers/0/mlp/up/kernel, embed/table.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "graph/graph.h"
#include "graph/layers/block.h"
#include "scenario/scenario.h"

/* The logical axes of the presets; GRAPH_NONE for axes that a kind of model does not have. */
struct weights_dims {
    uint32_t batch, seq, embed, mlp, heads, kv_heads, head_dim, vocab, positions;
};

/* The head's parameters. */
struct head_weights {
    uint32_t kernel; /* [embed, vocab], or the embedding's table [vocab, embed] */
    uint32_t bias;   /* [vocab]; GRAPH_NONE: none */
};

/* A head of its own, or with the embedding's table (GRAPH_NONE: not tied). */
struct head_weights weights_head(struct graph *graph, const struct scenario *scenario,
                                 uint32_t table, const struct weights_dims *dims);

/* x[batch, seq, embed] to logits[batch, seq, vocab], scaled and capped as the scenario says; the
 * layer is `name`. */
uint32_t weights_logits(struct graph *graph, const struct scenario *scenario, const char *name,
                        uint32_t x, const struct head_weights *head,
                        const struct weights_dims *dims);

/* Embedded ids, [batch, seq, embed], times the scenario's factor: as Gemma does, a number of the
 * model's type. */
uint32_t weights_embed(struct graph *graph, const struct scenario *scenario, const char *name,
                       uint32_t table, uint32_t ids);

/* The embedding table, [vocab, embed]. */
uint32_t weights_table(struct graph *graph, const struct scenario *scenario, const char *name,
                       uint32_t rows, uint32_t embed);

/* The norm `name` as the scenario's norms are, with its parameters, [embed]. */
struct norm_weights weights_norm(struct graph *graph, const struct scenario *scenario,
                                 const char *name, uint32_t embed);

struct weights_dims weights_dims(struct graph *graph, const struct scenario *scenario);

/* Whether a model starts from published initial values: scales 1, biases 0, and tables with the
 * published deviation.  Others get random numbers everywhere, so that a misplaced element shows. */
bool weights_is_published(const struct scenario *scenario);

/* One parameter, scaled so that products summed over its first `nsummed` dimensions keep the
 * variance of the other operand. nsummed 0: a vector that scales or is added. */
uint32_t weights_param(struct graph *graph, const struct scenario *scenario, const char *name,
                       const uint32_t *dims, uint32_t rank, uint32_t nsummed);

/* A bias: 0 in published models, else random numbers. */
uint32_t weights_bias(struct graph *graph, const struct scenario *scenario, const char *name,
                      const uint32_t *dims, uint32_t rank);

/* The parameters of the layer `name`. */
struct mlp_weights weights_mlp(struct graph *graph, const struct scenario *scenario,
                               const char *name, const struct weights_dims *dims);
struct attention_weights weights_attention(struct graph *graph, const struct scenario *scenario,
                                           const char *name, const struct weights_dims *dims);
struct latent_weights weights_latent(struct graph *graph, const struct scenario *scenario,
                                     const char *name, const struct weights_dims *dims);

struct state_weights weights_state(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims,
                                   enum scenario_layer_type type);
struct state_weights weights_lightning(struct graph *graph, const struct scenario *scenario,
                                       const char *name, const struct weights_dims *dims);

struct short_conv_weights weights_short_conv(struct graph *graph, const struct scenario *scenario,
                                             const char *name, const struct weights_dims *dims);

/* `dense`: the layer has an mlp; otherwise experts replace it, whose parameters routed.h makes. `attends`: it has attention, else others add what is in
 * its place. */
struct block_weights weights_block(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims, bool dense,
                                   bool attends);

/* The final norm `name`, after all layers, with its parameters. */
uint32_t weights_final_norm(struct graph *graph, const struct scenario *scenario, const char *name,
                            uint32_t x, const struct weights_dims *dims);

/* The scenario's activation function. */
struct mlp_activation weights_activation(const struct scenario *scenario);

#endif /* MODEL_WEIGHTS_H */
