/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/gated_delta.h"

#include <math.h>

#include "graph/layers/norm.h"
#include "graph/layers/project.h"

#define UNIT_EPS 1e-6 /* added to the square of a vector's length, as most implementations do */

/* x / sqrt(sum of squares + eps) * factor of each head, which are repeated to `heads`. */
static uint32_t unit(struct graph *g, const char *name, uint32_t x, double factor, uint32_t heads)
{
    double width;

    if (!graph_usable(g, x))
        return GRAPH_NONE;
    width = (double)g->dims[g->nodes[x].dims[3]].size;
    x = layer_rms_norm(g, graph_text(g, "%s/norm", name), x, GRAPH_NONE, UNIT_EPS / width);
    x = graph_map(g, graph_text(g, "%s/unit", name), KERN_SCALE, x, GRAPH_NONE,
                  factor / sqrt(width));
    return layer_state_repeated(g, name, x, heads);
}

/* x times the first of two matrices; x itself if there is one matrix alone. */
static uint32_t narrowed(struct graph *g, const char *name, uint32_t x, uint32_t first)
{
    return first == GRAPH_NONE ? x : layer_project(g, name, x, first);
}

uint32_t layer_gated_delta(struct graph *graph, const char *name, uint32_t x,
                           const struct state_weights *w)
{
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, .chunk = 0};
    enum kern_fn gate = w->decay_in != GRAPH_NONE ? KERN_SIGMOID : KERN_SILU;
    struct state_operands in;
    uint32_t o, heads, of_gate, of_decay;

    if (!graph_usable(graph, x) || !graph_usable(graph, w->v) || !graph_usable(graph, w->q))
        return GRAPH_NONE;
    heads = graph->nodes[w->v].dims[1];
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    /* Before the heads: gradients of x that are partial sums over heads are then added first, and
     * one all-reduce completes them, before those of these two, which each device has whole. */
    of_gate = narrowed(graph, graph_text(graph, "%s/gate_in", name), x, w->gate_in);
    of_decay = narrowed(graph, graph_text(graph, "%s/decay_in", name), x, w->decay_in);
    in = layer_state_operands(graph, name, x, "q", w);
    in.q = unit(graph, graph_text(graph, "%s/q", name), in.q,
                1 / sqrt((double)graph->dims[graph->nodes[w->q].dims[2]].size), heads);
    in.k = unit(graph, graph_text(graph, "%s/key", name), in.k, 1, heads);
    opts.decay = layer_state_decay(graph, name, layer_state_steps(graph, name, of_decay, w), w);
    opts.beta = layer_project(graph, graph_text(graph, "%s/beta", name), x, w->beta);
    opts.beta = graph_map(graph, graph_text(graph, "%s/beta/sigmoid", name), KERN_SIGMOID,
                          opts.beta, GRAPH_NONE, 0);
    o = graph_linear_attention(graph, graph_text(graph, "%s/heads", name), in.q, in.k, in.v, &opts);
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_constraint(graph, graph_text(graph, "%s/attended", name), o);
    o = layer_rms_norm(graph, graph_text(graph, "%s/norm", name), o, w->scale, w->norm_eps);
    o = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, o,
                  layer_state_gate(graph, name, of_gate, gate, w), 0);
    return layer_state_out(graph, name, o, x, w);
}
