/* Building the graph of a scenario's step (model.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "graph/optimizer/training.h"
#include "model/adapters.h"
#include "hardware/hardware.h"
#include "model/matrices.h"
#include "model/token_order.h"
#include "model/pipeline.h"
#include "model/products.h"
#include "model/recompute_marks.h"
#include "model/zero.h"

static const struct model_kind *const kinds[] = {
    &model_mlp,  &model_attention, &model_block,     &model_transformer,
    &model_gpt2, &model_llama3,    &model_mixtral,   &model_deepseek,
    &model_t5,   &model_decoder,   &model_graph_text};

/* The sum over out * ct, added to `sum` if there is one. */
static uint32_t add_product(struct graph *g, uint64_t seed, uint32_t sum, const char *ct_name,
                            uint32_t node)
{
    struct graph_node out;
    uint32_t ct;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    out = g->nodes[node];
    ct = graph_input(g, ct_name, out.dtype, out.dims, out.rank, model_source(seed, ct_name, 2));
    node = graph_map(g, "loss/product", KERN_MUL, node, ct, 0);
    node = graph_reduce(g, "loss", SHD_SUM, node, NULL, 0);
    return sum == GRAPH_NONE ? node : graph_map(g, "loss", KERN_ADD, sum, node, 0);
}

static bool is_whole(const struct graph *g, const struct graph_output *output)
{
    return output->node < g->nnodes && kern_is_whole(g->nodes[output->node].dtype);
}

/* The model's own loss, or else the sum of its outputs multiplied by random arrays; whole numbers
 * have no part in it. */
static uint32_t add_loss(struct graph *g, uint64_t seed)
{
    uint32_t noutputs = g->noutputs, loss = GRAPH_NONE;

    for (uint32_t o = 0; o < noutputs; o++)
        if (g->outputs[o].kind == GRAPH_LOSS)
            return g->outputs[o].node;
    for (uint32_t o = 0; o < noutputs; o++)
        if (!is_whole(g, &g->outputs[o]))
            loss = add_product(g, seed, loss,
                               noutputs > 1 ? graph_text(g, "ct/%s", g->outputs[o].name) : "ct",
                               g->outputs[o].node);
    if (loss == GRAPH_NONE)
        return graph_fail(g, SHD_EINVAL, "all outputs are integers, without a gradient");
    graph_output(g, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
    return loss;
}

void model_add_backward(struct graph *g, uint64_t seed)
{
    uint32_t nforward = g->nnodes, *wrt, *grads, nwrt = 0, loss;

    if (g->err.status != SHD_OK)
        return;
    wrt = calloc(2 * (size_t)nforward + 1, sizeof *wrt);
    if (!wrt) {
        graph_fail(g, SHD_ENOMEM, "no memory for the backward computation");
        return;
    }
    grads = wrt + nforward;
    for (uint32_t n = 0; n < nforward; n++)
        if ((g->nodes[n].op == GRAPH_PARAM && !g->nodes[n].frozen) ||
            (g->nodes[n].op == GRAPH_INPUT && !kern_is_whole(g->nodes[n].dtype) &&
             g->nodes[n].source.scale != 0)) /* a constant is no variable */
            wrt[nwrt++] = n;
    loss = add_loss(g, seed);
    graph_gradient(g, loss, wrt, nwrt, grads);
    for (uint32_t i = 0; i < nwrt && g->err.status == SHD_OK; i++)
        graph_output(g, GRAPH_GRADIENT, g->nodes[wrt[i]].name, grads[i], wrt[i]);
    free(wrt);
}

/* Give inputs new random numbers in each microbatch and step: both continue the random sequence.
 * Bytes and texts have their own places, and values of a file and numbers along a dimension are the
 * same. */
static void change_inputs(struct graph *g)
{
    for (uint32_t node = 0; node < g->nnodes; node++) {
        struct graph_node *n = &g->nodes[node];
        int64_t shape[GRAPH_RANK_MAX];

        if (n->op != GRAPH_INPUT || n->source.bytes || n->source.file || n->source.stored ||
            n->source.index)
            continue;
        graph_shape(g, node, shape);
        n->source.place.per_microbatch = 1;
        for (uint32_t d = 0; d < n->rank; d++)
            n->source.place.per_microbatch *=
                (uint64_t)shape[d]; /* may wrap, as the sequence does */
        n->source.place.per_step = n->source.place.per_microbatch * g->microbatches;
    }
}

/* Convert outputs to the parameters' type: with master parameters the loss is computed in their
 * type. */
static void convert_outputs(struct graph *g, enum shd_dtype dtype)
{
    for (uint32_t o = 0; o < g->noutputs; o++)
        if (g->outputs[o].kind == GRAPH_OUTPUT && !is_whole(g, &g->outputs[o]))
            g->outputs[o].node = graph_convert(g, "loss/out", dtype, g->outputs[o].node);
}

static bool learns(const struct graph *g)
{
    for (uint32_t node = 0; node < g->nnodes; node++)
        if (g->nodes[node].op == GRAPH_PARAM && !g->nodes[node].frozen)
            return true;
    return false;
}

static struct optimizer_opts optimizer_options(const struct graph *g, const struct scenario *s)
{
    static const enum optimizer_decay decays[] = {
        [SCENARIO_CONSTANT] = OPTIMIZER_CONSTANT, [SCENARIO_COSINE] = OPTIMIZER_COSINE};
    static const enum loss_scale_kind scales[] = {[SCENARIO_NO_LOSS_SCALE] = LOSS_SCALE_NONE,
                                                  [SCENARIO_STATIC_LOSS_SCALE] = LOSS_SCALE_STATIC,
                                                  [SCENARIO_DYNAMIC_LOSS_SCALE] =
                                                      LOSS_SCALE_DYNAMIC};
    static const enum muon_ratio ratios[] = {[SCENARIO_ADJUST_ORIGINAL] = MUON_ORIGINAL,
                                             [SCENARIO_ADJUST_MATCH_RMS_ADAMW] =
                                                 MUON_MATCH_RMS_ADAMW,
                                             [SCENARIO_ADJUST_SPECTRAL_UNCLAMPED] = MUON_SPECTRAL};
    const struct scenario_optimizer *o = &s->optimizer;

    return (struct optimizer_opts){
        .kind = optimizer_find(scenario_optimizer_name(o->kind)),
        .rate = o->lr,
        .warmup = (uint32_t)o->warmup,
        .decay = decays[o->decay],
        .steps = (uint32_t)s->steps,
        .clip = o->clip,
        .weight_decay = o->weight_decay,
        .momentum = o->momentum,
        .muon = {o->nesterov,
                 (uint32_t)o->ns_steps,
                 {o->ns_coefficients[0], o->ns_coefficients[1], o->ns_coefficients[2]},
                 ratios[o->adjust_lr],
                 o->ns_dtype},
        .rest = o->rest == SCENARIO_REST_SGD ? &optimizer_sgd : &optimizer_adamw,
        .rest_rate = o->rest_lr > 0 ? o->rest_lr : o->lr,
        .beta1 = o->betas[0],
        .beta2 = o->betas[1],
        .eps = o->eps,
        .types = {scenario_type(s, s->types.parameters), scenario_type(s, s->types.gradients),
                  scenario_type(s, s->types.moments), scenario_type(s, s->types.reduce)},
        .reduce_each = zero_scatters_each(g, s->zero.stage),
        .loss_scale = {scales[s->loss_scale.kind], (double)s->loss_scale.initial,
                       (uint32_t)s->loss_scale.growth_interval}};
}

/* Add the backward phase for the parameters only, and their update.  Forward results are no outputs
 * then: they would have to be kept to the end of a step, and nobody reads them. */
static void add_update(struct graph *g, const struct scenario *scenario, struct diag *diag)
{
    struct optimizer_opts opts = optimizer_options(g, scenario);
    uint32_t loss;

    if (g->err.status != SHD_OK)
        return;
    if (!learns(g)) {
        graph_fail(g, SHD_EINVAL, "step: the model has no parameters to update");
        return;
    }
    if (scenario->optimizer.kind == SCENARIO_MUON) {
        struct optimizer_matrix *matrices = graph_memory(g, g->nnodes, sizeof *matrices);

        if (!matrices)
            return;
        memset(matrices, 0, g->nnodes * sizeof *matrices);
        if (matrices_find(matrices, g, scenario, diag) != SHD_OK)
            return;
        opts.matrices = matrices;
    }
    loss = add_loss(g, scenario->seed);
    g->noutputs = 0;
    g->microbatches = (uint32_t)scenario->batch.microbatches;
    change_inputs(g);
    training_add(g, loss, &opts);
    model_round_products(g, scenario, diag);
    model_recompute(g, scenario, diag);
}

/* The scenario key to blame for an error of pipeline_set_stages(). */
static const char *stages_key(const struct scenario_pipeline *pipeline, const struct shd_error *err)
{
    if (err->status == SHD_ENOTFOUND)
        return "pipeline.schedule";
    if (pipeline->nplaces > 0)
        return "pipeline.place";
    return pipeline->nlayers > 0 || pipeline->weighed ? "pipeline.layers" : "pipeline.axis";
}

/* Find what weighs layers: the cluster, and which values are computed again.  False: an error was
 * reported. */
static bool find_weights(struct pipeline *pipeline, struct hardware **hardware, bool *again,
                         const struct graph *g, const struct scenario *scenario, struct diag *diag)
{
    if (scenario->hardware && hardware_find(hardware, scenario->hardware, NULL,
                                            scenario_place(scenario, "hardware"), diag) != SHD_OK)
        return false;
    pipeline->hardware = *hardware;
    pipeline->again = again;
    return !scenario->step.backward || model_mark_again(again, g, scenario, diag);
}

/* Assign stages of even work. */
static void weigh_stages(struct graph *g, struct pipeline *pipeline,
                         const struct scenario *scenario, struct diag *diag)
{
    bool *again = calloc((size_t)g->nnodes + 1, sizeof *again);
    struct hardware *hardware = NULL;

    if (!again)
        diag_no_memory(diag);
    else if (find_weights(pipeline, &hardware, again, g, scenario, diag))
        pipeline_set_stages(g, pipeline);
    hardware_destroy(hardware);
    free(again);
}

static void set_stages(struct graph *g, const struct scenario *scenario, struct diag *diag)
{
    struct pipeline pipeline = pipeline_of(scenario);

    if (!scenario->pipeline.axis || g->err.status != SHD_OK)
        return;
    if (scenario->step.backward)
        (void)add_loss(g, scenario->seed);
    if (pipeline.weighed)
        weigh_stages(g, &pipeline, scenario, diag);
    else
        pipeline_set_stages(g, &pipeline);
    if (g->err.status != SHD_OK && g->err.status != SHD_ENOMEM)
        diag_failure(diag, scenario_place(scenario, stages_key(&scenario->pipeline, &g->err)),
                     g->err.status, "%s", g->err.text);
}

static void add_phases(struct graph *g, const struct scenario *scenario, struct diag *diag)
{
    if (scenario->step.update)
        convert_outputs(g, scenario_type(scenario, scenario->types.parameters));
    set_stages(g, scenario, diag);
    if (scenario->step.update)
        add_update(g, scenario, diag);
    else if (scenario->step.backward)
        model_add_backward(g, scenario->seed);
    if (!scenario->step.update)
        model_round_products(g, scenario, diag);
    context_order_inputs(g, scenario);
}

static const struct model_kind *find_kind(enum scenario_kind kind)
{
    int k = 0;

    while (kinds[k]->kind != kind)
        k++;
    return kinds[k];
}

/* List the types that differ from the type of the computation. */
static void describe_types(struct text *out, const struct scenario *s)
{
    const struct scenario_types *t = &s->types;
    enum shd_dtype parameters = scenario_type(s, t->parameters);
    const struct {
        const char *what;
        enum scenario_type type;
    } others[] = {{"gradients summed", t->gradients},
                  {"moments", t->moments},
                  {"gradients reduced", t->reduce}};

    if (parameters != s->model.dtype)
        text_addf(out, "; updated in %s", shd_dtype_name(parameters));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (scenario_type(s, others[i].type) != parameters)
            text_addf(out, ", %s in %s", others[i].what,
                      shd_dtype_name(scenario_type(s, others[i].type)));
    if (s->loss_scale.kind != SCENARIO_NO_LOSS_SCALE)
        text_addf(out, ", the loss scaled by %lld%s", (long long)s->loss_scale.initial,
                  s->loss_scale.kind == SCENARIO_DYNAMIC_LOSS_SCALE ? " at first" : "");
}

static void describe_lora(struct text *out, const struct scenario_lora *lora)
{
    if (lora->rank > 0)
        text_addf(out, "; adapters of rank %lld", (long long)lora->rank);
}

static void describe_serving(struct text *out, const struct scenario *s)
{
    if (s->step.prefill)
        text_addf(out, "; prefill of %lld tokens", (long long)s->batch.seq);
    else
        text_addf(out, "; decode of %lld token%s", (long long)s->decode.tokens,
                  s->decode.tokens == 1 ? "" : "s");
    if (s->step.decode && s->decode.draft > 0)
        text_addf(out, ", %lld draft tokens, %g accepted a step,", (long long)s->decode.draft,
                  s->decode.accepted);
    text_addf(out, " behind %lld", (long long)scenario_kept_tokens(s));
}

void model_describe(struct text *out, const struct scenario *scenario)
{
    find_kind(scenario->model.kind)->describe(out, scenario);
    describe_lora(out, &scenario->lora);
    if (scenario_serves(scenario))
        describe_serving(out, scenario);
    else if (!scenario->step.update)
        text_add(out, scenario->step.backward ? "; forward and backward" : "; forward");
    else
        text_addf(out, "; forward, backward and %s, %lld step%s",
                  scenario_optimizer_name(scenario->optimizer.kind), (long long)scenario->steps,
                  scenario->steps == 1 ? "" : "s");
    if (scenario->step.update)
        describe_types(out, scenario);
    model_describe_products(out, scenario);
}

int model_graph(struct graph **out, const struct scenario *scenario, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct graph *g = graph_create();
    struct shd_error err = {SHD_EINVAL, ""};
    int status;

    if (!g) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    find_kind(scenario->model.kind)->build(g, scenario, diag);
    if (diag->nerrors == before)
        model_adapt(g, scenario, diag);
    if (diag->nerrors == before)
        add_phases(g, scenario, diag);
    status = graph_status(g, &err);
    if (status == SHD_ENOMEM || (status != SHD_OK && diag->nerrors == before))
        diag_failure(diag, scenario_blamed(scenario, err.text, scenario->model.place), err.status,
                     "%s", err.text);
    if (diag->nerrors > before) {
        graph_destroy(g);
        return diag->no_memory ? SHD_ENOMEM : err.status;
    }
    *out = g;
    return SHD_OK;
}
