/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/loss_scale.h"

/* A scalar state, `value` at first. */
static uint32_t number(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                       double value)
{
    return graph_input(graph, name, opts->types.parameters, NULL, 0,
                       (struct kern_source){.scale = 0, .offset = value});
}

uint32_t loss_scale_add(struct graph *graph, const struct optimizer_opts *opts)
{
    if (opts->loss_scale.kind == LOSS_SCALE_NONE)
        return GRAPH_NONE;
    return number(graph, opts, "opt/loss_scale", opts->loss_scale.initial);
}

uint32_t loss_scale_apply(struct graph *graph, uint32_t scale, uint32_t loss)
{
    if (scale == GRAPH_NONE || graph->err.status != SHD_OK)
        return loss;
    scale = graph_convert(graph, "loss/scale", graph->nodes[loss].dtype, scale);
    return graph_map(graph, "loss/scaled", KERN_MUL, loss, scale, 0);
}

uint32_t loss_scale_inverse(struct graph *graph, uint32_t scale)
{
    uint32_t one;

    if (scale == GRAPH_NONE)
        return GRAPH_NONE;
    one = graph_map(graph, "loss_scale/one", KERN_FILL, scale, GRAPH_NONE, 1);
    return graph_map(graph, "loss_scale/inverse", KERN_DIV, one, scale, 0);
}

/* 1 - x */
static uint32_t other(struct graph *graph, const char *name, uint32_t x)
{
    x = graph_map(graph, name, KERN_NEG, x, GRAPH_NONE, 0);
    return graph_map(graph, name, KERN_ADD_SCALAR, x, GRAPH_NONE, 1);
}

/* Dynamic scale.  Count good steps since the scale changed: count' = done (count + 1), reset to 0
 * at the growth interval. scale' = scale (1/2 + done/2 + full): halved, kept, or doubled. */
static void add_dynamic(struct graph *graph, const struct optimizer_opts *opts, uint32_t scale,
                        uint32_t done)
{
    uint32_t state = number(graph, opts, "opt/good_steps", 0), count, full, factor;

    count = graph_map(graph, "opt/good_steps", KERN_ADD_SCALAR, state, GRAPH_NONE, 1);
    count = graph_map(graph, "opt/good_steps", KERN_GATE, count, done, 0);
    full = graph_map(graph, "loss_scale/full", KERN_ADD_SCALAR, count, GRAPH_NONE,
                     0.5 - opts->loss_scale.growth_interval);
    full = graph_map(graph, "loss_scale/full", KERN_STEP, full, GRAPH_NONE, 0);
    count = graph_map(graph, "opt/good_steps", KERN_GATE, count,
                      other(graph, "loss_scale/not_full", full), 0);
    factor = graph_map(graph, "loss_scale/factor", KERN_SCALE, done, GRAPH_NONE, 0.5);
    factor = graph_map(graph, "loss_scale/factor", KERN_ADD_SCALAR, factor, GRAPH_NONE, 0.5);
    factor = graph_map(graph, "loss_scale/factor", KERN_ADD, factor, full, 0);
    optimizer_keep(graph, state, count);
    optimizer_keep(graph, scale, graph_map(graph, "opt/loss_scale", KERN_MUL, scale, factor, 0));
}

struct optimizer_skip loss_scale_update(struct graph *graph, const struct optimizer_opts *opts,
                                        uint32_t scale, uint32_t norm)
{
    struct optimizer_skip skip = {GRAPH_NONE, GRAPH_NONE};

    if (scale == GRAPH_NONE)
        return skip;
    skip.done = graph_map(graph, "loss_scale/done", KERN_FINITE, norm, GRAPH_NONE, 0);
    skip.skipped = other(graph, "loss_scale/skipped", skip.done);
    if (opts->loss_scale.kind == LOSS_SCALE_DYNAMIC)
        add_dynamic(graph, opts, scale, skip.done);
    return skip;
}
