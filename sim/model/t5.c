/* The encoder and decoder of T5: pre-norm blocks without biases; unscaled attention scores with a
 * bias by relative position, which all layers of a side share.
 *
 * C.  Raffel et al., arXiv 1910.10683; gated mlp and untied head as in N.  Shazeer, arXiv
 * 2002.05202.  The encoder reads the beginning of a text, the decoder its continuation; there is no
 * dropout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "graph/layers/norm.h"
#include "graph/layers/xent.h"
#include "model/fused_marks.h"
#include "model/model.h"
#include "model/relative.h"
#include "model/token_inputs.h"
#include "model/weights.h"

struct t5 {
    struct graph *graph;
    const struct scenario *scenario;
    struct weights_dims dims; /* of the decoder */
    uint32_t source;          /* dimension of the encoder's sequence */
};

/* The options of a side's self-attention, with its relative bias. */
static struct attention_opts self_attention(const struct t5 *t, const char *side, uint32_t seq,
                                            bool causal)
{
    const struct scenario_model *m = &t->scenario->model;
    struct graph *g = t->graph;
    const struct relative_opts relative = {(uint32_t)m->buckets, m->distance, !causal};
    struct attention_opts opts = {.causal = causal, .scale = 1, .relative = true};
    uint32_t table[2] = {GRAPH_NONE, t->dims.heads}, keys, w;

    if (g->err.status != SHD_OK)
        return opts;
    table[0] = graph_dim(g, "buckets", m->buckets);
    keys = graph_dim(g, graph_text(g, "%s_keys", g->dims[seq].name), g->dims[seq].size);
    w = weights_param(g, t->scenario, graph_text(g, "%s/relative/table", side), table, 2, 0);
    opts.bias = relative_bias(g, graph_text(g, "%s/relative", side), w, seq, keys, &relative);
    return opts;
}

static uint32_t norm(const struct t5 *t, const char *layer, const char *part, uint32_t x)
{
    const char *name = graph_text(t->graph, "%s/%s", layer, part);
    const struct norm_weights w = weights_norm(t->graph, t->scenario, name, t->dims.embed);

    return layer_norm(t->graph, name, x, &w);
}

/* The residual sum x + y at the end of a block part. */
static uint32_t sum(const struct t5 *t, const char *layer, const char *part, uint32_t x, uint32_t y)
{
    x = graph_map(t->graph, graph_text(t->graph, "%s/%s", layer, part), KERN_ADD, x, y, 0);
    return graph_constraint(t->graph, graph_text(t->graph, "%s/out", layer), x);
}

/* Add a layer of the encoder (memory: GRAPH_NONE), or of the decoder. */
static uint32_t add_layer(const struct t5 *t, const char *layer, uint32_t x, uint32_t memory,
                          const struct attention_opts *self)
{
    static const struct attention_opts cross = {.scale = 1};
    struct graph *g = t->graph;
    const char *name = graph_text(g, "%s/attn", layer);
    struct attention_weights w = weights_attention(g, t->scenario, name, &t->dims);
    struct mlp_weights mlp;
    uint32_t y = norm(t, layer, "norm1", x);

    x = sum(t, layer, "residual1", x, layer_attention(g, name, y, &w, self));
    if (memory != GRAPH_NONE) {
        name = graph_text(g, "%s/cross", layer);
        w = weights_attention(g, t->scenario, name, &t->dims);
        y = norm(t, layer, "norm2", x);
        x = sum(t, layer, "residual2", x, layer_cross_attention(g, name, y, memory, &w, &cross));
    }
    name = graph_text(g, "%s/mlp", layer);
    mlp = weights_mlp(g, t->scenario, name, &t->dims);
    y = norm(t, layer, memory == GRAPH_NONE ? "norm2" : "norm3", x);
    y = layer_mlp(g, name, y, &mlp, weights_activation(t->scenario));
    return sum(t, layer, memory == GRAPH_NONE ? "residual2" : "residual3", x, y);
}

/* Add all layers of a side and its final norm. */
static uint32_t add_side(const struct t5 *t, const char *side, uint32_t x, uint32_t memory,
                         const struct attention_opts *self)
{
    const struct scenario_model *m = &t->scenario->model;
    int64_t nlayers = memory == GRAPH_NONE ? m->layers : m->decoder_layers;
    struct graph *g = t->graph;

    x = graph_constraint(g, graph_text(g, "%s/embed/out", side), x);
    for (int64_t i = 0; i < nlayers && g->err.status == SHD_OK; i++)
        x = add_layer(t, graph_text(g, "%s/layers/%lld", side, (long long)i), x, memory, self);
    return norm(t, side, "final_norm", x);
}

static uint32_t add_encoder(const struct t5 *t, uint32_t table)
{
    const struct attention_opts self = self_attention(t, "encoder", t->source, false);
    const struct tokens_part part = {0, (uint64_t)t->scenario->batch.seq};
    uint32_t x = tokens_add(t->graph, t->scenario, "source", t->dims.batch, t->source, part);

    x = graph_embed(t->graph, "encoder/embed", table, x);
    return add_side(t, "encoder", x, GRAPH_NONE, &self);
}

/* The part of the text for the decoder: its tokens follow the encoder's, and its labels are one
 * position ahead. */
static struct tokens_part decoder_part(const struct t5 *t, uint64_t ahead)
{
    const struct scenario_batch *b = &t->scenario->batch;

    return (struct tokens_part){(uint64_t)b->source + ahead, (uint64_t)b->seq};
}

static uint32_t add_decoder(const struct t5 *t, uint32_t table, uint32_t memory)
{
    const struct attention_opts self = self_attention(t, "decoder", t->dims.seq, true);
    struct graph *g = t->graph;
    uint32_t x = tokens_add(g, t->scenario, "tokens", t->dims.batch, t->dims.seq,
                            decoder_part(t, 0));

    x = graph_embed(g, "decoder/embed", table, x);
    x = add_side(t, "decoder", x, memory, &self);
    if (t->scenario->model.tied)
        x = graph_map(g, "head/scaled", KERN_SCALE, x, GRAPH_NONE,
                      1 / sqrt((double)t->scenario->model.d_model));
    if (!t->scenario->model.tied)
        table = GRAPH_NONE;
    const struct head_weights head = weights_head(g, t->scenario, table, &t->dims);

    return weights_logits(g, t->scenario, "head", x, &head, &t->dims);
}

static void build(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    struct t5 t = {.graph = graph,
                   .scenario = scenario,
                   .dims = weights_dims(graph, scenario),
                   .source = graph_dim(graph, "source", scenario->batch.source)};
    uint32_t table = weights_table(graph, scenario, "embed/table", t.dims.vocab, t.dims.embed);
    uint32_t x = add_decoder(&t, table, add_encoder(&t, table)), labels, first;

    (void)diag; /* errors stay in the graph */
    graph_output(graph, GRAPH_OUTPUT, "out", x, GRAPH_NONE);
    if (!scenario->step.backward)
        return;
    first = graph->nnodes;
    /* With master parameters the loss is computed in their type. */
    if (scenario->step.update)
        x = graph_convert(graph, "loss/logits", scenario_type(scenario, scenario->types.parameters),
                          x);
    labels = tokens_add(graph, scenario, "labels", t.dims.batch, t.dims.seq, decoder_part(&t, 1));
    x = layer_cross_entropy(graph, "loss", x, t.dims.vocab, labels, GRAPH_NONE).loss;
    model_mark_loss(graph, first, t.dims.vocab);
    graph_output(graph, GRAPH_LOSS, "loss", x, GRAPH_NONE);
}

static void describe(struct text *out, const struct scenario *s)
{
    const struct scenario_model *m = &s->model;

    text_addf(out, "%lld + %lld layers of t5 %s, embed %lld, mlp %lld, %lld heads of %lld, ",
              (long long)m->layers, (long long)m->decoder_layers,
              scenario_activation_name(m->activation), (long long)m->d_model, (long long)m->d_ff,
              (long long)m->heads, (long long)m->head_dim);
    text_addf(out, "vocab %lld, %s; batch %lldx(%lld + %lld)", (long long)m->vocab,
              shd_dtype_name(m->dtype), (long long)s->batch.size, (long long)s->batch.source,
              (long long)s->batch.seq);
}

const struct model_kind model_t5 = {SCENARIO_T5, build, describe};
