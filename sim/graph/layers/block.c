/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/block.h"

#include "graph/layers/project.h"

static uint32_t norm(struct graph *g, const char *name, const char *part, uint32_t x,
                     const struct norm_weights *w)
{
    return layer_norm(g, graph_text(g, "%s/%s", name, part), x, w);
}

/* What attention or the mlp adds to the residual stream, from its output y. */
static uint32_t addend(struct graph *g, const char *name, const char *part, uint32_t y,
                       const struct norm_weights *after, const struct block_opts *opts)
{
    y = norm(g, name, part, y, after);
    return layer_scaled(g, graph_text(g, "%s/scaled", name), y, opts->residual_scale);
}

/* Attention itself, and Mamba-2 beside it if the block has both. */
static uint32_t attention(struct graph *g, const char *name, uint32_t x,
                          const struct block_weights *w, const struct block_opts *opts)
{
    const char *attn = graph_text(g, "%s/attn", name);
    uint32_t y = w->latent ? layer_latent_attention(g, attn, x, w->latent, opts->attention)
                           : layer_attention(g, attn, x, &w->attn, opts->attention);

    y = layer_scaled(g, graph_text(g, "%s/scaled", attn), y, opts->attention_scale);
    if (!w->mamba)
        return y;
    x = layer_mamba(g, graph_text(g, "%s/mamba", name), x, w->mamba);
    return graph_map(g, graph_text(g, "%s/mixed", name), KERN_ADD, y, x, 0);
}

static uint32_t attend(struct graph *g, const char *name, uint32_t x, const struct block_weights *w,
                       const struct block_opts *opts)
{
    if (w->conv)
        x = layer_short_conv(g, graph_text(g, "%s/conv", name), x, w->conv);
    else if (w->delta)
        x = layer_gated_delta(g, graph_text(g, "%s/attn", name), x, w->delta);
    else if (w->mamba && !w->both)
        x = layer_mamba(g, graph_text(g, "%s/mamba", name), x, w->mamba);
    else if (w->lightning)
        x = layer_lightning(g, graph_text(g, "%s/lightning", name), x, opts->slope, w->lightning);
    else
        x = attention(g, name, x, w, opts);
    return addend(g, name, "norm1_after", x, &w->norm1_after, opts);
}

static uint32_t experts(struct graph *g, const char *name, uint32_t x,
                        const struct block_experts *experts)
{
    const char *moe = graph_text(g, "%s/moe", name);
    struct moe m = layer_moe(g, moe, x, &experts->weights, &experts->opts);

    if (m.loss != GRAPH_NONE)
        *experts->loss =
            *experts->loss == GRAPH_NONE
                ? m.loss
                : graph_map(g, graph_text(g, "%s/loss", moe), KERN_ADD, *experts->loss, m.loss, 0);
    return m.y;
}

static uint32_t feed_forward(struct graph *g, const char *name, uint32_t x,
                             const struct block_weights *w, const struct block_opts *opts)
{
    const char *mlp = graph_text(g, "%s/mlp", name);

    x = w->experts ? experts(g, name, x, w->experts)
                   : layer_mlp(g, mlp, x, &w->mlp, opts->activation);
    x = layer_scaled(g, graph_text(g, "%s/scaled", mlp), x, opts->mlp_scale);
    return addend(g, name, "norm2_after", x, &w->norm2_after, opts);
}

/* The residual sum at the end of a part of the block. */
static uint32_t residual(struct graph *g, const char *name, const char *part, uint32_t x,
                         uint32_t y, const struct block_opts *opts)
{
    x = layer_scaled(g, graph_text(g, "%s/skipped", name), x, opts->skip_scale);
    x = graph_map(g, graph_text(g, "%s/%s", name, part), KERN_ADD, x, y, 0);
    return graph_constraint(g, graph_text(g, "%s/out", name), x);
}

uint32_t layer_block(struct graph *graph, const char *name, uint32_t x,
                     const struct block_weights *weights, const struct block_opts *opts)
{
    uint32_t in = norm(graph, name, "norm1", x, &weights->norm1), h, y;

    if (opts->order == BLOCK_MLP)
        return residual(graph, name, "residual", x, feed_forward(graph, name, in, weights, opts),
                        opts);
    h = attend(graph, name, in, weights, opts);
    if (opts->order == BLOCK_ATTENTION)
        return residual(graph, name, "residual", x, h, opts);
    if (opts->order == BLOCK_SERIAL || opts->order == BLOCK_NORMED) {
        bool normed = opts->order == BLOCK_NORMED;

        x = residual(graph, name, "residual1", normed ? in : x, h, opts);
        in = norm(graph, name, "norm2", x, &weights->norm2);
        y = feed_forward(graph, name, in, weights, opts);
        return residual(graph, name, "residual2", normed ? in : x, y, opts);
    }
    if (weights->norm2.used)
        in = norm(graph, name, "norm2", x, &weights->norm2);
    y = feed_forward(graph, name, in, weights, opts);
    y = graph_map(graph, graph_text(graph, "%s/beside", name), KERN_ADD, h, y, 0);
    return residual(graph, name, "residual", x, y, opts);
}
