/* Stochastic gradient descent with momentum, as PyTorch defines it:
 *   g = gradient + weight_decay * p;  b = momentum * b + g;  p = p - rate * b
 * https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/optimizer/optimizer.h"

static void prepare(struct graph *graph, const struct optimizer_opts *opts, uint32_t *by_step)
{
    by_step[0] = optimizer_by_step(graph, opts, "opt/rate", optimizer_rate);
}

static uint32_t with_momentum(struct graph *graph, const struct optimizer_opts *opts,
                              const struct optimizer_param *param, uint32_t g)
{
    const char *name = graph_text(graph, "opt/kept/%s", param->name);
    uint32_t state = optimizer_state(graph, "momentum", param, opts->types.moments,
                                     (struct kern_source){.scale = 0});
    uint32_t kept = graph_convert(graph, name, opts->types.parameters, state);

    kept = graph_map(graph, name, KERN_SCALE, kept, GRAPH_NONE, opts->momentum);
    g = graph_map(graph, graph_text(graph, "opt/momentum/%s", param->name), KERN_ADD, kept, g, 0);
    return optimizer_next(graph, param, state, g);
}

static uint32_t update(struct graph *graph, const struct optimizer_opts *opts,
                       const uint32_t *by_step, const struct optimizer_param *param)
{
    const char *name = graph_text(graph, "update/%s", param->name);
    uint32_t g = param->gradient, decay;

    if (opts->weight_decay != 0) {
        decay = graph_map(graph, name, KERN_SCALE, param->node, GRAPH_NONE, opts->weight_decay);
        g = graph_map(graph, name, KERN_ADD, g, decay, 0);
    }
    if (opts->momentum != 0)
        g = with_momentum(graph, opts, param, g);
    g = graph_map(graph, name, KERN_MUL, g, by_step[0], 0);
    return graph_map(graph, name, KERN_SUB, param->node, g, 0);
}

const struct optimizer optimizer_sgd = {.name = "sgd", .prepare = prepare, .update = update};
