/* Reads a Hugging Face config.json: the arrays that a model of its family holds.
 *
 * A family is a table of arrays with their extents by meaning; sizes come from the config
 * (scenario/family.h).  Names and the order of extents are those of the modules whose weights the
 * checkpoints hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario/family.h"
#include "trees/import.h"

/* Extents by meaning. */
enum extent {
    END, /* of a list */
    HIDDEN,
    HEADS,
    HEAD_DIM,
    FF,
    VOCAB,
    EXPERTS,
    POSITIONS,
    BUCKETS,
    QUERIES, /* heads x head dim */
    KEYS,    /* kv heads x head dim */
    KV_HEADS,
    QKV, /* queries, keys and values side by side */
    FF_2,
    EXPERT_FF,
    EXPERT_FF_2,
    NEXTENTS
};

/* What a model may have. */
enum trait {
    BIAS = 1,       /* queries, keys and values have biases */
    MLP_BIAS = 2,   /* the mlp's kernels have biases */
    UNTIED = 4,     /* the head does not use the embedding table */
    GATED = 8,      /* the mlp has a gate */
    PLAIN = 16,     /* the mlp has no gate */
    NORMED = 32,    /* queries and keys have norms */
    SERIAL = 64,    /* the mlp follows attention */
    ONE_NORM = 128, /* attention and the mlp read the same norm, or follow each other */
    OUT_BIAS = 512, /* attention's output has a bias */
    TWO_NORMS = 256 /* each reads a norm of its own, of the same values */
};

enum where {
    ONCE,
    PER_LAYER,
    PER_DENSE,  /* layer without experts */
    PER_ROUTED, /* layer with experts */
    PER_EXPERT,
    FIRST_LAYER,
    AFTER,
    PER_DECODER,
    FIRST_DECODER
};

struct row {
    enum where where;
    unsigned needs;   /* the row is left out unless all of these traits hold */
    const char *name; /* with %d for the layer, and one more for the expert */
    int shape[3];
};

struct config {
    const struct row *rows; /* ended by a row without a name */
    const struct yaml_node *root;
    struct family_config family;
    int64_t extents[NEXTENTS];
    unsigned traits; /* bit set of enum trait */
    struct shd_tree *tree;
    struct diag *diag;
};

/* ---- the families ---- */

#define LAYER "model.layers.%d."
#define ROW(where, needs, name, ...) \
    {                                \
        where, needs, name,          \
        {                            \
            __VA_ARGS__              \
        }                            \
    }

#define LLAMA_ATTENTION                                                      \
    ROW(ONCE, 0, "model.embed_tokens.weight", VOCAB, HIDDEN),                \
        ROW(PER_LAYER, 0, LAYER "self_attn.q_proj.weight", QUERIES, HIDDEN), \
        ROW(PER_LAYER, BIAS, LAYER "self_attn.q_proj.bias", QUERIES),        \
        ROW(PER_LAYER, 0, LAYER "self_attn.k_proj.weight", KEYS, HIDDEN),    \
        ROW(PER_LAYER, BIAS, LAYER "self_attn.k_proj.bias", KEYS),           \
        ROW(PER_LAYER, 0, LAYER "self_attn.v_proj.weight", KEYS, HIDDEN),    \
        ROW(PER_LAYER, BIAS, LAYER "self_attn.v_proj.bias", KEYS),           \
        ROW(PER_LAYER, 0, LAYER "self_attn.o_proj.weight", HIDDEN, QUERIES), \
        ROW(PER_LAYER, OUT_BIAS, LAYER "self_attn.o_proj.bias", HIDDEN)

#define LLAMA_MLP                                                    \
    ROW(PER_DENSE, 0, LAYER "mlp.gate_proj.weight", FF, HIDDEN),     \
        ROW(PER_DENSE, MLP_BIAS, LAYER "mlp.gate_proj.bias", FF),    \
        ROW(PER_DENSE, 0, LAYER "mlp.up_proj.weight", FF, HIDDEN),   \
        ROW(PER_DENSE, MLP_BIAS, LAYER "mlp.up_proj.bias", FF),      \
        ROW(PER_DENSE, 0, LAYER "mlp.down_proj.weight", HIDDEN, FF), \
        ROW(PER_DENSE, MLP_BIAS, LAYER "mlp.down_proj.bias", HIDDEN)

#define LLAMA_NORMS                                            \
    ROW(PER_LAYER, 0, LAYER "input_layernorm.weight", HIDDEN), \
        ROW(PER_LAYER, 0, LAYER "post_attention_layernorm.weight", HIDDEN)

#define QK_NORMS                                                  \
    ROW(PER_LAYER, 0, LAYER "self_attn.q_norm.weight", HEAD_DIM), \
        ROW(PER_LAYER, 0, LAYER "self_attn.k_norm.weight", HEAD_DIM)

#define FF_NORMS                                                         \
    ROW(PER_LAYER, 0, LAYER "pre_feedforward_layernorm.weight", HIDDEN), \
        ROW(PER_LAYER, 0, LAYER "post_feedforward_layernorm.weight", HIDDEN)

#define LLAMA_END                               \
    ROW(AFTER, 0, "model.norm.weight", HIDDEN), \
        ROW(AFTER, UNTIED, "lm_head.weight", VOCAB, HIDDEN), ROW(ONCE, 0, NULL, END)

static const struct row llama_rows[] = {
    LLAMA_ATTENTION,
    LLAMA_MLP,
    LLAMA_NORMS,
    LLAMA_END,
};
static const struct row qwen2_rows[] = {LLAMA_ATTENTION, LLAMA_MLP, LLAMA_NORMS, LLAMA_END};
static const struct row qwen3_rows[] = {
    LLAMA_ATTENTION, QK_NORMS, LLAMA_MLP, LLAMA_NORMS, LLAMA_END,
};
static const struct row qwen3_moe_rows[] = {
    LLAMA_ATTENTION,
    QK_NORMS,
    LLAMA_MLP,
    {PER_ROUTED, 0, LAYER "mlp.gate.weight", {EXPERTS, HIDDEN}},
    {PER_EXPERT, 0, LAYER "mlp.experts.%d.gate_proj.weight", {EXPERT_FF, HIDDEN}},
    {PER_EXPERT, 0, LAYER "mlp.experts.%d.up_proj.weight", {EXPERT_FF, HIDDEN}},
    {PER_EXPERT, 0, LAYER "mlp.experts.%d.down_proj.weight", {HIDDEN, EXPERT_FF}},
    LLAMA_NORMS,
    LLAMA_END,
};
/* Before weights are rounded to mxfp4: experts' arrays are input by output. */
static const struct row gpt_oss_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, 0, LAYER "self_attn.sinks", {HEADS}},
    {PER_ROUTED, 0, LAYER "mlp.router.weight", {EXPERTS, HIDDEN}},
    {PER_ROUTED, 0, LAYER "mlp.router.bias", {EXPERTS}},
    {PER_ROUTED, 0, LAYER "mlp.experts.gate_up_proj", {EXPERTS, HIDDEN, EXPERT_FF_2}},
    {PER_ROUTED, 0, LAYER "mlp.experts.gate_up_proj_bias", {EXPERTS, EXPERT_FF_2}},
    {PER_ROUTED, 0, LAYER "mlp.experts.down_proj", {EXPERTS, EXPERT_FF, HIDDEN}},
    {PER_ROUTED, 0, LAYER "mlp.experts.down_proj_bias", {EXPERTS, HIDDEN}},
    LLAMA_NORMS,
    LLAMA_END,
};
static const struct row phi3_rows[] = {
    {ONCE, 0, "model.embed_tokens.weight", {VOCAB, HIDDEN}},
    {PER_LAYER, 0, LAYER "self_attn.qkv_proj.weight", {QKV, HIDDEN}},
    {PER_LAYER, 0, LAYER "self_attn.o_proj.weight", {HIDDEN, QUERIES}},
    {PER_LAYER, 0, LAYER "mlp.gate_up_proj.weight", {FF_2, HIDDEN}},
    {PER_LAYER, 0, LAYER "mlp.down_proj.weight", {HIDDEN, FF}},
    LLAMA_NORMS,
    LLAMA_END,
};
static const struct row olmo2_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, 0, LAYER "self_attn.q_norm.weight", {QUERIES}},
    {PER_LAYER, 0, LAYER "self_attn.k_norm.weight", {KEYS}},
    LLAMA_MLP,
    {PER_LAYER, 0, LAYER "post_attention_layernorm.weight", {HIDDEN}},
    {PER_LAYER, 0, LAYER "post_feedforward_layernorm.weight", {HIDDEN}},
    LLAMA_END,
};
static const struct row cohere_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, NORMED, LAYER "self_attn.q_norm.weight", {HEADS, HEAD_DIM}},
    {PER_LAYER, NORMED, LAYER "self_attn.k_norm.weight", {KV_HEADS, HEAD_DIM}},
    LLAMA_MLP,
    {PER_LAYER, 0, LAYER "input_layernorm.weight", {HIDDEN}},
    LLAMA_END,
};
static const struct row starcoder2_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, 0, LAYER "mlp.c_fc.weight", {FF, HIDDEN}},
    {PER_LAYER, MLP_BIAS, LAYER "mlp.c_fc.bias", {FF}},
    {PER_LAYER, 0, LAYER "mlp.c_proj.weight", {HIDDEN, FF}},
    {PER_LAYER, MLP_BIAS, LAYER "mlp.c_proj.bias", {HIDDEN}},
    LLAMA_NORMS,
    {PER_LAYER, 0, LAYER "input_layernorm.bias", {HIDDEN}},
    {PER_LAYER, 0, LAYER "post_attention_layernorm.bias", {HIDDEN}},
    {AFTER, 0, "model.norm.bias", {HIDDEN}},
    LLAMA_END,
};

#define NORM(where, needs, name) \
    ROW(where, needs, name ".weight", HIDDEN), ROW(where, needs, name ".bias", HIDDEN)
#define PLAIN_MLP(layer)                                                 \
    ROW(PER_LAYER, 0, layer "mlp.dense_h_to_4h.weight", FF, HIDDEN),     \
        ROW(PER_LAYER, MLP_BIAS, layer "mlp.dense_h_to_4h.bias", FF),    \
        ROW(PER_LAYER, 0, layer "mlp.dense_4h_to_h.weight", HIDDEN, FF), \
        ROW(PER_LAYER, MLP_BIAS, layer "mlp.dense_4h_to_h.bias", HIDDEN)
#define FUSED_ATTENTION(name)                                      \
    ROW(PER_LAYER, 0, name "query_key_value.weight", QKV, HIDDEN), \
        ROW(PER_LAYER, BIAS, name "query_key_value.bias", QKV),    \
        ROW(PER_LAYER, 0, name "dense.weight", HIDDEN, QUERIES),   \
        ROW(PER_LAYER, BIAS, name "dense.bias", HIDDEN)
#define NEOX "gpt_neox.layers.%d."
#define FALCON "transformer.h.%d."

static const struct row gpt_neox_rows[] = {
    {ONCE, 0, "gpt_neox.embed_in.weight", {VOCAB, HIDDEN}},
    NORM(PER_LAYER, 0, NEOX "input_layernorm"),
    NORM(PER_LAYER, 0, NEOX "post_attention_layernorm"),
    FUSED_ATTENTION(NEOX "attention."),
    PLAIN_MLP(NEOX),
    NORM(AFTER, 0, "gpt_neox.final_layer_norm"),
    {AFTER, UNTIED, "embed_out.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, NULL, {END}},
};
static const struct row falcon_rows[] = {
    {ONCE, 0, "transformer.word_embeddings.weight", {VOCAB, HIDDEN}},
    FUSED_ATTENTION(FALCON "self_attention."),
    PLAIN_MLP(FALCON),
    NORM(PER_LAYER, ONE_NORM, FALCON "input_layernorm"),
    NORM(PER_LAYER, SERIAL, FALCON "post_attention_layernorm"),
    NORM(PER_LAYER, TWO_NORMS, FALCON "ln_attn"),
    NORM(PER_LAYER, TWO_NORMS, FALCON "ln_mlp"),
    NORM(AFTER, 0, "transformer.ln_f"),
    {AFTER, UNTIED, "lm_head.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, NULL, {END}},
};
static const struct row gemma2_rows[] = {
    LLAMA_ATTENTION, LLAMA_MLP, LLAMA_NORMS, FF_NORMS, LLAMA_END,
};
static const struct row gemma3_rows[] = {
    LLAMA_ATTENTION, QK_NORMS, LLAMA_MLP, LLAMA_NORMS, FF_NORMS, LLAMA_END,
};
static const struct row mixtral_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, 0, LAYER "block_sparse_moe.gate.weight", {EXPERTS, HIDDEN}},
    {PER_EXPERT, 0, LAYER "block_sparse_moe.experts.%d.w1.weight", {FF, HIDDEN}},
    {PER_EXPERT, 0, LAYER "block_sparse_moe.experts.%d.w2.weight", {HIDDEN, FF}},
    {PER_EXPERT, 0, LAYER "block_sparse_moe.experts.%d.w3.weight", {FF, HIDDEN}},
    LLAMA_NORMS,
    LLAMA_END,
};

#define GPT2 "transformer.h.%d."

/* GPT-2's matrices are stored input by output. */
static const struct row gpt2_rows[] = {
    {ONCE, 0, "transformer.wte.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, "transformer.wpe.weight", {POSITIONS, HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_1.weight", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_1.bias", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "attn.c_attn.weight", {HIDDEN, QKV}},
    {PER_LAYER, 0, GPT2 "attn.c_attn.bias", {QKV}},
    {PER_LAYER, 0, GPT2 "attn.c_proj.weight", {HIDDEN, HIDDEN}},
    {PER_LAYER, 0, GPT2 "attn.c_proj.bias", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_2.weight", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_2.bias", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "mlp.c_fc.weight", {HIDDEN, FF}},
    {PER_LAYER, 0, GPT2 "mlp.c_fc.bias", {FF}},
    {PER_LAYER, 0, GPT2 "mlp.c_proj.weight", {FF, HIDDEN}},
    {PER_LAYER, 0, GPT2 "mlp.c_proj.bias", {HIDDEN}},
    {AFTER, 0, "transformer.ln_f.weight", {HIDDEN}},
    {AFTER, 0, "transformer.ln_f.bias", {HIDDEN}},
    {AFTER, UNTIED, "lm_head.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, NULL, {END}},
};

#define T5_ATTENTION(where, block, kind)                        \
    ROW(where, 0, block kind ".q.weight", QUERIES, HIDDEN),     \
        ROW(where, 0, block kind ".k.weight", QUERIES, HIDDEN), \
        ROW(where, 0, block kind ".v.weight", QUERIES, HIDDEN), \
        ROW(where, 0, block kind ".o.weight", HIDDEN, QUERIES)

#define T5_FF(where, block)                                                \
    ROW(where, PLAIN, block "DenseReluDense.wi.weight", FF, HIDDEN),       \
        ROW(where, GATED, block "DenseReluDense.wi_0.weight", FF, HIDDEN), \
        ROW(where, GATED, block "DenseReluDense.wi_1.weight", FF, HIDDEN), \
        ROW(where, 0, block "DenseReluDense.wo.weight", HIDDEN, FF),       \
        ROW(where, 0, block "layer_norm.weight", HIDDEN)

#define ENCODER "encoder.block.%d.layer."
#define DECODER "decoder.block.%d.layer."
#define BIAS_NAME "0.SelfAttention.relative_attention_bias.weight"

static const struct row t5_rows[] = {
    {ONCE, 0, "shared.weight", {VOCAB, HIDDEN}},
    T5_ATTENTION(PER_LAYER, ENCODER, "0.SelfAttention"),
    {FIRST_LAYER, 0, ENCODER BIAS_NAME, {BUCKETS, HEADS}},
    {PER_LAYER, 0, ENCODER "0.layer_norm.weight", {HIDDEN}},
    T5_FF(PER_LAYER, ENCODER "1."),
    T5_ATTENTION(PER_DECODER, DECODER, "0.SelfAttention"),
    {FIRST_DECODER, 0, DECODER BIAS_NAME, {BUCKETS, HEADS}},
    {PER_DECODER, 0, DECODER "0.layer_norm.weight", {HIDDEN}},
    T5_ATTENTION(PER_DECODER, DECODER, "1.EncDecAttention"),
    {PER_DECODER, 0, DECODER "1.layer_norm.weight", {HIDDEN}},
    T5_FF(PER_DECODER, DECODER "2."),
    {AFTER, 0, "encoder.final_layer_norm.weight", {HIDDEN}},
    {AFTER, 0, "decoder.final_layer_norm.weight", {HIDDEN}},
    {AFTER, UNTIED, "lm_head.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, NULL, {END}},
};

static const struct row *const family_rows[] = {
    [FAMILY_LLAMA] = llama_rows,
    [FAMILY_QWEN2] = qwen2_rows,
    [FAMILY_QWEN3] = qwen3_rows,
    [FAMILY_MIXTRAL] = mixtral_rows,
    [FAMILY_GEMMA] = llama_rows,
    [FAMILY_GEMMA2] = gemma2_rows,
    [FAMILY_GEMMA3] = gemma3_rows,
    [FAMILY_GPT2] = gpt2_rows,
    [FAMILY_T5] = t5_rows,
    [FAMILY_QWEN3_MOE] = qwen3_moe_rows,
    [FAMILY_GPT_OSS] = gpt_oss_rows,
    [FAMILY_PHI3] = phi3_rows,
    [FAMILY_OLMO2] = olmo2_rows,
    [FAMILY_COHERE] = cohere_rows,
    [FAMILY_STARCODER2] = starcoder2_rows,
    [FAMILY_GPT_NEOX] = gpt_neox_rows,
    [FAMILY_FALCON] = falcon_rows,
};

/* ---- the arrays ---- */

static int add_row(const struct config *c, const struct row *row, int64_t layer, int64_t expert)
{
    int64_t shape[3];
    char name[128];
    struct shd_leaf leaf = {.name = name, .dtype = c->family.dtype, .shape = shape};
    const char *first = strstr(row->name, "%d"), *second = first ? strstr(first + 2, "%d") : NULL;

    if (!first)
        snprintf(name, sizeof(name), "%s", row->name);
    else if (!second)
        snprintf(name, sizeof(name), "%.*s%" PRId64 "%s", (int)(first - row->name), row->name,
                 layer, first + 2);
    else
        snprintf(name, sizeof(name), "%.*s%" PRId64 "%.*s%" PRId64 "%s", (int)(first - row->name),
                 row->name, layer, (int)(second - first - 2), first + 2, expert, second + 2);
    for (; leaf.rank < 3 && row->shape[leaf.rank] != END; leaf.rank++)
        shape[leaf.rank] = c->extents[row->shape[leaf.rank]];
    return import_add(c->tree, &leaf, c->root->place, c->diag);
}

static bool holds(const struct config *c, const struct row *row)
{
    return (row->needs & c->traits) == row->needs;
}

static int add_all(const struct config *c, enum where where, int64_t layer)
{
    int status = SHD_OK;

    for (const struct row *row = c->rows; !status && row->name; row++)
        if (row->where == where && holds(c, row))
            status = add_row(c, row, layer, 0);
    return status;
}

/* Whether a layer has the rows of a place. */
static bool has_rows(const struct config *c, enum where where, int64_t layer)
{
    const struct scenario_moe *moe = &c->family.model.moe;
    int64_t sparse = layer - moe->first_dense, every = moe->every > 1 ? moe->every : 1;
    bool routed = moe->experts > 0 && sparse >= 0 && sparse % every == every - 1;

    switch (where) {
    case PER_LAYER:
        return true;
    case PER_DENSE:
        return !routed;
    case PER_ROUTED:
    case PER_EXPERT:
        return routed;
    default:
        return where == FIRST_LAYER && layer == 0;
    }
}

/* Add the arrays of a layer in the table's order, those of experts at the end. */
static int add_layer(const struct config *c, int64_t layer)
{
    int status = SHD_OK;

    for (const struct row *row = c->rows; !status && row->name; row++)
        if (row->where != PER_EXPERT && holds(c, row) && has_rows(c, row->where, layer))
            status = add_row(c, row, layer, 0);
    for (int64_t e = 0; !status && has_rows(c, PER_EXPERT, layer) && e < c->extents[EXPERTS]; e++)
        for (const struct row *row = c->rows; !status && row->name; row++)
            if (row->where == PER_EXPERT)
                status = add_row(c, row, layer, e);
    return status;
}

static int add_decoder_layer(const struct config *c, int64_t layer)
{
    int status = SHD_OK;

    for (const struct row *row = c->rows; !status && row->name; row++)
        if (holds(c, row) &&
            (row->where == PER_DECODER || (row->where == FIRST_DECODER && layer == 0)))
            status = add_row(c, row, layer, 0);
    return status;
}

static int add_arrays(const struct config *c)
{
    int status = add_all(c, ONCE, 0);

    for (int64_t l = 0; !status && l < c->family.model.layers; l++)
        status = add_layer(c, l);
    for (int64_t l = 0; !status && c->rows == t5_rows && l < c->family.model.decoder_layers; l++)
        status = add_decoder_layer(c, l);
    return status ? status : add_all(c, AFTER, 0);
}

/* Take the extents and traits of the rows from the model, and add its arrays. */
static int add_model(struct config *c)
{
    const struct scenario_model *m = &c->family.model;
    int64_t *e = c->extents;

    e[HIDDEN] = m->d_model;
    e[HEADS] = m->heads;
    e[HEAD_DIM] = m->head_dim;
    e[QUERIES] = m->heads * m->head_dim; /* below 2^47 */
    e[KEYS] = m->kv_heads * m->head_dim;
    e[KV_HEADS] = m->kv_heads;
    e[QKV] = e[QUERIES] + 2 * e[KEYS];
    e[FF] = m->d_ff;
    e[FF_2] = 2 * m->d_ff;
    e[EXPERT_FF] = m->moe.d_ff > 0 ? m->moe.d_ff : m->d_ff;
    e[EXPERT_FF_2] = 2 * e[EXPERT_FF];
    e[VOCAB] = m->vocab;
    e[EXPERTS] = m->moe.experts;
    e[POSITIONS] = m->positions;
    e[BUCKETS] = m->buckets;
    c->traits = (m->attention_bias != SCENARIO_BIAS_NONE ? BIAS : 0u) | (m->bias ? MLP_BIAS : 0u) |
                (m->tied ? 0u : UNTIED) | (scenario_is_gated(m->activation) ? GATED : PLAIN) |
                (m->attention_bias == SCENARIO_BIAS_ALL ? OUT_BIAS : 0u) |
                (m->qk_norm != SCENARIO_QK_PLAIN ? NORMED : 0u) |
                (m->residual == SCENARIO_BESIDE_NORMS ? TWO_NORMS : ONE_NORM) |
                (m->residual == SCENARIO_SERIAL ? SERIAL : 0u);
    c->rows = family_rows[c->family.arrays];
    return add_arrays(c);
}

int import_config(struct shd_tree *tree, const struct yaml_node *root, struct diag *diag)
{
    struct config c = {.root = root, .tree = tree, .diag = diag};
    int status = family_read(&c.family, root, FAMILY_NAMES, INT32_MAX, diag);

    return status == SHD_OK ? add_model(&c) : status;
}
