/* The models that are stacks of layers: mlp, attention, block, transformer, gpt2, llama3, mixtral,
 * deepseek, decoder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "graph/graph.h"
#include "graph/layers/attention.h"
#include "graph/layers/xent.h"
#include "model/fused_marks.h"
#include "model/model.h"
#include "model/mtp.h"
#include "model/rotation.h"
#include "model/routed.h"
#include "model/serving.h"
#include "model/token_inputs.h"
#include "model/token_order.h"
#include "model/weights.h"
#include "scenario/scenario.h"

/* ---- attention of each layer: its mask, its rotary positions, its scores ---- */

struct layer_attention {
    const struct scenario *scenario;
    struct context_sights sights;
    struct serving_caches caches;         /* NULL: none is kept */
    const struct kern_rotation *rotation; /* NULL: no rotary positions */
    const struct kern_rotation *local;    /* of layers with a window or chunks */
};

/* The width of heads that positions are rotated into. */
static int64_t rotated_width(const struct scenario_model *m)
{
    return m->mla.kv_rank > 0 ? m->mla.rope_dim : m->head_dim;
}

/* Add the inputs that define masks; to be called after the model's first input. */
static void layer_attention_init(struct layer_attention *out, struct graph *graph,
                                 const struct scenario *scenario, uint32_t batch, uint32_t seq)
{
    const struct scenario_model *m = &scenario->model;
    int64_t length =
        scenario_serves(scenario) ? scenario_cache_tokens(scenario) : scenario->batch.seq;

    *out = (struct layer_attention){.scenario = scenario};
    if (!scenario_serves(scenario) ||
        serving_add(&out->caches, &out->sights, graph, scenario, batch, seq))
        context_add(&out->sights, graph, scenario, batch, seq);
    if (!m->rope.used || graph->err.status != SHD_OK)
        return;
    out->rotation = rotation_add(graph, &m->rope, rotated_width(m), length, false);
    out->local = m->rope.local_theta > 0
                     ? rotation_add(graph, &m->rope, rotated_width(m), length, true)
                     : out->rotation;
}

/* The factor of scores; 0: that of the layer. */
static double scale_of(const struct scenario_model *m)
{
    double factor = m->mla.kv_rank > 0 ? rotation_score_factor(&m->rope) : 1;

    if (factor == 1)
        return m->attention_scale;
    if (m->attention_scale > 0)
        return factor * m->attention_scale;
    return factor / sqrt((double)(m->head_dim + m->mla.rope_dim));
}

/* The options of attention of a layer, from 0 on. */
static struct attention_opts layer_attention_opts(const struct layer_attention *all, int64_t layer)
{
    const struct scenario_model *m = &all->scenario->model;
    enum scenario_layer_type type = scenario_layer_type(m, layer);
    enum scenario_layer_type sees = scenario_layer_sight(type);
    struct attention_opts opts = {.causal = m->causal,
                                  .scale = scale_of(m),
                                  .cap = m->attention_cap,
                                  .unfused = m->attention == SCENARIO_UNFUSED,
                                  .sight = all->sights.of[sees],
                                  .cache = all->caches.of[sees]};

    if (!scenario_layer_is_plain(type))
        opts.rotation = sees == SCENARIO_LAYER_FULL ? all->rotation : all->local;
    return opts;
}

struct preset {
    struct graph *graph;
    const struct scenario *scenario;
    struct weights_dims dims;
    struct routed experts;
    struct layer_attention attention; /* except of kind mlp */
};

static struct preset preset_of(struct graph *graph, const struct scenario *scenario,
                               struct diag *diag)
{
    struct preset p = {graph,
                       scenario,
                       weights_dims(graph, scenario),
                       {.ids = GRAPH_NONE},
                       {.scenario = scenario}};

    routed_init(&p.experts, graph, scenario, &p.dims, diag);
    return p;
}

static enum block_order order_of(const struct scenario_model *m, enum scenario_layer_type type)
{
    switch (m->residual) {
    case SCENARIO_SERIAL:
        return BLOCK_SERIAL;
    case SCENARIO_NORMED:
        return BLOCK_NORMED;
    case SCENARIO_ALONE:
        return scenario_layer_mixes(type) ? BLOCK_ATTENTION : BLOCK_MLP;
    default:
        return BLOCK_BESIDE;
    }
}

/* The decay of lightning attention's heads, which the last layers hardly have: as MiniMax-01's
 * module computes it. */
static double slope_of(const struct scenario_model *m, int64_t layer)
{
    return 1 - (double)layer / ((double)(m->layers - 1) + 1e-5) + 1e-5;
}

/* Add the block `name`, as that of layer i is. */
static uint32_t add_block(struct preset *p, int64_t i, const char *name, uint32_t x)
{
    const struct scenario *s = p->scenario;
    const struct attention_opts attention = layer_attention_opts(&p->attention, i);
    bool sparse = routed_in_layer(s, i);
    enum scenario_layer_type type = scenario_layer_type(&s->model, i);
    const struct block_opts opts = {.attention = &attention,
                                    .activation = weights_activation(s),
                                    .order = order_of(&s->model, type),
                                    .residual_scale = s->model.residual_scale,
                                    .skip_scale = s->model.skip_scale,
                                    .attention_scale = s->model.attention_out_scale,
                                    .mlp_scale = s->model.mlp_out_scale,
                                    .slope = slope_of(&s->model, i)};
    struct block_weights w =
        weights_block(p->graph, s, name, &p->dims, !sparse && opts.order != BLOCK_ATTENTION,
                      scenario_layer_attends(type));
    const char *attn = graph_text(p->graph, "%s/attn", name);
    struct block_experts experts;
    struct latent_weights latent;
    struct state_weights state;
    struct short_conv_weights conv;

    if (sparse) {
        experts = routed_layer(p->graph, s, name, &p->dims, &p->experts);
        w.experts = &experts;
    }
    if (s->model.mla.kv_rank > 0 && scenario_layer_attends(type)) {
        latent = weights_latent(p->graph, s, attn, &p->dims);
        w.latent = &latent;
    }
    if (type == SCENARIO_LAYER_DELTA || type == SCENARIO_LAYER_KDA) {
        state = weights_state(p->graph, s, attn, &p->dims, type);
        w.delta = &state;
    } else if (type == SCENARIO_LAYER_MAMBA || type == SCENARIO_LAYER_FULL_MAMBA) {
        state = weights_state(p->graph, s, graph_text(p->graph, "%s/mamba", name), &p->dims, type);
        w.mamba = &state;
        w.both = type == SCENARIO_LAYER_FULL_MAMBA;
    } else if (type == SCENARIO_LAYER_LIGHTNING) {
        state =
            weights_lightning(p->graph, s, graph_text(p->graph, "%s/lightning", name), &p->dims);
        w.lightning = &state;
    } else if (type == SCENARIO_LAYER_CONV) {
        conv = weights_short_conv(p->graph, s, graph_text(p->graph, "%s/conv", name), &p->dims);
        w.conv = &conv;
    }
    return layer_block(p->graph, name, x, &w, &opts);
}

static uint32_t add_layer(struct preset *p, int64_t i, uint32_t x)
{
    const struct scenario *s = p->scenario;
    const struct attention_opts attention = layer_attention_opts(&p->attention, i);
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
    return add_block(p, i, name, x);
}

static uint32_t add_layers(struct preset *p, uint32_t x)
{
    for (int64_t i = 0; i < p->scenario->model.layers; i++)
        x = add_layer(p, i, x);
    return x;
}

static void build_layers(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    struct preset p = preset_of(graph, scenario, diag);
    const uint32_t dims[3] = {p.dims.batch, p.dims.seq, p.dims.embed};
    uint32_t x;

    x = graph_input(graph, "x", scenario->model.dtype, dims, 3,
                    model_source(scenario->seed, "x", 2));
    if (scenario->model.kind != SCENARIO_MLP)
        layer_attention_init(&p.attention, graph, scenario, p.dims.batch, p.dims.seq);
    graph_output(graph, GRAPH_OUTPUT, "out", add_layers(&p, x), GRAPH_NONE);
}

/* Add a learned vector for each position, equal in all sequences. */
static uint32_t add_positions(const struct preset *p, uint32_t x)
{
    const struct attention_sight *sight = layer_attention_opts(&p->attention, 0).sight;
    struct graph *g = p->graph;
    uint32_t table;

    if (p->dims.positions == GRAPH_NONE)
        return x;
    table = weights_table(g, p->scenario, "embed/positions", p->dims.positions, p->dims.embed);
    if (sight)
        table = graph_embed(g, "embed/places", table, attention_positions(sight));
    else
        table = graph_slice(g, "embed/places", table, p->dims.positions, p->dims.seq, 0);
    return graph_map(g, "embed/sum", KERN_ADD, x, table, 0);
}

/* Add the routers' losses, in the type of the model's own loss. */
static uint32_t add_router_losses(const struct preset *p, uint32_t loss)
{
    uint32_t more = p->experts.loss;

    if (more == GRAPH_NONE || p->graph->err.status != SHD_OK)
        return loss;
    more = graph_convert(p->graph, "loss/routers", p->graph->nodes[loss].dtype, more);
    return graph_map(p->graph, "loss/all", KERN_ADD, loss, more, 0);
}

/* The tokens `ahead` places on. */
static uint32_t tokens_ahead(const struct preset *p, const char *name, int64_t ahead)
{
    const struct tokens_part part = {(uint64_t)ahead, (uint64_t)p->scenario->batch.seq};

    return tokens_add(p->graph, p->scenario, name, p->dims.batch, p->dims.seq, part);
}

/* The loss `name` of logits.  With master parameters it is computed in their type. */
static uint32_t loss_of(const struct preset *p, const char *name, uint32_t logits, uint32_t labels)
{
    const struct scenario *s = p->scenario;
    uint32_t first = p->graph->nnodes, loss;

    if (s->step.update)
        logits = graph_convert(p->graph, graph_text(p->graph, "%s/logits", name),
                               scenario_type(s, s->types.parameters), logits);
    loss = layer_cross_entropy(p->graph, name, logits, p->dims.vocab, labels, GRAPH_NONE).loss;
    model_mark_loss(p->graph, first, p->dims.vocab);
    return loss;
}

/* Embedding and head, which modules for further tokens share. */
struct ends {
    uint32_t table;
    struct head_weights head;
};

/* Add the block of a module for further tokens and all before it; returns hidden states. */
static uint32_t add_module(struct preset *p, int64_t k, const struct ends *ends, uint32_t hidden,
                           uint32_t ids)
{
    struct graph *g = p->graph;
    const char *name = graph_text(g, MTP_LAYERS "%lld", (long long)k);
    const char *embed = graph_text(g, "mtp/%lld/embed", (long long)k);
    uint32_t x = weights_embed(g, p->scenario, embed, ends->table, ids);

    x = graph_constraint(g, graph_text(g, "%s/out", embed), x);
    x = mtp_join(g, p->scenario, name, hidden, x, &p->dims);
    return add_block(p, p->scenario->model.layers - 1, name, x);
}

/* Add the modules for further tokens, from the hidden states of the model and the ids of the next
 * tokens.  Returns the sum of their losses, or GRAPH_NONE in a step without a loss. */
static uint32_t add_modules(struct preset *p, const struct ends *ends, uint32_t x, uint32_t ids)
{
    const struct scenario *s = p->scenario;
    uint32_t sum = GRAPH_NONE, loss, logits;
    struct graph *g = p->graph;

    for (long long k = 0; k < s->model.mtp && g->err.status == SHD_OK; k++) {
        x = add_module(p, k, ends, x, ids);
        logits =
            weights_final_norm(g, s, graph_text(g, MTP_LAYERS "%lld/final_norm", k), x, &p->dims);
        logits =
            weights_logits(g, s, graph_text(g, "mtp/%lld/head", k), logits, &ends->head, &p->dims);
        graph_output(g, GRAPH_OUTPUT, graph_text(g, "mtp/%lld/out", k), logits, GRAPH_NONE);
        if (s->step.backward || k + 1 < s->model.mtp)
            ids = tokens_ahead(p, graph_text(g, "labels/%lld", k + 1), k + 2);
        if (!s->step.backward)
            continue;
        loss = loss_of(p, graph_text(g, "mtp/%lld/loss", k), logits, ids);
        sum = k == 0 ? loss : graph_map(g, "mtp/losses", KERN_ADD, sum, loss, 0);
    }
    return sum;
}

/* The model's loss, with the weighted mean of those of its modules. */
static uint32_t with_modules(const struct preset *p, uint32_t loss, uint32_t sum)
{
    const struct scenario_model *m = &p->scenario->model;

    if (sum == GRAPH_NONE)
        return loss;
    sum = graph_map(p->graph, "mtp/loss", KERN_SCALE, sum, GRAPH_NONE,
                    m->mtp_weight / (double)m->mtp);
    return graph_map(p->graph, "loss/with_mtp", KERN_ADD, loss, sum, 0);
}

static void build_transformer(struct graph *graph, const struct scenario *scenario,
                              struct diag *diag)
{
    struct preset p = preset_of(graph, scenario, diag);
    struct serving_ids ids = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    uint32_t x, logits, labels = GRAPH_NONE, modules;
    struct ends ends;

    if (scenario_serves(scenario))
        ids = serving_tokens(graph, scenario, p.dims.batch, p.dims.seq);
    else
        ids.all = tokens_ahead(&p, "tokens", 0);
    layer_attention_init(&p.attention, graph, scenario, p.dims.batch, p.dims.seq);
    ends.table = weights_table(graph, scenario, "embed/table", p.dims.vocab, p.dims.embed);
    x = weights_embed(graph, scenario, "embed", ends.table, ids.all);
    x = graph_constraint(graph, "embed/out", add_positions(&p, x));
    x = add_layers(&p, x);
    if (scenario_serves(scenario))
        x = serving_last(graph, scenario, x, &p.dims.seq);
    x = weights_final_norm(graph, scenario, "final_norm", x, &p.dims);
    ends.head =
        weights_head(graph, scenario, scenario->model.tied ? ends.table : GRAPH_NONE, &p.dims);
    logits = weights_logits(graph, scenario, "head", x, &ends.head, &p.dims);
    graph_output(graph, GRAPH_OUTPUT, "out", logits, GRAPH_NONE);
    if (scenario_serves(scenario))
        serving_choose(graph, scenario, logits, p.dims.vocab, &ids);
    if (scenario->step.backward || scenario->model.mtp > 0)
        labels = tokens_ahead(&p, "labels", 1);
    modules = add_modules(&p, &ends, x, labels);
    if (!scenario->step.backward)
        return;
    x = with_modules(&p, loss_of(&p, "loss", logits, labels), modules);
    graph_output(graph, GRAPH_LOSS, "loss", add_router_losses(&p, x), GRAPH_NONE);
}

static void add_count(struct text *out, int64_t n, const char *what)
{
    text_addf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

/* Describe the experts, including what changes the work at equal sizes: routing, capacity and
 * drops. */
static void describe_experts(struct text *out, const struct scenario_model *model, bool planned)
{
    const struct scenario_moe *m = &model->moe;

    text_addf(out, ", %lld of %lld experts of %lld", (long long)m->top_k, (long long)m->experts,
              (long long)(m->d_ff > 0 ? m->d_ff : model->d_ff));
    if (m->redundant > 0)
        text_addf(out, " and %lld copies of them", (long long)m->redundant);
    if (m->shared > 0)
        text_addf(out, " and %lld shared", (long long)m->shared);
    if (m->shared_d_ff > 0)
        text_addf(out, " of %lld together", (long long)m->shared_d_ff);
    text_addf(out, "%s%s%s%s%s", m->shared_gate ? ", shared gate" : "",
              m->after ? ", softmax after top-k" : "", m->router_bias ? ", router bias" : "",
              m->expert_bias ? ", expert biases" : "", m->gates_input ? ", gates on inputs" : "");
    if (m->capacity > 0)
        text_addf(out, ", capacity %g by %s", m->capacity, scenario_drop_name(m->drop));
    if (m->routing == SCENARIO_ROUTING_AUTO) {
        if (planned)
            text_addf(out, ", %s routing assumed", m->skew > 0 ? "zipf" : "uniform");
        return;
    }
    text_addf(out, ", %s routing", scenario_routing_name(m->routing));
    if (m->routing == SCENARIO_ROUTING_LEARNED && m->capacity == 0)
        text_add(out, " with room for all tokens at each expert");
    else if (m->skew > 0 && m->routing != SCENARIO_ROUTING_UNIFORM &&
             m->routing != SCENARIO_ROUTING_RAGGED && m->routing != SCENARIO_ROUTING_EMPTY)
        text_addf(out, " %g", m->skew);
}

static void add_number(struct text *out, const char *what, double number)
{
    if (number > 0)
        text_addf(out, ", %s %g", what, number);
}

static void add_factor(struct text *out, const char *what, double factor)
{
    if (factor > 0 && factor != 1)
        text_addf(out, ", %s times %g", what, factor);
}

/* Describe what changes the values or the work of blocks, where it is not what most models have. */
static void describe_blocks(struct text *out, const struct scenario_model *m)
{
    static const char *const places[] = {"", ", norms behind", ", norms on both sides"};
    static const char *const weights[] = {"", ", norms without bias", ", norms without weights"};
    static const char *const residuals[SCENARIO_NRESIDUALS] = {
        [SCENARIO_SERIAL] = "",
        [SCENARIO_NORMED] = ", residuals of norms",
        [SCENARIO_BESIDE] = ", parallel attention and mlp",
        [SCENARIO_BESIDE_NORMS] = ", parallel attention and mlp with two norms",
        [SCENARIO_ALONE] = ", attention, a state or an mlp in each layer"};

    text_add(out, places[m->norm_place]);
    if (m->norm == SCENARIO_LAYER_NORM || m->norm_weights == SCENARIO_NORM_BARE)
        text_add(out, weights[m->norm_weights]);
    text_addf(out, "%s%s", m->norm_one_plus ? ", norms by 1 + scale" : "", residuals[m->residual]);
    add_factor(out, "residuals", m->residual_scale);
    add_factor(out, "residual stream", m->skip_scale);
    add_factor(out, "attention's output", m->attention_out_scale);
    add_factor(out, "the activation's input", m->activation_scale);
    add_factor(out, "the mlp's output", m->mlp_out_scale);
}

/* Describe embedding, head and modules for further tokens. */
static void describe_ends(struct text *out, const struct scenario_model *m)
{
    text_addf(out, ", vocab %lld", (long long)m->vocab);
    add_factor(out, "embeddings", m->embed_scale);
    add_factor(out, "logits", m->logit_scale);
    add_number(out, "logits capped at", m->logit_cap);
    if (m->head_bias)
        text_add(out, ", head bias");
    if (m->mtp == 0)
        return;
    text_add(out, ", ");
    add_count(out, m->mtp, "module");
    text_add(out, " for further tokens");
}

/* Whether a layer has an mlp without experts. */
static bool has_mlp(const struct scenario_model *m)
{
    if (m->residual == SCENARIO_ALONE)
        return scenario_lists_type(m, SCENARIO_LAYER_MLP);
    return m->kind != SCENARIO_ATTENTION &&
           (m->moe.experts == 0 || m->moe.first_dense > 0 || m->moe.every > 1);
}

static bool has_attention(const struct scenario_model *m)
{
    bool attends = false;

    for (int64_t i = 0; i < m->layers && !attends; i++)
        attends = scenario_layer_attends(scenario_layer_type(m, i));
    return attends && m->kind != SCENARIO_MLP;
}

/* Append ", WHAT SIZE in N layers"; without the number if all layers have WHAT. */
static void describe_some(struct text *out, const struct scenario_model *m, const char *what,
                          int64_t size, int64_t n)
{
    if (n == 0)
        return;
    text_addf(out, ", %s of %lld", what, (long long)size);
    if (n < m->layers) {
        text_add(out, " in ");
        add_count(out, n, "layer");
    }
}

/* Append ", WHAT in N layers". */
static void describe_part(struct text *out, const char *what, int64_t n)
{
    if (n == 0)
        return;
    text_addf(out, ", %s in ", what);
    add_count(out, n, "layer");
}

/* What layers attend to, where not all attend to all, and how many rotate no positions in. */
static void describe_layers(struct text *out, const struct scenario_model *m)
{
    static const struct {
        enum scenario_layer_type type;
        const char *what;
    } others[] = {{SCENARIO_LAYER_DELTA, "a gated delta rule"},
                  {SCENARIO_LAYER_KDA, "KDA"},
                  {SCENARIO_LAYER_MAMBA, "Mamba-2"},
                  {SCENARIO_LAYER_FULL_MAMBA, "Mamba-2 beside attention"},
                  {SCENARIO_LAYER_LIGHTNING, "lightning attention"},
                  {SCENARIO_LAYER_CONV, "a short convolution"}};
    int64_t n[SCENARIO_NLAYER_TYPES] = {0}, sees[SCENARIO_LAYER_FULL_PLAIN] = {0}, plain = 0,
            parts = 0;

    for (int64_t i = 0; i < m->layers; i++) {
        enum scenario_layer_type type = scenario_layer_type(m, i);

        n[type]++;
        sees[scenario_layer_sight(type)]++;
        plain += scenario_layer_is_plain(type);
        parts += !scenario_layer_mixes(type);
    }
    describe_some(out, m, "windows", m->window, sees[SCENARIO_LAYER_WINDOW]);
    describe_some(out, m, "chunks", m->chunk, sees[SCENARIO_LAYER_CHUNK]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        describe_part(out, others[i].what, n[others[i].type]);
    describe_part(out, "an mlp alone", parts);
    describe_part(out, "no rope", m->rope.used ? plain : 0);
}

/* Positions, norms and scores of attention. */
static void describe_attention(struct text *out, const struct scenario_model *m)
{
    static const char *const norms[SCENARIO_NQK_NORMS] = {
        [SCENARIO_QK_PLAIN] = "",
        [SCENARIO_QK_HEAD] = ", qk norm",
        [SCENARIO_QK_HEADS] = ", qk norm by heads",
        [SCENARIO_QK_WHOLE] = ", qk norm of all heads",
        [SCENARIO_QK_LATE] = ", qk norm after rope",
        [SCENARIO_QK_BARE] = ", bare qk norm",
    };

    if (has_attention(m))
        text_addf(out, "%s%s", m->causal ? ", causal" : "", m->rope.used ? ", rope" : "");
    if (m->rope.used && m->rope.part > 0 && m->rope.part < 1)
        text_addf(out, " of a part %g", m->rope.part);
    if (m->rope.used && m->rope.scaling.kind != SCENARIO_ROPE_UNSCALED)
        text_addf(out, " by %s", scenario_rope_scaling_name(m->rope.scaling.kind));
    describe_layers(out, m);
    text_add(out, norms[m->qk_norm]);
    if (m->attention_cap > 0)
        text_addf(out, ", scores to %g", m->attention_cap);
    text_addf(out, "%s%s%s", m->attention_gate ? ", gated" : "", m->sinks ? ", sinks" : "",
              m->attention == SCENARIO_UNFUSED ? ", unfused" : "");
}

static void describe(struct text *out, const struct scenario *s)
{
    const struct scenario_model *m = &s->model;

    add_count(out, m->layers, "layer");
    text_addf(out, " of %s", scenario_kind_name(m->kind));
    if (has_mlp(m) || m->moe.experts > 0)
        text_addf(out, " %s", scenario_activation_name(m->activation));
    text_addf(out, ", embed %lld", (long long)m->d_model);
    if (has_mlp(m))
        text_addf(out, ", mlp %lld", (long long)m->d_ff);
    if (has_attention(m)) {
        text_add(out, ", ");
        add_count(out, m->heads, "head");
        text_addf(out, " of %lld", (long long)m->head_dim);
        if (m->kv_heads != m->heads) {
            text_add(out, " on ");
            add_count(out, m->kv_heads, "key head");
        }
    }
    if (m->kind != SCENARIO_MLP)
        describe_attention(out, m);
    if (m->moe.experts > 0)
        describe_experts(out, m, s->planned);
    if (m->kind != SCENARIO_MLP && m->kind != SCENARIO_ATTENTION)
        describe_blocks(out, m);
    if (m->vocab > 0)
        describe_ends(out, m);
    text_addf(out, "%s, %s; batch %lldx%lld", m->text_alone ? ", the text part alone" : "",
              shd_dtype_name(m->dtype), (long long)s->batch.size,
              (long long)scenario_new_tokens(s));
}

const struct model_kind model_mlp = {SCENARIO_MLP, build_layers, describe};
const struct model_kind model_attention = {SCENARIO_ATTENTION, build_layers, describe};
const struct model_kind model_block = {SCENARIO_BLOCK, build_layers, describe};
const struct model_kind model_transformer = {SCENARIO_TRANSFORMER, build_transformer, describe};
const struct model_kind model_gpt2 = {SCENARIO_GPT2, build_transformer, describe};
const struct model_kind model_llama3 = {SCENARIO_LLAMA3, build_transformer, describe};
const struct model_kind model_mixtral = {SCENARIO_MIXTRAL, build_transformer, describe};
const struct model_kind model_deepseek = {SCENARIO_DEEPSEEK, build_transformer, describe};
const struct model_kind model_decoder = {SCENARIO_DECODER, build_transformer, describe};
