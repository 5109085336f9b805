/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/training.h"

#include <stdlib.h>

#include "graph/gradient.h"
#include "graph/optimizer/early.h"
#include "graph/optimizer/loss_scale.h"
#include "graph/stages.h"

/* Scale a microbatch's loss for the mean over the batch: microbatches are equal, so the mean is the
 * sum of scaled losses. */
static uint32_t part_of_mean(struct graph *graph, uint32_t loss)
{
    if (graph->microbatches == 1)
        return loss;
    return graph_map(graph, "loss/part", KERN_SCALE, loss, GRAPH_NONE, 1.0 / graph->microbatches);
}

/* Whether a node adds up contributions to the gradient of a parameter. */
static bool is_sum(const struct graph *graph, uint32_t node, uint32_t param)
{
    const struct graph_node *n = &graph->nodes[node];

    return n->op == GRAPH_MAP && n->fn == KERN_ADD && n->gradient_of == param;
}

/* Whether several stages of a pipeline contribute to a gradient.  Sums are chained: the second
 * operand is the sum so far. */
static bool is_of_stages(const struct graph *graph, uint32_t gradient, uint32_t param)
{
    uint32_t stage = graph->nodes[gradient].stage;

    for (; is_sum(graph, gradient, param); gradient = graph->nodes[gradient].inputs[1])
        if (graph->nodes[graph->nodes[gradient].inputs[0]].stage != stage)
            return true;
    return graph->nodes[gradient].stage != stage;
}

/* Add a contribution to the current stage's sum, if it belongs to that stage. */
static uint32_t add_of_stage(struct graph *graph, uint32_t sum, uint32_t contribution,
                             uint32_t param)
{
    if (graph->err.status != SHD_OK || graph->nodes[contribution].stage != graph->stage)
        return sum;
    if (sum == GRAPH_NONE)
        return contribution;
    sum = graph_map(graph, graph->nodes[contribution].name, KERN_ADD, contribution, sum, 0);
    if (sum != GRAPH_NONE)
        graph->nodes[sum].gradient_of = param;
    return sum;
}

/* What one stage contributes to a gradient of several stages; GRAPH_NONE: nothing. */
static uint32_t of_stage(struct graph *graph, uint32_t gradient, uint32_t param, uint32_t stage)
{
    uint32_t sum = GRAPH_NONE;

    graph->phase = GRAPH_BACKWARD;
    graph->stage = stage;
    for (; is_sum(graph, gradient, param); gradient = graph->nodes[gradient].inputs[1])
        sum = add_of_stage(graph, sum, graph->nodes[gradient].inputs[0], param);
    return add_of_stage(graph, sum, gradient, param);
}

/* Sum a gradient over microbatches.  The constraint "opt/sum/`parameter`" may shard the sum, which
 * lives as long as the step; otherwise partial gradients are summed as they are.
 */
static uint32_t sum_gradient(struct graph *graph, const struct optimizer_opts *opts, uint32_t param,
                             uint32_t gradient)
{
    const char *name = graph_text(graph, "opt/sum/%s", graph->nodes[param].name);

    if (graph->microbatches == 1)
        return gradient;
    graph->phase = GRAPH_BACKWARD;
    graph->stage = graph->nodes[gradient].stage;
    if (opts->reduce_each)
        gradient = optimizer_convert_gradient(graph, param, opts->types.reduce, gradient);
    gradient = graph_constraint(graph, name, gradient);
    if (gradient != GRAPH_NONE)
        graph->nodes[gradient].state_of = graph->nodes[gradient].gradient_of = param;
    return graph_accumulate(graph, name, opts->types.gradients, gradient);
}

/* Sum the contributions of each stage on that stage, which sends its sum after all microbatches. */
static uint32_t sum_contributions(struct graph *graph, const struct optimizer_opts *opts,
                                  uint32_t param, uint32_t gradient)
{
    uint32_t total = GRAPH_NONE;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    if (graph->microbatches == 1 || !is_of_stages(graph, gradient, param))
        return sum_gradient(graph, opts, param, gradient);
    for (uint32_t stage = 0; stage < graph->nstages && graph->err.status == SHD_OK; stage++) {
        uint32_t part = of_stage(graph, gradient, param, stage);

        if (part == GRAPH_NONE)
            continue;
        part = sum_gradient(graph, opts, param, part);
        graph->phase = GRAPH_OPTIMIZER;
        graph->stage = graph->nodes[param].stage;
        total = total == GRAPH_NONE
                    ? part
                    : graph_map(graph, graph_text(graph, "opt/stages/%s", graph->nodes[param].name),
                                KERN_ADD, total, part, 0);
    }
    return total;
}

/* Add the loss as an output; its parts on devices are reduced once, after all microbatches. */
static void add_loss(struct graph *graph, uint32_t loss)
{
    if (graph->err.status != SHD_OK)
        return;
    graph->phase = GRAPH_BACKWARD;
    graph->stage = graph->nodes[loss].stage;
    if (graph->microbatches > 1)
        loss = graph_accumulate(graph, "loss/sum", graph->nodes[loss].dtype, loss);
    graph->phase = GRAPH_OPTIMIZER;
    if (graph->microbatches > 1)
        loss = graph_map(graph, "loss", KERN_COPY, loss, GRAPH_NONE, 0);
    graph_output(graph, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
}

static uint32_t find_params(const struct graph *graph, uint32_t *params)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < graph->nnodes; node++)
        if (graph->nodes[node].op == GRAPH_PARAM && !graph->nodes[node].frozen)
            params[n++] = node;
    return n;
}

void training_add(struct graph *graph, uint32_t loss, const struct optimizer_opts *opts)
{
    uint32_t *params, *gradients, n, scale;

    if (graph->err.status != SHD_OK)
        return;
    params = calloc(2 * (size_t)graph->nnodes + 1, sizeof *params);
    if (!params) {
        graph_fail(graph, SHD_ENOMEM, "no memory for the backward computation");
        return;
    }
    gradients = params + graph->nnodes;
    n = find_params(graph, params);
    graph->stage = graph->nodes[loss].stage;
    loss = part_of_mean(graph, loss);
    scale = loss_scale_add(graph, opts);
    graph_gradient(graph, loss_scale_apply(graph, scale, loss), params, n, gradients);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        gradients[i] = sum_contributions(graph, opts, params[i], gradients[i]);
    add_loss(graph, loss);
    optimizer_add(graph, opts, scale, params, gradients, n);
    graph->phase = GRAPH_FORWARD;
    graph->stage = 0;
    graph_sum_early(graph);
    if (graph->nstages > 1)
        graph_mark_weights(graph);
    free(params);
}
