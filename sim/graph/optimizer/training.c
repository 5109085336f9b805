/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/training.h"

#include <stdlib.h>

#include "graph/gradient.h"
#include "graph/optimizer/early.h"

/* Microbatches are equal, so the mean over the batch is the mean of theirs: a sum, where each
 * counts its part. */
static uint32_t part_of_mean(struct graph *graph, uint32_t loss)
{
    if (graph->microbatches == 1)
        return loss;
    return graph_map(graph, "loss/part", KERN_SCALE, loss, GRAPH_NONE, 1.0 / graph->microbatches);
}

static uint32_t over_microbatches(struct graph *graph, const char *name, uint32_t x)
{
    graph->phase = GRAPH_BACKWARD;
    return graph->microbatches == 1 ? x : graph_accumulate(graph, name, x);
}

/* A gradient summed over microbatches.  Under the name "opt/sum/`parameter`" it can be asked for
 * how the sum lies, which lives as long as the step; else parts over devices are added up as parts.
 */
static uint32_t sum_gradient(struct graph *graph, uint32_t param, uint32_t gradient)
{
    const char *name = graph_text(graph, "opt/sum/%s", graph->nodes[param].name);

    if (graph->microbatches == 1)
        return gradient;
    graph->phase = GRAPH_BACKWARD;
    gradient = graph_constraint(graph, name, gradient);
    if (gradient != GRAPH_NONE)
        graph->nodes[gradient].state_of = param;
    return over_microbatches(graph, name, gradient);
}

/* Its devices' parts are added up once, when all microbatches are done. */
static void add_loss(struct graph *graph, uint32_t loss)
{
    loss = over_microbatches(graph, "loss/sum", loss);
    graph->phase = GRAPH_OPTIMIZER;
    if (graph->microbatches > 1)
        loss = graph_map(graph, "loss", KERN_COPY, loss, GRAPH_NONE, 0);
    graph_output(graph, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
}

static uint32_t find_params(const struct graph *graph, uint32_t *params)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < graph->nnodes; node++)
        if (graph->nodes[node].op == GRAPH_PARAM)
            params[n++] = node;
    return n;
}

void training_add(struct graph *graph, uint32_t loss, const struct optimizer_opts *opts)
{
    uint32_t *params, *gradients, n;

    if (graph->err.status != SHD_OK)
        return;
    params = calloc(2 * (size_t)graph->nnodes + 1, sizeof *params);
    if (!params) {
        graph_fail(graph, SHD_ENOMEM, "no memory for the backward computation");
        return;
    }
    gradients = params + graph->nnodes;
    n = find_params(graph, params);
    loss = part_of_mean(graph, loss);
    graph_gradient(graph, loss, params, n, gradients);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        gradients[i] = sum_gradient(graph, params[i], gradients[i]);
    add_loss(graph, loss);
    optimizer_add(graph, opts, params, gradients, n);
    graph->phase = GRAPH_FORWARD;
    graph_sum_early(graph);
    free(params);
}
