/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/weights.h"

#include <math.h>

#include "graph/layers/norm.h"
#include "model/model.h"

/* A dimension of `size`, or none where the kind of model has no such thing. */
static uint32_t dim(struct graph *g, const char *name, int64_t size)
{
    return size > 0 ? graph_dim(g, name, size) : GRAPH_NONE;
}

struct weights_dims weights_dims(struct graph *graph, const struct scenario *scenario)
{
    const struct scenario_model *m = &scenario->model;
    bool heads = m->kind != SCENARIO_MLP;
    struct weights_dims d;

    d.batch = dim(graph, "batch", scenario->batch.size / scenario->batch.microbatches);
    d.seq = dim(graph, "seq", scenario->batch.seq);
    d.embed = dim(graph, "embed", m->d_model);
    d.mlp = dim(graph, "mlp", m->kind != SCENARIO_ATTENTION ? m->d_ff : 0);
    d.heads = dim(graph, "heads", heads ? m->heads : 0);
    d.kv_heads = dim(graph, "kv_heads", heads ? m->kv_heads : 0);
    d.head_dim = dim(graph, "head_dim", heads ? m->head_dim : 0);
    d.vocab = dim(graph, "vocab", m->kind == SCENARIO_TRANSFORMER ? m->vocab : 0);
    return d;
}

uint32_t weights_param(struct graph *graph, const struct scenario *scenario, const char *name,
                       const uint32_t *dims, uint32_t rank, uint32_t nsummed)
{
    double fan_in = 1;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    for (uint32_t d = 0; d < nsummed; d++)
        fan_in *= (double)graph->dims[dims[d]].size;
    return graph_param(graph, name, scenario->model.dtype, dims, rank,
                       model_source(scenario->seed, name, nsummed ? sqrt(12 / fan_in) : 0.2));
}

/* `layer`/`part` */
static uint32_t kernel(struct graph *g, const struct scenario *s, const char *layer,
                       const char *part, const uint32_t *dims, uint32_t rank, uint32_t nsummed)
{
    return weights_param(g, s, graph_text(g, "%s/%s", layer, part), dims, rank, nsummed);
}

/* Scales about 1, so that what is normalised keeps about its size. */
static uint32_t norm_vector(struct graph *g, const struct scenario *s, const char *layer,
                            const char *part, uint32_t embed)
{
    const char *name = graph_text(g, "%s/%s", layer, part);

    return graph_param(g, name, s->model.dtype, &embed, 1, model_source(s->seed, name, 2));
}

struct mlp_weights weights_mlp(struct graph *graph, const struct scenario *scenario,
                               const char *name, const struct weights_dims *dims)
{
    const uint32_t in[2] = {dims->embed, dims->mlp}, out[2] = {dims->mlp, dims->embed};
    struct mlp_weights w = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};

    if (scenario->model.activation == SCENARIO_SWIGLU)
        w.gate = kernel(graph, scenario, name, "gate/kernel", in, 2, 1);
    w.up = kernel(graph, scenario, name, "up/kernel", in, 2, 1);
    if (scenario->model.bias)
        w.up_bias = kernel(graph, scenario, name, "up/bias", in + 1, 1, 0);
    w.down = kernel(graph, scenario, name, "down/kernel", out, 2, 1);
    if (scenario->model.bias)
        w.down_bias = kernel(graph, scenario, name, "down/bias", out + 1, 1, 0);
    return w;
}

struct attention_weights weights_attention(struct graph *graph, const struct scenario *scenario,
                                           const char *name, const struct weights_dims *dims)
{
    const uint32_t q[3] = {dims->embed, dims->heads, dims->head_dim};
    const uint32_t kv[3] = {dims->embed, dims->kv_heads, dims->head_dim};
    const uint32_t o[3] = {dims->heads, dims->head_dim, dims->embed};
    struct attention_weights w;

    w.q = kernel(graph, scenario, name, "q/kernel", q, 3, 1);
    w.k = kernel(graph, scenario, name, "k/kernel", kv, 3, 1);
    w.v = kernel(graph, scenario, name, "v/kernel", kv, 3, 1);
    w.o = kernel(graph, scenario, name, "o/kernel", o, 3, 2);
    return w;
}

struct block_weights weights_block(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims)
{
    struct block_weights w;

    w.centred = scenario->model.norm == SCENARIO_LAYER_NORM;
    w.norm1 = norm_vector(graph, scenario, name, "norm1/scale", dims->embed);
    w.norm1_bias = w.norm2_bias = GRAPH_NONE;
    if (w.centred)
        w.norm1_bias = norm_vector(graph, scenario, name, "norm1/bias", dims->embed);
    w.attn = weights_attention(graph, scenario, graph_text(graph, "%s/attn", name), dims);
    w.norm2 = norm_vector(graph, scenario, name, "norm2/scale", dims->embed);
    if (w.centred)
        w.norm2_bias = norm_vector(graph, scenario, name, "norm2/bias", dims->embed);
    w.mlp = weights_mlp(graph, scenario, graph_text(graph, "%s/mlp", name), dims);
    return w;
}

uint32_t weights_final_norm(struct graph *graph, const struct scenario *scenario, uint32_t x,
                            const struct weights_dims *dims)
{
    bool centred = scenario->model.norm == SCENARIO_LAYER_NORM;
    uint32_t scale = norm_vector(graph, scenario, "final_norm", "scale", dims->embed), bias;

    if (!centred)
        return layer_rms_norm(graph, "final_norm", x, scale, BLOCK_NORM_EPS);
    bias = norm_vector(graph, scenario, "final_norm", "bias", dims->embed);
    return layer_layer_norm(graph, "final_norm", x, scale, bias, 1e-5);
}

enum kern_fn weights_activation(const struct scenario *scenario)
{
    static const enum kern_fn functions[SCENARIO_NACTIVATIONS] = {
        [SCENARIO_GELU] = KERN_GELU,
        [SCENARIO_SWIGLU] = KERN_SILU,
        [SCENARIO_RELU] = KERN_RELU,
        [SCENARIO_SILU] = KERN_SILU,
    };

    return functions[scenario->model.activation];
}

struct attention_opts weights_attention_opts(const struct scenario *scenario)
{
    const struct scenario_rope *rope = &scenario->model.rope;

    return (struct attention_opts){.causal = scenario->model.causal,
                                   .rope_theta = rope->used ? rope->theta : 0,
                                   .rope_interleaved = rope->interleaved};
}
