/* Reading config.json files by family of models (family.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/family.h"

#include <inttypes.h>
#include <string.h>

/* The largest number accepted in a config: larger than in any model, so that more is a fault. */
#define SIZE_LIMIT (INT64_C(1) << 40)

#define OR_NONE -2

struct size_key {
    enum family_size size;
    const char *key;
    int64_t standard; /* default; 0: required; -1: derived from other sizes; OR_NONE: 0, which is
                         also a valid value */
};

struct family_row {
    const char *types[8];
    enum family family;
    unsigned doors; /* bit set of enum family_door */
    const struct size_key *sizes; /* ended by an entry without a key */
    bool tied;                    /* default for the config */
    bool bias;                    /* of queries, keys and values; default for the config */
};

struct reading {
    const struct yaml_node *root;
    enum family_door door;
    const struct family_row *row;
    struct family_config *config;
    struct diag *diag;
};

/* ---- the families ---- */

#define LLAMA_SIZES_OF(kv_heads)                                                                   \
    {FAMILY_HIDDEN, "hidden_size", 0}, {FAMILY_LAYERS, "num_hidden_layers", 0},                                  \
    {FAMILY_HEADS, "num_attention_heads", 0}, {FAMILY_KV_HEADS, "num_key_value_heads", kv_heads},                \
    {FAMILY_FF, "intermediate_size", 0}, {FAMILY_VOCAB, "vocab_size", 0}
#define LLAMA_SIZES LLAMA_SIZES_OF(-1)

static const struct size_key llama_sizes[] = {
    LLAMA_SIZES, {FAMILY_HEAD_DIM, "head_dim", -1}, {FAMILY_END, NULL, 0}};
/* The default number of key heads, 32, is that of one model only: they are required. */
static const struct size_key qwen3_sizes[] = {
    LLAMA_SIZES_OF(0), {FAMILY_HEAD_DIM, "head_dim", 128}, {FAMILY_END, NULL, 0}};
static const struct size_key gemma_sizes[] = {
    LLAMA_SIZES, {FAMILY_HEAD_DIM, "head_dim", 256}, {FAMILY_END, NULL, 0}};
static const struct size_key mixtral_sizes[] = {
    LLAMA_SIZES, {FAMILY_HEAD_DIM, "head_dim", -1}, {FAMILY_EXPERTS, "num_local_experts", 8},
    {FAMILY_TOP_K, "num_experts_per_tok", 2}, {FAMILY_END, NULL, 0}};
/* The module's defaults are those of one model, and have changed: sizes that cannot be derived are
 * required. */
static const struct size_key deepseek_sizes[] = {
    LLAMA_SIZES,
    {FAMILY_HEAD_DIM, "qk_nope_head_dim", 0},
    {FAMILY_ROPE_DIM, "qk_rope_head_dim", 0},
    {FAMILY_VALUE_DIM, "v_head_dim", 0},
    {FAMILY_KV_RANK, "kv_lora_rank", 0},
    {FAMILY_Q_RANK, "q_lora_rank", OR_NONE},
    {FAMILY_EXPERTS, "n_routed_experts", 0},
    {FAMILY_TOP_K, "num_experts_per_tok", 0},
    {FAMILY_EXPERT_FF, "moe_intermediate_size", 0},
    {FAMILY_SHARED, "n_shared_experts", OR_NONE},
    {FAMILY_DENSE_LAYERS, "first_k_dense_replace", OR_NONE},
    {FAMILY_EXPERT_GROUPS, "n_group", 1},
    {FAMILY_KEPT_GROUPS, "topk_group", 1},
    {FAMILY_END, NULL, 0}};
static const struct size_key gpt2_sizes[] = {
    {FAMILY_HIDDEN, "n_embd", 768},  {FAMILY_LAYERS, "n_layer", 12},        {FAMILY_HEADS, "n_head", 12},
    {FAMILY_FF, "n_inner", -1},      {FAMILY_POSITIONS, "n_positions", 1024}, {FAMILY_VOCAB, "vocab_size", 50257},
    {FAMILY_KV_HEADS, "n_head", 12}, {FAMILY_HEAD_DIM, "head_dim", -1},     {FAMILY_END, NULL, 0}};
static const struct size_key t5_sizes[] = {
    {FAMILY_HIDDEN, "d_model", 512},
    {FAMILY_LAYERS, "num_layers", 6},
    {FAMILY_DECODER_LAYERS, "num_decoder_layers", -1},
    {FAMILY_HEADS, "num_heads", 8},
    {FAMILY_KV_HEADS, "num_heads", 8},
    {FAMILY_HEAD_DIM, "d_kv", 64},
    {FAMILY_FF, "d_ff", 2048},
    {FAMILY_BUCKETS, "relative_attention_num_buckets", 32},
    {FAMILY_VOCAB, "vocab_size", 32128},
    {FAMILY_END, NULL, 0}};

#define BOTH (FAMILY_BLOCKS | FAMILY_ARRAYS)

static const struct family_row families[] = {
    {{"llama", "mistral"}, FAMILY_LLAMA, BOTH, llama_sizes, false, false},
    {{"qwen2"}, FAMILY_QWEN2, BOTH, llama_sizes, false, true},
    {{"qwen3"}, FAMILY_QWEN3, BOTH, qwen3_sizes, false, false},
    {{"mixtral"}, FAMILY_MIXTRAL, BOTH, mixtral_sizes, false, false},
    {{"gemma"}, FAMILY_GEMMA, FAMILY_ARRAYS, gemma_sizes, true, false},
    {{"gemma2"}, FAMILY_GEMMA2, FAMILY_ARRAYS, gemma_sizes, true, false},
    {{"gemma3_text"}, FAMILY_GEMMA3, FAMILY_ARRAYS, gemma_sizes, true, false},
    {{"gpt2"}, FAMILY_GPT2, BOTH, gpt2_sizes, true, false},
    {{"t5"}, FAMILY_T5, BOTH, t5_sizes, true, false},
    {{"deepseek_v2"}, FAMILY_DEEPSEEK_V2, FAMILY_BLOCKS, deepseek_sizes, false, false},
    {{"deepseek_v3"}, FAMILY_DEEPSEEK_V3, FAMILY_BLOCKS, deepseek_sizes, false, false},
};

/* ---- reading ---- */

static const size_t nfamilies = sizeof(families) / sizeof(families[0]);

void family_print_types(enum family_door door, struct text *out)
{
    size_t left = 0, n = 0;

    for (size_t f = 0; f < nfamilies; f++)
        for (size_t t = 0; families[f].types[t]; t++)
            left += (families[f].doors & door) != 0;
    for (size_t f = 0; f < nfamilies; f++)
        for (size_t t = 0; (families[f].doors & door) && families[f].types[t]; t++, n++)
            text_addf(out, "%s%s", n == 0 ? "" : --left == 1 ? " and " : ", ",
                      families[f].types[t]);
}

static const struct family_row *find_family(const struct reading *r)
{
    const struct yaml_node *type = yaml_find(r->root, "model_type");
    struct text known = TEXT_INIT;

    for (size_t f = 0; type && f < nfamilies; f++)
        for (size_t t = 0; (families[f].doors & r->door) && families[f].types[t]; t++)
            if (type->kind == YAML_TEXT && !strcmp(families[f].types[t], type->text))
                return &families[f];
    family_print_types(r->door, &known);
    diag_error(r->diag, type ? type->place : r->root->place, "model_type is %s; %s are %s",
               type ? yaml_describe(type).text : "missing",
               r->door == FAMILY_BLOCKS ? "models that can be planned" : "known", text_get(&known));
    text_fini(&known);
    return NULL;
}

/* Read one size; false after an error.  A missing optional size is 0. */
static bool read_size(struct reading *c, const struct size_key *key)
{
    const struct yaml_node *node = yaml_find(c->root, key->key);
    int64_t *size = &c->config->sizes[key->size], least = key->standard == OR_NONE ? 0 : 1;

    if (!node || yaml_is_null(node)) {
        *size = key->standard > 0 ? key->standard : 0;
        if (key->standard == 0)
            diag_error(c->diag, c->root->place, "'%s' is missing", key->key);
        return key->standard != 0;
    }
    if (yaml_read_int(node, size) && *size >= least && *size <= SIZE_LIMIT)
        return true;
    diag_error(c->diag, node->place, "%s is %s; expected a whole number of at least %" PRId64,
               key->key, yaml_describe(node).text, least);
    return false;
}

static bool read_dtype(struct reading *c)
{
    const struct yaml_node *node = yaml_find(c->root, "torch_dtype");

    if (!node)
        node = yaml_find(c->root, "dtype");
    c->config->dtype = SHD_F32;
    if (!node || yaml_is_null(node) ||
        (node->kind == YAML_TEXT && shd_dtype_parse(&c->config->dtype, node->text, NULL) == SHD_OK))
        return true;
    diag_error(c->diag, node->place, "torch_dtype is %s; expected a type such as bfloat16",
               yaml_describe(node).text);
    return false;
}

/* Weights stored in 8 bits or fewer have other sizes than torch_dtype implies. */
static bool check_quantization(const struct reading *c)
{
    const struct yaml_node *node = yaml_find(c->root, "quantization_config");

    if (!node || yaml_is_null(node))
        return true;
    diag_error(c->diag, node->place,
               "quantization_config: there are no types of 8 bits or fewer; leave it out to take "
               "all arrays in torch_dtype");
    return false;
}

static bool read_traits(struct reading *c)
{
    const struct yaml_node *act = yaml_find(c->root, "feed_forward_proj");
    bool tied, bias, mlp_bias;
    bool good = family_read_flag(&tied, c->root, "tie_word_embeddings", c->row->tied, c->diag);

    good = family_read_flag(&bias, c->root, "attention_bias", c->row->bias, c->diag) && good;
    good = family_read_flag(&mlp_bias, c->root, "mlp_bias", false, c->diag) && good;
    c->config->traits = (tied ? 0u : FAMILY_UNTIED) | (bias ? FAMILY_BIAS : 0u) | (mlp_bias ? FAMILY_MLP_BIAS : 0u);
    c->config->traits |= act && act->kind == YAML_TEXT && strstr(act->text, "gated") ? FAMILY_GATED : FAMILY_PLAIN;
    return good;
}

/* Derive the sizes that a config omits. */
static bool derive(struct reading *c)
{
    int64_t *s = c->config->sizes;

    if (s[FAMILY_KV_HEADS] == 0)
        s[FAMILY_KV_HEADS] = s[FAMILY_HEADS];
    if (s[FAMILY_HEAD_DIM] == 0 && s[FAMILY_HIDDEN] % s[FAMILY_HEADS] != 0) {
        diag_error(c->diag, c->root->place, "%" PRId64 " heads do not divide %" PRId64, s[FAMILY_HEADS],
                   s[FAMILY_HIDDEN]);
        return false;
    }
    if (s[FAMILY_HEAD_DIM] == 0)
        s[FAMILY_HEAD_DIM] = s[FAMILY_HIDDEN] / s[FAMILY_HEADS];
    if (s[FAMILY_FF] == 0)
        s[FAMILY_FF] = 4 * s[FAMILY_HIDDEN];
    if (s[FAMILY_DECODER_LAYERS] == 0)
        s[FAMILY_DECODER_LAYERS] = s[FAMILY_LAYERS];
    s[FAMILY_HIDDEN_3] = 3 * s[FAMILY_HIDDEN];
    if (__builtin_mul_overflow(s[FAMILY_HEADS], s[FAMILY_HEAD_DIM], &s[FAMILY_QUERIES]) ||
        __builtin_mul_overflow(s[FAMILY_KV_HEADS], s[FAMILY_HEAD_DIM], &s[FAMILY_KEYS])) {
        diag_error(c->diag, c->root->place, "heads times head dimension is too large");
        return false;
    }
    return true;
}

/* ---- the config ---- */

bool family_read_flag(bool *out, const struct yaml_node *root, const char *key, bool standard,
                      struct diag *diag)
{
    const struct yaml_node *node = yaml_find(root, key);

    *out = standard;
    if (!node || yaml_is_null(node) || yaml_read_bool(node, out))
        return true;
    diag_error(diag, node->place, "%s is %s; expected true or false", key,
               yaml_describe(node).text);
    return false;
}

bool family_read_number(double *out, const struct yaml_node *root, const char *key, double standard,
                        struct diag *diag)
{
    const struct yaml_node *node = yaml_find(root, key);

    *out = standard;
    if (!node || yaml_is_null(node) || (yaml_read_double(node, out) && *out > 0))
        return true;
    diag_error(diag, node->place, "%s is %s; expected a number above 0", key,
               yaml_describe(node).text);
    return false;
}

int family_read(struct family_config *out, const struct yaml_node *root, enum family_door door,
                struct diag *diag)
{
    struct family_config config = {.traits = 0};
    struct reading r = {.root = root, .door = door, .config = &config, .diag = diag};
    bool good = true;

    if (root->kind != YAML_MAP) {
        diag_error(diag, root->place, "a config is a map");
        return SHD_EINVAL;
    }
    r.row = find_family(&r);
    if (!r.row)
        return SHD_EINVAL;
    config.family = r.row->family;
    for (const struct size_key *key = r.row->sizes; key->key; key++)
        good = read_size(&r, key) && good;
    good = read_traits(&r) && good;
    good = read_dtype(&r) && good;
    good = check_quantization(&r) && good;
    if (!good || !derive(&r))
        return SHD_EINVAL;
    *out = config;
    return SHD_OK;
}
