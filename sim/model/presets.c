/* The models that are a stack of layers: mlp, attention, block, transformer, gpt2, llama3.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/layers/xent.h"
#include "model/model.h"
#include "model/tokens.h"
#include "model/weights.h"

struct preset {
    struct graph *graph;
    const struct scenario *scenario;
    struct weights_dims dims;
};

static uint32_t add_layer(const struct preset *p, int64_t i, uint32_t x)
{
    const struct scenario *s = p->scenario;
    struct attention_opts attention = weights_attention_opts(s);
    const char *name = graph_text(p->graph, "layers/%lld", (long long)i);

    if (s->model.kind == SCENARIO_MLP) {
        name = graph_text(p->graph, "%s/mlp", name);
        const struct mlp_weights w = weights_mlp(p->graph, s, name, &p->dims);
        return layer_mlp(p->graph, name, x, &w, weights_activation(s));
    }
    if (s->model.kind == SCENARIO_ATTENTION) {
        name = graph_text(p->graph, "%s/attn", name);
        const struct attention_weights w = weights_attention(p->graph, s, name, &p->dims);
        return layer_attention(p->graph, name, x, &w, &attention);
    }
    const struct block_weights w = weights_block(p->graph, s, name, &p->dims);
    return layer_block(p->graph, name, x, &w, &attention, weights_activation(s));
}

static uint32_t add_layers(const struct preset *p, uint32_t x)
{
    for (int64_t i = 0; i < p->scenario->model.layers; i++)
        x = add_layer(p, i, x);
    return x;
}

static void build_layers(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    struct preset p = {graph, scenario, weights_dims(graph, scenario)};
    const uint32_t dims[3] = {p.dims.batch, p.dims.seq, p.dims.embed};
    uint32_t x;

    (void)diag; /* errors stay in the graph */
    x = graph_input(graph, "x", scenario->model.dtype, dims, 3,
                    model_source(scenario->seed, "x", 2));
    graph_output(graph, GRAPH_OUTPUT, "out", add_layers(&p, x), GRAPH_NONE);
}

/* A learned vector for each place, the same in all sequences. */
static uint32_t add_positions(const struct preset *p, uint32_t x)
{
    struct graph *g = p->graph;
    uint32_t table;

    if (p->dims.positions == GRAPH_NONE)
        return x;
    table = weights_table(g, p->scenario, "embed/positions", p->dims.positions, p->dims.embed);
    table = graph_slice(g, "embed/places", table, p->dims.positions, p->dims.seq, 0);
    return graph_map(g, "embed/sum", KERN_ADD, x, table, 0);
}

static void build_transformer(struct graph *graph, const struct scenario *scenario,
                              struct diag *diag)
{
    struct preset p = {graph, scenario, weights_dims(graph, scenario)};
    const struct tokens_part tokens = {0, (uint64_t)scenario->batch.seq};
    const struct tokens_part labels = {1, (uint64_t)scenario->batch.seq};
    uint32_t x, table;

    (void)diag; /* errors stay in the graph */
    x = tokens_add(graph, scenario, "tokens", p.dims.batch, p.dims.seq, tokens);
    table = weights_table(graph, scenario, "embed/table", p.dims.vocab, p.dims.embed);
    x = graph_embed(graph, "embed", table, x);
    x = graph_constraint(graph, "embed/out", add_positions(&p, x));
    x = add_layers(&p, x);
    x = weights_final_norm(graph, scenario, "final_norm", x, &p.dims);
    x = weights_head(graph, scenario, x, scenario->model.tied ? table : GRAPH_NONE, &p.dims);
    graph_output(graph, GRAPH_OUTPUT, "out", x, GRAPH_NONE);
    if (!scenario->step.backward)
        return;
    /* With masters of parameters the loss is of their type, too. */
    if (scenario->step.update)
        x = graph_convert(graph, "loss/logits", scenario_type(scenario, scenario->types.parameters),
                          x);
    table = tokens_add(graph, scenario, "labels", p.dims.batch, p.dims.seq, labels);
    x = layer_cross_entropy(graph, "loss", x, p.dims.vocab, table, GRAPH_NONE).loss;
    graph_output(graph, GRAPH_LOSS, "loss", x, GRAPH_NONE);
}

static void add_count(struct text *out, int64_t n, const char *what)
{
    text_addf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

static void describe(struct text *out, const struct scenario *s)
{
    const struct scenario_model *m = &s->model;

    add_count(out, m->layers, "layer");
    text_addf(out, " of %s", scenario_kind_name(m->kind));
    if (m->kind != SCENARIO_ATTENTION)
        text_addf(out, " %s", scenario_activation_name(m->activation));
    text_addf(out, ", embed %lld", (long long)m->d_model);
    if (m->kind != SCENARIO_ATTENTION)
        text_addf(out, ", mlp %lld", (long long)m->d_ff);
    if (m->kind != SCENARIO_MLP) {
        text_add(out, ", ");
        add_count(out, m->heads, "head");
        text_addf(out, " of %lld", (long long)m->head_dim);
        if (m->kv_heads != m->heads) {
            text_add(out, " on ");
            add_count(out, m->kv_heads, "key head");
        }
        text_addf(out, "%s%s", m->causal ? ", causal" : "", m->rope.used ? ", rope" : "");
    }
    if (m->vocab > 0)
        text_addf(out, ", vocab %lld", (long long)m->vocab);
    text_addf(out, ", %s; batch %lldx%lld", shd_dtype_name(m->dtype), (long long)s->batch.size,
              (long long)s->batch.seq);
}

const struct model_kind model_mlp = {SCENARIO_MLP, build_layers, describe};
const struct model_kind model_attention = {SCENARIO_ATTENTION, build_layers, describe};
const struct model_kind model_block = {SCENARIO_BLOCK, build_layers, describe};
const struct model_kind model_transformer = {SCENARIO_TRANSFORMER, build_transformer, describe};
const struct model_kind model_gpt2 = {SCENARIO_GPT2, build_transformer, describe};
const struct model_kind model_llama3 = {SCENARIO_LLAMA3, build_transformer, describe};
