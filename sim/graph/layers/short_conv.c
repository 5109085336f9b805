/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/short_conv.h"

#include "graph/layers/project.h"

uint32_t layer_taps(struct graph *graph, const char *name, uint32_t x, uint32_t taps)
{
    struct graph_taps how = {.stride = 1, .dilation = 1};
    struct graph_node like;
    uint32_t windows, tap;

    if (!graph_usable(graph, x) || !graph_usable(graph, taps))
        return GRAPH_NONE;
    like = graph->nodes[x];
    tap = graph->nodes[taps].dims[0];
    how.low = graph->dims[tap].size - 1;
    windows = graph_windows(graph, graph_text(graph, "%s/windows", name), x, like.dims[1],
                            like.dims[1], tap, &how);
    return graph_einsum(graph, name, windows, taps, like.dims, like.rank);
}

static uint32_t hidden(struct graph *g, const char *name, const char *part, uint32_t x,
                       uint32_t weights)
{
    x = layer_project(g, graph_text(g, "%s/%s", name, part), x, weights);
    return graph_constraint(g, graph_text(g, "%s/hidden", name), x);
}

uint32_t layer_short_conv(struct graph *graph, const char *name, uint32_t x,
                          const struct short_conv_weights *weights)
{
    uint32_t in, gate, y;

    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    in = hidden(graph, name, "in", x, weights->in);
    gate = hidden(graph, name, "gate", x, weights->gate);
    y = hidden(graph, name, "value", x, weights->value);
    y = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, in, y, 0);
    y = layer_taps(graph, graph_text(graph, "%s/taps", name), y, weights->taps);
    y = graph_map(graph, graph_text(graph, "%s/heads", name), KERN_MUL, gate, y, 0);
    if (!graph_usable(graph, y) || !graph_usable(graph, x))
        return GRAPH_NONE;
    y = graph_einsum(graph, graph_text(graph, "%s/o", name), y, weights->o, graph->nodes[x].dims,
                     3);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), y);
}
