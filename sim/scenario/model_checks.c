/* Checks between the options of a model (scenario/model_checks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/model_checks.h"

#include <inttypes.h>

#include "scenario/mesh_value.h"
#include "scenario/table.h"

/* Heads must have an integral width, and each key head must serve the same number of query
 * heads. */
static void check_heads(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;

    if (!option_is_of(option_find("model", "heads"), m->kind) || m->heads < 1 || m->kv_heads < 1)
        return;
    if (m->head_dim == 0 && m->d_model % m->heads != 0)
        WRONG(r, "model.heads",
              "%" PRId64 " heads do not divide d_model %" PRId64
              "; expected a divisor, or head_dim",
              m->heads, m->d_model);
    if (m->heads % m->kv_heads != 0)
        WRONG(r, "model.kv_heads",
              "%" PRId64 " kv_heads do not divide %" PRId64 " heads; expected a divisor",
              m->kv_heads, m->heads);
    if (m->rope.used && m->head_dim % 2 != 0)
        WRONG(r, "model.rope", "RoPE on heads of width %" PRId64 "; expected an even head_dim",
              m->head_dim);
}

/* What is rotated of heads must be pairs, and have as many factors. */
static void check_rope(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;
    const struct scenario_rope_scaling *s = &m->rope.scaling;
    int64_t width = m->mla.kv_rank > 0 ? m->mla.rope_dim : m->head_dim;

    if (!m->rope.used || width < 1 || width % 2 != 0)
        return;
    if (m->rope.part > 0)
        width = (int64_t)((double)width * m->rope.part);
    if (m->rope.part > 0 && m->mla.kv_rank > 0)
        WRONG(r, "model.rope", "MLA takes the width of RoPE from mla.rope_dim; expected no part");
    else if (width < 2 || width % 2 != 0)
        WRONG(r, "model.rope",
              "part %g of heads of width %" PRId64 " is %" PRId64
              " elements; expected an even number, at least 2",
              m->rope.part, m->head_dim, width);
    else if (s->kind == SCENARIO_ROPE_LONGROPE && s->nfactors * 2 != width)
        WRONG(r, "model.rope",
              "%u long_factors and short_factors for %" PRId64 " pairs; expected one for each",
              s->nfactors, width / 2);
    else if (s->kind == SCENARIO_ROPE_DYNAMIC && width == 2)
        WRONG(r, "model.rope", "dynamic scaling needs more than one pair");
    if (s->mscale_all > 0 && m->mla.kv_rank == 0 && !(s->mscale > 0))
        WRONG(r, "model.rope",
              "mscale_all without mscale applies to MLA only; expected both, or mla");
}

/* A window or chunks that are given are of some layer. */
static void check_seen(struct reader *r, const char *key, int64_t size,
                       enum scenario_layer_type type)
{
    const struct scenario_layer_types *types = &r->scenario->model.layer_types;
    struct place place = r->scenario->places[option_id(option_find("model", key))];
    bool seen = types->n == 0;

    for (uint32_t i = 0; i < types->n; i++)
        seen |= scenario_layer_sight((enum scenario_layer_type)types->types[i]) == type;
    if (size > 0 && place.file && !seen)
        diag_error(r->diag, place,
                   "model.%s has no effect; expected a layer with it in model.layer_types", key);
}

/* What layers without attention have no place in: a state passes through all tokens in their order,
 * and serving would have to keep it. */
static const char *refused_beside(const struct scenario *s)
{
    const struct scenario_documents *d = &s->context.documents;

    return scenario_serves(s) ? "serving, which keeps no states yet"
           : !s->model.causal ? "causal: false"
           : s->context.order != SCENARIO_CONTIGUOUS
               ? "tokens in another order than contiguous (context.order)"
           : d->mean > 0 || d->nlengths > 0
               ? "packed documents, at whose starts states would have to begin anew"
               : NULL;
}

/* Layers without attention have heads of their own. */
static void check_linear(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;
    const struct scenario_layer_types *types = &m->layer_types;
    int64_t values = scenario_state_heads(m), keys = scenario_state_keys(m);
    const char *beside = refused_beside(r->scenario);
    enum scenario_layer_type type = SCENARIO_NLAYER_TYPES;

    for (uint32_t i = 0; i < types->n; i++)
        if (scenario_layer_in_order((enum scenario_layer_type)types->types[i]) &&
            types->types[i] < type)
            type = (enum scenario_layer_type)types->types[i];
    if (type == SCENARIO_NLAYER_TYPES)
        return;
    if (beside)
        WRONG(r, "model.layer_types", "%s layers are not modelled with %s",
              scenario_layer_type_name(type), beside);
    else if (scenario_layer_has_state(type) && values % keys != 0)
        WRONG(r, "linear.key_heads",
              "%" PRId64 " value heads of %s layers do not divide by %" PRId64
              " key heads; expected a divisor",
              values, scenario_layer_type_name(type), keys);
}

/* Layers with a window, or with chunks, need its size. */
static void check_layer_types(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;

    if (m->window > 0 && m->chunk > 0 && m->layer_types.n == 0)
        WRONG(r, "model.chunk",
              "both window and chunk, but no model.layer_types to choose between them for each "
              "layer");
    if (m->chunk > 0 && !m->causal)
        WRONG(r, "model.chunk",
              "chunks of %" PRId64 " tokens need causal attention; expected causal: true",
              m->chunk);
    check_seen(r, "window", m->window, SCENARIO_LAYER_WINDOW);
    check_seen(r, "chunk", m->chunk, SCENARIO_LAYER_CHUNK);
    for (uint32_t i = 0; i < m->layer_types.n; i++) {
        enum scenario_layer_type sees =
            scenario_layer_sight((enum scenario_layer_type)m->layer_types.types[i]);

        if (sees == SCENARIO_LAYER_WINDOW && m->window == 0)
            WRONG(r, "model.layer_types",
                  "layers with a window, but no model.window; expected the window in tokens");
        else if (sees == SCENARIO_LAYER_CHUNK && m->chunk == 0)
            WRONG(r, "model.layer_types",
                  "layers with chunks, but no model.chunk; expected the chunk size in tokens");
        else
            continue;
        return;
    }
}

static void check_workload(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_moe *m = &s->model.moe;
    bool has_share = m->routing == SCENARIO_ROUTING_HOT_EXPERT ||
                     m->routing == SCENARIO_ROUTING_HOT_RANK ||
                     m->routing == SCENARIO_ROUTING_ROTATING;

    if (has_share && m->skew > 1)
        WRONG(r, "moe.skew", "a hot share of %g; expected a fraction, 0 to 1", m->skew);
    if (m->routing == SCENARIO_ROUTING_EMPTY && m->top_k == m->experts)
        WRONG(r, "moe.top_k",
              "routing empty leaves one expert unused, but top_k chooses all; expected fewer");
    if (m->routing == SCENARIO_ROUTING_HOT_RANK && m->ranks > 0 && m->experts % m->ranks != 0)
        WRONG(r, "moe.ranks", "%" PRId64 " ranks do not divide %" PRId64 " experts", m->ranks,
              m->experts);
}

/* Check the axis that numbers nodes. */
static void check_node_axis(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const char *axis = s->model.moe.node_axis;

    if (!axis || r->mesh_unknown)
        return;
    if (s->model.moe.experts == 0)
        WRONG(r, "moe.node_axis", "moe.node_axis without experts; expected moe.experts");
    else if (!mesh_has(s, axis))
        mesh_report_no_axis(r, scenario_place(s, "moe.node_axis"), axis, axis);
}

static void check_experts(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_moe *m = &s->model.moe;
    int64_t rows;

    /* 0: its default could not be allocated, reported elsewhere */
    check_node_axis(r);
    if (m->experts == 0 || m->groups < 1 || s->batch.microbatches < 1)
        return;
    rows = s->batch.size / s->batch.microbatches;
    if (m->top_k > m->experts)
        WRONG(r, "moe.top_k", "top_k %" PRId64 " exceeds the %" PRId64 " experts", m->top_k,
              m->experts);
    else if (m->experts % m->groups != 0)
        WRONG(r, "moe.groups", "%" PRId64 " groups do not divide %" PRId64 " experts", m->groups,
              m->experts);
    else if (m->kept > m->groups || m->experts / m->groups * m->kept < m->top_k)
        WRONG(
            r, "moe.kept",
            "%" PRId64 " of %" PRId64 " groups of %" PRId64
            " experts; expected at most all groups, with at least top_k experts in the kept groups",
            m->kept, m->groups, m->experts / m->groups);
    check_workload(r);
    if (rows > 0 && m->token_groups > 0 && rows % m->token_groups != 0)
        WRONG(r, "moe.token_groups",
              "%" PRId64 " groups of tokens do not divide the %" PRId64 " sequences of a "
              "microbatch",
              m->token_groups, rows);
    if (m->first_dense >= s->model.layers)
        WRONG(r, "moe.first_dense",
              "the first %" PRId64 " of %" PRId64 " layers have no experts; expected fewer",
              m->first_dense, s->model.layers);
    else if (m->every > s->model.layers - m->first_dense)
        WRONG(r, "moe.every",
              "experts in every %" PRId64 "th of %" PRId64
              " layers leave no layer with experts; expected fewer",
              m->every, s->model.layers - m->first_dense);
}

/* Gates of inputs fit a token with one expert only; what is of shared experts needs some. */
static void check_gates(struct reader *r)
{
    const struct scenario_moe *m = &r->scenario->model.moe;

    if (m->experts == 0)
        return;
    if (m->gates_input && m->top_k != 1)
        WRONG(r, "moe.gates_input",
              "gates on inputs need one expert per token, not %" PRId64 "; expected top_k 1",
              m->top_k);
    if (m->after && m->score == SCENARIO_SIGMOID)
        WRONG(r, "moe.after",
              "softmax over the chosen experts' logits conflicts with sigmoid scores; expected "
              "score: softmax");
    if (m->shared == 0 && (m->shared_gate || m->shared_d_ff > 0))
        WRONG(r, m->shared_gate ? "moe.shared_gate" : "moe.shared_d_ff",
              "the model has no shared experts; expected moe.shared, at least 1");
}

/* Layers of one part say by their types which part it is. */
static void check_alone(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_model *m = &s->model;
    bool experts = scenario_lists_type(m, SCENARIO_LAYER_EXPERTS);

    if (m->residual != SCENARIO_ALONE) {
        if (experts || scenario_lists_type(m, SCENARIO_LAYER_MLP))
            WRONG(r, "model.layer_types",
                  "layers of type %s are an MLP without attention; expected residual: alone",
                  experts ? "experts" : "mlp");
        return;
    }
    if (m->norm_place != SCENARIO_NORM_BEFORE)
        WRONG(r, "model.norm_place", "residual: alone has norms of inputs; expected before");
    if (experts && m->moe.experts == 0)
        WRONG(r, "model.layer_types", "layers of type experts, but no moe.experts");
    if (!experts && m->moe.experts > 0)
        WRONG(r, "moe.experts",
              "residual: alone has experts in layers of type experts, and "
              "model.layer_types has none");
    if (m->moe.first_dense > 0 || m->moe.every > 1)
        WRONG(r, m->moe.every > 1 ? "moe.every" : "moe.first_dense",
              "residual: alone has experts where model.layer_types says so; expected %d",
              m->moe.every > 1 ? 1 : 0);
    if (m->mla.kv_rank > 0 || m->mtp > 0 || scenario_serves(s))
        WRONG(r, "model.residual", "alone is not modelled with %s",
              scenario_serves(s)   ? "serving"
              : m->mla.kv_rank > 0 ? "MLA"
                                   : "modules for further tokens (model.mtp)");
}

/* Beside each other, attention and mlp share the norm of the input, if there is one. */
static void check_blocks(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;

    if (m->residual == SCENARIO_BESIDE && m->norm_place == SCENARIO_NORM_AFTER)
        WRONG(r, "model.residual",
              "beside shares an input norm, but norm_place: after has none; expected beside-norms");
    if (m->residual == SCENARIO_NORMED && m->norm_place == SCENARIO_NORM_AFTER)
        WRONG(r, "model.residual",
              "normed adds to an input norm, but norm_place: after has none; expected serial");
    if (m->norm_one_plus && m->norm_weights == SCENARIO_NORM_BARE)
        WRONG(r, "model.norm_one_plus", "1 + scale needs norms with a scale; expected false");
}

/* Latent attention rotates positions in all layers, or in none: then its layers are -plain. */
static void check_compressed_positions(struct reader *r)
{
    const struct scenario_model *m = &r->scenario->model;
    uint32_t plain = 0, attends = 0;

    for (uint32_t i = 0; i < m->layer_types.n; i++) {
        enum scenario_layer_type type = (enum scenario_layer_type)m->layer_types.types[i];

        plain += scenario_layer_is_plain(type);
        attends += scenario_layer_attends(type);
    }
    if (m->rope.used && plain > 0)
        WRONG(r, "model.layer_types",
              "MLA has RoPE in all layers or in none; expected no -plain layers, or no model.rope");
    else if (!m->rope.used && (m->layer_types.n == 0 || plain < attends))
        WRONG(r, "mla.kv_rank", "MLA needs RoPE; expected model.rope, or -plain layers alone");
}

static void check_compressed(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (s->model.mla.kv_rank > 0 && s->model.attention_bias != SCENARIO_BIAS_NONE)
        WRONG(r, "model.attention_bias", "MLA has no biases; expected none");
    if (s->model.mla.kv_rank > 0 && s->model.qk_norm)
        WRONG(r, "model.qk_norm", "MLA normalises its latent vectors, not heads; expected false");
    if (s->model.mla.kv_rank > 0 && s->model.attention_gate)
        WRONG(r, "model.attention_gate", "MLA has no gates; expected false");
    if (s->model.mla.kv_rank > 0 && s->model.sinks)
        WRONG(r, "model.sinks", "MLA has no attention sinks; expected false");
    if (s->model.mla.kv_rank > 0)
        check_compressed_positions(r);
}

/* Every token must have a learned position, and T5's buckets must split evenly. */
static void check_positions(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_model *m = &s->model;

    if (m->positions > 0 && s->batch.seq > m->positions)
        WRONG(r, "batch.seq",
              "sequences of %" PRId64 " tokens exceed the model's %" PRId64
              " learned positions; expected a smaller batch.seq",
              s->batch.seq, m->positions);
    if (m->kind == SCENARIO_T5 && m->buckets % 4 != 0)
        WRONG(r, "model.buckets",
              "%" PRId64 " buckets; expected a multiple of 4: half per direction, and half of "
              "those for exact distances",
              m->buckets);
    if (m->kind == SCENARIO_T5 && m->distance <= m->buckets / 2)
        WRONG(r, "model.distance",
              "a distance of %" PRId64 " for %" PRId64
              " buckets; expected more than half the buckets",
              m->distance, m->buckets);
}

/* Unfused attention masks scores by position only, and needs all keys at once. */
static void check_unfused(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_documents *d = &s->context.documents;

    if (s->model.attention != SCENARIO_UNFUSED)
        return;
    if (s->context.axis || s->model.window > 0 || s->model.chunk > 0 || d->mean > 0 ||
        d->nlengths > 0)
        WRONG(r, "model.attention", "unfused attention %s; expected fused",
              s->context.axis       ? "with context parallelism"
              : s->model.window > 0 ? "with a window"
              : s->model.chunk > 0  ? "with chunks"
                                    : "with packed documents");
}

void check_model(struct reader *r)
{
    check_heads(r);
    check_rope(r);
    check_layer_types(r);
    check_linear(r);
    check_experts(r);
    check_gates(r);
    check_blocks(r);
    check_alone(r);
    check_compressed(r);
    check_positions(r);
    check_unfused(r);
}
