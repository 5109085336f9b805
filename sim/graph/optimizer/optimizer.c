/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/optimizer.h"

#include <string.h>

#include "graph/optimizer/loss_scale.h"

const struct optimizer *const optimizers[] = {&optimizer_sgd, &optimizer_adamw, &optimizer_muon,
                                              NULL};

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
static uint32_t add_squares(struct graph *graph, enum shd_dtype dtype, uint32_t sum,
                            const uint32_t *gradients, uint32_t n)
{
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        uint32_t g = gradients[i];

        if (graph->nodes[g].stage != graph->stage)
            continue;
        g = graph_convert(graph, "grad_norm/gradient", dtype, g);
        g = graph_map(graph, "grad_norm/square", KERN_MUL, g, g, 0);
        g = graph_reduce(graph, "grad_norm/sum", SHD_SUM, g, NULL, 0);
        sum = sum == GRAPH_NONE ? g : graph_map(graph, "grad_norm/total", KERN_ADD, sum, g, 0);
    }
    return sum;
}

/* sqrt(sum of the squares of all gradients), each multiplied by `factor` if there is one.  Each
 * stage adds its gradients and passes one number on. */
static uint32_t norm_of(struct graph *graph, enum shd_dtype dtype, const uint32_t *gradients,
                        uint32_t n, uint32_t factor)
{
    uint32_t sum = GRAPH_NONE, norm;

    for (graph->stage = 0; graph->stage < graph->nstages; graph->stage++)
        sum = add_squares(graph, dtype, sum, gradients, n);
    graph->stage = graph->nstages - 1;
    norm = graph_map(graph, "grad_norm", KERN_SQRT, sum, GRAPH_NONE, 0);
    return factor == GRAPH_NONE ? norm : graph_map(graph, "grad_norm", KERN_MUL, norm, factor, 0);
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

uint32_t optimizer_convert_gradient(struct graph *graph, uint32_t param, enum shd_dtype dtype,
                                    uint32_t gradient)
{
    const char *name = graph_text(graph, "grad(%s)", graph->nodes[param].name);
    uint32_t converted = graph_convert(graph, name, dtype, gradient);

    if (converted != GRAPH_NONE && converted != gradient)
        graph->nodes[converted].gradient_of = param;
    return converted;
}

/* Add a constraint "opt/gradient/`parameter`" to each gradient, so that a sharding can be asked for
 * before the norm is taken: a gradient sharded for the update is then never gathered.  A gradient
 * is converted before its constraint if it is reduced there. */
static void name_gradients(struct graph *graph, const struct optimizer_opts *opts,
                           const uint32_t *params, uint32_t *gradients, uint32_t n)
{
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        const char *of = graph->nodes[params[i]].name;

        graph->stage = graph->nodes[params[i]].stage;
        if (graph->microbatches == 1 || !opts->reduce_each)
            gradients[i] =
                optimizer_convert_gradient(graph, params[i], opts->types.reduce, gradients[i]);
        gradients[i] =
            graph_constraint(graph, graph_text(graph, "opt/gradient/%s", of), gradients[i]);
        if (gradients[i] == GRAPH_NONE)
            return;
        graph->nodes[gradients[i]].state_of = params[i];
        graph->nodes[gradients[i]].gradient_of = params[i];
    }
}

/* The factor on all gradients: 1 / scale times the clipping factor; GRAPH_NONE: none.
 */
static uint32_t factor_of(struct graph *graph, double clip, uint32_t norm, uint32_t inverse)
{
    uint32_t factor;

    if (clip <= 0)
        return inverse;
    factor = clip_factor(graph, clip, norm);
    return inverse == GRAPH_NONE ? factor
                                 : graph_map(graph, "clip/unscaled", KERN_MUL, factor, inverse, 0);
}

/* The array that is updated: the parameter, or its master copy, which begins with the parameter's
 * value. */
static uint32_t master_of(struct graph *graph, enum shd_dtype dtype,
                          const struct optimizer_param *param)
{
    const struct graph_node *n = &graph->nodes[param->node];

    if (n->dtype == dtype)
        return param->node;
    return optimizer_state(graph, "master", param, dtype, n->source);
}

/* What is shared by the updates of one optimizer. */
struct updating {
    const struct optimizer *kind;
    struct optimizer_opts opts;
    uint32_t by_step[OPTIMIZER_BY_STEP_MAX];
};

static struct updating prepared(struct graph *graph, const struct optimizer *kind, double rate,
                                const struct optimizer_opts *opts)
{
    struct updating u = {.kind = kind, .opts = *opts};

    u.opts.rate = rate;
    kind->prepare(graph, &u.opts, u.by_step);
    return u;
}

/* Convert and scale the gradient, and find the array that is updated. */
static void begin_param(struct graph *graph, const struct optimizer_opts *opts,
                        struct optimizer_param *p, uint32_t factor)
{
    enum shd_dtype dtype = opts->types.parameters;

    p->gradient = graph_convert(graph, graph_text(graph, "clip/%s", p->name), dtype, p->gradient);
    if (factor != GRAPH_NONE)
        p->gradient = graph_map(graph, graph_text(graph, "clip/%s", p->name), KERN_MUL, p->gradient,
                                factor, 0);
    p->node = master_of(graph, dtype, p);
}

static void end_param(struct graph *graph, const struct optimizer_param *p, uint32_t next)
{
    next = optimizer_next(graph, p, p->node, next);
    if (p->node != p->of && graph->err.status == SHD_OK)
        optimizer_keep(graph, p->of,
                       graph_convert(graph, p->name, graph->nodes[p->of].dtype, next));
}

/* Update n parameters together. */
static void update_params(struct graph *graph, const struct updating *u,
                          struct optimizer_param *params, uint32_t n, uint32_t factor,
                          uint32_t *next)
{
    graph->stage = graph->nodes[params[0].of].stage;
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        begin_param(graph, &u->opts, &params[i], factor);
    if (graph->err.status != SHD_OK)
        return;
    if (u->kind->update)
        next[0] = u->kind->update(graph, &u->opts, u->by_step, params);
    else
        u->kind->update_all(graph, &u->opts, u->by_step, params, n, next);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        end_param(graph, &params[i], next[i]);
}

/* Move the parameters that are updated together with the first one behind it, in their order; the
 * number of them all. */
static uint32_t gather(const struct graph *graph, const struct optimizer *kind,
                       struct optimizer_param *params, uint32_t n)
{
    uint32_t group = 1;

    if (!kind->together || !kind->together(graph, &params[0], &params[0]))
        return group;
    for (uint32_t i = 1; i < n; i++) {
        struct optimizer_param p = params[i];

        if (!p.matrix || !kind->together(graph, &params[0], &p))
            continue;
        memmove(params + group + 1, params + group, (i - group) * sizeof *params);
        params[group++] = p;
    }
    return group;
}

/* Update all parameters: matrices as the optimizer says, others by `rest` if there is one. */
static void update_all(struct graph *graph, const struct optimizer_opts *opts,
                       struct optimizer_param *params, uint32_t n, uint32_t factor)
{
    struct updating u = prepared(graph, opts->kind, opts->rate, opts), rest = u;
    uint32_t *next = graph_memory(graph, n, sizeof *next);

    if (opts->matrices)
        rest = prepared(graph, opts->rest, opts->rest_rate, opts);
    while (n > 0 && graph->err.status == SHD_OK) {
        bool alone = opts->matrices && !params[0].matrix;
        uint32_t group = alone ? 1 : gather(graph, opts->kind, params, n);

        update_params(graph, alone ? &rest : &u, params, group, factor, next);
        params += group;
        n -= group;
    }
}

void optimizer_add(struct graph *graph, const struct optimizer_opts *opts, uint32_t scale,
                   const uint32_t *params, uint32_t *gradients, uint32_t nparams)
{
    struct optimizer_param *list = graph_memory(graph, nparams, sizeof *list);
    uint32_t norm, inverse, factor;
    struct optimizer_skip skip;

    if (nparams == 0 || graph->err.status != SHD_OK)
        return;
    /* Nodes that run once per step, for all microbatches, belong to the optimizer's phase. */
    graph->phase = graph->microbatches == 1 ? GRAPH_BACKWARD : GRAPH_OPTIMIZER;
    name_gradients(graph, opts, params, gradients, nparams);
    graph->phase = GRAPH_OPTIMIZER;
    graph->stage = graph->nstages - 1;
    inverse = loss_scale_inverse(graph, scale);
    norm = norm_of(graph, opts->types.parameters, gradients, nparams, inverse);
    graph_output(graph, GRAPH_OUTPUT, OPTIMIZER_NORM, norm, GRAPH_NONE);
    factor = factor_of(graph, opts->clip, norm, inverse);
    skip = loss_scale_update(graph, opts, scale, norm);
    for (uint32_t i = 0; i < nparams && graph->err.status == SHD_OK; i++) {
        const struct optimizer_matrix *m = opts->matrices ? &opts->matrices[params[i]] : NULL;

        list[i] = (struct optimizer_param){graph->nodes[params[i]].name,
                                           params[i],
                                           m && m->in ? m : NULL,
                                           params[i],
                                           gradients[i],
                                           skip};
    }
    update_all(graph, opts, list, nparams, factor);
    graph->phase = GRAPH_FORWARD;
    graph->stage = 0;
}
