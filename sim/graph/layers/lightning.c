/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/lightning.h"

#include <math.h>

#include "graph/layers/argmax.h"
#include "graph/layers/norm.h"
#include "kern/attention.h"

/* -slope 2^(-8 h / H) of each head, for every token: [batch, seq, heads] as q. */
static uint32_t decay(struct graph *g, const char *name, uint32_t q, double slope)
{
    enum shd_dtype dtype;
    uint32_t dims[3], rate, ones;
    double base;

    if (!graph_usable(g, q))
        return GRAPH_NONE;
    for (uint32_t d = 0; d < 3; d++)
        dims[d] = g->nodes[q].dims[d];
    dtype = kern_attention_sums(g->nodes[q].dtype);
    base = 8 * log(2) / (double)g->dims[dims[2]].size;
    rate = graph_convert(g, graph_text(g, "%s/head", name), dtype, layer_numbers(g, dims[2]));
    rate = graph_map(g, graph_text(g, "%s/power", name), KERN_SCALE, rate, GRAPH_NONE, -base);
    rate = graph_map(g, graph_text(g, "%s/exp", name), KERN_EXP, rate, GRAPH_NONE, 0);
    rate = graph_map(g, graph_text(g, "%s/rate", name), KERN_SCALE, rate, GRAPH_NONE,
                     -slope * exp(-base));
    ones = layer_filled(g, "ones", dtype, dims, 2, (struct kern_source){.offset = 1});
    return graph_map(g, graph_text(g, "%s/gates", name), KERN_MUL, ones, rate, 0);
}

uint32_t layer_lightning(struct graph *graph, const char *name, uint32_t x, double slope,
                         const struct state_weights *w)
{
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, .chunk = 0};
    struct norm_weights norm = norm_rms(w->scale, w->norm_eps);
    struct state_operands in;
    uint32_t o;

    norm.whole = true;
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    in = layer_state_operands(graph, name, x, "q", w);
    opts.decay = decay(graph, graph_text(graph, "%s/decay", name), in.q, slope);
    o = graph_linear_attention(graph, graph_text(graph, "%s/heads", name), in.q, in.k, in.v, &opts);
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_constraint(graph, graph_text(graph, "%s/attended", name), o);
    o = layer_norm(graph, graph_text(graph, "%s/norm", name), o, &norm);
    o = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, o,
                  layer_state_gate(graph, name, x, KERN_SIGMOID, w), 0);
    return layer_state_out(graph, name, o, x, w);
}
