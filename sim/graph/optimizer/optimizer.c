/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/optimizer.h"

#include <string.h>

const struct optimizer *const optimizers[] = {&optimizer_sgd, &optimizer_adamw, NULL};

/* Added to the norm that gradients are divided by, as PyTorch's clip_grad_norm_() does. */
#define CLIP_EPS 1e-6

const struct optimizer *optimizer_find(const char *name)
{
    for (const struct optimizer *const *o = optimizers; *o; o++)
        if (!strcmp((*o)->name, name))
            return *o;
    return NULL;
}

/* Add the squares of the gradients of one stage to a sum, which may be GRAPH_NONE. */
static uint32_t add_squares(struct graph *graph, uint32_t sum, const uint32_t *gradients,
                            uint32_t n)
{
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        uint32_t g = gradients[i];

        if (graph->nodes[g].stage != graph->stage)
            continue;
        g = graph_map(graph, "grad_norm/square", KERN_MUL, g, g, 0);
        g = graph_reduce(graph, "grad_norm/sum", SHD_SUM, g, NULL, 0);
        sum = sum == GRAPH_NONE ? g : graph_map(graph, "grad_norm/total", KERN_ADD, sum, g, 0);
    }
    return sum;
}

/* sqrt(sum of the squares of all gradients): from stage to stage, one number is handed on. */
static uint32_t norm_of(struct graph *graph, const uint32_t *gradients, uint32_t n)
{
    uint32_t sum = GRAPH_NONE;

    for (graph->stage = 0; graph->stage < graph->nstages; graph->stage++)
        sum = add_squares(graph, sum, gradients, n);
    graph->stage = graph->nstages - 1;
    return graph_map(graph, "grad_norm", KERN_SQRT, sum, GRAPH_NONE, 0);
}

/* min(1, clip / (norm + eps)) */
static uint32_t clip_factor(struct graph *graph, double clip, uint32_t norm)
{
    uint32_t limit = graph_map(graph, "clip/limit", KERN_FILL, norm, GRAPH_NONE, clip);
    uint32_t one = graph_map(graph, "clip/one", KERN_FILL, norm, GRAPH_NONE, 1);
    uint32_t size = graph_map(graph, "clip/norm", KERN_ADD_SCALAR, norm, GRAPH_NONE, CLIP_EPS);

    limit = graph_map(graph, "clip/ratio", KERN_DIV, limit, size, 0);
    return graph_map(graph, "clip/factor", KERN_MIN, limit, one, 0);
}

/* Give each gradient the name "opt/gradient/`parameter`", under which it can be asked for: where it
 * is to lie before its norm is taken, so that what is cut for the update is not made whole first.
 */
static void name_gradients(struct graph *graph, const uint32_t *params, uint32_t *gradients,
                           uint32_t n)
{
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        const char *of = graph->nodes[params[i]].name;

        graph->stage = graph->nodes[params[i]].stage;
        gradients[i] =
            graph_constraint(graph, graph_text(graph, "opt/gradient/%s", of), gradients[i]);
        if (gradients[i] != GRAPH_NONE)
            graph->nodes[gradients[i]].state_of = params[i];
    }
}

void optimizer_add(struct graph *graph, const struct optimizer_opts *opts, const uint32_t *params,
                   uint32_t *gradients, uint32_t nparams)
{
    uint32_t by_step[OPTIMIZER_BY_STEP_MAX], norm, clip = GRAPH_NONE;

    if (nparams == 0 || graph->err.status != SHD_OK)
        return;
    /* What a step does once, for its microbatches together, is the optimizer's phase. */
    graph->phase = graph->microbatches == 1 ? GRAPH_BACKWARD : GRAPH_OPTIMIZER;
    name_gradients(graph, params, gradients, nparams);
    graph->phase = GRAPH_OPTIMIZER;
    norm = norm_of(graph, gradients, nparams);
    graph_output(graph, GRAPH_OUTPUT, OPTIMIZER_NORM, norm, GRAPH_NONE);
    if (opts->clip > 0)
        clip = clip_factor(graph, opts->clip, norm);
    opts->kind->prepare(graph, opts, by_step);
    for (uint32_t i = 0; i < nparams && graph->err.status == SHD_OK; i++) {
        struct optimizer_param p = {graph->nodes[params[i]].name, params[i], gradients[i]};
        uint32_t next;

        graph->stage = graph->nodes[params[i]].stage;
        if (clip != GRAPH_NONE)
            p.gradient = graph_map(graph, graph_text(graph, "clip/%s", p.name), KERN_MUL,
                                   p.gradient, clip, 0);
        next = opts->kind->update(graph, opts, by_step, &p);
        optimizer_next(graph, params[i], next);
    }
    graph->phase = GRAPH_FORWARD;
    graph->stage = 0;
}
