/* weights.h - the parameters of the presets' layers: names, dimensions and what is in them.
 *
 * Names are as in checkpoints: layers/0/attn/q/kernel, layers/0/mlp/up/kernel, embed/table.
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

/* The logical axes of the presets; GRAPH_NONE for those that a kind of model has not. */
struct weights_dims {
    uint32_t batch, seq, embed, mlp, heads, kv_heads, head_dim, vocab, positions;
};

/* x[..., embed] to logits[batch, seq, vocab], by a head of its own or by the embedding's table
 * (GRAPH_NONE: it is not tied). */
uint32_t weights_head(struct graph *graph, const struct scenario *scenario, uint32_t x,
                      uint32_t table, const struct weights_dims *dims);

/* The table of the embedding, [vocab, embed]. */
uint32_t weights_table(struct graph *graph, const struct scenario *scenario, const char *name,
                       uint32_t rows, uint32_t embed);

/* The scale of the norm `name`, [embed]. */
uint32_t weights_norm(struct graph *graph, const struct scenario *scenario, const char *name,
                      uint32_t embed);


struct weights_dims weights_dims(struct graph *graph, const struct scenario *scenario);

/* One parameter; products over its first `nsummed` dimensions keep the variance of what they are
 * multiplied with.  0: a vector that scales or is added. */
uint32_t weights_param(struct graph *graph, const struct scenario *scenario, const char *name,
                       const uint32_t *dims, uint32_t rank, uint32_t nsummed);

/* The parameters of layers called `name`. */
struct mlp_weights weights_mlp(struct graph *graph, const struct scenario *scenario,
                               const char *name, const struct weights_dims *dims);
struct attention_weights weights_attention(struct graph *graph, const struct scenario *scenario,
                                           const char *name, const struct weights_dims *dims);
struct latent_weights weights_latent(struct graph *graph, const struct scenario *scenario,
                                     const char *name, const struct weights_dims *dims);

/* `dense`: it has an mlp; else experts take its place, which are not of these weights. */
struct block_weights weights_block(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims, bool dense);

/* The norm `name`, after all layers, with its parameters. */
uint32_t weights_final_norm(struct graph *graph, const struct scenario *scenario, const char *name,
                            uint32_t x, const struct weights_dims *dims);

/* How the scenario's mlp and attention layers compute. */
enum kern_fn weights_activation(const struct scenario *scenario);
struct attention_opts weights_attention_opts(const struct scenario *scenario);

#endif /* MODEL_WEIGHTS_H */
