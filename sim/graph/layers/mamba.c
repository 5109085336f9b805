/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/mamba.h"

#include "graph/layers/norm.h"

/* v times the step of its head, in v's type. */
static uint32_t stepped(struct graph *g, const char *name, uint32_t v, uint32_t steps)
{
    if (!graph_usable(g, v) || !graph_usable(g, steps))
        return GRAPH_NONE;
    steps = graph_convert(g, graph_text(g, "%s/steps", name), g->nodes[v].dtype, steps);
    return graph_map(g, graph_text(g, "%s/x/stepped", name), KERN_MUL, v, steps, 0);
}

/* The RMS norm of each group's heads together. */
static uint32_t grouped_norm(struct graph *g, const char *name, uint32_t y,
                             const struct state_weights *w)
{
    struct norm_weights norm = norm_rms(w->scale, w->norm_eps);
    struct graph_node like;
    int64_t groups, heads;
    uint32_t dims[5];

    if (w->scale == GRAPH_NONE)
        return y;
    if (!graph_usable(g, y))
        return GRAPH_NONE;
    like = g->nodes[y];
    groups = g->dims[g->nodes[w->q].dims[1]].size;
    heads = g->dims[like.dims[2]].size;
    norm.whole = true;
    if (groups == 1)
        return layer_norm(g, name, y, &norm);
    norm.scale = GRAPH_NONE;
    for (uint32_t d = 0; d < 2; d++)
        dims[d] = like.dims[d];
    dims[2] = g->nodes[w->q].dims[1];
    dims[3] = graph_dim(g, "linear_group_heads", heads / groups);
    dims[4] = like.dims[3];
    y = graph_reshape(g, graph_text(g, "%s/groups", name), y, dims, 5);
    y = layer_norm(g, name, y, &norm);
    y = graph_reshape(g, graph_text(g, "%s/heads", name), y, like.dims, 4);
    return graph_map(g, name, KERN_MUL, y, w->scale, 0);
}

uint32_t layer_mamba(struct graph *graph, const char *name, uint32_t x,
                     const struct state_weights *w)
{
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, .chunk = 0};
    struct state_operands in;
    uint32_t steps, y, skipped, heads;

    if (!graph_usable(graph, x) || !graph_usable(graph, w->v) || !graph_usable(graph, w->q))
        return GRAPH_NONE;
    heads = graph->nodes[w->v].dims[1];
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    in = layer_state_operands(graph, name, x, "kv", w);
    in.q = layer_state_repeated(graph, graph_text(graph, "%s/c", name), in.q, heads);
    in.k = layer_state_repeated(graph, graph_text(graph, "%s/b", name), in.k, heads);
    steps = layer_state_steps(graph, name, x, w);
    opts.decay = layer_state_decay(graph, name, steps, w);
    y = graph_linear_attention(graph, graph_text(graph, "%s/heads", name), in.q, in.k,
                               stepped(graph, name, in.v, steps), &opts);
    y = graph_constraint(graph, graph_text(graph, "%s/q", name), y);
    skipped = graph_map(graph, graph_text(graph, "%s/skip", name), KERN_MUL, in.v, w->skip, 0);
    y = graph_map(graph, graph_text(graph, "%s/skipped", name), KERN_ADD, y, skipped, 0);
    y = graph_constraint(graph, graph_text(graph, "%s/attended", name), y);
    if (w->norm_first)
        y = grouped_norm(graph, graph_text(graph, "%s/norm", name), y, w);
    y = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, y,
                  layer_state_gate(graph, name, x, KERN_SILU, w), 0);
    if (!w->norm_first)
        y = grouped_norm(graph, graph_text(graph, "%s/norm", name), y, w);
    return layer_state_out(graph, name, y, x, w);
}
