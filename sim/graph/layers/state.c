/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/state.h"

#include "graph/layers/project.h"
#include "graph/layers/short_conv.h"

const struct state_names state_names_delta = {"q", "key", "value", "gate", "decay"};
const struct state_names state_names_mamba = {"c", "b", "x", "z", "dt"};
const struct state_names state_names_lightning = {"q", "k", "v", "gate", NULL};

static uint32_t projected(struct graph *g, const char *name, uint32_t x, uint32_t weights,
                          double factor)
{
    return layer_scaled(g, graph_text(g, "%s/scaled", name), layer_project(g, name, x, weights),
                        factor);
}

/* q, k or v; `place` is where its heads may be sharded. */
static uint32_t part(struct graph *g, const char *name, const char *which, const char *place,
                     uint32_t x, uint32_t weights, uint32_t taps, uint32_t bias, double factor)
{
    const char *full = graph_text(g, "%s/%s", name, which);

    x = projected(g, full, x, weights, factor);
    x = graph_constraint(g, graph_text(g, "%s/projected", name), x);
    if (taps != GRAPH_NONE)
        x = layer_taps(g, graph_text(g, "%s/taps", full), x, taps);
    if (bias != GRAPH_NONE)
        x = graph_map(g, graph_text(g, "%s/biased", full), KERN_ADD, x, bias, 0);
    x = graph_map(g, graph_text(g, "%s/silu", full), KERN_SILU, x, GRAPH_NONE, 0);
    return graph_constraint(g, graph_text(g, "%s/%s", name, place), x);
}

struct state_operands layer_state_operands(struct graph *graph, const char *name, uint32_t x,
                                           const char *keys, const struct state_weights *w)
{
    struct state_operands all;

    all.q = part(graph, name, w->names->q, keys, x, w->q, w->q_taps, w->q_bias, w->factors.q);
    all.k = part(graph, name, w->names->k, keys, x, w->k, w->k_taps, w->k_bias, w->factors.k);
    all.v = part(graph, name, w->names->v, "q", x, w->v, w->v_taps, w->v_bias, w->factors.v);
    return all;
}

/* softplus(x) = max(x, 0) + log(1 + exp(-|x|)). */
static uint32_t softplus(struct graph *g, const char *name, uint32_t x)
{
    uint32_t most, rest;

    most = graph_map(g, graph_text(g, "%s/relu", name), KERN_RELU, x, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/size", name), KERN_ABS, x, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/less", name), KERN_NEG, rest, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/exp", name), KERN_EXP, rest, GRAPH_NONE, 0);
    rest = graph_map(g, graph_text(g, "%s/log1p", name), KERN_LOG1P, rest, GRAPH_NONE, 0);
    return graph_map(g, graph_text(g, "%s/softplus", name), KERN_ADD, most, rest, 0);
}

static enum shd_dtype type_of_sums(const struct graph *g, uint32_t x)
{
    return g->nodes[x].dtype == SHD_F64 ? SHD_F64 : SHD_F32;
}

uint32_t layer_state_steps(struct graph *graph, const char *name, uint32_t x,
                           const struct state_weights *w)
{
    name = graph_text(graph, "%s/%s", name, w->names->decay);
    x = projected(graph, name, x, w->decay, w->factors.decay);
    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    x = graph_map(graph, graph_text(graph, "%s/biased", name), KERN_ADD, x, w->bias, 0);
    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    x = graph_convert(graph, graph_text(graph, "%s/wide", name), type_of_sums(graph, x), x);
    return softplus(graph, name, x);
}

uint32_t layer_state_decay(struct graph *graph, const char *name, uint32_t steps,
                           const struct state_weights *w)
{
    uint32_t factor;

    if (!graph_usable(graph, steps))
        return GRAPH_NONE;
    name = graph_text(graph, "%s/%s", name, w->names->decay);
    factor =
        graph_convert(graph, graph_text(graph, "%s/log", name), graph->nodes[steps].dtype, w->log);
    factor = graph_map(graph, graph_text(graph, "%s/rate", name), KERN_EXP, factor, GRAPH_NONE, 0);
    factor = graph_map(graph, graph_text(graph, "%s/rate", name), KERN_NEG, factor, GRAPH_NONE, 0);
    return graph_map(graph, graph_text(graph, "%s/gates", name), KERN_MUL, steps, factor, 0);
}

uint32_t layer_state_repeated(struct graph *graph, const char *name, uint32_t x, uint32_t heads)
{
    if (!graph_usable(graph, x) || graph->nodes[x].dims[2] == heads)
        return x;
    return graph_repeat(graph, graph_text(graph, "%s/repeated", name), x, graph->nodes[x].dims[2],
                        heads);
}

uint32_t layer_state_gate(struct graph *graph, const char *name, uint32_t x, enum kern_fn fn,
                          const struct state_weights *w)
{
    const char *full = graph_text(graph, "%s/%s", name, w->names->gate);

    x = projected(graph, full, x, w->gate, w->factors.gate);
    x = graph_constraint(graph, graph_text(graph, "%s/projected", name), x);
    full = graph_text(graph, fn == KERN_SILU ? "%s/silu" : "%s/sigmoid", full);
    return graph_map(graph, full, fn, x, GRAPH_NONE, 0);
}

uint32_t layer_state_out(struct graph *graph, const char *name, uint32_t heads, uint32_t x,
                         const struct state_weights *w)
{
    if (!graph_usable(graph, heads) || !graph_usable(graph, x))
        return GRAPH_NONE;
    x = graph_einsum(graph, graph_text(graph, "%s/o", name), heads, w->o, graph->nodes[x].dims, 3);
    x = layer_scaled(graph, graph_text(graph, "%s/scaled", name), x, w->factors.out);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), x);
}
