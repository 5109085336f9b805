#!/usr/bin/env python3
"""Counts the parameters of models by their config.json, and executes small ones, beside transformers.

    bench/models_vs_transformers.py [--program build/shardsim] [--arrays build/bench/model_arrays]
                                    [--out FILE.md] [--sizes] [FAMILY...]

Needs PyTorch, PyYAML and transformers 5; `make bench/model_arrays` first.  For each config below the table says
how many parameters both have, and how far apart loss and gradients of one step are: the largest
difference over the largest value of all gradients of a parameter, at the worst parameter.  Both compute
in float64: where transformers asks for float32, as in norms, it is given float64 here.

With --sizes the table is of the published sizes instead, by the configs that are built into the
program: transformers makes the models on its meta device and counts the parameters that are trained.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

import numpy
import torch
import transformers
import yaml
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

BASE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=48, vocab_size=100, max_position_embeddings=64, bos_token_id=1,
            eos_token_id=2, pad_token_id=0)
FOUR = dict(num_hidden_layers=4, sliding_window=6)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=8, rope_theta=10000.0)
MLA = dict(num_key_value_heads=4, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=6, kv_lora_rank=16)
ROUTED = dict(n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=24, n_shared_experts=1,
              first_k_dense_replace=1, num_nextn_predict_layers=0, num_mtp_layers=0)
GPT = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, bos_token_id=1,
           eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)

# Name: model_type, and what its config has beside BASE (GPT if it has n_embd).
CONFIGS = {
    "llama": ("llama", {}),
    "llama, tied, biased, RoPE of Llama 3": ("llama", dict(
        tie_word_embeddings=True, attention_bias=True, mlp_bias=True, rope_parameters=dict(
            rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=8))),
    "llama, RoPE linear": ("llama", dict(rope_scaling=dict(rope_type="linear", factor=4.0))),
    "llama, yarn": ("llama", dict(rope_parameters=YARN)),
    "mistral, window": ("mistral", dict(sliding_window=6)),
    "ministral, window": ("ministral", dict(sliding_window=6, head_dim=8)),
    "ministral3, yarn": ("ministral3", dict(head_dim=8, rope_parameters=dict(
        YARN, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16,
        llama_4_scaling_beta=0.1))),
    "qwen2": ("qwen2", {}),
    "qwen2, windows from layer 1": ("qwen2", dict(use_sliding_window=True, sliding_window=6,
                                                  max_window_layers=1)),
    "qwen3": ("qwen3", dict(head_dim=16)),
    "qwen2_moe": ("qwen2_moe", dict(num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24,
                                    shared_expert_intermediate_size=40)),
    "qwen3_moe": ("qwen3_moe", dict(head_dim=16, num_experts=8, num_experts_per_tok=3,
                                    moe_intermediate_size=24, norm_topk_prob=True)),
    "qwen3_moe, every second layer": ("qwen3_moe", dict(
        head_dim=16, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24,
        norm_topk_prob=False, decoder_sparse_step=2, num_hidden_layers=4)),
    "qwen3_next": ("qwen3_next", dict(
        num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=8, linear_value_head_dim=6, num_experts=8, num_experts_per_tok=3,
        moe_intermediate_size=24, shared_expert_intermediate_size=40)),
    "qwen3_next, mixed layers": ("qwen3_next", dict(
        num_hidden_layers=4, head_dim=8, linear_num_key_heads=4, linear_num_value_heads=4,
        linear_key_head_dim=12, linear_value_head_dim=16, linear_conv_kernel_dim=3, num_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=20, shared_expert_intermediate_size=24,
        decoder_sparse_step=2, norm_topk_prob=False, layer_types=[
            "linear_attention", "full_attention", "full_attention", "linear_attention"])),
    "qwen3_5_text": ("qwen3_5_text", dict(
        num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=8, linear_value_head_dim=6)),
    "qwen3_5_moe_text": ("qwen3_5_moe_text", dict(
        num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=8, linear_value_head_dim=6, num_experts=8, num_experts_per_tok=3,
        moe_intermediate_size=24, shared_expert_intermediate_size=40)),
    "lfm2": ("lfm2", dict(full_attn_idxs=[1], block_multiple_of=16)),
    "lfm2, by types": ("lfm2", dict(
        block_auto_adjust_ff_dim=False, num_hidden_layers=3, conv_L_cache=4, layer_types=[
            "conv", "full_attention", "conv"])),
    "bamba": ("bamba", dict(num_hidden_layers=3, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_state=12,
                            mamba_chunk_size=8)),
    "bamba, groups": ("bamba", dict(num_hidden_layers=2, attn_layer_indices=[0], mamba_n_heads=4, mamba_n_groups=2,
                                    mamba_d_state=6, mamba_d_conv=3, mamba_conv_bias=False, attention_bias=True,
                                    mlp_bias=True)),
    "granitemoehybrid": ("granitemoehybrid", dict(
        num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], num_local_experts=4, num_experts_per_tok=2,
        intermediate_size=24, shared_intermediate_size=40, mamba_n_heads=8, mamba_d_state=12, embedding_multiplier=12.0,
        attention_multiplier=0.2, residual_multiplier=0.3, logits_scaling=4.0)),
    "granitemoehybrid, dense with rope": ("granitemoehybrid", dict(
        layer_types=["attention", "mamba"], num_local_experts=0, shared_intermediate_size=40, mamba_n_heads=4,
        mamba_n_groups=4, mamba_d_state=12, position_embedding_type="rope")),
    "nemotron_h": ("nemotron_h", dict(
        num_hidden_layers=5, layers_block_type=["mamba", "mlp", "attention", "mlp", "mamba"], head_dim=8,
        mamba_num_heads=8, mamba_head_dim=6, ssm_state_size=12, n_groups=2)),
    "nemotron_h, experts": ("nemotron_h", dict(
        num_hidden_layers=4, layers_block_type=["moe", "mamba", "attention", "moe"], head_dim=16, mamba_num_heads=4,
        mamba_head_dim=10, ssm_state_size=8, n_groups=1, n_routed_experts=8, num_experts_per_tok=2,
        moe_intermediate_size=24, moe_shared_expert_intermediate_size=40, routed_scaling_factor=2.5, n_group=2,
        topk_group=1)),
    "mamba2": ("mamba2", dict(
        num_hidden_layers=3, num_heads=8, head_dim=8, state_size=12, n_groups=2, hidden_act="silu")),
    "mamba2, one group, tied": ("mamba2", dict(
        num_heads=4, head_dim=16, state_size=6, n_groups=1, conv_kernel=3, use_conv_bias=False, tie_word_embeddings=True)),
    "falcon_h1": ("falcon_h1", dict(
        mamba_d_ssm=64, mamba_n_heads=8, mamba_d_state=12, mamba_chunk_size=8, embedding_multiplier=5.6,
        lm_head_multiplier=0.04, key_multiplier=0.4, attention_in_multiplier=1.3, attention_out_multiplier=0.9,
        ssm_in_multiplier=1.25, ssm_out_multiplier=0.24, ssm_multipliers=[0.35, 0.25, 0.4, 0.5, 0.3],
        mlp_multipliers=[0.88, 0.59])),
    "falcon_h1, norms before gates": ("falcon_h1", dict(
        mamba_d_ssm=48, mamba_n_heads=4, mamba_n_groups=2, mamba_d_state=6, mamba_d_conv=3, mamba_rms_norm=True,
        head_dim=16, mlp_bias=True, mlp_multipliers=[0.5, 2.0])),
    "falcon_h1, norms behind gates": ("falcon_h1", dict(
        mamba_d_ssm=None, mamba_n_heads=8, mamba_n_groups=2, mamba_d_state=6, mamba_rms_norm=True,
        mamba_norm_before_gate=False, mamba_conv_bias=False)),
    "kimi_linear": ("kimi_linear", dict(
        MLA, num_hidden_layers=4, linear_attn_config=dict(
            kda_layers=[1, 2, 4], full_attn_layers=[3], num_heads=4, head_dim=8, short_conv_kernel_size=4),
        q_lora_rank=None, num_experts=8, num_experts_per_token=2, moe_intermediate_size=24, num_shared_experts=1,
        first_k_dense_replace=1, mla_use_nope=True)),
    "kimi_linear, by transformers' names": ("kimi_linear", dict(
        MLA, num_hidden_layers=3, layer_types=["full_attention", "linear_attention", "linear_attention"],
        linear_num_heads=2, linear_head_dim=12, linear_conv_kernel_dim=3, q_lora_rank=12, num_local_experts=8,
        num_experts_per_tok=3, moe_intermediate_size=20, n_shared_experts=2, n_group=4, topk_group=2,
        mlp_layer_types=["dense", "dense", "sparse"], norm_topk_prob=False)),
    "mixtral": ("mixtral", dict(num_local_experts=4)),
    "gemma": ("gemma", dict(head_dim=16)),
    "gemma2": ("gemma2", dict(FOUR, head_dim=16, query_pre_attn_scalar=24)),
    "vaultgemma": ("vaultgemma", dict(FOUR, head_dim=16, query_pre_attn_scalar=24)),
    "gemma3_text": ("gemma3_text", dict(FOUR, num_hidden_layers=7, head_dim=16,
                                        query_pre_attn_scalar=16)),
    "phi": ("phi", dict(num_key_value_heads=4)),
    "phi3": ("phi3", {}),
    "phi3, longrope": ("phi3", dict(original_max_position_embeddings=8, rope_scaling=dict(
        rope_type="longrope", short_factor=[1.0, 1.5, 2.0, 2.5], long_factor=[2.0, 3.0, 4.0, 5.0]))),
    "olmo": ("olmo", {}),
    "olmo2": ("olmo2", {}),
    "olmo3": ("olmo3", FOUR),
    "olmoe": ("olmoe", dict(num_experts=8, num_experts_per_tok=3)),
    "flex_olmo": ("flex_olmo", dict(num_experts=8, num_experts_per_tok=3)),
    "gpt_neox": ("gpt_neox", dict(num_key_value_heads=4)),
    "gpt_neox, serial": ("gpt_neox", dict(use_parallel_residual=False, num_key_value_heads=4)),
    "gpt_oss": ("gpt_oss", dict(FOUR, head_dim=8, num_local_experts=8, num_experts_per_tok=2,
                                rope_parameters=dict(YARN, truncate=False))),
    "glm": ("glm", dict(head_dim=8)),
    "glm4": ("glm4", dict(head_dim=8)),
    "glm4_moe": ("glm4_moe", dict(ROUTED, head_dim=8, use_qk_norm=True, attention_bias=True)),
    "glm4_moe_lite": ("glm4_moe_lite", dict(MLA, **ROUTED, q_lora_rank=12,
                                            mlp_layer_types=["dense", "sparse"])),
    "dots1": ("dots1", dict(ROUTED, norm_topk_prob=True)),
    "solar_open": ("solar_open", dict(ROUTED, head_dim=8, first_k_dense_replace=None)),
    "granite": ("granite", dict(embedding_multiplier=12.0, attention_multiplier=0.2,
                                residual_multiplier=0.3, logits_scaling=4.0)),
    "granitemoe": ("granitemoe", dict(num_local_experts=4, embedding_multiplier=12.0,
                                      attention_multiplier=0.2, residual_multiplier=0.3,
                                      logits_scaling=4.0)),
    "granitemoeshared": ("granitemoeshared", dict(num_local_experts=4, shared_intermediate_size=40,
                                                  attention_multiplier=0.2)),
    "hyperclovax": ("hyperclovax", dict(embedding_multiplier=3.0, attention_multiplier=0.2)),
    "starcoder2, window": ("starcoder2", dict(sliding_window=6)),
    "falcon, 7b": ("falcon", dict(num_key_value_heads=None)),
    "falcon, 40b": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=2)),
    "nemotron": ("nemotron", dict(head_dim=8)),
    "persimmon": ("persimmon", dict(num_key_value_heads=4)),
    "jais2": ("jais2", dict(head_dim=8)),
    "stablelm": ("stablelm", dict(use_qkv_bias=True)),
    "stablelm, beside": ("stablelm", dict(use_parallel_residual=True)),
    "cohere": ("cohere", dict(use_qk_norm=True)),
    "cohere2": ("cohere2", dict(FOUR, head_dim=8)),
    "exaone4": ("exaone4", FOUR),
    "exaone_moe": ("exaone_moe", dict(FOUR, num_experts=8, num_experts_per_tok=2,
                                      moe_intermediate_size=24, num_shared_experts=2)),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", dict(head_dim=8)),
    "hunyuan_v1_dense, RoPE by alpha": ("hunyuan_v1_dense", dict(head_dim=8, rope_parameters=dict(
        rope_type="dynamic", alpha=50.0, factor=1.0, rope_theta=10000.0))),
    "hunyuan_v1_moe": ("hunyuan_v1_moe", dict(head_dim=8, num_experts=4, moe_topk=2)),
    "hy_v3": ("hy_v3", dict(head_dim=8, num_experts=8, num_experts_per_tok=2,
                            moe_intermediate_size=24)),
    "internlm3": ("internlm3", dict(head_dim=8)),
    "iquestcoder": ("iquestcoder", dict(head_dim=8)),
    "smollm3": ("smollm3", dict(num_hidden_layers=4)),
    "seed_oss": ("seed_oss", dict(head_dim=8, residual_dropout=0.0)),
    "helium": ("helium", dict(head_dim=8)),
    "arcee": ("arcee", dict(head_dim=8)),
    "cwm": ("cwm", dict(FOUR, head_dim=8, rope_parameters=dict(rope_type="default", rope_theta=1e4))),
    "ernie4_5": ("ernie4_5", dict(head_dim=8)),
    "ernie4_5_moe": ("ernie4_5_moe", dict(moe_num_experts=8, moe_k=3, moe_intermediate_size=24,
                                          moe_layer_end_index=1)),
    "minimax_m2": ("minimax_m2", dict(head_dim=8, rotary_dim=4, num_local_experts=8,
                                      num_experts_per_tok=2)),
    "minimax": ("minimax", dict(num_local_experts=4, num_experts_per_tok=2, head_dim=8, block_size=8)),
    "minimax, by types, factors": ("minimax", dict(
        num_local_experts=4, num_experts_per_tok=2, num_hidden_layers=3, block_size=5, full_attn_alpha_factor=3.5,
        full_attn_beta_factor=0.7, linear_attn_alpha_factor=3.5, linear_attn_beta_factor=0.7, mlp_alpha_factor=3.5,
        mlp_beta_factor=0.7, layer_types=["linear_attention", "full_attention", "linear_attention"])),
    "mellum": ("mellum", dict(head_dim=8, num_local_experts=8, num_experts_per_tok=2,
                              moe_intermediate_size=24)),
    "llama4_text": ("llama4_text", dict(num_hidden_layers=4, head_dim=8, intermediate_size_mlp=56,
                                        num_local_experts=4, interleave_moe_layer_step=2,
                                        attention_chunk_size=6)),
    "deepseek_v2": ("deepseek_v2", dict(MLA, **dict(ROUTED, n_shared_experts=2), q_lora_rank=None)),
    "deepseek_v3": ("deepseek_v3", dict(MLA, **ROUTED, q_lora_rank=12, n_group=4, topk_group=2)),
    "youtu": ("youtu", dict(MLA, q_lora_rank=12)),
    "gpt2": ("gpt2", GPT),
    "gpt_bigcode": ("gpt_bigcode", GPT),
    "gptj": ("gptj", dict(GPT, rotary_dim=4)),
}


def config_of(name):
    kind, more = CONFIGS[name]
    config = dict({} if "n_embd" in more else BASE, **more)
    return dict(config, model_type=kind)


# ---- our arrays as those of transformers ----

def matrix(a, inputs=1):
    """A weight with contracted dimensions first, as PyTorch's [out, in]."""
    return a.reshape(int(numpy.prod(a.shape[:inputs])), -1).T


def experts(parts, shape):
    """Kernels [expert, in, out] of experts, side by side, as an array of that shape."""
    joined = numpy.concatenate(parts, axis=2)
    return joined if joined.shape == tuple(shape) else joined.transpose(0, 2, 1)


class Layer:
    """The arrays of one layer by transformers' names behind its prefix."""

    def __init__(self, arrays, prefix, config):
        self.a, self.p, self.config = arrays, prefix, config

    def has(self, name):
        return self.p + name in self.a

    def get(self, name):
        return self.a[self.p + name]

    def qkv(self, part):
        return [self.get(f"attn/{x}/{part}") for x in "qkv"]

    def fused(self, part):
        """Queries, keys and values in one array: one after the other, or by groups of heads."""
        by_head = self.config.model_type in ("gpt_neox", "falcon", "persimmon")
        q, k, v = self.qkv(part)
        axis = q.ndim - 2
        if not by_head:
            return numpy.concatenate([x.reshape(x.shape[:axis] + (-1,)) for x in (q, k, v)], axis)
        groups = k.shape[axis]
        q = q.reshape(q.shape[:axis] + (groups, -1) + q.shape[-1:])
        k, v = (numpy.expand_dims(x, axis + 1) for x in (k, v))
        return numpy.concatenate([q, k, v], axis + 1).reshape(q.shape[:axis] + (-1,))

    def latent(self, first, second):
        return numpy.concatenate([self.get(f"attn/{first}"), self.get(f"attn/{second}")], 2)

    def delta(self, name, shape):
        """An array of a gated delta rule: in transformers by key heads, each with its values."""
        key_heads = self.get("attn/q/kernel").shape[1]

        def by_key_heads(parts):
            rows = [self.get(f"attn/{x}/kernel") for x in parts]
            rows = [a.reshape(a.shape[0], key_heads, -1) for a in rows]
            return matrix(numpy.concatenate(rows, 2))

        single = {"in_proj_z": "gate", "in_proj_a": "decay", "in_proj_b": "beta"}.get(name.split(".")[1])
        if single:
            return matrix(self.get(f"attn/{single}/kernel"))
        if "in_proj_qkv." in name:
            return numpy.concatenate([matrix(self.get(f"attn/{x}/kernel")) for x in ("q", "key", "value")])
        if "in_proj_qkvz" in name:
            return by_key_heads(("q", "key", "value", "gate"))
        if "in_proj_ba" in name:
            return by_key_heads(("beta", "decay"))
        if "conv1d" in name:
            taps = [self.get(f"attn/{x}/taps") for x in ("q", "key", "value")]
            return numpy.concatenate([a.reshape(a.shape[0], -1) for a in taps], 1).T.reshape(shape)
        words = {"A_log": "decay/log", "dt_bias": "decay/bias", "norm.weight": "norm/scale"}
        for theirs_, ours in words.items():
            if name.endswith(theirs_):
                return self.get("attn/" + ours)
        return matrix(self.get("attn/o/kernel"), 2)

    def kda(self, name, shape):
        """An array of KDA."""
        if "conv1d" in name:
            taps = [self.get(f"attn/{x}/taps") for x in ("q", "key", "value")]
            return numpy.concatenate([a.reshape(a.shape[0], -1) for a in taps], 1).T.reshape(shape)
        words = {"A_log": "decay/log", "dt_bias": "decay/bias", "o_norm.weight": "norm/scale"}
        for theirs_, ours in words.items():
            if name.endswith(theirs_):
                return self.get("attn/" + ours).reshape(shape)
        ours = {"q_proj": "q", "k_proj": "key", "v_proj": "value", "f_a_proj": "decay_in", "f_b_proj": "decay",
                "b_proj": "beta", "g_a_proj": "gate_in", "g_b_proj": "gate", "o_proj": "o"}[name.split(".")[-2]]
        return matrix(self.get(f"attn/{ours}/kernel"), 2 if ours == "o" else 1)

    def mamba(self, name, shape):
        """An array of Mamba-2, whose z, x, b, c and dt are one projection, and x, b and c one convolution."""
        if "in_proj" in name:
            return numpy.concatenate([matrix(self.get(f"mamba/{x}/kernel")) for x in ("z", "x", "b", "c", "dt")])
        if "conv1d" in name:
            leaf = "taps" if "weight" in name else "conv_bias"
            parts = [self.get(f"mamba/{x}/{leaf}") for x in ("x", "b", "c")]
            parts = [a.reshape(a.shape[0], -1) if leaf == "taps" else a.reshape(-1) for a in parts]
            return numpy.concatenate(parts, -1).T.reshape(shape)
        words = {"A_log": "dt/log", "dt_bias": "dt/bias", "D": "skip", "norm.weight": "norm/scale"}
        for theirs_, ours in words.items():
            if name.endswith("." + theirs_):
                return self.get("mamba/" + ours).reshape(shape)
        return matrix(self.get("mamba/o/kernel"), 2)

    def lightning(self, name, shape):
        """An array of lightning attention, whose q, k and v are one projection, of each head side by side."""
        if "qkv_proj" in name:
            parts = [self.get(f"lightning/{x}/kernel") for x in "qkv"]
            return matrix(numpy.concatenate(parts, 2))
        if "output_gate" in name:
            return matrix(self.get("lightning/gate/kernel"))
        return matrix(self.get("lightning/o/kernel"), 2) if "out_proj" in name else \
            self.get("lightning/norm/scale").reshape(shape)

    def convolution(self, name, shape):
        """An array of a gated short convolution."""
        if "in_proj" in name:
            return numpy.concatenate([matrix(self.get(f"conv/{x}/kernel")) for x in ("in", "gate", "value")])
        return self.get("conv/taps").T.reshape(shape) if ".conv." in name else \
            matrix(self.get("conv/o/kernel"))

    def norm(self, name):
        """The layer's norm with this name in Transformers, which depends on the norms of the model."""
        after = self.has("norm1_after/scale")
        serial = self.has("norm2/scale") or self.has("norm2_after/scale")
        if name in ("norm", "input_layernorm", "ln_1", "ln_attn", "operator_norm"):
            return "norm1"
        if name == "post_self_attn_layernorm" or (name == "post_attention_layernorm" and after and
                                                  self.config.model_type not in ("glm4",)):
            return "norm1_after" if self.config.model_type != "hyperclovax" else "norm2"
        if name in ("post_attention_layernorm", "pre_feedforward_layernorm", "pre_ff_layernorm", "ln_2", "ln_mlp", "ffn_norm"):
            return "norm2" if serial else "norm1"
        if name == "post_norm1":
            return "norm1_after"
        if name in ("post_feedforward_layernorm", "post_mlp_layernorm", "post_norm2"):
            return "norm2_after"
        return None

    def find(self, name, shape):
        part = name.rsplit(".", 1)[-1]
        leaf = {"weight": "kernel", "bias": "bias"}.get(part)
        if name.startswith("linear_attn."):
            return self.delta(name, shape)
        if name.startswith("mixer.") and self.has("mamba/o/kernel"):
            return self.mamba(name, shape)
        if name.startswith("mixer.") and self.has("attn/o/kernel"):
            name = "self_attn." + name[6:]
        elif name.startswith("mixer."):
            name = "mlp." + name[6:]
        if name.startswith("mamba."):
            return self.mamba(name, shape)
        if name.startswith("self_attn.") and self.has("attn/decay_in/kernel"):
            return self.kda(name, shape)
        if name.startswith("self_attn.") and self.has("lightning/o/kernel"):
            return self.lightning(name, shape)
        if name.startswith("conv."):
            return self.convolution(name, shape)
        if "self_attn.q_proj.weight" in name and self.has("attn/gate/kernel"):
            return matrix(self.latent("q/kernel", "gate/kernel"))
        if re.search(r"(attn|attention)\.(query_key_value|qkv_proj|c_attn)\.", name):
            a = self.fused(leaf)
            return (a if "c_attn" in name and self.config.model_type == "gpt2" else a.T) \
                if leaf == "kernel" else a
        m = re.search(r"(?:attn|attention)\.([qkv])_proj\.", name)
        if m and self.has("attn/q_rope/kernel"):
            return matrix(self.latent("q/kernel", "q_rope/kernel"))
        if m:
            a = self.get(f"attn/{m[1]}/{leaf}")
            return matrix(a) if leaf == "kernel" else a.reshape(-1)
        if re.search(r"(?:attn|attention)\.(o_proj|dense|out_proj|c_proj)\.", name):
            a = self.get(f"attn/o/{leaf}")
            if leaf == "bias":
                return a
            return matrix(a, 2).T if self.config.model_type == "gpt2" else matrix(a, 2)
        m = re.search(r"attn\.([qk])(?:uery|ey)?_(?:norm|layernorm)\.", name)
        if m:
            return self.get(f"attn/{m[1]}_norm/" + ("bias" if part == "bias" else "scale")).reshape(shape)
        latent = {"q_a_proj": "q_latent/kernel", "q_a_layernorm": "q_latent/scale",
                  "kv_a_layernorm": "kv_latent/scale"}
        m = re.search(r"attn\.(\w+)\.weight", name)
        if m and m[1] in latent:
            a = self.get("attn/" + latent[m[1]])
            return matrix(a) if a.ndim > 1 else a
        if m and m[1] == "q_b_proj":
            return matrix(self.latent("q/kernel", "q_rope/kernel"))
        if m and m[1] == "kv_b_proj":
            return matrix(self.latent("k/kernel", "v/kernel"))
        if m and m[1] == "kv_a_proj_with_mqa":
            return numpy.concatenate([matrix(self.get("attn/kv_latent/kernel")),
                                      matrix(self.get("attn/k_rope/kernel"))])
        if name.endswith("sinks"):
            return self.get("attn/sinks")
        m = re.match(r"(\w+)\.(weight|bias)$", name)
        if m and self.norm(m[1]):
            return self.get(self.norm(m[1]) + ("/scale" if part == "weight" else "/bias"))
        return self.mlp(name, shape, leaf)

    def mlp(self, name, shape, leaf):
        if "e_score_correction_bias" in name:
            return self.get("moe/router/bias").reshape(shape)
        if name.endswith("shared_expert_gate.weight"):
            return matrix(self.get("moe/shared_gate/kernel"))
        shared = None if "shared" not in name else "moe/shared/" if self.has("moe/router/kernel") else "mlp/"
        if re.search(r"(\.|^)(gate|gate\.wg|router|router\.layer)\.(weight|bias)$", name):
            return matrix(self.get("moe/router/kernel")) if leaf == "kernel" else \
                self.get("moe/router/logit_bias")
        if ("experts." in name or "put_linear" in name) and not shared:
            return self.experts(name, shape)
        at = shared or "mlp/"
        if re.search("gate_up_proj|input_linear", name):
            return numpy.concatenate([matrix(self.get(at + "gate/kernel")), matrix(self.get(at + "up/kernel"))])
        words = {"gate": r"gate_proj|w1", "up": r"up_proj|w3|fc1|c_fc|fc_in|dense_h_to_4h",
                 "down": r"down_proj|w2|output_linear|fc2|c_proj|fc_out|dense_4h_to_h"}
        for ours, theirs in words.items():
            if re.search(rf"(\.|^)({theirs})\.", name):
                a = self.get(f"{at}{ours}/{leaf}")
                return a if leaf == "bias" or self.config.model_type == "gpt2" else matrix(a)
        raise KeyError(name)

    def experts(self, name, shape):
        bias = name.endswith("bias")
        leaf = "bias" if bias else "kernel"
        if "down_proj" in name or "output_linear" in name:
            a = self.get("moe/down/" + leaf)
            return a if bias else experts([a], shape)
        pair = [self.get(f"moe/{x}/{leaf}") for x in ("gate", "up") if self.has(f"moe/{x}/{leaf}")]
        if self.config.model_type == "gpt_oss": # gate and up take turns
            return numpy.stack(pair, -1).reshape(shape)
        return experts(pair, shape)


def theirs(arrays, name, shape, config):
    """The array of transformers by its name, made of ours."""
    m = re.search(r"(?:layers|h)\.(\d+)\.(.*)", name)
    if m:
        return Layer(arrays, f"layers/{m[1]}/", config).find(m[2], shape)
    if re.search(r"(embed_tokens|embed_in|wte|word_embeddings|embeddings)\.weight", name):
        return arrays["embed/table"]
    if name.endswith("wpe.weight"):
        return arrays["embed/positions"]
    if re.search(r"(lm_head|embed_out)\.weight", name):
        return matrix(arrays["head/kernel"])
    if name == "lm_head.bias":
        return arrays["head/bias"]
    return arrays["final_norm/" + ("bias" if name.endswith("bias") else "scale")]


# ---- one step of both ----

def keep_float64():
    """Make conversions of float64 to float32 do nothing."""
    to, softmax = torch.Tensor.to, torch.nn.functional.softmax

    def keep(self, *args, **options):
        if self.dtype == torch.float64 and (torch.float32 in args or options.get("dtype") == torch.float32):
            return self
        return to(self, *args, **options)

    def wide(x, dim=None, _stacklevel=3, dtype=None):
        return softmax(x, dim=dim, dtype=None if x.dtype == torch.float64 else dtype)

    torch.Tensor.to, torch.nn.functional.softmax = keep, wide
    of_type = torch.Tensor.type
    torch.Tensor.type = lambda self, *a, **k: self if self.dtype == torch.float64 and torch.float32 in a else of_type(
        self, *a, **k)
    torch.Tensor.float = lambda self: self if self.dtype == torch.float64 else to(self, torch.float32)


def scenario(folder, config):
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("version: 1\nmesh: {dp: 1}\nmodel: {from: config.json, dtype: float64}\n"
                "batch: {size: 2, seq: 16}\nparams: [[.*, []]]\n")
    return path


def read_arrays(command):
    found = {}
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    while data:
        line, data = data.split(b"\n", 1)
        kind, name, *shape = line.decode().split()
        shape = [int(n) for n in shape]
        n = 8 * int(numpy.prod(shape, dtype=int))
        found.setdefault(kind, {})[name] = numpy.frombuffer(data[:n]).reshape(shape)
        data = data[n:]
    found["param"].update({k: v for k, v in found["input"].items() if "router/bias" in k})
    return found


def run_theirs(model, ours):
    """Load our parameters, and compute loss and gradients."""
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if "inv_freq" in name or not (isinstance(p, torch.nn.Parameter) or "correction" in name):
            continue
        with torch.no_grad():
            p.copy_(torch.tensor(theirs(ours["param"], name, p.shape, model.config).copy()))
    tokens, labels = (torch.tensor(ours["input"][x]).long() for x in ("tokens", "labels"))
    logits = model(tokens, use_cache=False).logits.double()
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    loss.backward()
    return loss.item()


def gradients_apart(model, ours):
    worst, where = 0.0, ""
    largest = max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None)
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        got = theirs(ours["gradient"], name, p.shape, model.config)
        want = p.grad.numpy() if p.grad is not None else numpy.zeros(p.shape)
        size = max(abs(want).max(), 1e-3 * largest)
        apart = abs(got - want).max() / size
        if apart > worst:
            worst, where = apart, name
    return worst, where


def create(config):
    cls = AutoConfig.for_model(**config)
    cls._attn_implementation = "eager"
    if hasattr(cls, "_experts_implementation"):
        cls._experts_implementation = "eager"
    return AutoModelForCausalLM.from_config(cls)


def row(name, args):
    config = config_of(name)
    torch.manual_seed(0)
    model = create(config).double().eval()
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    with tempfile.TemporaryDirectory() as folder:
        path = scenario(folder, config)
        plan = json.loads(subprocess.run([args.program, "plan", "--json", path], check=True,
                                         stdout=subprocess.PIPE).stdout)
        mine = plan["memory"]["by_kind"]["parameters"] // 8
        ours = read_arrays([args.arrays, path])
    loss = run_theirs(model, ours)
    worst, where = gradients_apart(model, ours)
    return (name, config["model_type"], mine, count, abs(loss - float(ours["loss"]["loss"])), worst, where)


# ---- published sizes ----

WORDS_OF_FLOATS = ("theta", "factor", "beta_", "mscale", "multiplier", "logits_scaling", "logit_scale", "_eps")


def typed(config):
    """A config with floats where transformers requires floats but YAML reads 5e6 or 16."""
    if not isinstance(config, dict):
        return config
    return {key: float(value) if any(w in key for w in WORDS_OF_FLOATS) and
            isinstance(value, (int, str)) and not isinstance(value, bool) else typed(value)
            for key, value in config.items()}


def count_theirs(config):
    """How many parameters transformers trains, and how many more it does not; None if it has no such model.

    Its module of T5 ties a head that the config unties, until weights of one are loaded: the head
    is added here."""
    kind = "deepseek_v3" if config["model_type"] == "kimi_k2" else config["model_type"]
    auto = AutoModelForSeq2SeqLM if kind == "t5" else AutoModelForCausalLM
    try:
        cls = AutoConfig.for_model(**dict(config, model_type=kind))
    except ValueError:
        return None
    auto._model_mapping[type(cls)] # imports its module while tensors still have elements
    with torch.device("meta"):
        model = auto.from_config(cls)
    counts = [0, 0]
    for p in model.parameters():
        counts[not p.requires_grad] += p.numel()
    if kind == "t5" and not config.get("tie_word_embeddings", True):
        counts[0] += model.lm_head.weight.numel()
    buffers = sum(b.numel() for name, b in model.named_buffers() if "correction_bias" in name)
    return counts[0], counts[1] + buffers


def sizes(args):
    lines = ["| size | model_type | parameters | of transformers | router biases that it does not train |",
             "|---|---|---|---|---|"]
    bad = 0
    for line in subprocess.run([args.arrays, "--sizes"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout.splitlines():
        name, mine, text, _ = line.split("\t")
        config = typed(yaml.safe_load(text))
        if args.families and name not in args.families:
            continue
        count, more = count_theirs(config) or (None, 0)
        good = int(mine) == count
        bad += not good
        lines.append(f"| {name} | {config['model_type']} | {int(mine):,} | "
                     f"{f'{count:,}' if count else 'none'} | {more or ''} |".replace("  |", " |"))
        print(("ok     " if good else "BAD    ") + lines[-1], flush=True)
    return lines, bad


def families(args):
    lines = ["| config | model_type | parameters | of transformers | loss apart | gradients apart |",
             "|---|---|---|---|---|---|"]
    bad = 0
    for name in args.families or CONFIGS:
        try:
            _, kind, mine, count, loss, worst, where = row(name, args)
        except Exception as error: # the other families are tried, too
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            bad += 1
            continue
        good = mine == count and loss < 1e-5 and worst < 1e-5
        bad += not good
        lines.append(f"| {name} | {kind} | {mine:,} | {count:,} | {loss:.1e} | {worst:.1e} |")
        print(("ok     " if good else "BAD    ") + lines[-1] + ("" if good else " " + where), flush=True)
    return lines, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default="build/shardsim")
    parser.add_argument("--arrays", default="build/bench/model_arrays")
    parser.add_argument("--out")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    if args.sizes:
        lines, bad = sizes(args)
    else:
        keep_float64()
        lines, bad = families(args)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
