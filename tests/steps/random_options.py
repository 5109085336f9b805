"""random_options.py - the options of scenarios that are trained: a row each, in the order in which they are drawn.

Combinations are consistent: sizes divide by the axes that shard them, experts and sequences have axes of their own,
a pipeline has as many layers as stages.  Some scenarios are then disturbed.  Options of serving are in
random_serving.py, those of graphs in random_graphs.py.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os

from random_draw import SCHEDULES, SKIP, Draw, spec

KINDS = ["mlp", "attention", "block", "t5", "transformer", "gpt2", "llama3", "mixtral", "deepseek", "decoder"]
TYPES = ["float32", "float64", "bfloat16", "float16"]
CLUSTERS = ["h100-sxm", "h100-sxm", "b200", "tpu-v4", "tpu-v5p", "mi300x", "gb200-nvl72", "a100-40g-roce", "rtx4090"]
DISTURBED = 0.12  # the part with a spec of any axes, a value of no use, or an order of axes that is not the mesh's
TEXT = "text.txt"        # which main() of random_scenarios.py writes beside the scenarios
CONFIG = "config.json"

CONFIG_OF_LLAMA = {"model_type": "llama", "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
                   "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 4, "vocab_size": 64,
                   "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
                   "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False}


def rope(d):
    """Rotary positions, with scalings of frequencies that sequences of a few tokens differ in."""
    if d.kind == "deepseek" and any("plain" in t for t in d.get("model.layer_types") or []):
        return None
    out = {"theta": d.choice([100, 10000]), "interleaved": d.chance(0.5)}
    if d.chance(0.2):
        out["local_theta"] = 50
    if d.chance(0.2) and d.kind != "deepseek":
        out["part"] = 0.5
    if d.chance(0.4):
        out["scaling"] = d.choice([
            {"kind": "linear", "factor": 4}, {"kind": "dynamic", "factor": 2, "original": 8},
            {"kind": "llama3", "factor": 8, "original": 16, "low": 1, "high": 4},
            {"kind": "yarn", "factor": 4, "original": 8},
            {"kind": "yarn", "factor": 4, "original": 8, "untruncated": True}])
    return out


STATES = ["delta", "kda", "mamba", "conv", "lightning", "full-mamba"]


def layer_types(d):
    """Layers that see all, a window or a chunk, some of them without rotary positions."""
    sights, plain = ["full", "window", "chunk"], ["full-plain", "window-plain", "chunk-plain"]
    others = [] if "decode" in d.out else STATES * 2
    if d.kind != "deepseek":
        sights = sights + plain
    elif d.chance(0.5): # compressed attention without positions in any layer
        sights, others = plain * 2, [t for t in others if t != "full-mamba"]
        d.put("model.rope", None)
    types = d.rng.choices(sights + others, k=d.choice([1, 2, 3]))
    for key in "window", "chunk":
        if any(t.startswith(key) for t in types):
            d.put("model." + key, d.choice([1, 3, 5, 100]))
    if d.kind in ("block", "transformer"):
        d.put("model.causal", True)
    d.put("model.attention", "fused")
    return types


def has_state(d):
    """Layers without attention, which know no documents."""
    return set(STATES) & set(d.get("model.layer_types") or [])


def of_linear(values):
    """Of layers without attention, numbers that the axes of tensor parallelism divide."""
    return lambda d: d.choice(values) * max(1, d.size("tensor")) if has_state(d) else SKIP


def window(d):
    if d.get("model.layer_types") or not d.get("model.causal", True) or d.get("model.attention") == "unfused":
        return SKIP
    return d.choice([0, 1, 3, 100])


def unfused(d):
    return "fused" if d.get("model.layer_types") or d.axes("sequence") else d.choice(["fused", "unfused"])


def latent(values):
    """Of attention that may be compressed: DeepSeek's has none of it."""
    return lambda d: SKIP if d.kind == "deepseek" else d.choice(values)


def cut(values):
    """Of the sizes, or thrice these, one that the axes of tensor parallelism divide."""
    return lambda d: d.choice([n for n in values + [3 * n for n in values] if n % d.size("tensor") == 0][:len(values)])


def kv_heads(d):
    tensor = max(1, d.size("tensor"))
    return d.choice([n for n in {1, tensor, 2 * tensor, d.get("model.heads")}
                     if d.get("model.heads") % n == 0 and (n % tensor == 0 or d.chance(0.1))])


MODEL = (
    ("model.d_model", 1, [16, 32]),
    ("model.d_ff", 1, cut([16, 32, 48])),
    ("model.activation", 0.8, ["gelu", "swiglu", "relu", "silu", "geglu", "gelu-exact", "geglu-exact", "relu-squared",
                               "swiglu-clamped", "swiglu-clamped"]),
    ("model.layers", 1, lambda d: d.stages * d.choice([1, 1, 1, 2]) if d.stages > 1 else d.choice([1, 1, 1, 2, 3])),
    ("model.bias", 0.35, [True, True, False]),
    ("model.heads", 1, lambda d: d.size("tensor") * d.choice([1, 1, 2] if d.size("tensor") > 1 else [2, 4])),
    ("model.kv_heads", 0.6, kv_heads),
    ("model.head_dim", 1, [4, 4, 8]),
    ("model.causal", 0.2, [True, False]),
    ("model.layer_types", 0.2, layer_types),
    ("model.rope", 0.4, rope),
    ("model.norm", 0.3, ["rms", "layer"]),
    ("model.norm_place", 0.2, ["before", "after", "both"]),
    ("model.norm_weights", 0.2, ["standard", "scale", "bare"]),
    ("model.norm_one_plus", 0.15, lambda d: d.get("model.norm_weights") != "bare"),
    ("model.norm_eps", 0.15, [1e-5, 1e-3]),
    ("model.residual", 0.2, lambda d: d.choice(
        ["serial", "beside-norms"] + ["beside", "normed"] * (d.get("model.norm_place") != "after"))),
    ("model.vocab", 1, cut([16, 32, 64, 256])),
    ("model.vocab_multiple", 0.2, lambda d: d.choice([1, 32, 128]) if d.get("model.vocab") else SKIP),
    ("model.attention_bias", 0.35, latent(["none", "qkv", "qkv", "all"])),
    ("model.qk_norm", 0.4, latent([True, False, "heads", "heads", "whole", "late", "bare"])),
    ("model.attention", 0.3, unfused),
    ("model.window", 0.2, window),
    ("model.chunk", 0.1, lambda d: SKIP if d.get("model.window") else window(d)),
    ("model.attention_scale", 0.2, [0.1, 0.5]),
    ("model.attention_cap", 0.2, [0.5, 30]),
    ("model.attention_gate", 0.25, latent([True, True, False])),
    ("model.sinks", 0.35, latent([True, True, False])),
    ("model.embed_scale", 0.15, [4, 0.5]),
    ("model.residual_scale", 0.15, [0.5, 1]),
    ("model.skip_scale", 0.15, [1.5, 1]),
    ("model.attention_out_scale", 0.1, [0.5, 2]),
    ("model.activation_scale", 0.1, [0.5, 1.5]),
    ("model.mlp_out_scale", 0.1, [0.5, 2]),
    ("model.logit_scale", 0.15, [0.25, 2]),
    ("model.logit_cap", 0.15, [5, 30]),
    ("model.head_bias", 0.2, [True, False]),
    ("model.mtp", 0.2, [0, 1, 1, 2]),
    ("model.mtp_weight", 0.15, [0.1, 1]),
    ("model.positions", 0.3, [48, 64]),
    ("model.tied", 0.3, [True, True, False]),
    ("model.decoder_layers", 0.5, [1, 2]),
    ("model.buckets", 0.3, [8, 16]),
    ("model.distance", 0.3, [17, 32]),
    ("model.dtype", 0.4, ["bfloat16", "bfloat16", "float32", "float64", "float16"]),
)

NAMED = (  # a published model, or a config, made small: what it says itself is then left out
    ("model.from", 0.5, lambda d: CONFIG if d.kind == "llama3" else SKIP),
    ("model.size", 1, lambda d: SKIP if d.get("model.from") else PUBLISHED[d.kind]),
    ("model.scale", 1, lambda d: 0.004 if d.get("model.size") else d.choice([1, 0.5])),
)
PUBLISHED = {"gpt2": "gpt2-small", "llama3": "llama3-1b", "t5": "t5-small", "mixtral": "mixtral-8x7b",
             "deepseek": "deepseek-v2-lite", "decoder": "qwen3-0.6b"}
OF_NAMED = ("d_model", "d_ff", "layers", "heads", "kv_heads", "head_dim", "vocab", "positions", "layer_types", "window",
            "chunk", "rope", "norm", "norm_weights", "decoder_layers", "activation")


def expert_count(d):
    return d.choice([n for n in (2, 4, 8, 6, 12) if n % d.size("expert") == 0][:3])


def groups(d):
    return d.choice([2, 4]) if d.get("moe.experts") % 4 == 0 and d.get("moe.top_k") <= 2 else SKIP


def of_groups(values):
    return lambda d: SKIP if d.get("moe.groups", 1) == 1 else d.choice(values)


def of_shared(values):
    return lambda d: d.choice(values) if d.get("moe.shared") else SKIP


def node_axis(d):
    """The last axis of the batch, if it has experts: order_axes() puts the outermost axis last."""
    axes = d.axes("expert")
    return axes[0] if axes else SKIP


MOE = (
    ("moe.experts", 1, expert_count),
    ("moe.top_k", 1, lambda d: d.choice([n for n in (1, 2, 3) if n < d.get("moe.experts")])),
    ("moe.d_ff", 0.8, cut([8, 16])),
    ("moe.shared", 0.3, [1, 2]),
    ("moe.shared_gate", 0.3, of_shared([True, False])),
    ("moe.shared_d_ff", 0.3, lambda d: cut([16, 32])(d) if d.get("moe.shared") else SKIP),
    ("moe.first_dense", 0.2, lambda d: 1 if d.get("model.layers", 1) > 1 else SKIP),
    ("moe.every", 0.2, lambda d: d.choice([1, 2]) if d.get("model.layers", 1) > 2 else SKIP),
    ("moe.score", 0.3, ["softmax", "sigmoid"]),
    ("moe.renormalize", 0.3, [True, False]),
    ("moe.scale", 0.2, [2.5, 0.5]),
    ("moe.bias", 0.3, [True, True, False]),
    ("moe.after", 0.2, lambda d: d.get("moe.score") != "sigmoid"),
    ("moe.router_bias", 0.3, [True, False]),
    ("moe.expert_bias", 0.35, [True, True, False]),
    ("moe.gates_input", 0.2, lambda d: d.get("moe.top_k") == 1),
    ("moe.groups", 0.25, groups),
    ("moe.kept", 0.6, of_groups([1, 2])),
    ("moe.group_score", 0.6, of_groups(["top2", "max"])),
    ("moe.node_axis", 0.25, node_axis),
    ("moe.by_node", 0.25, [True, False, "cluster"]),
    ("moe.capacity", 0.3, [0.5, 1, 1.25, 4]),
    ("moe.drop", 0.3, ["tokens", "choices"]),
    ("moe.token_groups", 0.2, lambda d: d.choice([0, 1, d.size("batch", "expert")])),
    ("moe.aux_loss", 0.3, [0.01]),
    ("moe.z_loss", 0.25, [0.001]),
    ("moe.routing", 0.85, ["uniform", "zipf", "hot-expert", "ragged", "empty", "rotating", "hot-rank", "learned",
                           "learned", "auto"]),
    ("moe.skew", 0.2, [0, 0.7]),
    ("moe.ranks", 0.2, lambda d: d.choice([1, 2, 4]) if d.get("moe.experts") % 4 == 0 else SKIP),
)

MLA = (
    ("mla.kv_rank", 1, [8]),
    ("mla.rope_dim", 1, [4]),
    ("mla.value_dim", 1, [4, 8]),
    ("mla.q_rank", 0.7, [0, 8]),
)

LINEAR = (
    ("linear.key_heads", 1, of_linear([1])),
    ("linear.value_heads", 1, of_linear([1, 2])),
    ("linear.key_dim", 1, of_linear([2, 4])),
    ("linear.value_dim", 1, of_linear([3, 4])),
    ("linear.taps_bias", 0.5, lambda d: d.chance(0.7) if has_state(d) else SKIP),
    ("linear.norm", 0.5, lambda d: d.choice(["behind", "before", "none", "none"]) if has_state(d) else SKIP),
    *((f"linear.{part}_scale", 0.3, lambda d: d.choice([0.5, 1.5]) if has_state(d) else SKIP)
      for part in ("query", "key", "value", "gate", "step", "out")),
    ("linear.taps", 0.7, lambda d: d.choice([1, 2, 3, 4]) if has_state(d) else SKIP),
)

BATCH = (
    ("batch.microbatches", 0.4, lambda d: d.choice([1, 2, 4]) if d.trains and d.stages == 1 else SKIP),
    ("batch.microbatches", 1, lambda d: SKIP if d.stages == 1 else max(
        d.stages if d.schedule == "DualPipeV" else 1, d.out["mesh"]["pp"] * d.choice([1, 1, 2]))),
    ("batch.size", 1, lambda d: d.get("batch.microbatches", 1) * d.size("batch", "expert") * d.choice([1, 1, 2])),
    ("batch.seq", 1, lambda d: d.size("sequence") * d.choice([2, 4] if d.size("sequence") < 4 else [2])),
    ("batch.source", 0.4, [4, 8]),
)


def documents(d):
    if not d.get("model.causal", True) or d.get("model.attention") == "unfused" or has_state(d):
        return SKIP
    seq = d.get("batch.seq")
    return d.choice([{"mean": 3, "seed": 1}, [1, seq - 1], None])


CONTEXT = (
    ("context.axis", 1, lambda d: d.axes("sequence")[0] if d.axes("sequence") else SKIP),
    ("context.method", 0.6, lambda d: d.choice(["gather", "ring"]) if d.get("context.axis") else SKIP),
    ("context.order", 0.6, lambda d: "contiguous" if has_state(d) else d.choice(
        ["contiguous", "zigzag", "striped"]) if d.get("context.axis") else SKIP),
    ("context.documents", 0.25, documents),
)


def of_muon(values):
    return lambda d: SKIP if d.get("optimizer.kind") != "muon" else values(d) if callable(values) else d.choice(values)


def homes(d):
    """Axes that own matrices: any but the pipeline's."""
    axes = d.some([a for a in d.out["mesh"] if a != "pp"]) if d.get("optimizer.layout") == "owned" else SKIP
    return axes if axes is SKIP else d.one_or_list(axes)


OPTIMIZER = (
    ("optimizer.kind", 1, ["sgd", "adamw", "adamw", "muon", "muon"]),
    ("optimizer.lr", 0.7, [0.01, 0.1]),
    ("optimizer.betas", 0.2, lambda d: [0.8, 0.95] if d.get("optimizer.kind") == "adamw" else SKIP),
    ("optimizer.eps", 0.2, lambda d: 1e-6 if d.get("optimizer.kind") == "adamw" else SKIP),
    ("optimizer.momentum", 0.5, lambda d: 0.9 if d.get("optimizer.kind") == "sgd" else SKIP),
    ("optimizer.momentum", 1, of_muon([0.95, 0.95, 0])),
    ("optimizer.layout", 0.8, of_muon(["duplicated", "distributed", "owned", "owned"])),
    ("optimizer.homes", 1, homes),
    ("optimizer.nesterov", 0.3, of_muon([True, False])),
    ("optimizer.ns_steps", 0.5, of_muon([1, 2, 5])),
    ("optimizer.ns_coefficients", 0.2, of_muon([[2, -1.5, 0.5], [3.4445, -4.775, 2.0315]])),
    ("optimizer.ns_dtype", 0.7, of_muon(["bfloat16", "float32", "float32", "float64"])),
    ("optimizer.adjust_lr", 0.4, of_muon(["original", "match_rms_adamw", "spectral_unclamped"])),
    ("optimizer.for", 0.3, of_muon([[".*"], ["kernel"], ["(up|down|gate)/kernel", "(q|o)/kernel"]])),
    ("optimizer.apart", 0.2, of_muon(lambda d: ["heads"] if d.get("model.heads") else SKIP)),
    ("optimizer.rest", 0.3, of_muon(["adamw", "sgd"])),
    ("optimizer.rest_lr", 0.3, of_muon([0.003, 0])),
    ("optimizer.weight_decay", 0.3, [0.1]),
    ("optimizer.clip", 0.3, [1, 0.1]),
    ("steps", 0.3, [1, 2, 3]),
    ("optimizer.decay", 0.25, ["constant", "cosine"]),
    ("optimizer.warmup", 0.25, lambda d: d.choice([1, 2]) if d.get("steps", 1) == 3 else SKIP),
    ("loss_scale.kind", 0.2, ["static", "dynamic"]),
    ("types.parameters", 0.3, TYPES + ["compute"]),
    ("types.parameters", 1, lambda d: "float32" if d.get("loss_scale.kind") else SKIP),
    ("types.gradients", 0.25, TYPES + ["compute", "parameters"]),
    # Adam's second moment is 0 in float16 where a gradient is small, and the next step diverges.
    ("types.moments", 0.25, lambda d: d.choice([t for t in TYPES + ["compute", "parameters"] if t != "float16" or d.get("steps", 1) == 1])),
    ("types.reduce", 0.25, TYPES + ["compute", "parameters"]),
    ("loss_scale.initial", 0.9, lambda d: d.choice([1, 1024]) if d.get("loss_scale.kind") else SKIP),
    ("loss_scale.growth_interval", 0.5, lambda d: d.choice([1, 2]) if d.get("loss_scale.kind") == "dynamic" else SKIP),
)


def zero_axes(d):
    """The axes of the batch and the sequence, or any."""
    axes = d.axes("batch", "expert", "sequence") if d.chance(0.85) else [a for a in d.out["mesh"] if a != "pp"]
    axes = d.some(axes)
    return axes if axes is SKIP else d.one_or_list(axes)


def of_zero(stage, values):
    return lambda d: d.choice(values) if d.get("zero.axis") and d.get("zero.stage") >= stage else SKIP


ZERO = (
    ("zero.axis", 1, zero_axes),
    ("zero.stage", 1, lambda d: d.choice([1, 2, 3, 3]) if d.get("zero.axis") else SKIP),
    ("zero.layout", 0.4, of_zero(1, ["flat", "pad"])),
    ("zero.reshard_after_forward", 0.5, of_zero(3, ["default", "always", "never", True, False])),
    ("zero.prefetch", 0.4, of_zero(3, [0, 1, 2])),
)

PIPELINE = (
    ("pipeline.axis", 1, ["pp"]),
    ("pipeline.schedule", 1, lambda d: d.schedule),
    ("pipeline.stages_per_rank", 0.4, lambda d: d.choice([0, SCHEDULES[d.schedule]])),
    ("pipeline.layers", 0.3, lambda d: d.choice([None, "weighed"])),
    ("pipeline.place", 0.15, lambda d: [[d.choice(["final_norm", "head"]), d.stages - 1]] if d.get("model.vocab") else SKIP),
)


def recipe_rows(d):
    """Blocks are at most as wide as a shard."""
    return d.choice([2, 4]) if d.get("products.recipe") in ("blockwise", "mxfp8", "nvfp4") else SKIP


PRODUCTS = (
    ("products.recipe", 1, ["tensorwise", "rowwise", "blockwise", "mxfp8", "nvfp4"]),
    ("products.gradients", 0.3, ["recipe", "e4m3", "e5m2"]),
    ("products.block", 0.9, recipe_rows),
    ("products.amax", 0.4, ["all", "local"]),
    ("products.gathers", 0.4, lambda d: True if d.get("zero.stage") == 3 else SKIP),
    ("products.dispatch", 0.4, lambda d: True if d.get("products.recipe") in ("blockwise", "mxfp8") and d.get(
        "moe.experts") else SKIP),
    ("products.kept", 0.3, ["recipe", "codes", "wide"]),
    ("products.frozen", 0.3, ["compute", "codes", "cluster"]),
    ("products.except", 0.3, [[], ["head"], ["attn", "^head$"], ["router$"]]),
)

LORA = (
    ("lora.rank", 1, [2, 3, 4]),
    ("lora.targets", 1, [["kernel"], ["(up|q)/kernel"], [".*"], ["(down|o)/kernel", "(k|v|gate|up)/kernel"]]),
    ("lora.alpha", 0.4, [8]),
    ("lora.base", 0.5, ["compute", "int8", "nf4", "int4", "mxfp4"]),
    ("lora.start", 0.5, ["model", "zeros", "random"]),
)

RECOMPUTE = (
    ("recompute", 1, [
        "none", "selective", "full", [".*"], ["mlp"], {"kind": "full", "every": 2}, "selective_op", "minimal",
        "save_out_proj", "save_qkv_proj", "save_dot_except_mlp", {"kind": "selective_op", "hold": True},
        {"keep": ["op:product/2", "op:sum"], "whole": True, "hold": True}, {"every": 2, "offset": 1},
        {"keep": ["op:attention", "op:choice"]}, {"first": 1, "count": "stage"}, {"group": 2, "count": "stage"},
        {"kind": "selective", "modules": ["core_attn", "mlp"], "whole": True},
        {"kind": "selective", "modules": ["moe", "layernorm"]}]),
)


def of_activations(d):
    return 1 if d.get("offload.activations", "none") != "none" else SKIP


OFFLOAD = (
    ("offload.activations", 0.6, ["all", ["mlp", "attn"], "none"]),
    ("offload.layers", 0.3, of_activations),
    ("offload.optimizer", 0.5, [1, 0.5, 0]),
    ("offload.parameters", 0.4, [True, False]),
    ("offload.prefetch", 0.5, lambda d: d.choice([0, 1, 2]) if d.get("offload.parameters") or of_activations(
        d) is not SKIP else SKIP),
)


def of_cluster(values):
    return lambda d: d.choice(values) if d.get("hardware") else SKIP


def cluster(d):
    """A cluster with the requested rates and host."""
    if d.get("products.recipe") == "nvfp4":
        return d.choice(["b200", "gb200-nvl72"])
    if "offload" in d.out or "products" in d.out:
        return d.choice(["h100-sxm", "b200"])
    return d.choice(CLUSTERS)


def device(d):
    """The straggler is of the mesh, and only what a cluster times has one."""
    return d.rng.randrange(d.size("batch", "tensor", "sequence", "expert", "stage")) if d.get("hardware") else SKIP


OTHER = (
    ("hardware", 0.5, cluster),
    ("price", 0.7, of_cluster(["time", "time", "bytes"])),
    ("placement", 0.25, ["follow", "search"]),
    ("slices", 0.2, lambda d: 1 if d.get("hardware", "").startswith("tpu") else SKIP),
    ("straggler.device", 0.2, device),
    ("straggler.compute", 0.9, lambda d: 2 if "straggler" in d.out else SKIP),
    ("straggler.links", 0.5, lambda d: 3 if "straggler" in d.out else SKIP),
    *[("fused." + key, 0.2, ["false", "true", "cluster"]) for key in ("loss", "activation")],
    ("fused.gates", 0.3, lambda d: d.choice(["false", "true", "cluster"]) if d.get("moe.experts") else SKIP),
    ("fused.loss_chunks", 0.2, [2, 3]),
    ("fused.loss_again", 0.5, lambda d: d.choice(["false", "true", "cluster"]) if d.get("fused.loss_chunks", 1) > 1 else SKIP),
    ("software", 0.15, ["megatron", "megatron-2021", "fsdp1", "fsdp2", "jax", "cluster"]),
    *[("overlap." + key, 0.15, ["false", "true", "cluster"]) for key in ("gradients", "weights", "products", "sends", "pairs")],
    ("gathered", 0.2, ["again", "keep"]),
    ("frozen", 0.15, [[], ["(o|up)/kernel"], ["bias|kernel"], ["scale|kernel"], [".*"]]),
    ("algorithms", 0.15, [{}, {"all-reduce": "ring"}, {"all-gather": "direct", "reduce-scatter": "ring"}]),
    ("limits.memory", 0.1, [None, "1GiB", "100KiB"]),
    ("transfers.rate", 0.1, ["10GB/s"]),
    ("transfers.latency", 0.1, ["1us"]),
    # A tolerance is asked of what has no bound, too, such as gradients that are 0 but for rounding: tests/cmd/cli_run.sh.
    ("tolerance", 0.1, [None]),
    ("seed", 0.3, [0, 7, 2 ** 40]),
    ("uneven", 0.1, ["refuse", "pad"]),
    ("data", 0.5, lambda d: TEXT if d.get("model.vocab", 0) >= 256 else SKIP),
)


def rules(d):
    """Tensor parallelism as usual over the axes that have that role, experts over theirs."""
    tensor, experts, out = d.axes("tensor"), d.axes("expert"), []
    t = tensor[0] if len(tensor) == 1 else tensor or None
    if d.get("moe.experts") and experts:
        spread = [experts[0] if len(experts) == 1 else experts]
        out.append(["moe/(up|gate)/kernel", spread + ([None, t] if t and d.chance(0.4) else [])])
        out.append(["moe/down/kernel", spread + ([t] if len(out[0][1]) == 3 else [])])
        if d.get("moe.expert_bias"):
            out.append(["moe/(up|gate|down)/bias", spread])
    if t:
        columns = ["(q|k|v|up|gate)/kernel", "(q|k|v|up|gate|head|q_rope)/kernel"]
        rows = ["(o|down)/kernel", "(o|down)/kernel|embed/table", "(o|down)/kernel|sinks|(q|k|v|up|gate)/bias"]
        out += [[d.choice(columns), [None, t]], [d.choice(rows), [t]]]
        if d.chance(0.25):
            out.pop()
    return out + [[".*", spec(d.rng, d.out["mesh"], 1) if d.chance(0.05) else []]]


def named_axes(d):
    """The names of axes that specs may have instead; {} means axes of usual names."""
    return {"batch": d.axes("batch", "expert") or None, "head": d.axes("tensor") or None}


def constraint(d):
    batch = d.axes("batch", "expert") or None
    return [[d.choice(["mlp/out|attn/out|norm|moe", "out"]), [batch, None, None]]]


def axes(d):
    """The batch over its axes, the outermost last, as experts of nodes want it."""
    batch, out = d.axes("expert")[::-1] if d.get("moe.node_axis") else d.axes("batch", "expert"), {}
    if d.get("moe.node_axis"):
        batch = d.axes("batch") + batch
    if batch:
        out["batch"] = d.one_or_list(batch)
    if d.axes("sequence") and d.kind != "mlp":
        out["seq"] = d.one_or_list(d.axes("sequence"))
    return out


def automatic(d):
    """Rules from shapes, in the place of params, or those of params."""
    if not set(d.out["mesh"]) & {"dp", "fsdp", "sp", "tp"}:
        return "params"
    d.out["params"] = []
    return "auto"


LAYOUT = (
    ("params", 1, rules),
    ("axes", 1, axes),
    ("constraints", 0.12, constraint),
    ("partition_axis", 0.08, named_axes),
    ("rules", 0.06, automatic),
)


def uneven(d):
    """Sizes that divide by next to nothing, and are padded."""
    d.put("uneven", "pad")
    d.put("batch.size", d.get("batch.microbatches", 1) * d.choice([3, 5, 6]))
    for key, values in ("d_ff", [17, 30]), ("vocab", [31, 50]), ("heads", [3, 5, 6]):
        if d.get("model." + key):
            d.put("model." + key, d.choice(values))
    if d.get("model.kv_heads"):
        d.put("model.kv_heads", d.choice([1, d.get("model.heads")]))
    d.out.get("moe", {}).pop("token_groups", None)
    if "lora" in d.out:
        d.put("lora.base", "compute")


def disturb(d):
    """A spec of random axes, or an invalid value."""
    if d.chance(0.5):
        d.out["params"].insert(0, [d.choice(["(up|q)/kernel", "(down|o)/kernel", "kernel"]), spec(d.rng, d.out["mesh"], 2)])
    else:
        d.out[d.choice(list(d.out)[1:])] = d.choice([None, -1, 0, "x", [], {}, {"x": 1}, [[]], 2 ** 63, 1e308, True])


def drawn():
    """The options that scenarios of this generator have."""
    rows = MODEL + NAMED + MOE + MLA + LINEAR + BATCH + CONTEXT + OPTIMIZER + ZERO + PIPELINE + PRODUCTS + LORA + RECOMPUTE + \
        OFFLOAD + OTHER + LAYOUT
    return {option for option, _, _ in rows} | {"name", "mesh", "step", "model.kind", "sweep"}


def sweep_of(options, rng, name):
    """A file whose strategies are a sweep's: meshes of two axes, each with both sets of rules."""
    d = Draw(rng, name, rng.choice(["mlp", "block"]), options)
    d.trains = False
    for rows in MODEL, BATCH:
        d.take(rows)
    d.out.update(version=1, step=["forward", "backward"], axes={"batch": "dp"}, uneven="pad", sweep={
        "devices": [rng.choice([2, 4])], "mesh": {"dp": [1, 2], "tp": [1, 2, 4]},
        "rules": {"tensor": {"params": [["up/kernel", [None, "tp"]], ["down/kernel", ["tp"]], [".*", []]]},
                  "auto": {"rules": "auto"}}})
    del d.out["mesh"]
    return d.out


def write_files(folder):
    """The files that scenarios name."""
    with open(os.path.join(folder, TEXT), "w", encoding="ascii") as file:
        file.write("To be, or not to be, that is the question. " * 40)  
    with open(os.path.join(folder, CONFIG), "w", encoding="ascii") as file:
        json.dump(CONFIG_OF_LLAMA, file)


def alone(d):
    """Layers of one part each: those that are drawn, one of an MLP, and one of experts where there are any."""
    model, moe = d.out["model"], d.out.get("moe", {})
    model["residual"] = "alone"
    model["layer_types"] = ["experts"] * ("experts" in moe) + model.get("layer_types", ["full"]) + ["mlp"]
    model["layers"] = max(model.get("layers", 1), d.choice([1, 2, 3]) * max(1, d.stages))
    for section, key in (model, "norm_place"), (model, "mtp"), (model, "mtp_weight"), (moe, "first_dense"), (moe, "every"):
        section.pop(key, None)
    if "experts" not in moe:
        model["layers"] = max(model["layers"], len(model["layer_types"]))


def scenario_of(options, rng, name):
    """A scenario of one of the kinds of models, with some of the options."""
    pipelined = rng.random() < 0.4
    d = Draw(rng, name, rng.choice([k for k in KINDS if not pipelined or k != "attention"]), options)
    d.draw_mesh(pipelined)
    d.trains = pipelined or d.chance(0.75)
    if pipelined:
        d.schedule = d.choice(list(SCHEDULES))
        d.stages = d.out["mesh"]["pp"] * SCHEDULES[d.schedule]
    d.out["step"] = ["forward", "backward", "update"] if d.trains else d.choice([["forward"], ["forward", "backward"]])
    has = options["moe.experts"]
    for wanted, rows in (
            (True, MODEL), (d.kind == "mixtral" or (d.kind in has and d.chance(0.45)), MOE),
            (d.kind == "deepseek", MLA), (True, LINEAR), (True, BATCH), (True, CONTEXT), (d.trains, OPTIMIZER),
            (d.trains and d.chance(0.55), ZERO), (pipelined, PIPELINE), (d.chance(0.2), PRODUCTS),
            (d.trains and d.chance(0.15), LORA), (d.trains and d.chance(0.3), RECOMPUTE),
            (d.trains and d.chance(0.2), OFFLOAD), (True, OTHER), (True, LAYOUT)):
        if wanted:
            d.take(rows)
    if d.kind in options["model.layer_types"] and d.kind not in ("deepseek", "t5") and d.chance(0.06):
        alone(d)
    if d.chance(0.1):
        uneven(d)
    if d.kind in options["model.size"] and d.chance(0.06):
        d.take(NAMED)
        for key in OF_NAMED:
            d.out["model"].pop(key, None)
    if d.chance(DISTURBED):
        disturb(d)
    return d.out
