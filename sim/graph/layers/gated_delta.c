/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/gated_delta.h"

#include <math.h>

#include "graph/layers/norm.h"
#include "graph/layers/project.h"
#include "graph/layers/short_conv.h"

#define UNIT_EPS 1e-6 /* added to the square of a vector's length, as most implementations do */

/* q, k or v. */
static uint32_t part(struct graph *g, const char *name, const char *which, uint32_t x,
                     uint32_t weights, uint32_t taps)
{
    const char *full = graph_text(g, "%s/%s", name, which);

    x = layer_project(g, full, x, weights);
    x = graph_constraint(g, graph_text(g, "%s/projected", name), x);
    x = layer_taps(g, graph_text(g, "%s/taps", full), x, taps);
    x = graph_map(g, graph_text(g, "%s/silu", full), KERN_SILU, x, GRAPH_NONE, 0);
    return graph_constraint(g, graph_text(g, "%s/q", name), x);
}

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
    if (x == GRAPH_NONE || g->nodes[x].dims[2] == heads)
        return x;
    return graph_repeat(g, graph_text(g, "%s/repeated", name), x, g->nodes[x].dims[2], heads);
}

/* -exp(log) softplus(x + bias), in the type of sums; softplus(x) = max(x, 0) + log(1 + exp(-|x|)).
 */
static uint32_t decay(struct graph *g, const char *name, uint32_t x,
                      const struct gated_delta_weights *w)
{
    enum shd_dtype wide;
    uint32_t most, rest, factor;

    if (!graph_usable(g, x))
        return GRAPH_NONE;
    wide = g->nodes[x].dtype == SHD_F64 ? SHD_F64 : SHD_F32;
    x = graph_map(g, graph_text(g, "%s/biased", name), KERN_ADD, x, w->bias, 0);
    x = graph_convert(g, graph_text(g, "%s/wide", name), wide, x);
    most = graph_map(g, graph_text(g, "%s/relu", name), KERN_RELU, x, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/size", name), KERN_ABS, x, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/less", name), KERN_NEG, rest, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/exp", name), KERN_EXP, rest, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/log1p", name), KERN_LOG1P, rest, GRAPH_NONE, 0);
    x = graph_map(g, graph_text(g, "%s/softplus", name), KERN_ADD, most, rest, 0);
    factor = graph_convert(g, graph_text(g, "%s/log", name), wide, w->log);
    factor = graph_map(g, graph_text(g, "%s/rate", name), KERN_EXP, factor, GRAPH_NONE, 0);
    factor = graph_map(g, graph_text(g, "%s/rate", name), KERN_NEG, factor, GRAPH_NONE, 0);
    return graph_map(g, graph_text(g, "%s/gates", name), KERN_MUL, x, factor, 0);
}

uint32_t layer_gated_delta(struct graph *graph, const char *name, uint32_t x,
                           const struct gated_delta_weights *w)
{
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, .chunk = 0};
    uint32_t q, k, v, gate, o, heads;

    if (!graph_usable(graph, x) || !graph_usable(graph, w->v) || !graph_usable(graph, w->q))
        return GRAPH_NONE;
    heads = graph->nodes[w->v].dims[1];
    x = graph_constraint(graph, graph_text(graph, "%s/in", name), x);
    q = part(graph, name, "q", x, w->q, w->q_taps);
    k = part(graph, name, "key", x, w->k, w->k_taps);
    v = part(graph, name, "value", x, w->v, w->v_taps);
    q = unit(graph, graph_text(graph, "%s/q", name), q,
             1 / sqrt((double)graph->dims[graph->nodes[w->q].dims[2]].size), heads);
    k = unit(graph, graph_text(graph, "%s/key", name), k, 1, heads);
    opts.decay = decay(graph, graph_text(graph, "%s/decay", name),
                       layer_project(graph, graph_text(graph, "%s/decay", name), x, w->decay), w);
    opts.beta = layer_project(graph, graph_text(graph, "%s/beta", name), x, w->beta);
    opts.beta = graph_map(graph, graph_text(graph, "%s/beta/sigmoid", name), KERN_SIGMOID,
                          opts.beta, GRAPH_NONE, 0);
    o = graph_linear_attention(graph, graph_text(graph, "%s/heads", name), q, k, v, &opts);
    o = graph_constraint(graph, graph_text(graph, "%s/q", name), o);
    o = graph_constraint(graph, graph_text(graph, "%s/attended", name), o);
    o = layer_rms_norm(graph, graph_text(graph, "%s/norm", name), o, w->scale, w->norm_eps);
    gate = layer_project(graph, graph_text(graph, "%s/gate", name), x, w->gate);
    gate = graph_constraint(graph, graph_text(graph, "%s/projected", name), gate);
    gate =
        graph_map(graph, graph_text(graph, "%s/gate/silu", name), KERN_SILU, gate, GRAPH_NONE, 0);
    o = graph_map(graph, graph_text(graph, "%s/gated", name), KERN_MUL, o, gate, 0);
    if (!graph_usable(graph, o) || !graph_usable(graph, x))
        return GRAPH_NONE;
    o = graph_einsum(graph, graph_text(graph, "%s/o", name), o, w->o, graph->nodes[x].dims, 3);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), o);
}
