/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/names.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"

const char *const names_systems[NAMES_NSYSTEMS] = {
    [NAMES_EASYDEL] = "easydel",
    [NAMES_EASYDEL_APART] = "easydel-apart",
    [NAMES_OWN] = "shardsim",
    [NAMES_T5X] = "t5x",
};

/* Parameters by the beginning of their names here: rests of the names, with or without what follows
 * the last slash ("kernel").  In the name there, '?' is the rest here. */
struct row {
    const char *of; /* words, of which the model has one; NULL: it is of all models */
    const char *at, *rests, *theirs;
    const char *dims; /* of a kernel; NULL: as here.  Other arrays have one dimension */
    const char *part;
};

/* ---- modules of transformers ---- */

#define L "model.layers.*."
#define H "transformer.h.*."
#define NEOX "gpt_neox.layers.*."
#define LAYER "layers/*/"
#define ATTN LAYER "attn/"
#define MLP LAYER "mlp/"
#define MOE LAYER "moe/"
#define SHARED MOE "shared/"
#define MAMBA LAYER "mamba/"
#define LIGHTNING LAYER "lightning/"

#define GPT "gpt2 gpt_bigcode gptj codegen"
#define MINIMAX "minimax minimax_text_01 minimax_m1"
#define MIXTRAL "mixtral kimi_linear minimax_m2 " MINIMAX
#define GRANITE "granitemoe granitemoeshared granitemoehybrid"
#define LATENT "latent plain_latent"
#define BACKBONE "nemotron_h mamba2"
#define B "backbone.layers.*."
#define DELTA_GATED "qwen3_next qwen3_5_text qwen3_5_moe_text"

/* Kernels are stored output by input, but for those of GPT-2; "+" is a dimension along which parts
 * of an array follow each other. */
#define QKV .part = "their array is q, k and v side by side"
#define HEADS_QKV .part = "their array is q, k and v of each head side by side"
#define KV_A .part = "their array is kv_latent and k_rope side by side"
#define KV_B .part = "their array is k and v of each head side by side"
#define Q_B .part = "their array is q and q_rope of each head side by side"
#define Q_GATE .part = "their array is q and gate of each head side by side"
#define QKVZ .part = "their array is q, k, v and gate of each key head side by side"
#define BA .part = "their array is beta and decay of each key head side by side"
#define DELTA_QKV .part = "their array is q, k and v side by side"
#define IN_PROJ .part = "their array is in, gate and value side by side"
#define GATE_UP .part = "their array is gate and up side by side"
#define MAMBA_IN .part = "their array is z, x, b, c and dt side by side"
#define MAMBA_TAPS .part = "their array is x, b and c side by side"
#define NORM .dims = NULL

/* clang-format off */

#define MAMBA_ROWS(of, to)                                                                            \
    {of, MAMBA, "dt/log", to "A_log", .dims = "0"},                                                   \
    {of, MAMBA, "dt/bias", to "dt_bias", .dims = "0"},                                                \
    {of, MAMBA, "x/taps b/taps c/taps", to "conv1d.weight", "+12  0", MAMBA_TAPS},                    \
    {of, MAMBA, "x/conv_bias b/conv_bias c/conv_bias", to "conv1d.bias", "+01", MAMBA_TAPS},          \
    {of, MAMBA, "z x b c", to "in_proj", "+12 0", MAMBA_IN},                                          \
    {of, MAMBA, "dt", to "in_proj", "+1 0", MAMBA_IN},                                                \
    {of, MAMBA, "skip", to "D", .dims = "0"},                                                         \
    {of, MAMBA, "norm/scale", to "norm.weight", .dims = "01"},                                        \
    {of, MAMBA, "o", to "out_proj", .dims = "2 01"}

/* The first row that a parameter has is the one. */
static const struct row modules[] = {
    {GPT, "embed/", "table", "transformer.wte.weight", .dims = "0 1"},
    {"falcon", "embed/", "table", "transformer.word_embeddings.weight", .dims = "0 1"},
    {"gpt_neox", "embed/", "table", "gpt_neox.embed_in.weight", .dims = "0 1"},
    {"t5", "embed/", "table", "shared.weight", .dims = "0 1"},
    {BACKBONE, "embed/", "table", "backbone.embeddings.weight", .dims = "0 1"},
    {NULL, "embed/", "table", "model.embed_tokens.weight", .dims = "0 1"},
    {NULL, "embed/", "positions", "transformer.wpe.weight", .dims = "0 1"},

    {BACKBONE, LAYER, "norm1", B "norm", NORM},
    {"bamba falcon_h1", LAYER, "norm2", L "pre_ff_layernorm", NORM},
    {"lfm2", LAYER, "norm1", L "operator_norm", NORM},
    {"lfm2", LAYER, "norm2", L "ffn_norm", NORM},
    {GPT, LAYER, "norm1", H "ln_1", NORM},
    {GPT, LAYER, "norm2", H "ln_2", NORM},
    {"two_norms", LAYER, "norm1", H "ln_attn", NORM},
    {"two_norms", LAYER, "norm2", H "ln_mlp", NORM},
    {"falcon", LAYER, "norm1", H "input_layernorm", NORM},
    {"falcon", LAYER, "norm2", H "post_attention_layernorm", NORM},
    {"gpt_neox", LAYER, "norm1", NEOX "input_layernorm", NORM},
    {"gpt_neox", LAYER, "norm2", NEOX "post_attention_layernorm", NORM},
    {"glm4", LAYER, "norm1_after", L "post_self_attn_layernorm", NORM},
    {"glm4", LAYER, "norm2_after", L "post_mlp_layernorm", NORM},
    {"hyperclovax", LAYER, "norm1_after", L "post_norm1", NORM},
    {"hyperclovax", LAYER, "norm2_after", L "post_norm2", NORM},
    {"gemma2 gemma3_text vaultgemma", LAYER, "norm2", L "pre_feedforward_layernorm", NORM},
    {NULL, LAYER, "norm1", L "input_layernorm", NORM},
    {NULL, LAYER, "norm1_after norm2", L "post_attention_layernorm", NORM},
    {NULL, LAYER, "norm2_after", L "post_feedforward_layernorm", NORM},

    {"delta", ATTN, "decay/log", L "linear_attn.A_log", .dims = "0"},
    {"delta", ATTN, "decay/bias", L "linear_attn.dt_bias", .dims = "0"},
    {"delta", ATTN, "q/taps key/taps value/taps", L "linear_attn.conv1d.weight", "+12  0", DELTA_QKV},
    {"qkvz", ATTN, "q key value gate", L "linear_attn.in_proj_qkvz", "+12 0", QKVZ},
    {"qkvz", ATTN, "beta decay", L "linear_attn.in_proj_ba", "+1 0", BA},
    {"delta", ATTN, "q key value", L "linear_attn.in_proj_qkv", "+12 0", DELTA_QKV},
    {"delta", ATTN, "gate", L "linear_attn.in_proj_z", .dims = "12 0"},
    {"delta", ATTN, "beta", L "linear_attn.in_proj_b", .dims = "1 0"},
    {"delta", ATTN, "decay", L "linear_attn.in_proj_a", .dims = "1 0"},
    {"delta", ATTN, "norm", L "linear_attn.norm", NORM},
    {"delta", ATTN, "o", L "linear_attn.out_proj", .dims = "2 01"},
    {"kda", ATTN, "decay/log", L "self_attn.A_log", .dims = "  0  "},
    {"kda", ATTN, "decay/bias", L "self_attn.dt_bias", .dims = "01"},
    {"kda", ATTN, "q/taps", L "self_attn.q_conv1d.weight", .dims = "12  0"},
    {"kda", ATTN, "key/taps", L "self_attn.k_conv1d.weight", .dims = "12  0"},
    {"kda", ATTN, "value/taps", L "self_attn.v_conv1d.weight", .dims = "12  0"},
    {"kda", ATTN, "key", L "self_attn.k_proj", .dims = "12 0"},
    {"kda", ATTN, "value", L "self_attn.v_proj", .dims = "12 0"},
    {"kda", ATTN, "beta", L "self_attn.b_proj", .dims = "1 0"},
    {"kda", ATTN, "decay_in", L "self_attn.f_a_proj", .dims = "1 0"},
    {"kda", ATTN, "decay", L "self_attn.f_b_proj", .dims = "12 0"},
    {"kda", ATTN, "gate_in", L "self_attn.g_a_proj", .dims = "1 0"},
    {"kda", ATTN, "gate", L "self_attn.g_b_proj", .dims = "12 0"},
    {"kda", ATTN, "norm", L "self_attn.o_norm", NORM},
    MAMBA_ROWS(BACKBONE, B "mixer."),
    MAMBA_ROWS(NULL, L "mamba."),
    {BACKBONE, ATTN, "q k v", B "mixer.?_proj", .dims = "12 0"},
    {BACKBONE, ATTN, "o", B "mixer.o_proj", .dims = "2 01"},
    {NULL, LIGHTNING, "q k v", L "self_attn.qkv_proj", "+12 0", HEADS_QKV},
    {NULL, LIGHTNING, "gate", L "self_attn.output_gate", .dims = "12 0"},
    {NULL, LIGHTNING, "norm/scale", L "self_attn.norm.weight", .dims = "01"},
    {NULL, LIGHTNING, "o", L "self_attn.out_proj", .dims = "2 01"},
    {"lfm2", LAYER, "conv/in conv/gate conv/value", L "conv.in_proj", "+1 0", IN_PROJ},
    {"lfm2", LAYER, "conv/taps", L "conv.conv.weight", .dims = "1  0"},
    {"lfm2", LAYER, "conv/o", L "conv.out_proj", .dims = "1 0"},
    {DELTA_GATED, ATTN, "q gate", L "self_attn.q_proj", "+12 0", Q_GATE},
    {"lfm2", ATTN, "o", L "self_attn.out_proj", .dims = "2 01"},
    {"gpt2", ATTN, "q k v", H "attn.c_attn", "0 +12", QKV},
    {"gpt2", ATTN, "o", H "attn.c_proj", .dims = "01 2"},
    {"gpt_bigcode", ATTN, "q k v", H "attn.c_attn", "+12 0", QKV},
    {"gpt_bigcode", ATTN, "o", H "attn.c_proj", .dims = "2 01"},
    {"codegen", ATTN, "q k v", H "attn.qkv_proj", "+12 0", QKV},
    {"gptj", ATTN, "q k v", H "attn.?_proj", .dims = "12 0"},
    {"gptj codegen", ATTN, "o", H "attn.out_proj", .dims = "2 01"},
    {"falcon", ATTN, "q k v", H "self_attention.query_key_value", "+12 0", QKV},
    {"falcon", ATTN, "o", H "self_attention.dense", .dims = "2 01"},
    {"gpt_neox", ATTN, "q k v", NEOX "attention.query_key_value", "+12 0", QKV},
    {"gpt_neox", ATTN, "o", NEOX "attention.dense", .dims = "2 01"},
    {"persimmon", ATTN, "q k v", L "self_attn.query_key_value", "+12 0", QKV},
    {"persimmon phi", ATTN, "o", L "self_attn.dense", .dims = "2 01"},
    {"phi3", ATTN, "q k v", L "self_attn.qkv_proj", "+12 0", QKV},
    {LATENT, ATTN, "q_latent/kernel", L "self_attn.q_a_proj.weight", .dims = "1 0"},
    {LATENT, ATTN, "q_latent", L "self_attn.q_a_layernorm", NORM},
    {"latent", ATTN, "q q_rope", L "self_attn.q_b_proj", "+12 0", Q_B},
    {"plain_latent", ATTN, "q q_rope", L "self_attn.q_proj", "+12 0", Q_B},
    {LATENT, ATTN, "kv_latent/kernel", L "self_attn.kv_a_proj_with_mqa.weight", "+1 0", KV_A},
    {LATENT, ATTN, "k_rope/kernel", L "self_attn.kv_a_proj_with_mqa.weight", "+12 0", KV_A},
    {LATENT, ATTN, "kv_latent", L "self_attn.kv_a_layernorm", NORM},
    {LATENT, ATTN, "k v", L "self_attn.kv_b_proj", "+12 0", KV_B},
    {NULL, ATTN, "q k v", L "self_attn.?_proj", .dims = "12 0"},
    {NULL, ATTN, "o", L "self_attn.o_proj", .dims = "2 01"},
    {"cohere cohere2", ATTN, "q_norm/scale", L "self_attn.q_norm.weight", .dims = "0 1"},
    {"cohere cohere2", ATTN, "k_norm/scale", L "self_attn.k_norm.weight", .dims = "0 1"},
    {"hunyuan_v1_dense hunyuan_v1_moe", ATTN, "q_norm", L "self_attn.query_layernorm", NORM},
    {"hunyuan_v1_dense hunyuan_v1_moe", ATTN, "k_norm", L "self_attn.key_layernorm", NORM},
    {"phi persimmon lfm2", ATTN, "q_norm", L "self_attn.q_layernorm", NORM},
    {"phi persimmon lfm2", ATTN, "k_norm", L "self_attn.k_layernorm", NORM},
    {NULL, ATTN, "q_norm k_norm", L "self_attn.?", NORM},
    {NULL, ATTN, "sinks", L "self_attn.sinks", .dims = "0"},

    {BACKBONE, MLP, "up down", B "mixer.?_proj", .dims = "1 0"},
    {"gpt2", MLP, "up", H "mlp.c_fc", .dims = "0 1"},
    {"gpt2", MLP, "down", H "mlp.c_proj", .dims = "0 1"},
    {"gpt_bigcode", MLP, "up", H "mlp.c_fc", .dims = "1 0"},
    {"gpt_bigcode", MLP, "down", H "mlp.c_proj", .dims = "1 0"},
    {"gptj codegen", MLP, "up", H "mlp.fc_in", .dims = "1 0"},
    {"gptj codegen", MLP, "down", H "mlp.fc_out", .dims = "1 0"},
    {"falcon", MLP, "up", H "mlp.dense_h_to_4h", .dims = "1 0"},
    {"falcon", MLP, "down", H "mlp.dense_4h_to_h", .dims = "1 0"},
    {"gpt_neox", MLP, "up", NEOX "mlp.dense_h_to_4h", .dims = "1 0"},
    {"gpt_neox", MLP, "down", NEOX "mlp.dense_4h_to_h", .dims = "1 0"},
    {"persimmon", MLP, "up", L "mlp.dense_h_to_4h", .dims = "1 0"},
    {"persimmon", MLP, "down", L "mlp.dense_4h_to_h", .dims = "1 0"},
    {"starcoder2", MLP, "up", L "mlp.c_fc", .dims = "1 0"},
    {"starcoder2", MLP, "down", L "mlp.c_proj", .dims = "1 0"},
    {"phi", MLP, "up", L "mlp.fc1", .dims = "1 0"},
    {"phi", MLP, "down", L "mlp.fc2", .dims = "1 0"},
    {"lfm2", MLP, "gate", L "feed_forward.w1", .dims = "1 0"},
    {"lfm2", MLP, "up", L "feed_forward.w3", .dims = "1 0"},
    {"lfm2", MLP, "down", L "feed_forward.w2", .dims = "1 0"},
    {"phi3 glm glm4", MLP, "gate up", L "mlp.gate_up_proj", "+1 0", GATE_UP},
    {GRANITE, MLP, "gate up", L "shared_mlp.input_linear", "+1 0", GATE_UP},
    {GRANITE, MLP, "down", L "shared_mlp.output_linear", .dims = "1 0"},
    {"llama4_text bamba falcon_h1", MLP, "gate up down", L "feed_forward.?_proj", .dims = "1 0"},
    {NULL, MLP, "gate up down", L "mlp.?_proj", .dims = "1 0"},

    {BACKBONE, MOE, "router/bias", B "mixer.gate.e_score_correction_bias", .dims = "0"},
    {BACKBONE, MOE, "router", B "mixer.gate", .dims = "1 0"},
    {BACKBONE, MOE, "up down", B "mixer.experts.#.?_proj", .dims = "2 1"},
    {BACKBONE, SHARED, "up down", B "mixer.shared_experts.?_proj", .dims = "1 0"},
    {MIXTRAL, MOE, "router", L "block_sparse_moe.gate", .dims = "1 0"},
    {GRANITE, MOE, "router", L "block_sparse_moe.router.layer", .dims = "1 0"},
    {"llama4_text", MOE, "router", L "feed_forward.router", .dims = "1 0"},
    {"hunyuan_v1_moe", MOE, "router", L "mlp.gate.wg", .dims = "1 0"},
    {"gpt_oss", MOE, "router/logit_bias", L "mlp.router.bias", .dims = "0"},
    {"gpt_oss", MOE, "router", L "mlp.router", .dims = "1 0"},
    {"kimi_linear", MOE, "router/bias", L "block_sparse_moe.gate.e_score_correction_bias", .dims = "0"},
    {NULL, MOE, "router/bias", L "mlp.gate.e_score_correction_bias", .dims = "0"},
    {NULL, MOE, "router", L "mlp.gate", .dims = "1 0"},
    {MIXTRAL, MOE, "gate", L "block_sparse_moe.experts.#.w1", .dims = "2 1"},
    {MIXTRAL, MOE, "up", L "block_sparse_moe.experts.#.w3", .dims = "2 1"},
    {MIXTRAL, MOE, "down", L "block_sparse_moe.experts.#.w2", .dims = "2 1"},
    {GRANITE, MOE, "gate up", L "block_sparse_moe.input_linear", "0 +2 1", GATE_UP},
    {GRANITE, MOE, "down", L "block_sparse_moe.output_linear", .dims = "0 2 1"},
    {"llama4_text", MOE, "gate/kernel up/kernel", L "feed_forward.experts.gate_up_proj", "0 1 +2",
        GATE_UP},
    {"llama4_text", MOE, "down/kernel", L "feed_forward.experts.down_proj", .dims = "0 1 2"},
    {"gpt_oss", MOE, "gate/kernel up/kernel", L "mlp.experts.gate_up_proj", "0 1 +2", GATE_UP},
    {"gpt_oss", MOE, "down/kernel", L "mlp.experts.down_proj", .dims = "0 1 2"},
    {"gpt_oss", MOE, "gate/bias up/bias", L "mlp.experts.gate_up_proj_bias", "0 +1", GATE_UP},
    {"gpt_oss", MOE, "down/bias", L "mlp.experts.down_proj_bias", .dims = "0 1"},
    {NULL, MOE, "gate up down", L "mlp.experts.#.?_proj", .dims = "2 1"},
    {GRANITE, SHARED, "gate up", L "shared_mlp.input_linear", "+1 0", GATE_UP},
    {GRANITE, SHARED, "down", L "shared_mlp.output_linear", .dims = "1 0"},
    {"llama4_text", SHARED, "gate up down", L "feed_forward.shared_expert.?_proj", .dims = "1 0"},
    {"hunyuan_v1_moe", SHARED, "gate up down", L "mlp.shared_mlp.?_proj", .dims = "1 0"},
    {"qwen2_moe " DELTA_GATED, SHARED, "gate up down", L "mlp.shared_expert.?_proj", .dims = "1 0"},
    {"kimi_linear", SHARED, "gate up down", L "block_sparse_moe.shared_experts.?_proj", .dims = "1 0"},
    {NULL, SHARED, "gate up down", L "mlp.shared_experts.?_proj", .dims = "1 0"},
    {NULL, MOE, "shared_gate", L "mlp.shared_expert_gate", .dims = "1 0"},

    {NULL, LAYER, "embed_norm", L "enorm", NORM},
    {NULL, LAYER, "hidden_norm", L "hnorm", NORM},
    {NULL, LAYER, "join", L "eh_proj", .dims = "1 0"},
    {NULL, LAYER, "final_norm", L "shared_head.norm", NORM},

#define T5(side) side ".block.*.layer."
#define RELATIVE ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    {"t5", "", "encoder/relative/table", "encoder" RELATIVE, .dims = "0 1"},
    {"t5", "", "decoder/relative/table", "decoder" RELATIVE, .dims = "0 1"},
    {"t5", "encoder/layers/*/attn/", "q k v", T5("encoder") "0.SelfAttention.?", .dims = "12 0"},
    {"t5", "encoder/layers/*/attn/", "o", T5("encoder") "0.SelfAttention.o", .dims = "2 01"},
    {"t5", "decoder/layers/*/attn/", "q k v", T5("decoder") "0.SelfAttention.?", .dims = "12 0"},
    {"t5", "decoder/layers/*/attn/", "o", T5("decoder") "0.SelfAttention.o", .dims = "2 01"},
    {"t5", "decoder/layers/*/cross/", "q k v", T5("decoder") "1.EncDecAttention.?", .dims = "12 0"},
    {"t5", "decoder/layers/*/cross/", "o", T5("decoder") "1.EncDecAttention.o", .dims = "2 01"},
    {"t5_plain", "encoder/layers/*/mlp/", "up", T5("encoder") "1.DenseReluDense.wi", .dims = "1 0"},
    {"t5_plain", "decoder/layers/*/mlp/", "up", T5("decoder") "2.DenseReluDense.wi", .dims = "1 0"},
    {"t5", "encoder/layers/*/mlp/", "gate", T5("encoder") "1.DenseReluDense.wi_0", .dims = "1 0"},
    {"t5", "decoder/layers/*/mlp/", "gate", T5("decoder") "2.DenseReluDense.wi_0", .dims = "1 0"},
    {"t5", "encoder/layers/*/mlp/", "up", T5("encoder") "1.DenseReluDense.wi_1", .dims = "1 0"},
    {"t5", "decoder/layers/*/mlp/", "up", T5("decoder") "2.DenseReluDense.wi_1", .dims = "1 0"},
    {"t5", "encoder/layers/*/mlp/", "down", T5("encoder") "1.DenseReluDense.wo", .dims = "1 0"},
    {"t5", "decoder/layers/*/mlp/", "down", T5("decoder") "2.DenseReluDense.wo", .dims = "1 0"},
    {"t5", "encoder/layers/*/", "norm1", T5("encoder") "0.layer_norm", NORM},
    {"t5", "encoder/layers/*/", "norm2", T5("encoder") "1.layer_norm", NORM},
    {"t5", "decoder/layers/*/", "norm1", T5("decoder") "0.layer_norm", NORM},
    {"t5", "decoder/layers/*/", "norm2", T5("decoder") "1.layer_norm", NORM},
    {"t5", "decoder/layers/*/", "norm3", T5("decoder") "2.layer_norm", NORM},
    {"t5", "", "encoder/final_norm", "encoder.final_layer_norm", NORM},
    {"t5", "", "decoder/final_norm", "decoder.final_layer_norm", NORM},

    {GPT " falcon", "", "final_norm", "transformer.ln_f", NORM},
    {"gpt_neox", "", "final_norm", "gpt_neox.final_layer_norm", NORM},
    {"phi persimmon bamba falcon_h1", "", "final_norm", "model.final_layernorm", NORM},
    {BACKBONE, "", "final_norm", "backbone.norm_f", NORM},
    {"lfm2", "", "final_norm", "model.embedding_norm", NORM},
    {NULL, "", "final_norm", "model.norm", NORM},
    {"gpt_neox", "", "head", "embed_out", .dims = "1 0"},
    {NULL, "", "head", "lm_head", .dims = "1 0"},
};

/* ---- T5X ---- */

#define SAME .dims = NULL
#define ATTENTION(ours, to)                             \
    {NULL, ours, "q", to "query", .dims = "0 12"},      \
    {NULL, ours, "k", to "key", .dims = "0 12"},        \
    {NULL, ours, "v", to "value", .dims = "0 12"},      \
    {NULL, ours, "o", to "out", .dims = "01 2"}
/* A plain mlp has one kernel wi; in a gated mlp wi_0 is the gate.  A bias is of wi. */
#define WIDTHS(ours, to)                                \
    {"plain", ours, "up", to "wi", SAME},               \
    {NULL, ours, "gate", to "wi_0", SAME},              \
    {NULL, ours, "up/bias", to "wi/bias", .dims = "0"}, \
    {NULL, ours, "up", to "wi_1", SAME},                \
    {NULL, ours, "down", to "wo", SAME}

static const struct row t5x[] = {
    {"t5", "embed/", "table", "token_embedder/embedding", .dims = "0 1"},
    {NULL, "embed/", "table", "decoder/token_embedder/embedding", .dims = "0 1"},
    {NULL, "embed/", "positions", "decoder/position_embedder/pos_embedding", .dims = "0 1"},
    {NULL, "", "encoder/relative/table", "encoder/relpos_bias/rel_embedding", .dims = "1 0"},
    {NULL, "", "decoder/relative/table", "decoder/relpos_bias/rel_embedding", .dims = "1 0"},
    ATTENTION("encoder/layers/*/attn/", "encoder/layers_*/attention/"),
    ATTENTION("decoder/layers/*/attn/", "decoder/layers_*/self_attention/"),
    ATTENTION("decoder/layers/*/cross/", "decoder/layers_*/encoder_decoder_attention/"),
    ATTENTION(ATTN, "decoder/layers_*/self_attention/"),
    WIDTHS("encoder/layers/*/mlp/", "encoder/layers_*/mlp/"),
    WIDTHS("decoder/layers/*/mlp/", "decoder/layers_*/mlp/"),
    WIDTHS(MLP, "decoder/layers_*/mlp/"),
    {NULL, MOE, "router", "decoder/layers_*/mlp/router/router_weights/w", SAME},
    {NULL, MOE, "gate", "decoder/layers_*/mlp/expert/wi_0", SAME},
    {NULL, MOE, "up", "decoder/layers_*/mlp/expert/wi_1", SAME},
    {NULL, MOE, "down", "decoder/layers_*/mlp/expert/wo", SAME},
    {NULL, "encoder/layers/*/", "norm1", "encoder/layers_*/pre_attention_layer_norm", SAME},
    {NULL, "encoder/layers/*/", "norm2", "encoder/layers_*/pre_mlp_layer_norm", SAME},
    {NULL, "decoder/layers/*/", "norm1", "decoder/layers_*/pre_self_attention_layer_norm", SAME},
    {NULL, "decoder/layers/*/", "norm2", "decoder/layers_*/pre_cross_attention_layer_norm", SAME},
    {NULL, "decoder/layers/*/", "norm3", "decoder/layers_*/pre_mlp_layer_norm", SAME},
    {NULL, LAYER, "norm1", "decoder/layers_*/pre_self_attention_layer_norm", SAME},
    {NULL, LAYER, "norm2", "decoder/layers_*/pre_mlp_layer_norm", SAME},
    {NULL, "", "encoder/final_norm", "encoder/encoder_norm", SAME},
    {NULL, "", "final_norm decoder/final_norm", "decoder/decoder_norm", SAME},
    {NULL, "", "head", "decoder/logits_dense", SAME},
};
/* clang-format on */

/* ---- looking up ---- */

#define OF_ALL "one array per expert, all sharded alike"

struct look {
    const struct row *rows;
    size_t nrows;
    const char *words[3]; /* of the model, NULL: no more */
    const char *ours;
};

static bool is_of(const struct look *l, const struct row *row)
{
    bool found = !row->of;

    for (size_t w = 0; !found && w < 3 && l->words[w]; w++)
        found = words_has(row->of, l->words[w]);
    return found;
}

/* The first row of a parameter: by its name, with an empty *leaf, or without the last word of it,
 * which *leaf then is ("kernel").  *rest is what the row has of it, of so many bytes. */
static const struct row *find(const struct look *l, const char **leaf, const char **rest,
                              size_t *length)
{
    const char *slash = strrchr(l->ours, '/');

    for (const struct row *row = l->rows; row < l->rows + l->nrows; row++) {
        if (strncmp(l->ours, row->at, strlen(row->at)) != 0 || !is_of(l, row))
            continue;
        *rest = l->ours + strlen(row->at);
        *leaf = "";
        *length = strlen(*rest);
        if (words_has(row->rests, *rest))
            return row;
        if (slash > *rest && words_has_bytes(row->rests, *rest, (size_t)(slash - *rest))) {
            *leaf = slash + 1;
            *length = (size_t)(slash - *rest);
            return row;
        }
    }
    return NULL;
}

/* All dimensions of an array here, "0 1 2", or as one, which other parts may follow. */
static void set_dims(struct names_array *out, size_t rank, bool joined, bool followed)
{
    size_t n = 0;

    if (followed)
        out->dims[n++] = '+';
    for (size_t d = 0; d < rank; d++) {
        if (d > 0 && !joined)
            out->dims[n++] = ' ';
        out->dims[n++] = (char)('0' + d);
    }
    out->dims[n] = '\0';
}

void names_own(struct names_array *out, const char *ours, size_t rank)
{
    snprintf(out->name, sizeof(out->name), "%s", ours);
    set_dims(out, rank, false, false);
    out->part = NULL;
}

static bool look_up(struct names_array *out, const struct look *l, size_t rank, bool module)
{
    const char *leaf, *rest;
    size_t length;
    const struct row *row = find(l, &leaf, &rest, &length);
    bool kernel;
    int n;

    if (!row)
        return false;
    kernel = !strcmp(leaf, "kernel");
    n = (int)strcspn(row->theirs, "?");
    snprintf(out->name, sizeof(out->name), "%.*s%.*s%s%s%s", n, row->theirs,
             row->theirs[n] ? (int)length : 0, rest, row->theirs + n + (row->theirs[n] == '?'),
             !*leaf   ? ""
             : module ? "."
                      : "/",
             module && *leaf && strcmp(leaf, "bias") != 0 ? "weight" : leaf);
    if ((kernel || !*leaf) && row->dims)
        snprintf(out->dims, sizeof(out->dims), "%s", row->dims);
    else
        set_dims(out, rank, !kernel, row->dims && strchr(row->dims, '+'));
    out->part = row->part;
    return true;
}

bool names_module(struct names_array *out, const char *type, const struct scenario_model *m,
                  int64_t layer, const char *ours, size_t rank)
{
    struct look l = {modules, sizeof(modules) / sizeof(modules[0]), {type}, ours};
    enum scenario_layer_type of =
        layer >= 0 && layer < m->layers ? scenario_layer_type(m, layer) : SCENARIO_LAYER_FULL;
    size_t n = 1;

    if (of == SCENARIO_LAYER_KDA)
        l.words[n] = "kda";
    else if (m->mla.kv_rank > 0)
        l.words[n++] = m->mla.q_rank > 0 ? "latent" : "plain_latent";
    else if (!strcmp(type, "falcon") && m->residual == SCENARIO_BESIDE_NORMS)
        l.words[n - 1] = "two_norms", l.words[n++] = "falcon";
    else if (m->kind == SCENARIO_T5 && !scenario_is_gated(m->activation))
        l.words[n++] = "t5_plain";
    else if (of == SCENARIO_LAYER_DELTA) {
        l.words[n++] = "delta";
        l.words[n] = strcmp(type, "qwen3_next") == 0 ? "qkvz" : NULL;
    }
    return look_up(out, &l, rank, true);
}

/* ---- EasyDeL: modules of Flax named as Hugging Face names them ---- */

/* Kernels are input by output: the dimensions in the other order.  The experts of a layer are one
 * array, whose first dimension is theirs. */
static void turn(struct names_array *out, bool stacked)
{
    char dims[sizeof(out->dims)] = "";
    size_t end = strlen(out->dims), n = 0;

    if (stacked)
        n = (size_t)snprintf(dims, sizeof(dims), "0");
    while (end > 0) {
        size_t begin = end;

        while (begin > 0 && out->dims[begin - 1] != ' ')
            begin--;
        n += (size_t)snprintf(dims + n, sizeof(dims) - n, "%s%.*s", n ? " " : "",
                              (int)(end - begin), out->dims + begin);
        end = begin > 0 ? begin - 1 : 0;
    }
    memcpy(out->dims, dims, sizeof(dims));
}

static void drop(char *text, char c)
{
    char *to = text;

    for (; *text; text++)
        if (*text != c)
            *to++ = *text;
    *to = '\0';
}

static bool find_easydel(struct names_array *out, const struct scenario_model *m, bool apart,
                         const char *ours, size_t rank)
{
    bool gpt2 = m->kind == SCENARIO_GPT2 || m->positions > 0,
         deepseek = m->kind == SCENARIO_DEEPSEEK;
    bool kernel = strstr(ours, "/kernel") != NULL, scale = strstr(ours, "/scale") != NULL;
    char *expert, *end;

    if (m->kind == SCENARIO_T5 || !names_module(out,
                                                gpt2       ? "gpt2"
                                                : deepseek ? "deepseek_v3"
                                                           : "mixtral",
                                                m, -1, ours, rank))
        return false;
    drop(out->dims, '+');
    expert = strchr(out->name, '#');
    if (kernel)
        turn(out, expert && (deepseek || !apart));
    for (char *c = out->name; *c; c++)
        *c = *c == '.' ? '/' : *c;
    if (expert && (deepseek || !apart)) {
        memmove(expert, expert + 2, strlen(expert + 2) + 1);
    } else if (expert) {
        *expert = '0';
        out->part = OF_ALL;
    }
    end = strrchr(out->name, '/') + 1;
    if (!strcmp(end, "weight"))
        snprintf(end, sizeof(out->name) - (size_t)(end - out->name), "%s",
                 gpt2 && scale     ? "scale"
                 : kernel || scale ? "kernel"
                                   : "embedding");
    return true;
}

bool names_find(struct names_array *out, enum names_system system, const struct scenario_model *m,
                const char *ours, size_t rank)
{
    struct look l = {t5x, sizeof(t5x) / sizeof(t5x[0]), {NULL}, ours};
    size_t n = 0;

    if (system != NAMES_T5X)
        return find_easydel(out, m, system == NAMES_EASYDEL_APART, ours, rank);
    if (m->kind == SCENARIO_T5)
        l.words[n++] = "t5";
    if (!scenario_is_gated(m->activation))
        l.words[n] = "plain";
    return look_up(out, &l, rank, false);
}
