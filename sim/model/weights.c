/* Parameters of the presets' layers (weights.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/weights.h"

#include <math.h>
#include <string.h>

#include "graph/layers/norm.h"
#include "graph/layers/project.h"
#include "model/model.h"

/* A dimension of `size`; GRAPH_NONE if the kind of model does not have it (0). */
static uint32_t dim(struct graph *g, const char *name, int64_t size)
{
    return size > 0 ? graph_dim(g, name, size) : GRAPH_NONE;
}

static int64_t padded_vocab(const struct scenario_model *m)
{
    int64_t multiple = m->vocab_multiple > 0 ? m->vocab_multiple : 1;

    return (m->vocab + multiple - 1) / multiple * multiple;
}

struct weights_dims weights_dims(struct graph *graph, const struct scenario *scenario)
{
    const struct scenario_model *m = &scenario->model;
    bool heads = m->kind != SCENARIO_MLP;
    struct weights_dims d;

    d.batch = dim(graph, "batch", scenario->batch.size / scenario->batch.microbatches);
    d.seq = dim(graph, "seq", scenario_new_tokens(scenario));
    d.embed = dim(graph, "embed", m->d_model);
    d.mlp = dim(graph, "mlp", m->kind != SCENARIO_ATTENTION ? m->d_ff : 0);
    d.heads = dim(graph, "heads", heads ? m->heads : 0);
    d.kv_heads = dim(graph, "kv_heads", heads ? m->kv_heads : 0);
    d.head_dim = dim(graph, "head_dim", heads ? m->head_dim : 0);
    d.vocab = dim(graph, "vocab", padded_vocab(m));
    d.positions = dim(graph, "positions", m->positions);
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

/* A kernel called `layer`/`part`. */
static uint32_t kernel(struct graph *g, const struct scenario *s, const char *layer,
                       const char *part, const uint32_t *dims, uint32_t rank, uint32_t nsummed)
{
    return weights_param(g, s, graph_text(g, "%s/%s", layer, part), dims, rank, nsummed);
}

bool weights_is_published(const struct scenario *scenario)
{
    switch (scenario->model.kind) {
    case SCENARIO_GPT2:
    case SCENARIO_LLAMA3:
    case SCENARIO_MIXTRAL:
    case SCENARIO_DEEPSEEK:
    case SCENARIO_DECODER:
    case SCENARIO_T5:
        return true;
    default:
        return false;
    }
}

static uint32_t vector(struct graph *g, const struct scenario *s, const char *name,
                       const uint32_t *dims, uint32_t rank, double standard, double spread)
{
    struct kern_source source = model_source(s->seed, name, spread);

    if (weights_is_published(s))
        source = (struct kern_source){.offset = standard};
    return graph_param(g, name, s->model.dtype, dims, rank, source);
}

/* A scale or bias of a norm, which at first changes nothing in a published model.  In others scales
 * are random numbers from -1 to 1: of either sign, so that a scale which is missing, shared or put
 * in another place shows in every value. */
static uint32_t norm_vector(struct graph *g, const struct scenario *s, const char *layer,
                            const char *part, uint32_t embed)
{
    bool scale = strcmp(part, "scale") == 0 || strstr(part, "/scale");
    double standard = scale && !s->model.norm_one_plus ? 1 : 0;

    return vector(g, s, graph_text(g, "%s/%s", layer, part), &embed, 1, standard, 2);
}

uint32_t weights_bias(struct graph *graph, const struct scenario *scenario, const char *name,
                      const uint32_t *dims, uint32_t rank)
{
    return vector(graph, scenario, name, dims, rank, 0, 0.2);
}

static uint32_t bias(struct graph *g, const struct scenario *s, const char *layer, const char *part,
                     const uint32_t *dims, uint32_t rank)
{
    return weights_bias(g, s, graph_text(g, "%s/%s", layer, part), dims, rank);
}

struct norm_weights weights_norm(struct graph *graph, const struct scenario *scenario,
                                 const char *name, uint32_t embed)
{
    const struct scenario_model *m = &scenario->model;
    struct norm_weights n = {.used = true,
                             .centred = m->norm == SCENARIO_LAYER_NORM,
                             .one_plus = m->norm_one_plus,
                             .scale = GRAPH_NONE,
                             .bias = GRAPH_NONE,
                             .eps = m->norm_eps};

    if (!(n.eps > 0))
        n.eps = n.centred ? BLOCK_LAYER_NORM_EPS : BLOCK_NORM_EPS;
    if (m->norm_weights != SCENARIO_NORM_BARE)
        n.scale = norm_vector(graph, scenario, name, "scale", embed);
    if (n.centred && m->norm_weights == SCENARIO_NORM_STANDARD)
        n.bias = norm_vector(graph, scenario, name, "bias", embed);
    return n;
}

/* A table of uniform random numbers, for published models with the standard deviation 0.02 of GPT-2
 * and Llama, or 1 of T5. */
uint32_t weights_table(struct graph *graph, const struct scenario *scenario, const char *name,
                       uint32_t rows, uint32_t embed)
{
    const uint32_t dims[2] = {rows, embed};
    double deviation = scenario->model.kind == SCENARIO_T5 ? 1 : 0.02;
    double spread = weights_is_published(scenario) ? deviation * sqrt(12) : 2;

    return graph_param(graph, name, scenario->model.dtype, dims, 2,
                       model_source(scenario->seed, name, spread));
}

struct head_weights weights_head(struct graph *graph, const struct scenario *scenario,
                                 uint32_t table, const struct weights_dims *dims)
{
    const uint32_t head[2] = {dims->embed, dims->vocab};
    struct head_weights w = {table, GRAPH_NONE};

    if (table == GRAPH_NONE)
        w.kernel = weights_param(graph, scenario, "head/kernel", head, 2, 1);
    if (scenario->model.head_bias)
        w.bias = bias(graph, scenario, "head", "bias", head + 1, 1);
    return w;
}

/* cap * tanh(x / cap); a cap of 0 means none. */
static uint32_t capped(struct graph *g, const char *name, uint32_t x, double cap)
{
    if (!(cap > 0))
        return x;
    x = graph_map(g, name, KERN_SCALE, x, GRAPH_NONE, 1 / cap);
    x = graph_map(g, name, KERN_TANH, x, GRAPH_NONE, 0);
    return graph_map(g, name, KERN_SCALE, x, GRAPH_NONE, cap);
}

uint32_t weights_logits(struct graph *graph, const struct scenario *scenario, const char *name,
                        uint32_t x, const struct head_weights *head,
                        const struct weights_dims *dims)
{
    const uint32_t logits[3] = {dims->batch, dims->seq, dims->vocab};

    x = graph_einsum(graph, name, x, head->kernel, logits, 3);
    if (head->bias != GRAPH_NONE)
        x = graph_map(graph, graph_text(graph, "%s/biased", name), KERN_ADD, x, head->bias, 0);
    x = layer_scaled(graph, graph_text(graph, "%s/scaled", name), x, scenario->model.logit_scale);
    x = capped(graph, graph_text(graph, "%s/capped", name), x, scenario->model.logit_cap);
    return graph_constraint(graph, graph_text(graph, "%s/out", name), x);
}

uint32_t weights_embed(struct graph *graph, const struct scenario *scenario, const char *name,
                       uint32_t table, uint32_t ids)
{
    double scale = kern_round(scenario->model.dtype, scenario->model.embed_scale);
    uint32_t x = graph_embed(graph, name, table, ids);

    return layer_scaled(graph, graph_text(graph, "%s/scaled", name), x, scale);
}

struct mlp_weights weights_mlp(struct graph *graph, const struct scenario *scenario,
                               const char *name, const struct weights_dims *dims)
{
    const uint32_t in[2] = {dims->embed, dims->mlp}, out[2] = {dims->mlp, dims->embed};
    struct mlp_weights w = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    bool gated = scenario_is_gated(scenario->model.activation);

    if (gated)
        w.gate = kernel(graph, scenario, name, "gate/kernel", in, 2, 1);
    if (gated && scenario->model.bias)
        w.gate_bias = bias(graph, scenario, name, "gate/bias", in + 1, 1);
    w.up = kernel(graph, scenario, name, "up/kernel", in, 2, 1);
    if (scenario->model.bias)
        w.up_bias = bias(graph, scenario, name, "up/bias", in + 1, 1);
    w.down = kernel(graph, scenario, name, "down/kernel", out, 2, 1);
    if (scenario->model.bias)
        w.down_bias = bias(graph, scenario, name, "down/bias", out + 1, 1);
    return w;
}

/* T5 does not scale its scores, so its query kernel is smaller by the square root of head_dim. */
static uint32_t query_kernel(struct graph *g, const struct scenario *s, const char *layer,
                             const uint32_t dims[3])
{
    const char *name = graph_text(g, "%s/q/kernel", layer);
    double spread = sqrt(12 / ((double)s->model.d_model * (double)s->model.head_dim));

    if (s->model.kind != SCENARIO_T5)
        return weights_param(g, s, name, dims, 3, 1);
    return graph_param(g, name, s->model.dtype, dims, 3, model_source(s->seed, name, spread));
}

/* The norm of queries or keys of `heads`. */
static struct norm_weights head_norm(struct graph *g, const struct scenario *s, const char *name,
                                     uint32_t heads, uint32_t head_dim)
{
    const struct scenario_model *m = &s->model;
    bool each = m->qk_norm == SCENARIO_QK_HEAD || m->qk_norm == SCENARIO_QK_LATE;
    bool centred = m->norm == SCENARIO_LAYER_NORM;
    const uint32_t dims[2] = {each ? head_dim : heads, head_dim};
    uint32_t rank = each ? 1 : 2;
    struct norm_weights n = {.used = true,
                             .centred = centred,
                             .one_plus = m->norm_one_plus,
                             .whole = m->qk_norm == SCENARIO_QK_WHOLE,
                             .scale = GRAPH_NONE,
                             .bias = GRAPH_NONE,
                             .eps = m->norm_eps};

    if (!(n.eps > 0))
        n.eps = n.centred ? BLOCK_LAYER_NORM_EPS : BLOCK_NORM_EPS;
    if (m->qk_norm == SCENARIO_QK_BARE || m->norm_weights == SCENARIO_NORM_BARE)
        return n;
    n.scale = vector(g, s, graph_text(g, "%s/scale", name), dims, rank, n.one_plus ? 0 : 1, 2);
    if (n.centred && m->norm_weights == SCENARIO_NORM_STANDARD)
        n.bias = vector(g, s, graph_text(g, "%s/bias", name), dims, rank, 0, 2);
    return n;
}

static struct attention_norms head_norms(struct graph *g, const struct scenario *s,
                                         const char *layer, const struct weights_dims *dims)
{
    struct attention_norms n = {.used = s->model.qk_norm != SCENARIO_QK_PLAIN,
                                .late = s->model.qk_norm == SCENARIO_QK_LATE ||
                                        s->model.qk_norm == SCENARIO_QK_BARE};

    if (!n.used)
        return n;
    n.q = head_norm(g, s, graph_text(g, "%s/q_norm", layer), dims->heads, dims->head_dim);
    n.k = head_norm(g, s, graph_text(g, "%s/k_norm", layer), dims->kv_heads, dims->head_dim);
    return n;
}

struct attention_weights weights_attention(struct graph *graph, const struct scenario *scenario,
                                           const char *name, const struct weights_dims *dims)
{
    const uint32_t q[3] = {dims->embed, dims->heads, dims->head_dim};
    const uint32_t kv[3] = {dims->embed, dims->kv_heads, dims->head_dim};
    const uint32_t o[3] = {dims->heads, dims->head_dim, dims->embed};
    struct attention_weights w = {.biased = scenario->model.attention_bias != SCENARIO_BIAS_NONE,
                                  .o_biased = scenario->model.attention_bias == SCENARIO_BIAS_ALL};

    w.q = query_kernel(graph, scenario, name, q);
    w.k = kernel(graph, scenario, name, "k/kernel", kv, 3, 1);
    w.v = kernel(graph, scenario, name, "v/kernel", kv, 3, 1);
    w.o = kernel(graph, scenario, name, "o/kernel", o, 3, 2);
    if (w.biased) {
        w.q_bias = bias(graph, scenario, name, "q/bias", q + 1, 2);
        w.k_bias = bias(graph, scenario, name, "k/bias", kv + 1, 2);
        w.v_bias = bias(graph, scenario, name, "v/bias", kv + 1, 2);
    }
    if (w.o_biased)
        w.o_bias = bias(graph, scenario, name, "o/bias", &dims->embed, 1);
    w.gated = scenario->model.attention_gate;
    if (w.gated)
        w.gate = kernel(graph, scenario, name, "gate/kernel", q, 3, 1);
    w.norms = head_norms(graph, scenario, name, dims);
    w.sunk = scenario->model.sinks;
    if (w.sunk)
        w.sinks =
            vector(graph, scenario, graph_text(graph, "%s/sinks", name), &dims->heads, 1, 0, 2);
    return w;
}

/* The scale of a latent vector's norm, which is an RMS norm whatever the model's are. */
static uint32_t latent_scale(struct graph *g, const struct scenario *s, const char *layer,
                             const char *part, uint32_t rank)
{
    return vector(g, s, graph_text(g, "%s/%s", layer, part), &rank, 1, 1, 2);
}

struct latent_weights weights_latent(struct graph *graph, const struct scenario *scenario,
                                     const char *name, const struct weights_dims *dims)
{
    const struct scenario_mla *m = &scenario->model.mla;
    uint32_t kv_rank = graph_dim(graph, "kv_rank", m->kv_rank);
    uint32_t rope = graph_dim(graph, "rope_dim", m->rope_dim), from = dims->embed;
    uint32_t value = graph_dim(graph, "value_dim", m->value_dim);
    const uint32_t kv_latent[2] = {dims->embed, kv_rank};
    const uint32_t k_rope[3] = {dims->embed, graph_dim(graph, "rope_heads", 1), rope};
    const uint32_t k[3] = {kv_rank, dims->heads, dims->head_dim},
                   v[3] = {kv_rank, dims->heads, value};
    const uint32_t o[3] = {dims->heads, value, dims->embed};
    struct latent_weights w = {
        .q_latent = GRAPH_NONE, .q_norm = GRAPH_NONE, .norm_eps = BLOCK_NORM_EPS};

    if (m->q_rank > 0) {
        const uint32_t q_latent[2] = {dims->embed, graph_dim(graph, "q_rank", m->q_rank)};

        from = q_latent[1];
        w.q_latent = kernel(graph, scenario, name, "q_latent/kernel", q_latent, 2, 1);
        w.q_norm = latent_scale(graph, scenario, name, "q_latent/scale", from);
    }
    const uint32_t q[3] = {from, dims->heads, dims->head_dim},
                   q_rope[3] = {from, dims->heads, rope};

    w.q = kernel(graph, scenario, name, "q/kernel", q, 3, 1);
    w.q_rope = kernel(graph, scenario, name, "q_rope/kernel", q_rope, 3, 1);
    w.kv_latent = kernel(graph, scenario, name, "kv_latent/kernel", kv_latent, 2, 1);
    w.kv_norm = latent_scale(graph, scenario, name, "kv_latent/scale", kv_rank);
    w.k_rope = kernel(graph, scenario, name, "k_rope/kernel", k_rope, 3, 1);
    w.k = kernel(graph, scenario, name, "k/kernel", k, 3, 1);
    w.v = kernel(graph, scenario, name, "v/kernel", v, 3, 1);
    w.o = kernel(graph, scenario, name, "o/kernel", o, 3, 2);
    return w;
}

/* The bias of a convolution with taps[tap, heads, dim]; GRAPH_NONE: it has none. */
static uint32_t taps_bias(struct graph *g, const struct scenario *s, const char *layer,
                          const char *part, const uint32_t *taps)
{
    if (!s->model.linear.taps_bias)
        return GRAPH_NONE;
    return bias(g, s, layer, graph_text(g, "%s/conv_bias", part), taps + 1, 2);
}

/* The projections to gates and decays: of KDA to decays of channels of keys, and by two matrices
 * with the width of a head between them. */
static void add_gates(struct state_weights *w, struct graph *g, const struct scenario *s,
                      const char *layer, const uint32_t v[3], uint32_t keys, bool kda)
{
    uint32_t rank = kda ? graph_dim(g, "linear_rank", s->model.linear.value_dim) : v[0];
    const uint32_t in[2] = {v[0], rank}, gate[3] = {rank, v[1], v[2]},
                   decay[3] = {rank, v[1], keys};

    w->gate_in = w->decay_in = GRAPH_NONE;
    if (kda)
        w->gate_in = kernel(g, s, layer, "gate_in/kernel", in, 2, 1);
    w->gate = kernel(g, s, layer, graph_text(g, "%s/kernel", w->names->gate), gate, 3, 1);
    if (kda)
        w->decay_in = kernel(g, s, layer, "decay_in/kernel", in, 2, 1);
    w->decay =
        kernel(g, s, layer, graph_text(g, "%s/kernel", w->names->decay), decay, kda ? 3 : 2, 1);
}

struct state_weights weights_state(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims,
                                   enum scenario_layer_type type)
{
    const struct scenario_model *m = &scenario->model;
    const struct scenario_linear *l = &m->linear;
    bool kda = type == SCENARIO_LAYER_KDA, mamba = !kda && type != SCENARIO_LAYER_DELTA;
    bool normed = !mamba || l->norm != SCENARIO_STATE_BARE;
    uint32_t taps = graph_dim(graph, "taps", l->taps), embed = dims->embed;
    uint32_t keys = graph_dim(graph, "linear_key_dim", l->key_dim);
    uint32_t values = graph_dim(graph, "linear_value_dim", l->value_dim);
    bool same = kda && scenario_state_keys(m) == scenario_state_heads(m);
    uint32_t key_heads =
        graph_dim(graph, same ? "linear_heads" : "linear_key_heads", scenario_state_keys(m));
    uint32_t heads = graph_dim(graph, "linear_heads", scenario_state_heads(m));
    const uint32_t q[3] = {embed, key_heads, keys}, v[3] = {embed, heads, values};
    const uint32_t q_taps[3] = {taps, key_heads, keys}, v_taps[3] = {taps, heads, values};
    const uint32_t o[3] = {heads, values, embed}, decay[2] = {heads, keys};
    struct state_weights w = {.norm_eps = m->norm_eps > 0 ? m->norm_eps : BLOCK_NORM_EPS,
                              .norm_first = l->norm == SCENARIO_STATE_BEFORE,
                              .beta = GRAPH_NONE,
                              .skip = GRAPH_NONE,
                              .scale = GRAPH_NONE,
                              .factors = {.q = l->query_scale,
                                          .k = l->key_scale,
                                          .v = l->value_scale,
                                          .gate = l->gate_scale,
                                          .decay = l->step_scale,
                                          .out = l->out_scale}};
    const struct state_names *n = mamba ? &state_names_mamba : &state_names_delta;

    w.names = n;
    w.q = kernel(graph, scenario, name, graph_text(graph, "%s/kernel", n->q), q, 3, 1);
    w.k = kernel(graph, scenario, name, graph_text(graph, "%s/kernel", n->k), q, 3, 1);
    w.v = kernel(graph, scenario, name, graph_text(graph, "%s/kernel", n->v), v, 3, 1);
    add_gates(&w, graph, scenario, name, v, keys, kda);
    if (!mamba)
        w.beta = kernel(graph, scenario, name, "beta/kernel", v, 2, 1);
    w.q_taps = kernel(graph, scenario, name, graph_text(graph, "%s/taps", n->q), q_taps, 3, 1);
    w.k_taps = kernel(graph, scenario, name, graph_text(graph, "%s/taps", n->k), q_taps, 3, 1);
    w.v_taps = kernel(graph, scenario, name, graph_text(graph, "%s/taps", n->v), v_taps, 3, 1);
    w.q_bias = taps_bias(graph, scenario, name, n->q, q_taps);
    w.k_bias = taps_bias(graph, scenario, name, n->k, q_taps);
    w.v_bias = taps_bias(graph, scenario, name, n->v, v_taps);
    w.log = vector(graph, scenario, graph_text(graph, "%s/%s/log", name, n->decay), decay, 1, 0, 2);
    w.bias = vector(graph, scenario, graph_text(graph, "%s/%s/bias", name, n->decay), decay,
                    kda ? 2 : 1, 1, 2);
    if (mamba)
        w.skip = vector(graph, scenario, graph_text(graph, "%s/skip", name), &heads, 1, 1, 2);
    if (normed)
        w.scale = vector(graph, scenario, graph_text(graph, "%s/norm/scale", name),
                         mamba ? o : &values, mamba ? 2 : 1, 1, 2);
    w.o = kernel(graph, scenario, name, "o/kernel", o, 3, 2);
    return w;
}

struct state_weights weights_lightning(struct graph *graph, const struct scenario *scenario,
                                       const char *name, const struct weights_dims *dims)
{
    uint32_t values = graph_dim(graph, "lightning_dim", scenario->model.head_dim);
    const uint32_t q[3] = {dims->embed, dims->heads, dims->head_dim};
    const uint32_t v[3] = {dims->embed, dims->heads, values};
    const uint32_t o[3] = {dims->heads, values, dims->embed};
    struct state_weights w = {.names = &state_names_lightning,
                              .q_taps = GRAPH_NONE,
                              .k_taps = GRAPH_NONE,
                              .v_taps = GRAPH_NONE,
                              .q_bias = GRAPH_NONE,
                              .k_bias = GRAPH_NONE,
                              .v_bias = GRAPH_NONE,
                              .norm_eps = BLOCK_NORM_EPS};

    w.q = kernel(graph, scenario, name, "q/kernel", q, 3, 1);
    w.k = kernel(graph, scenario, name, "k/kernel", q, 3, 1);
    w.v = kernel(graph, scenario, name, "v/kernel", v, 3, 1);
    w.gate = kernel(graph, scenario, name, "gate/kernel", v, 3, 1);
    w.scale = vector(graph, scenario, graph_text(graph, "%s/norm/scale", name), o, 2, 1, 2);
    w.o = kernel(graph, scenario, name, "o/kernel", o, 3, 2);
    return w;
}

struct short_conv_weights weights_short_conv(struct graph *graph, const struct scenario *scenario,
                                             const char *name, const struct weights_dims *dims)
{
    uint32_t conv = graph_dim(graph, "conv", scenario->model.d_model);
    const uint32_t in[2] = {dims->embed, conv}, out[2] = {conv, dims->embed};
    const uint32_t taps[2] = {graph_dim(graph, "taps", scenario->model.linear.taps), conv};
    struct short_conv_weights w;

    w.in = kernel(graph, scenario, name, "in/kernel", in, 2, 1);
    w.gate = kernel(graph, scenario, name, "gate/kernel", in, 2, 1);
    w.value = kernel(graph, scenario, name, "value/kernel", in, 2, 1);
    w.taps = kernel(graph, scenario, name, "taps", taps, 2, 1);
    w.o = kernel(graph, scenario, name, "o/kernel", out, 2, 1);
    return w;
}

static struct norm_weights block_norm(struct graph *g, const struct scenario *s, const char *block,
                                      const char *part, const struct weights_dims *dims)
{
    return weights_norm(g, s, graph_text(g, "%s/%s", block, part), dims->embed);
}

struct block_weights weights_block(struct graph *graph, const struct scenario *scenario,
                                   const char *name, const struct weights_dims *dims, bool dense,
                                   bool attends)
{
    const struct scenario_model *m = &scenario->model;
    bool before = m->norm_place != SCENARIO_NORM_AFTER;
    bool after = m->norm_place != SCENARIO_NORM_BEFORE;
    struct block_weights w = {.latent = NULL, .experts = NULL};

    if (before)
        w.norm1 = block_norm(graph, scenario, name, "norm1", dims);
    if (m->mla.kv_rank == 0 && attends)
        w.attn = weights_attention(graph, scenario, graph_text(graph, "%s/attn", name), dims);
    if (after)
        w.norm1_after = block_norm(graph, scenario, name, "norm1_after", dims);
    if (before && m->residual != SCENARIO_BESIDE && m->residual != SCENARIO_ALONE)
        w.norm2 = block_norm(graph, scenario, name, "norm2", dims);
    if (dense)
        w.mlp = weights_mlp(graph, scenario, graph_text(graph, "%s/mlp", name), dims);
    if (after)
        w.norm2_after = block_norm(graph, scenario, name, "norm2_after", dims);
    return w;
}

uint32_t weights_final_norm(struct graph *graph, const struct scenario *scenario, const char *name,
                            uint32_t x, const struct weights_dims *dims)
{
    const struct norm_weights norm = weights_norm(graph, scenario, name, dims->embed);

    return layer_norm(graph, name, x, &norm);
}

struct mlp_activation weights_activation(const struct scenario *scenario)
{
    static const struct mlp_activation activations[SCENARIO_NACTIVATIONS] = {
        [SCENARIO_GELU] = {.fn = KERN_GELU},
        [SCENARIO_SWIGLU] = {.fn = KERN_SILU},
        [SCENARIO_RELU] = {.fn = KERN_RELU},
        [SCENARIO_SILU] = {.fn = KERN_SILU},
        [SCENARIO_GEGLU] = {.fn = KERN_GELU},
        [SCENARIO_GELU_EXACT] = {.fn = KERN_GELU_EXACT},
        [SCENARIO_GEGLU_EXACT] = {.fn = KERN_GELU_EXACT},
        [SCENARIO_RELU_SQUARED] = {.fn = KERN_RELU_SQUARED},
        [SCENARIO_SWIGLU_CLAMPED] = {.fn = KERN_QUICK_GELU, .limit = 7},
    };

    struct mlp_activation out = activations[scenario->model.activation];

    out.scale = scenario->model.activation_scale;
    return out;
}
