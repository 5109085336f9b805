/* AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101):
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p (1 - rate * decay) - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 * with t from 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/optimizer/optimizer.h"

#include <math.h>

enum { STEP_SIZE, ROOT_CORRECTION, KEPT, NBY_STEP };
_Static_assert(NBY_STEP <= OPTIMIZER_BY_STEP_MAX, "there is room");

static double step_size(const struct optimizer_opts *opts, uint32_t step)
{
    return optimizer_rate(opts, step) / (1 - pow(opts->beta1, step + 1.0));
}

static double root_correction(const struct optimizer_opts *opts, uint32_t step)
{
    return 1 / sqrt(1 - pow(opts->beta2, step + 1.0));
}

/* Fraction of a parameter that weight decay leaves. */
static double kept(const struct optimizer_opts *opts, uint32_t step)
{
    return 1 - optimizer_rate(opts, step) * opts->weight_decay;
}

static void prepare(struct graph *graph, const struct optimizer_opts *opts, uint32_t *by_step)
{
    by_step[STEP_SIZE] = optimizer_by_step(graph, opts, "opt/step_size", step_size);
    by_step[ROOT_CORRECTION] =
        optimizer_by_step(graph, opts, "opt/root_correction", root_correction);
    by_step[KEPT] =
        opts->weight_decay != 0 ? optimizer_by_step(graph, opts, "opt/kept", kept) : GRAPH_NONE;
}

/* Next value of a moment: beta * state + (1 - beta) * x. */
static uint32_t moment(struct graph *graph, const struct optimizer_opts *opts, const char *kind,
                       double beta, const struct optimizer_param *param, uint32_t x)
{
    const char *name = graph_text(graph, "opt/%s/%s", kind, param->name);
    uint32_t state =
        optimizer_state(graph, kind, param, opts->types.moments, (struct kern_source){.scale = 0});
    uint32_t old = graph_convert(graph, name, opts->types.parameters, state);

    old = graph_map(graph, name, KERN_SCALE, old, GRAPH_NONE, beta);
    x = graph_map(graph, name, KERN_SCALE, x, GRAPH_NONE, 1 - beta);
    x = graph_map(graph, name, KERN_ADD, old, x, 0);
    return optimizer_next(graph, param, state, x);
}

static uint32_t update(struct graph *graph, const struct optimizer_opts *opts,
                       const uint32_t *by_step, const struct optimizer_param *param)
{
    const char *name = graph_text(graph, "update/%s", param->name);
    uint32_t g = param->gradient, p = param->node, m, v;

    m = moment(graph, opts, "m", opts->beta1, param, g);
    g = graph_map(graph, name, KERN_MUL, g, g, 0);
    v = moment(graph, opts, "v", opts->beta2, param, g);
    v = graph_map(graph, name, KERN_SQRT, v, GRAPH_NONE, 0);
    v = graph_map(graph, name, KERN_MUL, v, by_step[ROOT_CORRECTION], 0);
    v = graph_map(graph, name, KERN_ADD_SCALAR, v, GRAPH_NONE, opts->eps);
    m = graph_map(graph, name, KERN_DIV, m, v, 0);
    m = graph_map(graph, name, KERN_MUL, m, by_step[STEP_SIZE], 0);
    if (by_step[KEPT] != GRAPH_NONE)
        p = graph_map(graph, name, KERN_MUL, p, by_step[KEPT], 0);
    return graph_map(graph, name, KERN_SUB, p, m, 0);
}

const struct optimizer optimizer_adamw = {.name = "adamw", .prepare = prepare, .update = update};
