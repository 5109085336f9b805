/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/state.h"

#include <math.h>
#include <string.h>

double optimizer_rate(const struct optimizer_opts *opts, uint32_t step)
{
    double rate = opts->rate, length;

    if (step < opts->warmup)
        return rate * (step + 1) / opts->warmup;
    length = opts->steps > opts->warmup ? opts->steps - opts->warmup : 1;
    if (opts->decay == OPTIMIZER_COSINE)
        rate *= (1 + cos(M_PI * fmin(1, (step - opts->warmup) / length))) / 2;
    return rate;
}

uint32_t optimizer_by_step(struct graph *graph, const struct optimizer_opts *opts, const char *name,
                           double (*value)(const struct optimizer_opts *, uint32_t step))
{
    double *values = graph_numbers(graph, opts->steps);
    struct kern_source source = {.by_step = values, .nsteps = opts->steps};

    if (!values)
        return GRAPH_NONE;
    for (uint32_t step = 0; step < opts->steps; step++)
        values[step] = value(opts, step);
    return graph_input(graph, name, opts->types.parameters, NULL, 0, source);
}

uint32_t optimizer_state(struct graph *graph, const char *kind, const struct optimizer_param *param,
                         enum shd_dtype dtype, struct kern_source source)
{
    const char *name = graph_text(graph, "opt/%s/%s", kind, param->name);
    const struct graph_node *n;
    uint32_t dims[GRAPH_RANK_MAX], state;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    n = &graph->nodes[param->node];
    memcpy(dims, n->dims, sizeof dims);
    state = graph_input(graph, name, dtype, dims, n->rank, source);
    if (state != GRAPH_NONE)
        graph->nodes[state].state_of = param->node;
    return state;
}

/* `next` if the step is done, `state` if it is skipped.  KERN_GATE ignores the value left out, even
 * if it is not finite. */
static uint32_t unless_skipped(struct graph *graph, const struct optimizer_skip *skip,
                               uint32_t state, uint32_t next)
{
    const char *name = graph->nodes[next].name;

    if (skip->done == GRAPH_NONE)
        return next;
    state = graph_convert(graph, name, graph->nodes[next].dtype, state);
    state = graph_map(graph, name, KERN_GATE, state, skip->skipped, 0);
    next = graph_map(graph, name, KERN_GATE, next, skip->done, 0);
    return graph_map(graph, name, KERN_ADD, next, state, 0);
}

uint32_t optimizer_next(struct graph *graph, const struct optimizer_param *param, uint32_t state,
                        uint32_t next)
{
    enum shd_dtype dtype;
    const char *name;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    dtype = graph->nodes[next].dtype;
    name = graph->nodes[next].name;
    next = unless_skipped(graph, &param->skip, state, next);
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    next = graph_convert(graph, name, graph->nodes[state].dtype, next);
    optimizer_keep(graph, state, next);
    return graph_convert(graph, name, dtype, next);
}

void optimizer_keep(struct graph *graph, uint32_t state, uint32_t next)
{
    if (graph->err.status == SHD_OK)
        graph_output(graph, GRAPH_NEXT, graph->nodes[state].name, next, state);
}
