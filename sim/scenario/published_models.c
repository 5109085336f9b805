/* The table of models with published sizes, and the option that selects one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/words.h"
#include "scenario/family_table.h"
#include "scenario/published.h"
#include "scenario/types.h"

#define CUSTOM "custom"

/* ---- the models ---- */

/* A config.json as published with the weights, without the keys that have no effect here; `hub` are
 * names of its repositories there, or NULL. */
struct published {
    const char *name;
    const char *hub[3];
    const char *config;
};

#define SIZES(layers, width, ff, heads, kv_heads, vocab)                               \
    "num_hidden_layers: " #layers ", hidden_size: " #width ", intermediate_size: " #ff \
    ", num_attention_heads: " #heads ", num_key_value_heads: " #kv_heads ", vocab_size: " #vocab
#define TIED ", tie_word_embeddings: true"
#define UNTIED ", tie_word_embeddings: false"
#define THETA(base) ", rope_theta: " #base
#define EPS(eps) ", rms_norm_eps: " #eps
#define DIM(dim) ", head_dim: " #dim

#define GPT2(layers, width, heads) \
    "model_type: gpt2, n_layer: " #layers ", n_embd: " #width ", n_head: " #heads
/* C. Raffel et al., arXiv 1910.10683, section 3.7; version 1.1 (N. Shazeer, arXiv 2002.05202: gated
 * mlp, head of its own).  The vocabulary of 32000 and 100 sentinels is rounded up to 128. */
#define T5(layers, width, ff, heads, dim)                                      \
    "model_type: t5, num_layers: " #layers ", d_model: " #width ", d_ff: " #ff \
    ", num_heads: " #heads ", d_kv: " #dim
#define T5_V11(layers, width, ff, heads) \
    T5(layers, width, ff, heads, 64) ", feed_forward_proj: gated-gelu" UNTIED
#define LLAMA(...) "model_type: llama, " SIZES(__VA_ARGS__)
#define LONGEST(tokens) ", max_position_embeddings: " #tokens
#define LLAMA3(layers, width, ff, heads, dim) \
    LLAMA(layers, width, ff, heads, 8, 128256) EPS(1e-5) THETA(500000) DIM(dim)
/* "The Llama 3 Herd of Models", arXiv 2407.21783: sequences of up to 131072 tokens. */
#define LONGER(by)                                                                      \
    ", max_position_embeddings: 131072, rope_scaling: {rope_type: llama3, factor: " #by \
    ", low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192}"
#define QWEN2(...) "model_type: qwen2, " SIZES(__VA_ARGS__) EPS(1e-6) THETA(1000000)
#define QWEN3(...) "model_type: qwen3, " SIZES(__VA_ARGS__) EPS(1e-6) THETA(1000000) DIM(128)
#define QWEN3_MOE(...)                                                                  \
    "model_type: qwen3_moe, num_experts: 128, num_experts_per_tok: 8, norm_topk_prob: " \
    "true, " SIZES(__VA_ARGS__) EPS(1e-6) THETA(1000000) DIM(128)
/* `theta` is that of the longer sequences, which need no scaling. */
#define QWEN3_CODER(experts, theta, ...)                                                         \
    "model_type: qwen3_moe, num_experts: " #experts ", num_experts_per_tok: 8, norm_topk_prob: " \
    "true, " SIZES(__VA_ARGS__) EPS(1e-6) THETA(theta) DIM(128)
#define GEMMA2(...) \
    "model_type: gemma2, vocab_size: 256000, sliding_window: 4096, " SIZES_OF(__VA_ARGS__)
#define SIZES_OF(layers, width, ff, heads, kv_heads)                                   \
    "num_hidden_layers: " #layers ", hidden_size: " #width ", intermediate_size: " #ff \
    ", num_attention_heads: " #heads ", num_key_value_heads: " #kv_heads
#define GEMMA3(...) "model_type: gemma3_text, " SIZES_OF(__VA_ARGS__)
#define LINEAR8 ", rope_scaling: {rope_type: linear, factor: 8}"
#define PYTHIA(layers, width, heads, vocab)                                      \
    "model_type: gpt_neox, num_hidden_layers: " #layers ", hidden_size: " #width \
    ", num_attention_heads: " #heads ", vocab_size: " #vocab
#define OLMO2(...) "model_type: olmo2, " SIZES(__VA_ARGS__) EPS(1e-6) THETA(500000)
#define GRANITE(...) "model_type: granite, " SIZES(__VA_ARGS__) EPS(1e-5) THETA(10000) TIED
#define MULTIPLIED(embed, scores, residual, logits)                      \
    ", embedding_multiplier: " #embed ", attention_multiplier: " #scores \
    ", residual_multiplier: " #residual ", logits_scaling: " #logits
#define STARCODER2(layers, width, ff, heads, kv_heads, theta)                   \
    "model_type: starcoder2, norm_epsilon: 1e-5, sliding_window: 4096, " SIZES( \
        layers, width, ff, heads, kv_heads, 49152) THETA(theta)
#define PHI3(...) "model_type: phi3, " SIZES(__VA_ARGS__) EPS(1e-5) THETA(10000)
/* DeepSeek-V2, arXiv 2405.04434, section 3.1.2 and appendix B; DeepSeek-V3, arXiv 2412.19437,
 * section 4.2. */
#define LATENT(q_rank)                                                                    \
    ", qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, kv_lora_rank: 512, " \
    "q_lora_rank: " #q_rank
#define ROUTED(experts, of, top_k, shared, dense)                   \
    ", n_routed_experts: " #experts ", moe_intermediate_size: " #of \
    ", num_experts_per_tok: " #top_k ", n_shared_experts: " #shared \
    ", first_k_dense_replace: " #dense
#define GROUPS(n, kept) ", n_group: " #n ", topk_group: " #kept
#define LLAMA4(experts, every)                                                                     \
    "model_type: llama4_text, num_local_experts: " #experts ", interleave_moe_layer_step: " #every \
    ", hidden_size: 5120, num_hidden_layers: 48, intermediate_size: 8192, "                        \
    "intermediate_size_mlp: 16384, num_attention_heads: 40, num_key_value_heads: 8, "              \
    "vocab_size: 202048, rope_theta: 500000, attention_chunk_size: 8192"
#define GPT_OSS(layers, experts)                                                        \
    "model_type: gpt_oss, num_local_experts: " #experts ", num_hidden_layers: " #layers \
    ", rope_scaling: {rope_type: yarn, factor: 32, beta_fast: 32, beta_slow: 1, "       \
    "truncate: false, original_max_position_embeddings: 4096}"                          \
    ", quantization_config: {quant_method: mxfp4, modules_to_not_convert: "             \
    "[model.layers.*.self_attn, model.layers.*.mlp.router, lm_head]}"
/* Weights that were published in FP8, in blocks of 128 x 128. */
#define IN_FP8 ", quantization_config: {quant_method: fp8, weight_block_size: [128, 128]}"

static const struct published models[] = {
    /* A. Radford et al., "Language Models are Unsupervised Multitask Learners", 2019 */
    {"gpt2-small", {"openai-community/gpt2", "gpt2"}, GPT2(12, 768, 12)},
    {"gpt2-medium", {"openai-community/gpt2-medium"}, GPT2(24, 1024, 16)},
    {"gpt2-large", {"openai-community/gpt2-large"}, GPT2(36, 1280, 20)},
    {"gpt2-xl", {"openai-community/gpt2-xl"}, GPT2(48, 1600, 25)},
    {"llama2-7b",
     {"meta-llama/Llama-2-7b-hf"},
     LLAMA(32, 4096, 11008, 32, 32, 32000) EPS(1e-5) LONGEST(4096)},
    {"llama2-13b",
     {"meta-llama/Llama-2-13b-hf"},
     LLAMA(40, 5120, 13824, 40, 40, 32000) EPS(1e-5) LONGEST(4096)},
    {"llama2-70b",
     {"meta-llama/Llama-2-70b-hf"},
     LLAMA(80, 8192, 28672, 64, 8, 32000) EPS(1e-5) LONGEST(4096)},
    {"llama3-1b", {NULL}, LLAMA3(16, 2048, 8192, 32, 64) TIED},
    {"llama3-3b", {NULL}, LLAMA3(28, 3072, 8192, 24, 128) TIED},
    {"llama3-8b",
     {"meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"},
     LLAMA3(32, 4096, 14336, 32, 128) LONGEST(8192)},
    {"llama3-70b",
     {"meta-llama/Meta-Llama-3-70B", "meta-llama/Meta-Llama-3-70B-Instruct"},
     LLAMA3(80, 8192, 28672, 64, 128) LONGEST(8192)},
    {"llama3-405b", {NULL}, LLAMA3(126, 16384, 53248, 128, 128)},
    {"llama3.1-8b",
     {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"},
     LLAMA3(32, 4096, 14336, 32, 128) LONGER(8)},
    {"llama3.1-70b",
     {"meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct"},
     LLAMA3(80, 8192, 28672, 64, 128) LONGER(8)},
    {"llama3.1-405b",
     {"meta-llama/Llama-3.1-405B", "meta-llama/Llama-3.1-405B-Instruct"},
     LLAMA3(126, 16384, 53248, 128, 128) LONGER(8)},
    {"llama3.2-1b",
     {"meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B-Instruct"},
     LLAMA3(16, 2048, 8192, 32, 64) TIED LONGER(32)},
    {"llama3.2-3b",
     {"meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-3B-Instruct"},
     LLAMA3(28, 3072, 8192, 24, 128) TIED LONGER(32)},
    {"llama3.3-70b",
     {"meta-llama/Llama-3.3-70B-Instruct"},
     LLAMA3(80, 8192, 28672, 64, 128) LONGER(8)},
    {"llama4-scout",
     {"meta-llama/Llama-4-Scout-17B-16E", "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
     LLAMA4(16, 1) ", rope_scaling: {rope_type: llama3, factor: 16, low_freq_factor: 1, "
                   "high_freq_factor: 1, "
                   "original_max_position_embeddings: 8192}"},
    {"llama4-maverick",
     {"meta-llama/Llama-4-Maverick-17B-128E", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"},
     LLAMA4(128, 2) ", use_qk_norm: false"},
    {"mistral-7b",
     {"mistralai/Mistral-7B-v0.1"},
     "model_type: mistral, sliding_window: 4096, " SIZES(32, 4096, 14336, 32, 8, 32000) EPS(1e-5)},
    {"mistral-7b-v0.3",
     {"mistralai/Mistral-7B-v0.3", "mistralai/Mistral-7B-Instruct-v0.3"},
     "model_type: mistral, sliding_window: null, " SIZES(32, 4096, 14336, 32, 8, 32768) EPS(1e-5)
         THETA(1000000)},
    {"mistral-nemo-12b",
     {"mistralai/Mistral-Nemo-Base-2407", "mistralai/Mistral-Nemo-Instruct-2407"},
     "model_type: mistral, sliding_window: null, " SIZES(40, 5120, 14336, 32, 8, 131072) EPS(1e-5)
         THETA(1000000) DIM(128)},
    {"mistral-small-24b",
     {"mistralai/Mistral-Small-24B-Base-2501", "mistralai/Mistral-Small-24B-Instruct-2501"},
     "model_type: mistral, sliding_window: null, " SIZES(40, 5120, 32768, 32, 8, 131072) EPS(1e-5)
         THETA(100000000) DIM(128)},
    {"mistral-large-123b",
     {"mistralai/Mistral-Large-Instruct-2407"},
     "model_type: mistral, sliding_window: null, " SIZES(88, 12288, 28672, 96, 8, 32768) EPS(1e-5)
         THETA(1000000) DIM(128)},
    /* A. Jiang et al., "Mixtral of Experts", arXiv 2401.04088, table 1 */
    {"mixtral-8x7b",
     {"mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1"},
     "model_type: mixtral, " SIZES(32, 4096, 14336, 32, 8, 32000)},
    {"mixtral-8x22b",
     {"mistralai/Mixtral-8x22B-v0.1"},
     "model_type: mixtral, " SIZES(56, 6144, 16384, 48, 8, 32000)},
    {"mixtral-8x22b-instruct",
     {"mistralai/Mixtral-8x22B-Instruct-v0.1"},
     "model_type: mixtral, " SIZES(56, 6144, 16384, 48, 8, 32768)},
    {"qwen2-0.5b", {"Qwen/Qwen2-0.5B"}, QWEN2(24, 896, 4864, 14, 2, 151936) TIED},
    {"qwen2-1.5b", {"Qwen/Qwen2-1.5B"}, QWEN2(28, 1536, 8960, 12, 2, 151936) TIED},
    {"qwen2-7b", {"Qwen/Qwen2-7B"}, QWEN2(28, 3584, 18944, 28, 4, 152064)},
    {"qwen2-72b", {"Qwen/Qwen2-72B"}, QWEN2(80, 8192, 29568, 64, 8, 152064)},
    {"qwen2.5-0.5b",
     {"Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B-Instruct"},
     QWEN2(24, 896, 4864, 14, 2, 151936) TIED},
    {"qwen2.5-1.5b",
     {"Qwen/Qwen2.5-1.5B", "Qwen/Qwen2.5-1.5B-Instruct"},
     QWEN2(28, 1536, 8960, 12, 2, 151936) TIED},
    {"qwen2.5-3b",
     {"Qwen/Qwen2.5-3B", "Qwen/Qwen2.5-3B-Instruct"},
     QWEN2(36, 2048, 11008, 16, 2, 151936) TIED},
    {"qwen2.5-7b",
     {"Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"},
     QWEN2(28, 3584, 18944, 28, 4, 152064)},
    {"qwen2.5-14b",
     {"Qwen/Qwen2.5-14B", "Qwen/Qwen2.5-14B-Instruct"},
     QWEN2(48, 5120, 13824, 40, 8, 152064)},
    {"qwen2.5-32b",
     {"Qwen/Qwen2.5-32B", "Qwen/Qwen2.5-32B-Instruct"},
     QWEN2(64, 5120, 27648, 40, 8, 152064)},
    {"qwen2.5-72b",
     {"Qwen/Qwen2.5-72B", "Qwen/Qwen2.5-72B-Instruct"},
     QWEN2(80, 8192, 29568, 64, 8, 152064)},
    {"qwen1.5-moe-a2.7b",
     {"Qwen/Qwen1.5-MoE-A2.7B"},
     "model_type: qwen2_moe, num_experts: 60, num_experts_per_tok: 4, moe_intermediate_size: 1408, "
     "shared_expert_intermediate_size: 5632, " SIZES(24, 2048, 5632, 16, 16, 151936)
         THETA(1000000)},
    {"qwen2-57b-a14b",
     {"Qwen/Qwen2-57B-A14B"},
     "model_type: qwen2_moe, num_experts: 64, num_experts_per_tok: 8, moe_intermediate_size: 2560, "
     "shared_expert_intermediate_size: 20480, " SIZES(28, 3584, 18944, 28, 4, 151936)
         THETA(1000000)},
    {"qwen3-0.6b",
     {"Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B-Base"},
     QWEN3(28, 1024, 3072, 16, 8, 151936) TIED},
    {"qwen3-1.7b",
     {"Qwen/Qwen3-1.7B", "Qwen/Qwen3-1.7B-Base"},
     QWEN3(28, 2048, 6144, 16, 8, 151936) TIED},
    {"qwen3-4b",
     {"Qwen/Qwen3-4B", "Qwen/Qwen3-4B-Base"},
     QWEN3(36, 2560, 9728, 32, 8, 151936) TIED},
    {"qwen3-8b", {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base"}, QWEN3(36, 4096, 12288, 32, 8, 151936)},
    {"qwen3-14b", {"Qwen/Qwen3-14B", "Qwen/Qwen3-14B-Base"}, QWEN3(40, 5120, 17408, 40, 8, 151936)},
    {"qwen3-32b", {"Qwen/Qwen3-32B"}, QWEN3(64, 5120, 25600, 64, 8, 151936)},
    {"qwen3-30b-a3b",
     {"Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-Base"},
     QWEN3_MOE(48, 2048, 6144, 32, 4, 151936) ", moe_intermediate_size: 768"},
    {"qwen3-235b-a22b",
     {"Qwen/Qwen3-235B-A22B"},
     QWEN3_MOE(94, 4096, 12288, 64, 4, 151936) ", moe_intermediate_size: 1536"},
    {"qwen3-coder-30b-a3b",
     {"Qwen/Qwen3-Coder-30B-A3B-Instruct"},
     QWEN3_CODER(128, 10000000, 48, 2048, 5472, 32, 4, 151936) ", moe_intermediate_size: 768"},
    {"qwen3-coder-480b-a35b",
     {"Qwen/Qwen3-Coder-480B-A35B-Instruct"},
     QWEN3_CODER(160, 10000000, 62, 6144, 8192, 96, 8, 151936) ", moe_intermediate_size: 2560"},
    {"gemma-2b",
     {"google/gemma-2b"},
     "model_type: gemma, " SIZES(18, 2048, 16384, 8, 1, 256000) DIM(256)},
    {"gemma-7b",
     {"google/gemma-7b"},
     "model_type: gemma, " SIZES(28, 3072, 24576, 16, 16, 256000) DIM(256)},
    {"gemma2-2b",
     {"google/gemma-2-2b", "google/gemma-2-2b-it"},
     GEMMA2(26, 2304, 9216, 8, 4) ", query_pre_attn_scalar: 256"},
    {"gemma2-9b",
     {"google/gemma-2-9b", "google/gemma-2-9b-it"},
     GEMMA2(42, 3584, 14336, 16, 8) ", query_pre_attn_scalar: 256"},
    {"gemma2-27b",
     {"google/gemma-2-27b", "google/gemma-2-27b-it"},
     GEMMA2(46, 4608, 36864, 32, 16) ", query_pre_attn_scalar: 144" DIM(128)},
    {"gemma3-1b",
     {"google/gemma-3-1b-pt", "google/gemma-3-1b-it"},
     GEMMA3(26, 1152, 6912, 4, 1) ", sliding_window: 512, vocab_size: 262144"},
    {"gemma3-4b",
     {"google/gemma-3-4b-pt", "google/gemma-3-4b-it"},
     GEMMA3(34, 2560, 10240, 8, 4) ", sliding_window: 1024" LINEAR8},
    {"gemma3-12b",
     {"google/gemma-3-12b-pt", "google/gemma-3-12b-it"},
     GEMMA3(48, 3840, 15360, 16, 8) ", sliding_window: 1024" LINEAR8},
    {"gemma3-27b",
     {"google/gemma-3-27b-pt", "google/gemma-3-27b-it", "google/gemma-3-27b"},
     GEMMA3(62, 5376, 21504, 32, 16) ", sliding_window: 1024, query_pre_attn_scalar: 168" DIM(128)
         LINEAR8},
    {"phi-1.5",
     {"microsoft/phi-1_5"},
     "model_type: phi, num_hidden_layers: 24, hidden_size: 2048, intermediate_size: 8192, "
     "num_attention_heads: 32, vocab_size: 51200"},
    {"phi-2",
     {"microsoft/phi-2"},
     "model_type: phi, num_hidden_layers: 32, hidden_size: 2560, intermediate_size: 10240, "
     "num_attention_heads: 32, vocab_size: 51200, partial_rotary_factor: 0.4"},
    {"phi3-mini",
     {"microsoft/Phi-3-mini-4k-instruct"},
     PHI3(32, 3072, 8192, 32, 32, 32064) ", sliding_window: 2047"},
    {"phi3-medium",
     {"microsoft/Phi-3-medium-4k-instruct"},
     PHI3(40, 5120, 17920, 40, 10, 32064) ", sliding_window: 2047"},
    {"phi4",
     {"microsoft/phi-4"},
     "model_type: phi3, " SIZES(40, 5120, 17920, 40, 10, 100352) EPS(1e-5) THETA(250000)},
    {"olmo-1b",
     {"allenai/OLMo-1B-hf"},
     "model_type: olmo, " SIZES(16, 2048, 8192, 16, 16, 50304) TIED},
    {"olmo-7b", {"allenai/OLMo-7B-hf"}, "model_type: olmo, " SIZES(32, 4096, 11008, 32, 32, 50304)},
    {"olmo2-1b", {"allenai/OLMo-2-0425-1B"}, OLMO2(16, 2048, 8192, 16, 16, 100352)},
    {"olmo2-7b", {"allenai/OLMo-2-1124-7B"}, OLMO2(32, 4096, 11008, 32, 32, 100352)},
    {"olmo2-13b", {"allenai/OLMo-2-1124-13B"}, OLMO2(40, 5120, 13824, 40, 40, 100352)},
    {"olmo2-32b", {"allenai/OLMo-2-0325-32B"}, OLMO2(64, 5120, 27648, 40, 8, 100352)},
    {"olmo3-7b",
     {"allenai/Olmo-3-1025-7B"},
     "model_type: olmo3, " SIZES(32, 4096, 11008, 32, 32, 100278) EPS(1e-6) THETA(500000)},
    {"olmo3-32b",
     {"allenai/Olmo-3-1125-32B"},
     "model_type: olmo3, " SIZES(64, 5120, 27648, 40, 8, 100278) EPS(1e-6) THETA(500000)},
    {"olmoe-1b-7b",
     {"allenai/OLMoE-1B-7B-0924"},
     "model_type: olmoe, " SIZES(16, 2048, 1024, 16, 16, 50304)},
    {"pythia-160m",
     {"EleutherAI/pythia-160m"},
     PYTHIA(12, 768, 12, 50304) ", intermediate_size: 3072"},
    {"pythia-1.4b",
     {"EleutherAI/pythia-1.4b"},
     PYTHIA(24, 2048, 16, 50304) ", intermediate_size: 8192"},
    {"pythia-6.9b",
     {"EleutherAI/pythia-6.9b"},
     PYTHIA(32, 4096, 32, 50432) ", intermediate_size: 16384"},
    {"pythia-12b",
     {"EleutherAI/pythia-12b"},
     PYTHIA(36, 5120, 40, 50688) ", intermediate_size: 20480"},
    /* S. Black et al., arXiv 2204.06745 */
    {"gpt-neox-20b",
     {"EleutherAI/gpt-neox-20b"},
     PYTHIA(44, 6144, 64, 50432) ", intermediate_size: 24576"},
    {"gpt-j-6b",
     {"EleutherAI/gpt-j-6b"},
     "model_type: gptj, n_layer: 28, n_embd: 4096, n_head: 16, rotary_dim: 64, vocab_size: 50400"},
    {"starcoder-15b",
     {"bigcode/starcoder"},
     "model_type: gpt_bigcode, n_layer: 40, n_embd: 6144, n_head: 48, n_inner: 24576, n_positions: "
     "8192, vocab_size: 49152"},
    {"starcoder2-3b",
     {"bigcode/starcoder2-3b"},
     STARCODER2(30, 3072, 12288, 24, 2, 999999.4420358813)},
    {"starcoder2-7b", {"bigcode/starcoder2-7b"}, STARCODER2(32, 4608, 18432, 36, 4, 1000000)},
    {"starcoder2-15b",
     {"bigcode/starcoder2-15b"},
     STARCODER2(40, 6144, 24576, 48, 4, 100000) UNTIED},
    {"gpt-oss-20b", {"openai/gpt-oss-20b"}, GPT_OSS(24, 32)},
    {"gpt-oss-120b", {"openai/gpt-oss-120b"}, GPT_OSS(36, 128)},
    {"glm4-9b",
     {"zai-org/GLM-4-9B-0414", "THUDM/GLM-4-9B-0414"},
     "model_type: glm4, attention_bias: false, " SIZES(40, 4096, 13696, 32, 2, 151552) EPS(1e-5)
         DIM(128)},
    {"glm4-32b",
     {"zai-org/GLM-4-32B-0414", "THUDM/GLM-4-32B-0414"},
     "model_type: glm4, attention_bias: false, " SIZES(61, 6144, 23040, 48, 2, 151552) EPS(1e-5)
         DIM(128)},
    {"glm4.5",
     {"zai-org/GLM-4.5", "zai-org/GLM-4.5-Base"},
     "model_type: glm4_moe, attention_bias: true, use_qk_norm: true, routed_scaling_factor: "
     "2.5, " SIZES(92, 5120, 12288, 96, 8, 151552) EPS(1e-5) DIM(128) THETA(1000000)
         ROUTED(160, 1536, 8, 1, 3)},
    {"glm4.5-air",
     {"zai-org/GLM-4.5-Air", "zai-org/GLM-4.5-Air-Base"},
     "model_type: glm4_moe, attention_bias: true, use_qk_norm: false, " SIZES(46, 4096, 10944, 96,
                                                                              8, 151552) EPS(1e-5)
         DIM(128) THETA(1000000) ROUTED(128, 1408, 8, 1, 1)},
    {"deepseek-v2-lite",
     {"deepseek-ai/DeepSeek-V2-Lite"},
     "model_type: deepseek_v2, " SIZES(27, 2048, 10944, 16, 16, 102400) LATENT(null)
         ROUTED(64, 1408, 6, 2, 1)},
    {"deepseek-v2",
     {"deepseek-ai/DeepSeek-V2"},
     "model_type: deepseek_v2, topk_method: group_limited_greedy, routed_scaling_factor: "
     "16, " SIZES(60, 5120, 12288, 128, 128, 102400) LATENT(1536) ROUTED(160, 1536, 6, 2, 1)
         GROUPS(8, 3)},
    {"deepseek-v3",
     {"deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-R1"},
     "model_type: deepseek_v3, " SIZES(61, 7168, 18432, 128, 128, 129280) LATENT(1536)
         ROUTED(256, 2048, 8, 1, 3) GROUPS(8, 4) IN_FP8},
    {"kimi-k2",
     {"moonshotai/Kimi-K2-Base", "moonshotai/Kimi-K2-Instruct"},
     "model_type: kimi_k2, routed_scaling_factor: 2.827, rope_scaling: {type: yarn, factor: 32, "
     "beta_fast: 1, beta_slow: 1, mscale: 1, mscale_all_dim: 1, original_max_position_embeddings: "
     "4096}, " SIZES(61, 7168, 18432, 64, 64, 163840) THETA(50000) LATENT(1536)
         ROUTED(384, 2048, 8, 1, 1) GROUPS(1, 1) IN_FP8},
    {"granite-3.0-2b",
     {"ibm-granite/granite-3.0-2b-base"},
     GRANITE(40, 2048, 8192, 32, 8, 49152) MULTIPLIED(12, 0.015625, 0.22, 8)},
    {"granite-3.0-8b",
     {"ibm-granite/granite-3.0-8b-base"},
     GRANITE(40, 4096, 12800, 32, 8, 49152) MULTIPLIED(12, 0.0078125, 0.22, 16)},
    {"granite-3.0-1b-a400m",
     {"ibm-granite/granite-3.0-1b-a400m-base"},
     "model_type: granitemoe, num_local_experts: 32, num_experts_per_tok: 8, " SIZES(
         24, 1024, 512, 16, 8, 49155) EPS(1e-6) TIED MULTIPLIED(12, 0.015625, 0.22, 6)},
    {"granite-3.0-3b-a800m",
     {"ibm-granite/granite-3.0-3b-a800m-base"},
     "model_type: granitemoe, num_local_experts: 40, num_experts_per_tok: 8, " SIZES(
         32, 1536, 512, 24, 8, 49155) EPS(1e-6) TIED MULTIPLIED(12, 0.015625, 0.22, 6)},
    {"falcon-7b",
     {"tiiuae/falcon-7b"},
     "model_type: falcon, num_hidden_layers: 32, hidden_size: 4544, num_attention_heads: 71, "
     "vocab_size: 65024"},
    {"falcon-40b",
     {"tiiuae/falcon-40b"},
     "model_type: falcon, new_decoder_architecture: true, num_kv_heads: 8, num_hidden_layers: 60, "
     "hidden_size: 8192, num_attention_heads: 128, vocab_size: 65024"},
    {"falcon-180b",
     {"tiiuae/falcon-180B"},
     "model_type: falcon, new_decoder_architecture: true, num_kv_heads: 8, num_hidden_layers: 80, "
     "hidden_size: 14848, num_attention_heads: 232, vocab_size: 65024"},
    /* J. Parmar et al., arXiv 2402.16819, table 1; Nemotron-4 340B, arXiv 2406.11704, table 1 */
    {"nemotron4-15b", {NULL}, "model_type: nemotron, " SIZES(32, 6144, 24576, 48, 8, 256000)},
    {"nemotron4-340b",
     {"nvidia/Nemotron-4-340B-Base"},
     "model_type: nemotron, " SIZES(96, 18432, 73728, 96, 8, 256000)},
    {"minitron-8b",
     {"nvidia/Minitron-8B-Base"},
     "model_type: nemotron, " SIZES(32, 4096, 16384, 48, 8, 256000) DIM(128)},
    {"command-r",
     {"CohereForAI/c4ai-command-r-v01", "CohereLabs/c4ai-command-r-v01"},
     "model_type: cohere, logit_scale: 0.0625, layer_norm_eps: 1e-5, " SIZES(
         40, 8192, 22528, 64, 64, 256000) THETA(8000000)},
    {"command-r-plus",
     {"CohereForAI/c4ai-command-r-plus", "CohereLabs/c4ai-command-r-plus"},
     "model_type: cohere, logit_scale: 0.8333333333333334, layer_norm_eps: 1e-5, use_qk_norm: "
     "true, " SIZES(64, 12288, 33792, 96, 8, 256000) THETA(75000000)},
    {"command-r7b",
     {"CohereForAI/c4ai-command-r7b-12-2024", "CohereLabs/c4ai-command-r7b-12-2024"},
     "model_type: cohere2, logit_scale: 0.25, layer_norm_eps: 1e-5, sliding_window: 4096, "
     "sliding_window_pattern: 4, " SIZES(32, 4096, 14336, 32, 8, 256000) THETA(50000) DIM(128)},
    {"smollm3-3b",
     {"HuggingFaceTB/SmolLM3-3B", "HuggingFaceTB/SmolLM3-3B-Base"},
     "model_type: smollm3, " SIZES(36, 2048, 11008, 16, 4, 128256) THETA(5000000)},
    {"smollm2-1.7b",
     {"HuggingFaceTB/SmolLM2-1.7B"},
     LLAMA(24, 2048, 8192, 32, 32, 49152) EPS(1e-5) THETA(130000) TIED},
    {"seed-oss-36b",
     {"ByteDance-Seed/Seed-OSS-36B-Base"},
     "model_type: seed_oss, " SIZES(64, 5120, 27648, 80, 8, 155136) THETA(10000000) DIM(128)},
    {"ernie4.5-21b-a3b",
     {"baidu/ERNIE-4.5-21B-A3B-PT"},
     "model_type: ernie4_5_moe, moe_num_experts: 64, moe_k: 6, moe_intermediate_size: 1536, "
     "moe_num_shared_experts: 2, moe_layer_start_index: 1, " SIZES(28, 2560, 12288, 20, 4, 103424)},
    {"ernie4.5-300b-a47b",
     {"baidu/ERNIE-4.5-300B-A47B-PT"},
     "model_type: ernie4_5_moe, moe_num_experts: 64, moe_k: 8, moe_intermediate_size: 3584, "
     "moe_num_shared_experts: 0, moe_layer_start_index: 3, " SIZES(54, 8192, 28672, 64, 8, 103424)
         UNTIED},
    {"hunyuan-a13b",
     {"tencent/Hunyuan-A13B-Instruct", "tencent/Hunyuan-A13B-Pretrain"},
     "model_type: hunyuan_v1_moe, num_experts: 64, moe_topk: 8, num_shared_expert: 1, "
     "moe_intermediate_size: 3072, " SIZES(32, 4096, 3072, 32, 8, 128167) DIM(128) TIED},
    {"minimax-m2",
     {"MiniMaxAI/MiniMax-M2"},
     "model_type: minimax_m2, rotary_dim: 64, num_local_experts: 256, num_experts_per_tok: "
     "8, " SIZES(62, 3072, 1536, 48, 8, 200064) DIM(128) THETA(5000000) IN_FP8},
    {"dots1",
     {"rednote-hilab/dots.llm1.base"},
     "model_type: dots1, norm_topk_prob: true, routed_scaling_factor: 2.5, " SIZES(
         62, 4096, 10944, 32, 32, 152064) DIM(128) THETA(10000000) ROUTED(128, 1408, 6, 2, 1)},
    {"t5-small", {"google-t5/t5-small", "t5-small"}, T5(6, 512, 2048, 8, 64)},
    {"t5-base", {"google-t5/t5-base", "t5-base"}, T5(12, 768, 3072, 12, 64)},
    {"t5-large", {"google-t5/t5-large", "t5-large"}, T5(24, 1024, 4096, 16, 64)},
    {"t5-3b", {"google-t5/t5-3b"}, T5(24, 1024, 16384, 32, 128)},
    {"t5-11b", {"google-t5/t5-11b"}, T5(24, 1024, 65536, 128, 128)},
    {"t5-v1.1-small", {"google/t5-v1_1-small"}, T5_V11(8, 512, 1024, 6)},
    {"t5-v1.1-base", {"google/t5-v1_1-base"}, T5_V11(12, 768, 2048, 12)},
    {"t5-v1.1-large", {"google/t5-v1_1-large"}, T5_V11(24, 1024, 2816, 16)},
    {"t5-v1.1-xl", {"google/t5-v1_1-xl"}, T5_V11(24, 2048, 5120, 32)},
    {"t5-v1.1-xxl", {"google/t5-v1_1-xxl"}, T5_V11(24, 4096, 10240, 64)},
};

#define NMODELS (sizeof(models) / sizeof(models[0]))

/* ---- kinds ---- */

#define ROPE(base) .rope = {.used = true, .theta = (base)}

/* What a kind of model has where no size is given. */
static const struct scenario_model kinds[] = {
    {.kind = SCENARIO_GPT2,
     .activation = SCENARIO_GELU,
     .norm = SCENARIO_LAYER_NORM,
     .bias = true,
     .attention_bias = SCENARIO_BIAS_ALL,
     .norm_eps = 1e-5,
     .tied = true,
     .positions = 1024},
    {.kind = SCENARIO_LLAMA3, .activation = SCENARIO_SWIGLU, .norm_eps = 1e-5, ROPE(500000)},
    {.kind = SCENARIO_MIXTRAL,
     .activation = SCENARIO_SWIGLU,
     .norm_eps = 1e-5,
     .moe = {.experts = 8, .top_k = 2},
     ROPE(1000000)},
    {.kind = SCENARIO_DEEPSEEK, .activation = SCENARIO_SWIGLU, .norm_eps = 1e-6, ROPE(10000)},
    {.kind = SCENARIO_T5,
     .activation = SCENARIO_RELU,
     .norm_eps = 1e-6,
     .tied = true,
     .buckets = 32,
     .distance = 128},
    {.kind = SCENARIO_DECODER, .activation = SCENARIO_SWIGLU, .norm_eps = 1e-6, ROPE(10000)},
};

const struct scenario_model *published_kind(enum scenario_kind kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}

const char *published_text(size_t n)
{
    return models[n].config;
}

int64_t published_longest(size_t n)
{
    static const struct {
        const char *models;
        int64_t tokens;
    } longest[] = {
        {"falcon-7b falcon-40b falcon-180b pythia-160m pythia-1.4b pythia-6.9b pythia-12b "
         "gpt-neox-20b gpt-j-6b phi-1.5 phi-2 olmo-1b olmo-7b",
         2048},
        {"olmo2-1b olmo2-7b olmo2-13b olmo2-32b olmoe-1b-7b nemotron4-15b nemotron4-340b "
         "minitron-8b granite-3.0-2b granite-3.0-8b granite-3.0-1b-a400m granite-3.0-3b-a800m "
         "phi3-mini phi3-medium",
         4096},
        {"gemma-2b gemma-7b gemma2-2b gemma2-9b gemma2-27b qwen1.5-moe-a2.7b smollm2-1.7b "
         "command-r7b",
         8192},
        {"phi4 starcoder2-3b starcoder2-7b starcoder2-15b", 16384},
        {"mistral-7b mistral-7b-v0.3 mistral-small-24b mixtral-8x7b qwen2.5-0.5b qwen2.5-1.5b "
         "qwen2.5-3b qwen2.5-7b qwen2.5-14b qwen2.5-32b qwen2.5-72b gemma3-1b glm4-9b glm4-32b "
         "dots1 hunyuan-a13b",
         32768},
        {"qwen3-0.6b qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b "
         "qwen3-235b-a22b",
         40960},
        {"mixtral-8x22b mixtral-8x22b-instruct smollm3-3b olmo3-7b olmo3-32b", 65536},
        {"qwen2-0.5b qwen2-1.5b qwen2-7b qwen2-72b qwen2-57b-a14b gemma3-4b gemma3-12b "
         "gemma3-27b gpt-oss-20b gpt-oss-120b glm4.5 glm4.5-air kimi-k2 mistral-large-123b "
         "ernie4.5-21b-a3b ernie4.5-300b-a47b command-r command-r-plus",
         131072},
        {"deepseek-v2-lite deepseek-v2 deepseek-v3", 163840},
        {"minimax-m2", 196608},
        {"qwen3-coder-30b-a3b qwen3-coder-480b-a35b", 262144},
        {"seed-oss-36b", 524288},
        {"mistral-nemo-12b", 1024000},
        {"llama4-maverick", 1048576},
        {"llama4-scout", 10485760},
    };

    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++)
        if (words_has(longest[i].models, models[n].name))
            return longest[i].tokens;
    return 0;
}

const char *scenario_model_name(size_t n)
{
    return n < NMODELS ? models[n].name : NULL;
}

const char *scenario_model_repository(size_t n, size_t i)
{
    return i < sizeof models[n].hub / sizeof models[n].hub[0] ? models[n].hub[i] : NULL;
}

/* ---- names of the hub that are not in the table ---- */

/* The next part of a name behind its owner: "Llama", "3.1", "405B". */
static const char *next_part(const char *at, size_t *length)
{
    at += strspn(at, "-_/");
    *length = strcspn(at, "-_/");
    return *length > 0 ? at : NULL;
}

static const char *without_owner(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash ? slash + 1 : name;
}

static bool has_part(const char *name, const char *part, size_t length)
{
    size_t n;

    for (const char *at = without_owner(name); (at = next_part(at, &n)) != NULL; at += n)
        if (n == length && !strncasecmp(at, part, n))
            return true;
    return false;
}

/* Similarity of model names: shared parts minus missing parts; a missing size (405B) excludes the
 * candidate: INT_MIN. */
static int likeness(const char *name, const char *other)
{
    int common = 0, lacking = 0;
    size_t n;

    for (const char *at = without_owner(name); (at = next_part(at, &n)) != NULL; at += n) {
        bool has = has_part(other, at, n), size = isdigit((unsigned char)*at) && n > 1 &&
                                                  tolower((unsigned char)at[n - 1]) == 'b';

        if (size && !has)
            return INT_MIN;
        common += has;
        lacking += !has;
    }
    return common > lacking ? common - lacking : INT_MIN;
}

/* Suggest the model of the hub whose name has most in common with one that was not found. */
static void suggest(struct nearest *nearest, const char *name)
{
    int best = 0;

    for (size_t i = 0; i < NMODELS; i++)
        for (size_t h = 0; h < sizeof(models[i].hub) / sizeof(models[i].hub[0]); h++) {
            const char *other = models[i].hub[h];
            int like = other ? likeness(name, other) : INT_MIN;
            int back = other ? likeness(other, name) : INT_MIN;

            if (like == INT_MIN || back == INT_MIN || like + back <= best)
                continue;
            best = like + back;
            nearest->best = other;
            nearest->distance = 0;
        }
}

bool scenario_find_model(size_t *out, const char *name, struct nearest *nearest)
{
    for (size_t i = 0; i < NMODELS; i++) {
        bool found = !strcmp(name, models[i].name);

        for (size_t h = 0; h < sizeof(models[i].hub) / sizeof(models[i].hub[0]); h++)
            found = found || (models[i].hub[h] && !strcmp(name, models[i].hub[h]));
        if (found) {
            *out = i;
            return true;
        }
        nearest_add(nearest, models[i].name);
        if (strchr(name, '/') && models[i].hub[0])
            nearest_add(nearest, models[i].hub[0]);
    }
    if (strchr(name, '/'))
        suggest(nearest, name);
    return false;
}

/* ---- the option ---- */

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct nearest nearest;
    const char *text = node->kind == YAML_TEXT ? node->text : "";
    size_t n;

    (void)option;
    if (!strcmp(text, CUSTOM)) {
        r->scenario->model.size = 0;
        return;
    }
    nearest_init(&nearest, text);
    if (scenario_find_model(&n, text, &nearest)) {
        r->scenario->model.size = (int64_t)n + 1;
        return;
    }
    if (family_refuses(text))
        diag_error(r->diag, node->place, "model.size: '%.60s' is not modelled: %s", text,
                   family_refuses(text));
    else
        diag_error(r->diag, node->place,
                   "model.size is %s; expected a published model, for example %s%s",
                   yaml_describe(node).text, models[0].name, nearest_hint(&nearest).text);
    /* Assume the suggested model, to avoid errors about missing sizes. */
    if (nearest.best && scenario_find_model(&n, nearest.best, &nearest))
        r->scenario->model.size = (int64_t)n + 1;
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    (void)option;
    text_add(out, scenario->model.size ? models[scenario->model.size - 1].name : CUSTOM);
}

static void print_words(const struct option *option, struct text *out)
{
    (void)option;
    text_add(out, CUSTOM);
    for (size_t i = 0; i < NMODELS; i++)
        text_addf(out, ", %s", models[i].name);
}

static void schema(const struct option *option, struct json_out *out)
{
    (void)option;
    json_out_key_flat_array(out, "enum");
    json_out_string(out, CUSTOM);
    for (size_t i = 0; i < NMODELS; i++) {
        json_out_string(out, models[i].name);
        for (size_t h = 0; h < sizeof(models[i].hub) / sizeof(models[i].hub[0]); h++)
            if (models[i].hub[h])
                json_out_string(out, models[i].hub[h]);
    }
    json_out_end_array(out);
}

const struct value_type value_size = {
    .expected = "one of ",
    .print_range = print_words,
    .read = read,
    .print = print,
    .schema = schema,
};
