/* The families of models (family_table.h), as the modules of transformers 5 have them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/family_table.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"

/* ---- words ---- */

#define WORDS(name, ...) static const struct family_word name[] = {__VA_ARGS__, {NULL, NULL}}
#define IS(text, ours) \
    {                  \
        text, ours     \
    }

WORDS(gated_acts, IS("silu", "model.activation: swiglu"), IS("swish", "model.activation: swiglu"),
      IS("gelu", "model.activation: geglu-exact"), IS("gelu_new", "model.activation: geglu"),
      IS("gelu_fast", "model.activation: geglu"),
      IS("gelu_pytorch_tanh", "model.activation: geglu"));
WORDS(plain_acts, IS("relu", "model.activation: relu"),
      IS("relu2", "model.activation: relu-squared"), IS("silu", "model.activation: silu"),
      IS("swish", "model.activation: silu"), IS("gelu", "model.activation: gelu-exact"),
      IS("gelu_new", "model.activation: gelu"), IS("gelu_fast", "model.activation: gelu"),
      IS("gelu_pytorch_tanh", "model.activation: gelu"));
/* T5's gelu with a gate is the approximation: its module says so. */
WORDS(t5_acts, IS("relu", "model.activation: relu"), IS("gelu", "model.activation: gelu-exact"),
      IS("gelu_new", "model.activation: gelu"), IS("gated-gelu", "model.activation: geglu"),
      IS("gated-gelu_new", "model.activation: geglu"),
      IS("gated-silu", "model.activation: swiglu"));
WORDS(clamped_acts, IS("silu", ""));
WORDS(all_biased, IS("true", "model.attention_bias: all"),
      IS("false", "model.attention_bias: none"));
WORDS(qkv_biased, IS("true", "model.attention_bias: qkv"),
      IS("false", "model.attention_bias: none"));
WORDS(o_biased, IS("true", "model.attention_bias: all"), IS("false", ""));
WORDS(biased, IS("true", "model.attention_bias: all, model.bias: true"),
      IS("false", "model.attention_bias: none, model.bias: false"));
WORDS(head_norms, IS("true", "model.qk_norm: true"), IS("false", "model.qk_norm: false"));
WORDS(own_norms, IS("true", "model.qk_norm: heads"), IS("false", "model.qk_norm: false"));
WORDS(bare_norms, IS("true", "model.qk_norm: bare"), IS("false", "model.qk_norm: false"));
WORDS(beside, IS("true", "model.residual: beside"), IS("false", "model.residual: serial"));
WORDS(beside_norms, IS("true", "model.residual: beside-norms"),
      IS("false", "model.residual: serial"));
WORDS(two_norms, IS("2", "model.residual: beside-norms"), IS("1", "model.residual: beside"));
WORDS(post_norms, IS("true", "model.norm_place: both"), IS("false", "model.norm_place: before"));
WORDS(one_key_head, IS("true", "model.kv_heads: 1"), IS("false", ""));
WORDS(state_norms, IS("true", "linear.norm: before"), IS("false", "linear.norm: behind"));
WORDS(normed_states, IS("true", ""), IS("false", "linear.norm: none"));
WORDS(grouped, IS("true", ""), IS("false", "moe.groups: 1, moe.kept: 1"));
WORDS(normed, IS("true", "model.residual: normed"), IS("false", "model.residual: serial"));
WORDS(pairs, IS("true", "model.rope: {interleaved: true}"),
      IS("false", "model.rope: {interleaved: false}"));
WORDS(scores, IS("softmax", "moe.score: softmax"), IS("sigmoid", "moe.score: sigmoid"));
WORDS(methods, IS("greedy", "moe.bias: false, moe.groups: 1, moe.kept: 1"),
      IS("group_limited_greedy", "moe.bias: false, moe.group_score: max"),
      IS("noaux_tc", "moe.bias: true"));
WORDS(no, IS("false", ""));
WORDS(yes, IS("true", ""));
WORDS(one, IS("1", ""));
WORDS(zero, IS("0", ""));
WORDS(silu, IS("silu", ""));
WORDS(factor_one, IS("1", ""), IS("1.0", ""));
WORDS(none, IS("null", ""));
WORDS(limit_of_gpt_oss, IS("7", ""), IS("7.0", ""));
WORDS(alpha_of_gpt_oss, IS("1.702", ""));

/* ---- keys ---- */

#define V(theirs, ours)               \
    {                                 \
        .key = theirs, .option = ours \
    }
#define NEEDED(theirs, ours)                                 \
    {                                                        \
        .key = theirs, .option = ours, .form = FAMILY_NEEDED \
    }
#define INVERSE(theirs, ours)                                 \
    {                                                         \
        .key = theirs, .option = ours, .form = FAMILY_INVERSE \
    }
#define ROOT(theirs, ours)                                 \
    {                                                      \
        .key = theirs, .option = ours, .form = FAMILY_ROOT \
    }
#define W(theirs, list)                                    \
    {                                                      \
        .key = theirs, .form = FAMILY_WORDS, .words = list \
    }
#define MUST(theirs, list, reason)                                        \
    {                                                                     \
        .key = theirs, .form = FAMILY_WORDS, .words = list, .why = reason \
    }
#define SAME(theirs, other)                                                             \
    {                                                                                   \
        .key = theirs, .form = FAMILY_SAME, .standard = other,                          \
        .why = "residual factors that differ between parts of a layer are not modelled" \
    }
#define KEYS(name, ...) static const struct family_key name[] = {__VA_ARGS__, {.key = NULL}}

#define SIZES                                                                              \
    NEEDED("hidden_size", "model.d_model"), NEEDED("num_hidden_layers", "model.layers"),   \
        NEEDED("num_attention_heads", "model.heads"), NEEDED("vocab_size", "model.vocab"), \
        V("num_key_value_heads", "model.kv_heads"), V("tie_word_embeddings", "model.tied")
#define FF NEEDED("intermediate_size", "model.d_ff")
#define HEAD_DIM V("head_dim", "model.head_dim")
#define RMS V("rms_norm_eps", "model.norm_eps")
#define GATED W("hidden_act", gated_acts)
#define PLAIN W("hidden_act", plain_acts)
#define ALL_BIAS W("attention_bias", all_biased)
#define QKV_BIAS W("attention_bias", qkv_biased)
#define MLP_BIAS V("mlp_bias", "model.bias")
#define CLIP MUST("clip_qkv", none, "clamped queries, keys and values are not modelled")

KEYS(llama_keys, SIZES, FF, HEAD_DIM, RMS, GATED);
KEYS(qwen3_keys, NEEDED("num_key_value_heads", "model.kv_heads"));
KEYS(all_bias_keys, ALL_BIAS);
KEYS(qkv_bias_keys, QKV_BIAS);
KEYS(biases_keys, ALL_BIAS, MLP_BIAS);
KEYS(seed_oss_keys, QKV_BIAS, W("attention_out_bias", o_biased), MLP_BIAS);
KEYS(helium_keys, QKV_BIAS, MLP_BIAS);
KEYS(ernie_keys, W("use_bias", biased));
KEYS(olmo_keys, ALL_BIAS, CLIP);
KEYS(gemma_keys, ALL_BIAS, W("hidden_activation", gated_acts),
     {.key = "hidden_size", .option = "model.embed_scale", .form = FAMILY_SQRT},
     ROOT("query_pre_attn_scalar", "model.attention_scale"),
     V("attn_logit_softcapping", "model.attention_cap"),
     V("final_logit_softcapping", "model.logit_cap"),
     MUST("use_bidirectional_attention", no, "bidirectional attention is not modelled"));
KEYS(cohere_keys, SIZES, FF, HEAD_DIM, V("layer_norm_eps", "model.norm_eps"), GATED, ALL_BIAS,
     V("logit_scale", "model.logit_scale"), W("use_qk_norm", own_norms));
KEYS(granite_keys, ALL_BIAS, MLP_BIAS, V("embedding_multiplier", "model.embed_scale"),
     V("attention_multiplier", "model.attention_scale"),
     V("residual_multiplier", "model.residual_scale"),
     INVERSE("logits_scaling", "model.logit_scale"));
KEYS(hyperclovax_keys, W("use_post_norm", post_norms));

/* Layer norms, and an mlp without a gate. */
#define LAYER_NORM_EPS V("layer_norm_eps", "model.norm_eps")
KEYS(plain_keys, SIZES, FF, HEAD_DIM, LAYER_NORM_EPS, PLAIN);
KEYS(arcee_keys, SIZES, FF, HEAD_DIM, RMS, PLAIN, ALL_BIAS, MLP_BIAS);
KEYS(neox_keys, W("use_parallel_residual", beside_norms), ALL_BIAS);
KEYS(phi_keys, W("qk_layernorm", head_norms));
KEYS(persimmon_keys, W("qk_layernorm", head_norms));
KEYS(stablelm_keys, SIZES, FF, LAYER_NORM_EPS, GATED, W("use_qkv_bias", qkv_biased),
     W("use_parallel_residual", beside),
     MUST("qk_layernorm", no,
          "QK norms without a bias, beside layer norms with a bias, are not modelled"));
KEYS(starcoder2_keys, V("norm_epsilon", "model.norm_eps"), W("use_bias", biased));
KEYS(nemotron_keys, V("norm_eps", "model.norm_eps"), ALL_BIAS, MLP_BIAS);
KEYS(falcon_keys, SIZES, V("ffn_hidden_size", "model.d_ff"),
     V("layer_norm_epsilon", "model.norm_eps"), W("activation", plain_acts), W("bias", biased),
     W("parallel_attn", beside),
     {.key = "multi_query",
      .form = FAMILY_WORDS,
      .words = one_key_head,
      .standard = "true",
      .when = "!new_decoder_architecture"},
     {.key = "new_decoder_architecture",
      .form = FAMILY_WORDS,
      .words = beside_norms,
      .when = "new_decoder_architecture"},
     {.key = "num_kv_heads", .option = "model.kv_heads", .when = "new_decoder_architecture"},
     {.key = "num_ln_in_parallel_attn",
      .form = FAMILY_WORDS,
      .words = two_norms,
      .when = "new_decoder_architecture"},
     MUST("alibi", no, "ALiBi positions are not modelled"));

#define GPT2_SIZES                                                                          \
    V("n_embd", "model.d_model"), V("n_layer", "model.layers"), V("n_head", "model.heads"), \
        V("n_inner", "model.d_ff"), V("vocab_size", "model.vocab"),                         \
        V("tie_word_embeddings", "model.tied"), V("layer_norm_epsilon", "model.norm_eps"),  \
        W("activation_function", plain_acts)
KEYS(gpt2_keys, GPT2_SIZES, V("n_positions", "model.positions"),
     MUST("scale_attn_weights", yes, "unscaled attention scores are not modelled"),
     MUST("scale_attn_by_inverse_layer_idx", no,
          "per-layer scales of attention scores are not modelled"),
     MUST("add_cross_attention", no, "cross-attention is not modelled"));
KEYS(gptj_keys, GPT2_SIZES);
KEYS(bigcode_keys,
     {.key = "multi_query", .form = FAMILY_WORDS, .words = one_key_head, .standard = "true"});
KEYS(t5_keys, V("d_model", "model.d_model"), V("num_layers", "model.layers"),
     V("num_decoder_layers", "model.decoder_layers"), V("num_heads", "model.heads"),
     V("d_kv", "model.head_dim"), V("d_ff", "model.d_ff"), V("vocab_size", "model.vocab"),
     V("relative_attention_num_buckets", "model.buckets"),
     V("relative_attention_max_distance", "model.distance"),
     V("layer_norm_epsilon", "model.norm_eps"), V("tie_word_embeddings", "model.tied"),
     W("feed_forward_proj", t5_acts));

/* Experts. */
#define TOP_K V("num_experts_per_tok", "moe.top_k")
#define EXPERT_FF V("moe_intermediate_size", "moe.d_ff")
#define RENORMALIZE V("norm_topk_prob", "moe.renormalize")
#define DENSE V("first_k_dense_replace", "moe.first_dense")
#define ROUTED                                                                                   \
    NEEDED("n_routed_experts", "moe.experts"), NEEDED("num_experts_per_tok", "moe.top_k"),       \
        NEEDED("moe_intermediate_size", "moe.d_ff"), V("n_shared_experts", "moe.shared"), DENSE, \
        V("n_group", "moe.groups"), V("topk_group", "moe.kept"), RENORMALIZE,                    \
        V("routed_scaling_factor", "moe.scale"),                                                 \
        MUST("moe_layer_freq", one, "dense layers between MoE layers are not modelled")
#define MLP_TYPES                                                                   \
    {                                                                               \
        .key = "mlp_layer_types", .option = "moe.first_dense", .form = FAMILY_DENSE \
    }
#define MTP V("num_nextn_predict_layers", "model.mtp")
#define MLA                                                                                   \
    NEEDED("qk_nope_head_dim", "model.head_dim"), NEEDED("qk_rope_head_dim", "mla.rope_dim"), \
        NEEDED("v_head_dim", "mla.value_dim"), NEEDED("kv_lora_rank", "mla.kv_rank"),         \
        V("q_lora_rank", "mla.q_rank"), W("rope_interleave", pairs),                          \
        MUST("attention_bias", no, "MLA with biases is not modelled")

KEYS(mixtral_keys, V("num_local_experts", "moe.experts"), TOP_K);
KEYS(qwen2_moe_keys, V("num_experts", "moe.experts"), TOP_K, EXPERT_FF, RENORMALIZE,
     V("decoder_sparse_step", "moe.every"), V("shared_expert_intermediate_size", "moe.shared_d_ff"),
     {.key = "mlp_only_layers", .option = "moe.first_dense", .form = FAMILY_PREFIX},
     W("qkv_bias", qkv_biased));
KEYS(qwen3_moe_keys, V("num_experts", "moe.experts"), V("num_local_experts", "moe.experts"), TOP_K,
     EXPERT_FF, RENORMALIZE, V("decoder_sparse_step", "moe.every"),
     {.key = "mlp_only_layers", .option = "moe.first_dense", .form = FAMILY_PREFIX}, ALL_BIAS);
#define LINEAR                                             \
    V("linear_num_key_heads", "linear.key_heads"),         \
        V("linear_num_value_heads", "linear.value_heads"), \
        V("linear_key_head_dim", "linear.key_dim"),        \
        V("linear_value_head_dim", "linear.value_dim"), V("linear_conv_kernel_dim", "linear.taps")
KEYS(qwen3_next_keys, LINEAR, V("shared_expert_intermediate_size", "moe.shared_d_ff"));
KEYS(qwen3_5_keys, LINEAR);
KEYS(qwen3_5_moe_keys, SIZES, HEAD_DIM, RMS, GATED, V("intermediate_size", "model.d_ff"),
     V("num_experts", "moe.experts"), TOP_K, EXPERT_FF,
     V("shared_expert_intermediate_size", "moe.shared_d_ff"));
KEYS(lfm2_keys, SIZES, FF, HEAD_DIM, V("norm_eps", "model.norm_eps"),
     V("conv_L_cache", "linear.taps"),
     MUST("conv_bias", no, "convolutions with biases are not modelled"),
     MUST("block_ffn_dim_multiplier", factor_one, "MLPs of other widths are not modelled"));
/* By the names of Moonshot's own configs, and by those of transformers. */
KEYS(kimi_linear_keys, MLA, V("num_local_experts", "moe.experts"),
     NEEDED("num_experts", "moe.experts"), TOP_K, V("num_experts_per_token", "moe.top_k"),
     NEEDED("moe_intermediate_size", "moe.d_ff"), V("n_shared_experts", "moe.shared"),
     V("num_shared_experts", "moe.shared"), DENSE, MLP_TYPES, V("n_group", "moe.groups"),
     V("num_expert_group", "moe.groups"), V("topk_group", "moe.kept"),
     W("use_grouped_topk", grouped), RENORMALIZE, V("moe_renormalize", "moe.renormalize"),
     V("routed_scaling_factor", "moe.scale"), W("moe_router_activation_func", scores),
     MUST("moe_layer_freq", one, "dense layers between MoE layers are not modelled"),
     MUST("num_nextn_predict_layers", zero,
          "modules for further tokens of hybrids are not modelled"));
KEYS(kda_keys, V("linear_num_heads", "linear.value_heads"),
     NEEDED("linear_attn_config.num_heads", "linear.value_heads"),
     V("linear_num_heads", "linear.key_heads"),
     V("linear_attn_config.num_heads", "linear.key_heads"),
     V("linear_head_dim", "linear.value_dim"),
     NEEDED("linear_attn_config.head_dim", "linear.value_dim"),
     V("linear_head_dim", "linear.key_dim"), V("linear_attn_config.head_dim", "linear.key_dim"),
     V("linear_conv_kernel_dim", "linear.taps"),
     NEEDED("linear_attn_config.short_conv_kernel_size", "linear.taps"),
     MUST("hidden_act", silu, "another activation of KDA is not modelled"),
     MUST("linear_attn_config.gate_lower_bound", none,
          "decays of KDA with a bound are not modelled"),
     MUST("linear_attn_config.use_full_rank_gate", no,
          "gates of KDA by one matrix are not modelled"),
     MUST("mla_use_nope", yes, "rotary positions beside KDA are not modelled"),
     MUST("mla_use_output_gate", no, "MLA with gates is not modelled"),
     MUST("attn_res_block_size", zero, "attention over the outputs of blocks is not modelled"));
#define MAMBA                                                                          \
    V("mamba_n_heads", "linear.value_heads"), V("mamba_n_groups", "linear.key_heads"), \
        V("mamba_d_state", "linear.key_dim"), V("mamba_d_conv", "linear.taps"),        \
        V("mamba_conv_bias", "linear.taps_bias"),                                      \
        MUST("hidden_act", silu, "another activation of Mamba-2 is not modelled"),     \
        MUST("mamba_proj_bias", no, "projections of Mamba-2 with biases are not modelled")
KEYS(bamba_keys, MAMBA, ALL_BIAS, MLP_BIAS);
KEYS(granitemoehybrid_keys, MAMBA, V("num_local_experts", "moe.experts"), TOP_K,
     V("shared_intermediate_size", "moe.shared_d_ff"));
KEYS(falcon_h1_keys, MAMBA, MLP_BIAS, V("embedding_multiplier", "model.embed_scale"),
     V("lm_head_multiplier", "model.logit_scale"), V("ssm_out_multiplier", "linear.out_scale"),
     {.key = "mamba_norm_before_gate",
      .form = FAMILY_WORDS,
      .words = state_norms,
      .standard = "true"},
     {.key = "mamba_rms_norm", .form = FAMILY_WORDS, .words = normed_states, .standard = "false"},
     MUST("attention_bias", no, "biases of attention beside factors are not modelled"),
     MUST("projectors_bias", no, "projections of Mamba-2 with biases are not modelled"),
     MUST("mamba_use_mlp", yes, "layers without an MLP are not modelled here"));
KEYS(nemotron_h_keys, NEEDED("hidden_size", "model.d_model"),
     NEEDED("num_attention_heads", "model.heads"), NEEDED("vocab_size", "model.vocab"),
     V("num_key_value_heads", "model.kv_heads"), V("tie_word_embeddings", "model.tied"), FF,
     HEAD_DIM, V("layer_norm_epsilon", "model.norm_eps"), V("num_hidden_layers", "model.layers"),
     W("mlp_hidden_act", plain_acts), ALL_BIAS, MLP_BIAS);
KEYS(nemotron_h_state_keys, V("mamba_num_heads", "linear.value_heads"),
     V("n_groups", "linear.key_heads"), V("ssm_state_size", "linear.key_dim"),
     V("mamba_head_dim", "linear.value_dim"), V("conv_kernel", "linear.taps"),
     V("use_conv_bias", "linear.taps_bias"), V("mamba_n_groups", "linear.key_heads"),
     V("mamba_d_conv", "linear.taps"), V("mamba_conv_bias", "linear.taps_bias"),
     MUST("mamba_hidden_act", silu, "another activation of Mamba-2 is not modelled"),
     MUST("use_bias", no, "projections of Mamba-2 with biases are not modelled"),
     MUST("mamba_proj_bias", no, "projections of Mamba-2 with biases are not modelled"));
/* Every layer is a state: heads are its own. */
KEYS(mamba2_keys, NEEDED("hidden_size", "model.d_model"),
     NEEDED("num_hidden_layers", "model.layers"), NEEDED("vocab_size", "model.vocab"),
     V("tie_word_embeddings", "model.tied"), V("layer_norm_epsilon", "model.norm_eps"),
     V("num_heads", "model.heads"), V("num_heads", "linear.value_heads"),
     V("head_dim", "model.head_dim"), V("head_dim", "linear.value_dim"),
     V("n_groups", "linear.key_heads"), V("state_size", "linear.key_dim"),
     V("conv_kernel", "linear.taps"), V("use_conv_bias", "linear.taps_bias"),
     MUST("hidden_act", silu, "another activation of Mamba-2 is not modelled"),
     MUST("use_bias", no, "projections of Mamba-2 with biases are not modelled"));
KEYS(nemotron_h_moe_keys, V("n_routed_experts", "moe.experts"), TOP_K, EXPERT_FF,
     V("n_shared_experts", "moe.shared"),
     V("moe_shared_expert_intermediate_size", "moe.shared_d_ff"), V("n_group", "moe.groups"),
     V("topk_group", "moe.kept"), RENORMALIZE, V("routed_scaling_factor", "moe.scale"),
     MUST("moe_latent_size", none, "experts on a narrower latent vector are not modelled"),
     MUST("num_nextn_predict_layers", zero,
          "modules for further tokens of hybrids are not modelled"));
KEYS(olmoe_keys, V("num_experts", "moe.experts"), TOP_K, RENORMALIZE, ALL_BIAS, CLIP);
KEYS(gpt_oss_keys, SIZES, FF, HEAD_DIM, RMS, W("hidden_act", clamped_acts), ALL_BIAS,
     V("num_local_experts", "moe.experts"), TOP_K, V("experts_per_token", "moe.top_k"),
     MUST("swiglu_limit", limit_of_gpt_oss, "another limit is not modelled"),
     MUST("swiglu_alpha", alpha_of_gpt_oss, "another slope is not modelled"));
KEYS(granitemoe_keys, V("num_local_experts", "moe.experts"), TOP_K,
     V("shared_intermediate_size", "moe.shared_d_ff"));
KEYS(llama4_keys, SIZES, NEEDED("intermediate_size", "moe.d_ff"),
     V("intermediate_size_mlp", "model.d_ff"), HEAD_DIM, RMS, GATED, ALL_BIAS,
     V("num_local_experts", "moe.experts"), TOP_K, V("interleave_moe_layer_step", "moe.every"),
     W("use_qk_norm", bare_norms));
KEYS(deepseek_keys, MLA, ROUTED, W("scoring_func", scores), MTP);
KEYS(deepseek_v2_keys,
     {.key = "topk_method", .form = FAMILY_WORDS, .words = methods, .standard = "greedy"});
KEYS(deepseek_v3_keys, W("topk_method", methods));
KEYS(glm4_moe_keys, ROUTED, QKV_BIAS, W("use_qk_norm", head_norms), MTP,
     V("num_mtp_layers", "model.mtp"));
KEYS(glm4_moe_lite_keys, MLA, ROUTED, MTP, MLP_TYPES);
KEYS(exaone_moe_keys, V("num_experts", "moe.experts"), TOP_K, EXPERT_FF, RENORMALIZE, DENSE,
     MLP_TYPES, V("num_shared_experts", "moe.shared"), V("n_group", "moe.groups"),
     V("topk_group", "moe.kept"), V("routed_scaling_factor", "moe.scale"), MTP);
KEYS(hy_v3_keys, ALL_BIAS, V("num_experts", "moe.experts"), TOP_K, EXPERT_FF, MLP_TYPES, DENSE,
     V("num_shared_experts", "moe.shared"), V("router_scaling_factor", "moe.scale"), MTP);
KEYS(hunyuan_moe_keys, V("num_experts", "moe.experts"), V("moe_topk", "moe.top_k"), TOP_K,
     EXPERT_FF, V("num_shared_expert", "moe.shared"));
KEYS(internlm3_keys, W("qkv_bias", all_biased), V("bias", "model.bias"));
KEYS(dots1_keys, ROUTED, ALL_BIAS);
KEYS(solar_open_keys, ROUTED, QKV_BIAS);
KEYS(youtu_keys, MLA);
KEYS(ernie_moe_keys, V("moe_num_experts", "moe.experts"), V("moe_k", "moe.top_k"), EXPERT_FF,
     V("moe_num_shared_experts", "moe.shared"), V("moe_layer_start_index", "moe.first_dense"),
     V("moe_layer_interval", "moe.every"));
#define LIGHTNING_ACT \
    MUST("hidden_act", silu, "another activation of lightning attention is not modelled")
KEYS(minimax_keys, V("num_local_experts", "moe.experts"), TOP_K);
/* As the module of transformers calls the factors, and as MiniMax's own does. */
KEYS(minimax_text_keys, V("mlp_alpha_factor", "model.skip_scale"),
     V("mlp_beta_factor", "model.residual_scale"),
     SAME("full_attn_alpha_factor", "mlp_alpha_factor"),
     SAME("full_attn_beta_factor", "mlp_beta_factor"),
     SAME("linear_attn_alpha_factor", "mlp_alpha_factor"),
     SAME("linear_attn_beta_factor", "mlp_beta_factor"), LIGHTNING_ACT,
     MUST("sliding_window", none, "windows beside lightning attention are not modelled"));
KEYS(minimax_own_keys, V("layernorm_mlp_alpha", "model.skip_scale"),
     V("layernorm_mlp_beta", "model.residual_scale"),
     SAME("layernorm_full_attention_alpha", "layernorm_mlp_alpha"),
     SAME("layernorm_full_attention_beta", "layernorm_mlp_beta"),
     SAME("layernorm_linear_attention_alpha", "layernorm_mlp_alpha"),
     SAME("layernorm_linear_attention_beta", "layernorm_mlp_beta"), LIGHTNING_ACT,
     {.key = "postnorm", .form = FAMILY_WORDS, .words = normed, .standard = "false"},
     MUST("shared_intermediate_size", zero, "shared experts are not modelled here"));

/* ---- families ---- */

#define RMS_NORM ", model.norm: rms, model.norm_eps: 1e-6"
#define SWIGLU ", model.activation: swiglu"
#define LLAMA "model.kind: llama3" RMS_NORM SWIGLU
#define DECODER "model.kind: decoder" RMS_NORM SWIGLU
/* MiniMax-01: the norm of lightning attention has its own epsilon. */
#define MINIMAX                                                                   \
    DECODER ", model.norm_eps: 1e-5, model.kv_heads: 8, model.residual: normed, " \
            "moe.experts: 8, moe.top_k: 2, moe.renormalize: true"
#define LAYER_NORM "model.kind: decoder, model.norm: layer, model.norm_eps: 1e-5"
#define GPT2                                                                              \
    "model.kind: gpt2, model.norm: layer, model.norm_eps: 1e-5, model.bias: true, "       \
    "model.attention_bias: all, model.tied: true, model.d_model: 768, model.layers: 12, " \
    "model.heads: 12, model.vocab: 50257, model.positions: 1024, model.activation: gelu"
#define GPTJ                                                                                      \
    LAYER_NORM ", model.activation: gelu, model.bias: true, model.head_bias: true, "              \
               "model.residual: beside, model.d_model: 4096, model.layers: 28, model.heads: 16, " \
               "model.vocab: 50400" PAIRS
#define PAIRS ", model.rope: {interleaved: true}"
#define GEMMA                                                                                 \
    "model.kind: decoder, model.norm: rms, model.norm_eps: 1e-6, model.norm_one_plus: true, " \
    "model.activation: geglu, model.tied: true, model.head_dim: 256, "
#define GEMMA_7B                                                                       \
    "model.d_model: 3072, model.embed_scale: 55.4256258422040733, model.d_ff: 24576, " \
    "model.layers: 28, model.heads: 16, model.kv_heads: 16, model.vocab: 256000"
#define GEMMA_2B                                                                       \
    "model.d_model: 2304, model.embed_scale: 48, model.d_ff: 9216, model.layers: 26, " \
    "model.heads: 8, model.kv_heads: 4, model.attention_scale: 0.0625, "
#define CAPS "model.attention_cap: 50, model.logit_cap: 30, model.vocab: 256000"
/* The scores of experts as in DeepSeek-V3. */
#define SIGMOID ", moe.score: sigmoid, moe.bias: true, moe.renormalize: true"

/* Qwen's hybrids of gated delta rules and gated attention. */
#define QWEN_DELTA                                                                        \
    ", model.qk_norm: true, model.norm_one_plus: true, model.attention_gate: true, "      \
    "model.head_dim: 256, linear.key_heads: 16, linear.value_heads: 32, linear.key_dim: " \
    "128, linear.value_dim: 128, linear.taps: 4"
/* Hybrids of Mamba-2 and attention. */
#define MAMBA_2                                                                             \
    ", linear.key_heads: 1, linear.value_heads: 128, linear.key_dim: 256, linear.taps: 4, " \
    "linear.taps_bias: true"

const struct family_row family_table[] = {
    {.types = {"llama"}, .ours = LLAMA, .keys = {llama_keys, biases_keys}, .rope_theta = 10000},
    {.types = {"mistral"},
     .ours = LLAMA ", model.kv_heads: 8",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW,
     .pattern = "w",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"ministral"},
     .ours = DECODER ", model.kv_heads: 8",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "w",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"ministral3"},
     .ours = DECODER ", model.kv_heads: 8, model.head_dim: 128, model.norm_eps: 1e-5",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW,
     .pattern = "w",
     .rope_theta = 1000000},
    {.types = {"qwen2"},
     .ours = LLAMA ", model.attention_bias: qkv",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW | FAMILY_SWITCHED | FAMILY_TYPES,
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"qwen3"},
     .ours = LLAMA ", model.qk_norm: true, model.head_dim: 128",
     .keys = {llama_keys, qwen3_keys, all_bias_keys},
     .layers = FAMILY_WINDOW | FAMILY_SWITCHED | FAMILY_TYPES,
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"mixtral"},
     .ours = "model.kind: mixtral, model.norm: rms, model.norm_eps: 1e-5, moe.experts: 8, "
             "moe.top_k: 2, moe.renormalize: true" SWIGLU,
     .keys = {llama_keys, mixtral_keys},
     .layers = FAMILY_WINDOW,
     .pattern = "w",
     .rope_theta = 1000000},
    {.types = {"gemma"},
     .ours = GEMMA GEMMA_7B,
     .keys = {llama_keys, gemma_keys},
     .rope_theta = 10000},
    {.types = {"gemma2"},
     .ours = GEMMA GEMMA_2B CAPS ", model.norm_place: both",
     .keys = {llama_keys, gemma_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "wf",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"vaultgemma"},
     .ours = GEMMA GEMMA_2B CAPS,
     .keys = {llama_keys, gemma_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "wf",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"gemma3_text"},
     .ours = GEMMA GEMMA_2B "model.vocab: 262208, model.norm_place: both, model.qk_norm: true",
     .keys = {llama_keys, gemma_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES | FAMILY_PATTERN,
     .pattern = "wwwwwf",
     .window = 4096,
     .rope_theta = 1000000,
     .local_theta = 10000},
    {.types = {"gpt2"}, .ours = GPT2, .keys = {gpt2_keys}},
    {.types = {"t5"},
     .ours = "model.kind: t5, model.norm_eps: 1e-6, model.activation: relu, model.tied: true, "
             "model.d_model: 512, model.layers: 6, model.heads: 8, model.head_dim: 64, "
             "model.d_ff: 2048, model.vocab: 32128, model.buckets: 32, model.distance: 128",
     .keys = {t5_keys}},
    {.types = {"deepseek_v2"},
     .ours = "model.kind: deepseek, moe.renormalize: false" RMS_NORM SWIGLU PAIRS,
     .keys = {llama_keys, deepseek_keys, deepseek_v2_keys},
     .rope_theta = 10000},
    {.types = {"deepseek_v3", "kimi_k2", "sarvam_mla"},
     .ours = "model.kind: deepseek, moe.scale: 2.5" RMS_NORM SWIGLU PAIRS SIGMOID,
     .keys = {llama_keys, deepseek_keys, deepseek_v3_keys},
     .rope_theta = 10000},
    {.types = {"kimi_linear"},
     .ours = DECODER ", model.norm_eps: 1e-5, moe.top_k: 8, moe.shared: 1, moe.first_dense: 1, "
                     "moe.scale: 2.446" SIGMOID,
     .keys = {llama_keys, kimi_linear_keys, kda_keys},
     .layers = FAMILY_TYPES | FAMILY_KDA},
    {.types = {"glm4_moe_lite"},
     .ours = DECODER ", model.norm_eps: 1e-5, moe.shared: 1, moe.first_dense: 1, moe.scale: "
                     "1.8" PAIRS SIGMOID,
     .keys = {llama_keys, glm4_moe_lite_keys},
     .rope_theta = 10000},
    {.types = {"youtu"},
     .ours = DECODER ", model.tied: true" PAIRS,
     .keys = {llama_keys, youtu_keys},
     .rope_theta = 10000},
    {.types = {"qwen2_moe"},
     .ours = DECODER ", model.attention_bias: qkv, moe.experts: 60, moe.top_k: 4, moe.d_ff: 1408, "
                     "moe.shared: 1, moe.shared_d_ff: 5632, moe.shared_gate: true, "
                     "moe.renormalize: false",
     .keys = {llama_keys, qwen2_moe_keys},
     .layers = FAMILY_WINDOW | FAMILY_SWITCHED | FAMILY_TYPES,
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"qwen3_moe"},
     .ours = DECODER ", model.qk_norm: true, model.kv_heads: 4, moe.experts: 128, moe.top_k: 8, "
                     "moe.d_ff: 768, moe.renormalize: false",
     .keys = {llama_keys, qwen3_moe_keys},
     .layers = FAMILY_WINDOW | FAMILY_SWITCHED,
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"qwen3_next"},
     .ours = DECODER QWEN_DELTA ", model.kv_heads: 2, moe.experts: 512, moe.top_k: 10, moe.d_ff: "
                                "512, moe.shared: 1, moe.shared_d_ff: 512, moe.shared_gate: true, "
                                "moe.renormalize: true",
     .keys = {llama_keys, qwen3_moe_keys, qwen3_next_keys},
     .layers = FAMILY_TYPES | FAMILY_DELTA,
     .rope_theta = 10000,
     .rope_part = 0.25},
    {.types = {"qwen3_5_text"},
     .ours = DECODER QWEN_DELTA ", model.kv_heads: 4",
     .keys = {llama_keys, all_bias_keys, qwen3_5_keys},
     .layers = FAMILY_TYPES | FAMILY_DELTA,
     .rope_theta = 10000,
     .rope_part = 0.25},
    {.types = {"qwen3_5_moe_text"},
     .ours = DECODER QWEN_DELTA ", model.kv_heads: 2, moe.experts: 256, moe.top_k: 8, moe.d_ff: "
                                "512, moe.shared: 1, moe.shared_d_ff: 512, moe.shared_gate: true, "
                                "moe.renormalize: true",
     .keys = {qwen3_5_moe_keys, all_bias_keys, qwen3_5_keys},
     .layers = FAMILY_TYPES | FAMILY_DELTA,
     .rope_theta = 10000,
     .rope_part = 0.25},
    {.types = {"lfm2"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.qk_norm: true, model.kv_heads: 8, "
                     "model.tied: true, linear.key_dim: 128, linear.value_dim: 128, linear.taps: 3",
     .keys = {lfm2_keys},
     .layers = FAMILY_TYPES | FAMILY_CONV,
     .rope_theta = 1000000},
    {.types = {"bamba"},
     .ours = DECODER MAMBA_2 ", model.norm_eps: 1e-5, model.kv_heads: 8",
     .keys = {llama_keys, bamba_keys},
     .layers = FAMILY_TYPES | FAMILY_MAMBA,
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"granitemoehybrid"},
     .ours = DECODER MAMBA_2 ", model.attention_scale: 1, moe.experts: 8, moe.top_k: 2, "
                             "moe.after: true, moe.shared_d_ff: 1024",
     .keys = {llama_keys, granite_keys, granitemoehybrid_keys},
     .layers = FAMILY_TYPES | FAMILY_MAMBA | FAMILY_POSITIONED | FAMILY_SHARED_MLP,
     .rope_theta = 10000},
    {.types = {"falcon_h1"},
     .ours = DECODER MAMBA_2 ", model.norm_eps: 1e-5, model.kv_heads: 8",
     .keys = {llama_keys, falcon_h1_keys},
     .layers = FAMILY_MAMBA | FAMILY_BESIDE | FAMILY_FACTORS,
     .rope_theta = 10000},
    {.types = {"nemotron_h"},
     .ours = "model.kind: decoder, model.norm: rms, model.norm_eps: 1e-5, model.activation: "
             "relu-squared, model.residual: alone, model.kv_heads: 8, model.head_dim: 128, "
             "model.d_ff: 21504" MAMBA_2
             ", linear.key_heads: 8, linear.key_dim: 128, linear.value_dim: 64, moe.experts: 8, "
             "moe.top_k: 2, moe.d_ff: 7688, moe.shared: 1, moe.shared_d_ff: 7688, "
             "moe.group_score: top2" SIGMOID,
     .keys = {nemotron_h_keys, nemotron_h_state_keys, nemotron_h_moe_keys},
     .layers = FAMILY_MAMBA | FAMILY_ALONE},
    {.types = {"mamba2"},
     .ours = "model.kind: decoder, model.norm: rms, model.norm_eps: 1e-5, model.residual: alone, "
             "model.heads: 128, model.head_dim: 64" MAMBA_2
             ", linear.key_heads: 8, linear.key_dim: 128, linear.value_dim: 64",
     .keys = {mamba2_keys},
     .layers = FAMILY_MAMBA},
    {.types = {"mellum"},
     .ours = DECODER ", model.qk_norm: true, model.kv_heads: 4, model.head_dim: 128, "
                     "moe.experts: 64, moe.top_k: 8, moe.d_ff: 896, moe.renormalize: true",
     .keys = {llama_keys, qwen3_moe_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "f",
     .window = 1024,
     .rope_theta = 500000,
     .local_theta = 10000},
    {.types = {"phi"},
     .ours = LAYER_NORM ", model.residual: beside, model.activation: gelu, model.bias: true, "
                        "model.attention_bias: all, model.head_bias: true",
     .keys = {plain_keys, phi_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"phi3"},
     .ours = DECODER ", model.norm_eps: 1e-5",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW,
     .pattern = "w",
     .rope_theta = 10000},
    {.types = {"olmo"},
     .ours = LAYER_NORM SWIGLU ", model.norm_weights: bare",
     .keys = {llama_keys, olmo_keys},
     .rope_theta = 10000},
    {.types = {"olmo2"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.norm_place: after, model.qk_norm: whole",
     .keys = {llama_keys, all_bias_keys},
     .rope_theta = 10000},
    {.types = {"olmo3"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.norm_place: after, model.qk_norm: whole",
     .keys = {llama_keys, all_bias_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "wwwf",
     .window = 4096,
     .rope_theta = 500000,
     .local_theta = 500000},
    {.types = {"olmoe"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.qk_norm: whole, moe.experts: 64, "
                     "moe.top_k: 8, moe.renormalize: false",
     .keys = {llama_keys, olmoe_keys},
     .rope_theta = 10000},
    {.types = {"flex_olmo"},
     .ours = DECODER ", model.norm_place: after, model.qk_norm: whole, moe.experts: 7, "
                     "moe.top_k: 5, moe.renormalize: false",
     .keys = {llama_keys, olmoe_keys},
     .rope_theta = 500000},
    {.types = {"gpt_neox"},
     .ours = LAYER_NORM ", model.activation: gelu-exact, model.bias: true, "
                        "model.attention_bias: all, model.residual: beside-norms",
     .keys = {plain_keys, neox_keys},
     .rope_theta = 10000,
     .rope_part = 0.25},
    {.types = {"gptj", "codegen"}, .ours = GPTJ, .keys = {gptj_keys}, .rope_theta = 10000},
    {.types = {"gpt_bigcode"}, .ours = GPT2, .keys = {gpt2_keys, bigcode_keys}},
    {.types = {"gpt_oss"},
     .ours = "model.kind: decoder, model.norm: rms, model.norm_eps: 1e-5, "
             "model.activation: swiglu-clamped, model.attention_bias: all, model.sinks: true, "
             "model.d_model: 2880, model.d_ff: 2880, model.layers: 36, model.heads: 64, "
             "model.kv_heads: 8, model.head_dim: 64, model.vocab: 201088, moe.experts: 128, "
             "moe.top_k: 4, moe.after: true, moe.router_bias: true, moe.expert_bias: true",
     .keys = {gpt_oss_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "wf",
     .window = 128,
     .rope_theta = 150000},
    {.types = {"glm"},
     .ours = DECODER ", model.head_dim: 128, model.kv_heads: 2, "
                     "model.attention_bias: qkv, model.norm_eps: 1.5625e-07" PAIRS,
     .keys = {llama_keys, qkv_bias_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"glm4"},
     .ours = DECODER ", model.head_dim: 128, model.kv_heads: 2, "
                     "model.attention_bias: qkv, model.norm_eps: 1.5625e-07, "
                     "model.norm_place: both" PAIRS,
     .keys = {llama_keys, qkv_bias_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"glm4_moe", "sarvam_moe"},
     .ours = DECODER ", model.norm_eps: 1e-5, moe.shared: 1, moe.first_dense: 1" SIGMOID,
     .keys = {llama_keys, glm4_moe_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"dots1"},
     .ours = DECODER ", model.qk_norm: true" SIGMOID ", moe.renormalize: false",
     .keys = {llama_keys, dots1_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "f",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"solar_open"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.d_ff: 10240, moe.shared: 1" SIGMOID,
     .keys = {llama_keys, solar_open_keys},
     .rope_theta = 1000000},
    {.types = {"llama4_text"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.d_model: 5120, model.d_ff: 16384, "
                     "model.layers: 48, model.heads: 40, model.kv_heads: 8, model.head_dim: 128, "
                     "model.vocab: 202048, model.qk_norm: bare, moe.experts: 16, moe.top_k: 1, "
                     "moe.d_ff: 8192, moe.shared: 1, moe.score: sigmoid, moe.renormalize: false, "
                     "moe.gates_input: true" PAIRS,
     .keys = {llama4_keys},
     .layers = FAMILY_TYPES | FAMILY_CHUNK | FAMILY_NOPE,
     .pattern = "cccf",
     .chunk = 8192,
     .rope_theta = 500000},
    {.types = {"granite"},
     .ours = DECODER ", model.attention_scale: 1",
     .keys = {llama_keys, granite_keys},
     .rope_theta = 10000},
    {.types = {"granitemoe", "granitemoeshared"},
     .ours = DECODER ", model.attention_scale: 1, moe.experts: 8, moe.top_k: 2, moe.after: true",
     .keys = {llama_keys, granite_keys, granitemoe_keys},
     .rope_theta = 10000},
    {.types = {"hyperclovax"},
     .ours = DECODER ", model.norm_place: both",
     .keys = {llama_keys, granite_keys, hyperclovax_keys},
     .rope_theta = 10000},
    {.types = {"starcoder2"},
     .ours = LAYER_NORM ", model.activation: gelu, model.bias: true, model.attention_bias: all, "
                        "model.tied: true",
     .keys = {plain_keys, starcoder2_keys},
     .layers = FAMILY_WINDOW,
     .pattern = "w",
     .rope_theta = 10000},
    {.types = {"falcon"},
     .ours = LAYER_NORM ", model.activation: gelu-exact, model.residual: beside, "
                        "model.tied: true",
     .keys = {falcon_keys},
     .rope_theta = 10000},
    {.types = {"nemotron"},
     .ours = LAYER_NORM ", model.norm_one_plus: true, model.activation: relu-squared",
     .keys = {plain_keys, nemotron_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"persimmon"},
     .ours = LAYER_NORM ", model.activation: relu-squared, model.bias: true, "
                        "model.attention_bias: all, model.qk_norm: true",
     .keys = {plain_keys, persimmon_keys},
     .rope_theta = 10000,
     .rope_part = 0.5},
    {.types = {"jais2"},
     .ours = LAYER_NORM ", model.activation: relu-squared, model.bias: true, "
                        "model.attention_bias: all",
     .keys = {plain_keys, biases_keys},
     .rope_theta = 10000},
    {.types = {"stablelm"},
     .ours = LAYER_NORM SWIGLU,
     .keys = {stablelm_keys},
     .rope_theta = 10000,
     .rope_part = 0.25},
    {.types = {"cohere"},
     .ours = LAYER_NORM SWIGLU ", model.norm_weights: scale, model.residual: beside, "
                               "model.logit_scale: 0.0625, model.tied: true" PAIRS,
     .keys = {cohere_keys},
     .rope_theta = 500000},
    {.types = {"cohere2"},
     .ours = LAYER_NORM SWIGLU ", model.norm_weights: scale, model.residual: beside, "
                               "model.logit_scale: 0.0625, model.tied: true" PAIRS,
     .keys = {cohere_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES | FAMILY_PATTERN | FAMILY_FULL_NOPE,
     .pattern = "wwwf",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"exaone4"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.norm_place: after, model.qk_norm: true",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES | FAMILY_PATTERN | FAMILY_FULL_NOPE,
     .pattern = "wwwf",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"exaone_moe"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.qk_norm: true, moe.experts: 64, moe.top_k: 8, "
                     "moe.d_ff: 1024, moe.shared: 1, moe.first_dense: 1, moe.scale: 2.5" SIGMOID,
     .keys = {llama_keys, exaone_moe_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES | FAMILY_PATTERN | FAMILY_FULL_NOPE,
     .pattern = "wwwf",
     .window = 4096,
     .rope_theta = 10000},
    {.types = {"hunyuan_v1_dense"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.qk_norm: late",
     .keys = {llama_keys, all_bias_keys},
     .layers = FAMILY_ALPHA,
     .rope_theta = 10000},
    {.types = {"hunyuan_v1_moe"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.qk_norm: late, moe.experts: 1, moe.top_k: 1, "
                     "moe.shared: 1, moe.renormalize: true",
     .keys = {llama_keys, all_bias_keys, hunyuan_moe_keys},
     .layers = FAMILY_ALPHA,
     .rope_theta = 10000},
    {.types = {"hy_v3"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.head_dim: 128, model.qk_norm: true, "
                     "moe.experts: 192, moe.top_k: 8, moe.d_ff: 1536, moe.shared: 1, "
                     "moe.first_dense: 1, moe.scale: 2.826" SIGMOID,
     .keys = {llama_keys, hy_v3_keys},
     .rope_theta = 11158840},
    {.types = {"internlm3", "iquestcoder"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.head_dim: 128",
     .keys = {llama_keys, biases_keys, internlm3_keys},
     .rope_theta = 10000},
    {.types = {"smollm3"},
     .ours = DECODER ", model.kv_heads: 4, model.tied: true",
     .keys = {llama_keys, biases_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES | FAMILY_SWITCHED | FAMILY_NOPE,
     .pattern = "f",
     .rope_theta = 2000000},
    {.types = {"seed_oss"},
     .ours = DECODER ", model.attention_bias: qkv, model.kv_heads: 8, model.head_dim: 128",
     .keys = {llama_keys, seed_oss_keys},
     .rope_theta = 10000},
    {.types = {"helium"},
     .ours = DECODER ", model.norm_eps: 1e-8, model.kv_heads: 20, model.head_dim: 128" PAIRS,
     .keys = {llama_keys, helium_keys},
     .rope_theta = 100000},
    {.types = {"arcee"},
     .ours = "model.kind: decoder, model.norm: rms, model.norm_eps: 1e-5, model.activation: "
             "relu-squared",
     .keys = {arcee_keys},
     .rope_theta = 10000},
    {.types = {"cwm"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.kv_heads: 8, model.head_dim: 128",
     .keys = {llama_keys},
     .layers = FAMILY_WINDOW | FAMILY_TYPES,
     .pattern = "fwww",
     .window = 8192,
     .rope_theta = 1000000},
    {.types = {"ernie4_5"},
     .ours = DECODER
     ", model.norm_eps: 1e-5, model.kv_heads: 2, model.head_dim: 128, model.tied: true" PAIRS,
     .keys = {llama_keys, ernie_keys},
     .rope_theta = 500000},
    {.types = {"ernie4_5_moe"},
     .ours = DECODER ", model.norm_eps: 1e-5, model.tied: true, moe.experts: 64, moe.top_k: 6, "
                     "moe.d_ff: 1536, moe.shared: 2, moe.first_dense: 1, moe.renormalize: true, "
                     "moe.bias: true" PAIRS,
     .keys = {llama_keys, ernie_keys, ernie_moe_keys},
     .rope_theta = 500000},
    {.types = {"minimax"},
     .ours = MINIMAX,
     .keys = {llama_keys, minimax_keys, minimax_text_keys},
     .layers = FAMILY_TYPES | FAMILY_LIGHTNING,
     .pattern = "fl",
     .rope_theta = 1000000},
    {.types = {"minimax_text_01", "minimax_m1"},
     .ours = MINIMAX,
     .keys = {llama_keys, minimax_keys, minimax_own_keys},
     .layers = FAMILY_LIGHTNING,
     .pattern = "f",
     .rope_theta = 1000000},
    {.types = {"minimax_m2"},
     .ours = DECODER ", model.head_dim: 128, model.kv_heads: 8, model.qk_norm: whole, "
                     "moe.experts: 256, moe.top_k: 8" SIGMOID,
     .keys = {llama_keys, minimax_keys},
     .rope_theta = 5000000},
};
const size_t family_count = sizeof(family_table) / sizeof(family_table[0]);

/* ---- models that are not modelled ---- */

const struct family_refusal family_refusals[] = {
    {"mamba falcon_mamba", "Mamba-1, whose states decay by channel and element", NULL},
    {"rwkv xlstm", "recurrent layers without attention", NULL},
    {"", "layers of Mamba-2, which are read as a config.json, and not served",
     "Mamba-Codestral mamba2-"},
    {"jamba", "a hybrid of attention and Mamba-1, whose states decay by channel and element",
     "AI21-Jamba"},
    {"zamba zamba2 recurrent_gemma lfm2_moe lfm3 olmo_hybrid",
     "a hybrid of attention with recurrent or convolutional layers", "LFM2-8B LFM2-24B Zamba2"},
    {"", "a hybrid of attention and Mamba-2, which is read as a config.json, and not served",
     "Bamba Falcon-H1 granite-4.0-h NVIDIA-Nemotron-3 NVIDIA-Nemotron-Nano Nemotron-H"},
    {"bailing_hybrid", "a hybrid of softmax and linear attention", NULL},
    {"", "a hybrid of softmax and linear attention, which is read as a config.json, and not served",
     "Kimi-Linear MiniMax-M1 MiniMax-Text Qwen3-Next Qwen3.5 Qwen3.6 Qwen3.8"},
    {"", "a hybrid of attention and convolutions, which is read as a config.json, and not served",
     "LFM2"},
    {"deepseek_v32 deepseek_v4 glm_moe_dsa", "sparse attention with an indexer",
     "DeepSeek-V3.2 DeepSeek-V4 GLM-5"},
    {"bloom mpt", "ALiBi positions", NULL},
    {"opt xglm biogpt", "learned positions with an offset of 2", NULL},
    {"phimoe", "a SparseMixer router", NULL},
    {"bitnet", "norms inside attention and MLP", NULL},
    {"apertus", "activation xIELU", NULL},
    {"afmoe laguna", "gated attention output", "Trinity-"},
    {"nanochat", "normalised embeddings, mixed into each layer", NULL},
    {"granite_swa granitemoe_swa", "RoPE bases per layer", NULL},
    {"minicpm3", "residuals scaled by depth, and logits by width", NULL},
    {"axk1", "norms on the outputs of experts, but not of attention", NULL},
    {"mimo_v2_flash", "values and keys of different widths", "MiMo-V2"},
    {"diffllama", "differential attention", NULL},
    {"doge", "a learned attention mask", NULL},
    {"phi4_multimodal", "adapters for images and speech", "Phi-4-multimodal"},
    {"gemma3n gemma3n_text gemma4 gemma4_text", "shared KV layers, or per-layer inputs",
     "gemma-3n gemma-4"},
    {"longcat_flash", "two attentions per layer, and zero-computation experts", "LongCat-Flash"},
    {"jetmoe", "mixture of experts in attention", NULL},
    {"dbrx", "nested attention and expert configs, and clamped queries, keys and values", NULL},
    {"gpt_neo", "unscaled attention scores", NULL},
    {"bert roberta electra modernbert", "an encoder", NULL},
    {"qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe mllama",
     "image positions or cross-attention to images", "Qwen2-VL Qwen2.5-VL Qwen3-VL"},
};
const size_t family_refusal_count = sizeof(family_refusals) / sizeof(family_refusals[0]);

const char *family_refuses(const char *name)
{
    const char *at, *begin = strrchr(name, '/');
    size_t n;

    name = begin ? begin + 1 : name;
    for (size_t i = 0; i < family_refusal_count; i++) {
        at = family_refusals[i].names;
        for (const char *word; at && (word = words_next(&at, &n));)
            if (!strncasecmp(name, word, n))
                return family_refusals[i].why;
    }
    return NULL;
}
