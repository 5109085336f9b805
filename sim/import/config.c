/* A Hugging Face config.json: which arrays a model of that family holds.
 *
 * A family is a table of arrays with their extents by meaning; sizes come from the config, under
 * the names that the family gives them.  Names, order of extents and defaults are those of the
 * modules whose weights such checkpoints hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/import.h"

/* The largest number that a config may have: beyond that of any model, so it is a fault. */
#define SIZE_LIMIT (INT64_C(1) << 40)

enum size {
    END, /* of a list of extents */
    HIDDEN,
    LAYERS,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    FF,
    VOCAB,
    EXPERTS,
    POSITIONS,
    BUCKETS,
    DECODER_LAYERS,
    /* made of the others: */
    QUERIES, /* heads x head dim */
    KEYS,    /* kv heads x head dim */
    HIDDEN_3,
    NSIZES
};

/* What a config may say besides sizes; a row is left out unless all of its `needs` hold. */
enum trait { BIAS = 1, MLP_BIAS = 2, UNTIED = 4, GATED = 8, PLAIN = 16 };

enum where { ONCE, PER_LAYER, PER_EXPERT, FIRST_LAYER, AFTER, PER_DECODER, FIRST_DECODER };

struct row {
    enum where where;
    unsigned needs;
    const char *name; /* with %d for the layer, and one more for the expert */
    enum size shape[3];
};

struct size_key {
    enum size size;
    const char *key;
    int64_t standard; /* 0: it must be there; -1: worked out of others */
};

struct family {
    const char *types[8];
    const struct row *rows; /* ended by one without a name */
    const struct size_key *sizes; /* ended by one without a key */
    bool tied;              /* unless the config says otherwise */
    bool bias;              /* of queries, keys and values, unless the config says otherwise */
};

struct config {
    const struct yaml_node *root;
    const struct family *family;
    int64_t sizes[NSIZES];
    unsigned traits;
    enum shd_dtype dtype;
    struct shd_tree *tree;
    struct diag *diag;
};

/* ---- the families ---- */

#define LAYER "model.layers.%d."

#define LLAMA_ATTENTION                                                                            \
    {ONCE, 0, "model.embed_tokens.weight", {VOCAB, HIDDEN}},                                       \
    {PER_LAYER, 0, LAYER "self_attn.q_proj.weight", {QUERIES, HIDDEN}},                            \
    {PER_LAYER, BIAS, LAYER "self_attn.q_proj.bias", {QUERIES}},                                   \
    {PER_LAYER, 0, LAYER "self_attn.k_proj.weight", {KEYS, HIDDEN}},                               \
    {PER_LAYER, BIAS, LAYER "self_attn.k_proj.bias", {KEYS}},                                      \
    {PER_LAYER, 0, LAYER "self_attn.v_proj.weight", {KEYS, HIDDEN}},                               \
    {PER_LAYER, BIAS, LAYER "self_attn.v_proj.bias", {KEYS}},                                      \
    {PER_LAYER, 0, LAYER "self_attn.o_proj.weight", {HIDDEN, QUERIES}}

#define LLAMA_MLP                                                                                  \
    {PER_LAYER, 0, LAYER "mlp.gate_proj.weight", {FF, HIDDEN}},                                    \
    {PER_LAYER, MLP_BIAS, LAYER "mlp.gate_proj.bias", {FF}},                                       \
    {PER_LAYER, 0, LAYER "mlp.up_proj.weight", {FF, HIDDEN}},                                      \
    {PER_LAYER, MLP_BIAS, LAYER "mlp.up_proj.bias", {FF}},                                         \
    {PER_LAYER, 0, LAYER "mlp.down_proj.weight", {HIDDEN, FF}},                                    \
    {PER_LAYER, MLP_BIAS, LAYER "mlp.down_proj.bias", {HIDDEN}}

#define LLAMA_NORMS                                                                                \
    {PER_LAYER, 0, LAYER "input_layernorm.weight", {HIDDEN}},                                      \
    {PER_LAYER, 0, LAYER "post_attention_layernorm.weight", {HIDDEN}}

#define QK_NORMS                                                                                   \
    {PER_LAYER, 0, LAYER "self_attn.q_norm.weight", {HEAD_DIM}},                                   \
    {PER_LAYER, 0, LAYER "self_attn.k_norm.weight", {HEAD_DIM}}

#define FF_NORMS                                                                                   \
    {PER_LAYER, 0, LAYER "pre_feedforward_layernorm.weight", {HIDDEN}},                            \
    {PER_LAYER, 0, LAYER "post_feedforward_layernorm.weight", {HIDDEN}}

#define LLAMA_END                                                                                  \
    {AFTER, 0, "model.norm.weight", {HIDDEN}}, {AFTER, UNTIED, "lm_head.weight", {VOCAB, HIDDEN}}, \
    {ONCE, 0, NULL, {END}}

static const struct row llama_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, BIAS, LAYER "self_attn.o_proj.bias", {HIDDEN}},
    LLAMA_MLP,
    LLAMA_NORMS,
    LLAMA_END,
};
static const struct row qwen2_rows[] = {LLAMA_ATTENTION, LLAMA_MLP, LLAMA_NORMS, LLAMA_END};
static const struct row qwen3_rows[] = {
    LLAMA_ATTENTION,
    {PER_LAYER, BIAS, LAYER "self_attn.o_proj.bias", {HIDDEN}},
    QK_NORMS,
    LLAMA_MLP,
    LLAMA_NORMS,
    LLAMA_END,
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

/* Its matrices are stored input by output. */
static const struct row gpt2_rows[] = {
    {ONCE, 0, "transformer.wte.weight", {VOCAB, HIDDEN}},
    {ONCE, 0, "transformer.wpe.weight", {POSITIONS, HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_1.weight", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "ln_1.bias", {HIDDEN}},
    {PER_LAYER, 0, GPT2 "attn.c_attn.weight", {HIDDEN, HIDDEN_3}},
    {PER_LAYER, 0, GPT2 "attn.c_attn.bias", {HIDDEN_3}},
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

#define T5_ATTENTION(where, block, kind)                                                           \
    {where, 0, block kind ".q.weight", {QUERIES, HIDDEN}},                                         \
    {where, 0, block kind ".k.weight", {QUERIES, HIDDEN}},                                         \
    {where, 0, block kind ".v.weight", {QUERIES, HIDDEN}},                                         \
    {where, 0, block kind ".o.weight", {HIDDEN, QUERIES}}

#define T5_FF(where, block)                                                                        \
    {where, PLAIN, block "DenseReluDense.wi.weight", {FF, HIDDEN}},                                \
    {where, GATED, block "DenseReluDense.wi_0.weight", {FF, HIDDEN}},                              \
    {where, GATED, block "DenseReluDense.wi_1.weight", {FF, HIDDEN}},                              \
    {where, 0, block "DenseReluDense.wo.weight", {HIDDEN, FF}},                                    \
    {where, 0, block "layer_norm.weight", {HIDDEN}}

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

#define LLAMA_SIZES                                                                                \
    {HIDDEN, "hidden_size", 0}, {LAYERS, "num_hidden_layers", 0},                                  \
    {HEADS, "num_attention_heads", 0}, {KV_HEADS, "num_key_value_heads", -1},                      \
    {FF, "intermediate_size", 0}, {VOCAB, "vocab_size", 0}

static const struct size_key llama_sizes[] = {
    LLAMA_SIZES, {HEAD_DIM, "head_dim", -1}, {END, NULL, 0}};
static const struct size_key qwen3_sizes[] = {
    LLAMA_SIZES, {HEAD_DIM, "head_dim", 128}, {END, NULL, 0}};
static const struct size_key gemma_sizes[] = {
    LLAMA_SIZES, {HEAD_DIM, "head_dim", 256}, {END, NULL, 0}};
static const struct size_key mixtral_sizes[] = {
    LLAMA_SIZES, {HEAD_DIM, "head_dim", -1}, {EXPERTS, "num_local_experts", 8}, {END, NULL, 0}};
static const struct size_key gpt2_sizes[] = {
    {HIDDEN, "n_embd", 768},  {LAYERS, "n_layer", 12},        {HEADS, "n_head", 12},
    {FF, "n_inner", -1},      {POSITIONS, "n_positions", 1024}, {VOCAB, "vocab_size", 50257},
    {KV_HEADS, "n_head", 12}, {HEAD_DIM, "head_dim", -1},     {END, NULL, 0}};
static const struct size_key t5_sizes[] = {
    {HIDDEN, "d_model", 512},
    {LAYERS, "num_layers", 6},
    {DECODER_LAYERS, "num_decoder_layers", -1},
    {HEADS, "num_heads", 8},
    {KV_HEADS, "num_heads", 8},
    {HEAD_DIM, "d_kv", 64},
    {FF, "d_ff", 2048},
    {BUCKETS, "relative_attention_num_buckets", 32},
    {VOCAB, "vocab_size", 32128},
    {END, NULL, 0}};

static const struct family families[] = {
    {{"llama", "mistral"}, llama_rows, llama_sizes, false, false},
    {{"qwen2"}, qwen2_rows, llama_sizes, false, true},
    {{"qwen3"}, qwen3_rows, qwen3_sizes, false, false},
    {{"mixtral"}, mixtral_rows, mixtral_sizes, false, false},
    {{"gemma"}, llama_rows, gemma_sizes, true, false},
    {{"gemma2"}, gemma2_rows, gemma_sizes, true, false},
    {{"gemma3_text"}, gemma3_rows, gemma_sizes, true, false},
    {{"gpt2"}, gpt2_rows, gpt2_sizes, true, false},
    {{"t5"}, t5_rows, t5_sizes, true, false},
};

/* ---- reading ---- */

static const struct family *find_family(const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *type = yaml_find(root, "model_type");
    char found[YAML_DESCRIPTION_MAX];

    for (size_t f = 0; type && f < sizeof(families) / sizeof(families[0]); f++)
        for (size_t t = 0; type->kind == YAML_TEXT && families[f].types[t]; t++)
            if (!strcmp(families[f].types[t], type->text))
                return &families[f];
    diag_error(diag, type ? type->place : root->place,
               "model_type is %s; known are llama, mistral, mixtral, qwen2, qwen3, gemma, gemma2, "
               "gemma3_text, gpt2 and t5",
               type ? yaml_describe(type, found, sizeof(found)) : "missing");
    return NULL;
}

/* Read one size; false after an error.  One that is not given and may be missing is 0. */
static bool read_size(struct config *c, const struct size_key *key)
{
    const struct yaml_node *node = yaml_find(c->root, key->key);
    int64_t *size = &c->sizes[key->size];
    char found[YAML_DESCRIPTION_MAX];

    if (!node || yaml_is_null(node)) {
        *size = key->standard > 0 ? key->standard : 0;
        if (key->standard == 0)
            diag_error(c->diag, c->root->place, "'%s' is missing", key->key);
        return key->standard != 0;
    }
    if (yaml_read_int(node, size) && *size >= 1 && *size <= SIZE_LIMIT)
        return true;
    diag_error(c->diag, node->place, "%s is %s; expected a whole number of at least 1", key->key,
               yaml_describe(node, found, sizeof(found)));
    return false;
}

static bool read_flag(const struct config *c, const char *key, bool standard, bool *out)
{
    const struct yaml_node *node = yaml_find(c->root, key);
    char found[YAML_DESCRIPTION_MAX];

    *out = standard;
    if (!node || yaml_is_null(node) || yaml_read_bool(node, out))
        return true;
    diag_error(c->diag, node->place, "%s is %s; expected true or false", key,
               yaml_describe(node, found, sizeof(found)));
    return false;
}

static bool read_dtype(struct config *c)
{
    const struct yaml_node *node = yaml_find(c->root, "torch_dtype");
    char found[YAML_DESCRIPTION_MAX];

    if (!node)
        node = yaml_find(c->root, "dtype");
    c->dtype = SHD_F32;
    if (!node || yaml_is_null(node) ||
        (node->kind == YAML_TEXT && shd_dtype_parse(&c->dtype, node->text, NULL) == SHD_OK))
        return true;
    diag_error(c->diag, node->place, "torch_dtype is %s; expected a type such as bfloat16",
               yaml_describe(node, found, sizeof(found)));
    return false;
}

static bool read_traits(struct config *c)
{
    const struct yaml_node *act = yaml_find(c->root, "feed_forward_proj");
    bool tied, bias, mlp_bias;
    bool good = read_flag(c, "tie_word_embeddings", c->family->tied, &tied);

    good = read_flag(c, "attention_bias", c->family->bias, &bias) && good;
    good = read_flag(c, "mlp_bias", false, &mlp_bias) && good;
    c->traits = (tied ? 0u : UNTIED) | (bias ? BIAS : 0u) | (mlp_bias ? MLP_BIAS : 0u);
    c->traits |= act && act->kind == YAML_TEXT && strstr(act->text, "gated") ? GATED : PLAIN;
    return good;
}

/* What a config leaves to be worked out. */
static bool derive(struct config *c)
{
    int64_t *s = c->sizes;

    if (s[KV_HEADS] == 0)
        s[KV_HEADS] = s[HEADS];
    if (s[HEAD_DIM] == 0 && s[HIDDEN] % s[HEADS] != 0) {
        diag_error(c->diag, c->root->place, "%" PRId64 " heads do not divide %" PRId64, s[HEADS],
                   s[HIDDEN]);
        return false;
    }
    if (s[HEAD_DIM] == 0)
        s[HEAD_DIM] = s[HIDDEN] / s[HEADS];
    if (s[FF] == 0)
        s[FF] = 4 * s[HIDDEN];
    if (s[DECODER_LAYERS] == 0)
        s[DECODER_LAYERS] = s[LAYERS];
    s[HIDDEN_3] = 3 * s[HIDDEN];
    if (__builtin_mul_overflow(s[HEADS], s[HEAD_DIM], &s[QUERIES]) ||
        __builtin_mul_overflow(s[KV_HEADS], s[HEAD_DIM], &s[KEYS])) {
        diag_error(c->diag, c->root->place, "heads times head dimension is too large");
        return false;
    }
    return true;
}

/* ---- the arrays ---- */

static int add_row(const struct config *c, const struct row *row, int64_t layer, int64_t expert)
{
    int64_t shape[3];
    char name[128];
    struct shd_leaf leaf = {.name = name, .dtype = c->dtype, .shape = shape};
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
        shape[leaf.rank] = c->sizes[row->shape[leaf.rank]];
    return import_add(c->tree, &leaf, c->root->place, c->diag);
}

static bool holds(const struct config *c, const struct row *row)
{
    return (row->needs & c->traits) == row->needs;
}

static int add_all(const struct config *c, enum where where, int64_t layer)
{
    int status = SHD_OK;

    for (const struct row *row = c->family->rows; !status && row->name; row++)
        if (row->where == where && holds(c, row))
            status = add_row(c, row, layer, 0);
    return status;
}

/* One layer in the table's order; `first` are the rows that only layer 0 has. */
static int add_layer(const struct config *c, enum where where, enum where first, int64_t layer)
{
    int status = SHD_OK;

    for (const struct row *row = c->family->rows; !status && row->name; row++) {
        if (!holds(c, row))
            continue;
        if (row->where == where || (row->where == first && layer == 0))
            status = add_row(c, row, layer, 0);
    }
    for (int64_t e = 0; !status && where == PER_LAYER && e < c->sizes[EXPERTS]; e++)
        for (const struct row *row = c->family->rows; !status && row->name; row++)
            if (row->where == PER_EXPERT)
                status = add_row(c, row, layer, e);
    return status;
}

static int add_arrays(const struct config *c)
{
    int status = add_all(c, ONCE, 0);

    for (int64_t l = 0; !status && l < c->sizes[LAYERS]; l++)
        status = add_layer(c, PER_LAYER, FIRST_LAYER, l);
    for (int64_t l = 0; !status && c->family->rows == t5_rows && l < c->sizes[DECODER_LAYERS]; l++)
        status = add_layer(c, PER_DECODER, FIRST_DECODER, l);
    return status ? status : add_all(c, AFTER, 0);
}

int import_config(struct shd_tree *tree, const struct yaml_node *root, struct diag *diag)
{
    struct config c = {.root = root, .tree = tree, .diag = diag};
    bool good = true;

    if (root->kind != YAML_MAP) {
        diag_error(diag, root->place, "a config is a map");
        return SHD_EINVAL;
    }
    c.family = find_family(root, diag);
    if (!c.family)
        return SHD_EINVAL;
    for (const struct size_key *key = c.family->sizes; key->key; key++)
        good = read_size(&c, key) && good;
    good = read_traits(&c) && good;
    good = read_dtype(&c) && good;
    if (!good || !derive(&c))
        return SHD_EINVAL;
    return add_arrays(&c);
}
