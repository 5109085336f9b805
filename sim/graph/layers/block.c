/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/block.h"

#include "graph/layers/norm.h"

static uint32_t norm(struct graph *g, const char *name, uint32_t x, const struct block_weights *w,
                     uint32_t scale, uint32_t bias)
{
    if (w->centred)
        return layer_layer_norm(g, name, x, scale, bias,
                                w->norm_eps > 0 ? w->norm_eps : BLOCK_LAYER_NORM_EPS);
    return layer_rms_norm(g, name, x, scale, w->norm_eps > 0 ? w->norm_eps : BLOCK_NORM_EPS);
}

static uint32_t attend(struct graph *g, const char *name, uint32_t x, const struct block_weights *w,
                       const struct attention_opts *opts)
{
    const char *attn = graph_text(g, "%s/attn", name);

    return w->latent ? layer_latent_attention(g, attn, x, w->latent, opts)
                     : layer_attention(g, attn, x, &w->attn, opts);
}

static uint32_t feed_forward(struct graph *g, const char *name, uint32_t x,
                             const struct block_weights *w, enum kern_fn activation)
{
    struct moe m;

    if (!w->experts)
        return layer_mlp(g, graph_text(g, "%s/mlp", name), x, &w->mlp, activation);
    m = layer_moe(g, graph_text(g, "%s/moe", name), x, &w->experts->weights, &w->experts->opts);
    if (m.loss != GRAPH_NONE)
        *w->experts->loss = *w->experts->loss == GRAPH_NONE
                                ? m.loss
                                : graph_map(g, graph_text(g, "%s/moe/loss", name), KERN_ADD,
                                            *w->experts->loss, m.loss, 0);
    return m.y;
}

uint32_t layer_block(struct graph *graph, const char *name, uint32_t x,
                     const struct block_weights *weights, const struct attention_opts *attention,
                     enum kern_fn activation)
{
    const char *out = graph_text(graph, "%s/out", name);
    uint32_t h, y;

    h = norm(graph, graph_text(graph, "%s/norm1", name), x, weights, weights->norm1,
             weights->norm1_bias);
    h = attend(graph, name, h, weights, attention);
    h = graph_map(graph, graph_text(graph, "%s/residual1", name), KERN_ADD, x, h, 0);
    h = graph_constraint(graph, out, h);
    y = norm(graph, graph_text(graph, "%s/norm2", name), h, weights, weights->norm2,
             weights->norm2_bias);
    y = feed_forward(graph, name, y, weights, activation);
    y = graph_map(graph, graph_text(graph, "%s/residual2", name), KERN_ADD, h, y, 0);
    return graph_constraint(graph, out, y);
}
