/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/block.h"

#include "graph/layers/norm.h"

uint32_t layer_block(struct graph *graph, const char *name, uint32_t x,
                     const struct block_weights *weights, const struct attention_opts *attention,
                     enum kern_fn activation)
{
    const char *out = graph_text(graph, "%s/out", name);
    uint32_t h, y;

    h = layer_rms_norm(graph, graph_text(graph, "%s/norm1", name), x, weights->norm1,
                       BLOCK_NORM_EPS);
    h = layer_attention(graph, graph_text(graph, "%s/attn", name), h, &weights->attn, attention);
    h = graph_map(graph, graph_text(graph, "%s/residual1", name), KERN_ADD, x, h, 0);
    h = graph_constraint(graph, out, h);
    y = layer_rms_norm(graph, graph_text(graph, "%s/norm2", name), h, weights->norm2,
                       BLOCK_NORM_EPS);
    y = layer_mlp(graph, graph_text(graph, "%s/mlp", name), y, &weights->mlp, activation);
    y = graph_map(graph, graph_text(graph, "%s/residual2", name), KERN_ADD, h, y, 0);
    return graph_constraint(graph, out, y);
}
