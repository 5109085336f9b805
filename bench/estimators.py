#!/usr/bin/env python3
"""Compare memory estimators with `shardsim plan` on the same models and layouts.

    bench/estimators.py [--program build/shardsim] [--megatron DIR] [--bridge DIR] [--cookbook DIR]
                        [--deepspeed DIR] [--python PYTHON] [--out FILE.md]

DIR is a checkout, or a bare repository, of github.com/NVIDIA/Megatron-LM, NVIDIA-NeMo/Megatron-Bridge
(NeMo's), EleutherAI/cookbook and deepspeedai/DeepSpeed; PYTHON has torch, accelerate and transformers.
The table says which estimators are left out because they were not given or not found.  The script runs
the code of the estimators and contains none of their formulas: it calls the functions of Megatron, Bridge
and DeepSpeed with the arguments that their command lines would pass, starts cookbook's script, and lets
PyTorch's FSDPMemTracker watch a step of a torch model with fake tensors and a fake process group, so that
real sizes take no memory.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ast
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GIB = 2**30


@dataclasses.dataclass
class Model:
    name: str
    hidden: int
    layers: int
    heads: int
    kv: int
    ff: int
    vocab: int
    seq: int
    gated: bool = True  # like Llama: swiglu, RMS norms, no biases, an untied head; else like GPT
    experts: int = 0
    top_k: int = 0


@dataclasses.dataclass
class Layout:
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1  # inside dp
    zero: int = 0
    recompute: str = "none"
    sp: bool = False
    flash: bool = True
    microbatches: int = 1  # of one sequence each
    even: bool = False  # the router gives each expert equally many choices

    @property
    def devices(self):
        return self.tp * self.pp * self.dp

    def words(self):
        said = [f"{self.devices} devices"]
        said += [f"{k}{n}" for k, n in (("TP", self.tp), ("PP", self.pp), ("DP", self.dp), ("EP", self.ep)) if n > 1]
        if self.zero:
            said[-1] = "FSDP" if self.zero == 3 else said[-1] + f" ZeRO-{self.zero}"
        said += ["SP"] if self.sp else []
        said += ["even routing"] if self.even else ["room for any routing"] if self.ep > 1 else []
        said += {"none": ["attention fused"] if self.flash else ["attention unfused"],
                 "selective": ["selective recomputation"], "full": ["full recomputation"]}[self.recompute]
        return ", ".join(said)


LLAMA_8B = Model("Llama 3 8B", 4096, 32, 32, 8, 14336, 128256, 4096)
LLAMA_70B = Model("Llama 3 70B", 8192, 80, 64, 8, 28672, 128256, 4096)
GPT_175B = Model("GPT-3 175B", 12288, 96, 96, 96, 49152, 51200, 2048, gated=False)
MIXTRAL = Model("Mixtral 8x7B", 4096, 32, 32, 8, 14336, 32000, 4096, experts=8, top_k=2)

CASES = [
    (LLAMA_8B, Layout(dp=8, zero=3)),
    (LLAMA_8B, Layout(dp=8, zero=3, recompute="full")),
    (LLAMA_8B, Layout(dp=64, zero=3)),
    (LLAMA_8B, Layout(tp=8, sp=True, microbatches=8)),
    (LLAMA_8B, Layout(tp=8, dp=8, sp=True, zero=1, microbatches=8)),
    (LLAMA_70B, Layout(dp=64, zero=3, recompute="full")),
    (LLAMA_70B, Layout(tp=8, pp=8, sp=True, microbatches=32)),
    (GPT_175B, Layout(tp=8, pp=8, flash=False, microbatches=64)),
    (GPT_175B, Layout(tp=8, pp=8, flash=False, recompute="selective", microbatches=64)),
    (GPT_175B, Layout(tp=8, pp=8, sp=True, flash=False, recompute="selective", microbatches=64)),
    (GPT_175B, Layout(tp=8, pp=8, sp=True, flash=False, recompute="full", microbatches=64)),
    (MIXTRAL, Layout(tp=2, pp=4, dp=8, ep=8, sp=True, microbatches=16, even=True)),
    (MIXTRAL, Layout(tp=2, pp=4, dp=8, ep=8, sp=True, microbatches=16)),
]


@dataclasses.dataclass
class Said:
    """Bytes of a device; None: not told."""
    states: float = None  # parameters, gradients and the optimizer's
    activations: float = None
    total: float = None


# ---- ours ----


def ask_ours(o, model, layout):
    question = {"model": {"hidden": model.hidden, "layers": model.layers, "heads": model.heads, "kv_heads": model.kv,
                          "mlp_dim": model.ff, "gated_mlp": model.gated, "vocab": model.vocab, "seq": model.seq},
                "hardware": "h100-sxm", "devices": layout.devices, "tp": layout.tp, "pp": layout.pp, "dp": layout.dp,
                "virtual_stages": 1, "micro_batch": 1, "global_batch": layout.dp * layout.microbatches,
                "recompute": layout.recompute, "sequence_parallel": layout.sp, "zero_stage": layout.zero,
                "dtype": "bf16", "flash_attention": layout.flash}
    line = json.dumps({"id": 1, "op": "plan.train_step", "in": question})
    told = json.loads(subprocess.run([o.program, "query"], input=line, capture_output=True, text=True, check=True).stdout)
    return told["out"]["scenario"]


def experts_scenario(model, layout):
    """Experts over the ranks of the batch, each also sharded over tp."""
    return f"""version: 1
mesh: {{pp: {layout.pp}, ep: {layout.ep}, tp: {layout.tp}}}
model: {{size: mixtral-8x7b, dtype: bfloat16}}
batch: {{size: {layout.dp * layout.microbatches}, seq: {model.seq}, microbatches: {layout.microbatches}}}
moe: {{capacity: {int(layout.even)}}}
step: [forward, backward, update]
optimizer: {{kind: adamw, clip: 1}}
types: {{parameters: float32, gradients: parameters, reduce: parameters}}
pipeline: {{axis: pp, schedule: 1F1B}}
params:
  - [(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [moe/(gate|up)/kernel, [ep, null, tp]]
  - [moe/down/kernel, [ep, tp]]
  - [embed/table, [tp]]
  - [head/kernel, [null, tp]]
  - [.*, []]
axes: {{batch: ep}}
constraints:
  - [head/out, [ep, null, tp]]
  - [out$, [ep, [tp]]]
"""


def plan(o, scenario):
    """shardsim's own result of a scenario's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(scenario)
        done = subprocess.run([o.program, "plan", "-q", "--json", path], capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit("shardsim: " + done.stderr.strip())
    return json.loads(done.stdout)["memory"]


def ours(o, model, layout):
    scenario = experts_scenario(model, layout) if model.experts else ask_ours(o, model, layout)
    memory = plan(o, scenario)
    if layout.sp and layout.recompute != "full":
        # With a limit below the peak, gathered inputs are gathered again in the backward phase, as Megatron does.
        limit = sum(memory["breakdown"]["at_peak"].values()) - 1
        memory = plan(o, scenario + f"limits: {{memory: {limit}}}\n")
    b = memory["breakdown"]
    states = sum(b["before_update"][k] for k in ("parameters", "gradients", "optimizer"))
    return Said(states, b["at_peak"]["activations"], sum(b["at_peak"].values())), b


# ---- sources of others ----


def source(where, path):
    """The text of a file of a checkout or of a bare repository; None: there is no such file."""
    if not where:
        return None
    if os.path.isfile(os.path.join(where, path)):
        with open(os.path.join(where, path), encoding="utf-8") as f:
            return f.read()
    shown = subprocess.run(["git", "--git-dir", where, "show", "HEAD:" + path], capture_output=True, text=True)
    return shown.stdout if shown.returncode == 0 else None


def revision(where):
    for at in (where, os.path.join(where, ".git")):
        told = subprocess.run(["git", "--git-dir", at, "log", "-1", "--format=%h of %as"], capture_output=True, text=True)
        if told.returncode == 0:
            return told.stdout.strip()
    return "of no known revision"


def module(name, text, stubs):
    """A module from source text, with `stubs` for the names imported from its package."""
    made = types.ModuleType(name)
    made.__package__ = name
    sys.modules[name] = made
    for path, names in stubs.items():
        parts = path.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
        vars(sys.modules[path]).update(names)
    exec(compile(text, name, "exec"), vars(made))  # pylint: disable=exec-used
    return made


# ---- Megatron-LM: report_theoretical_memory() ----


class Megatron:
    name = "Megatron-LM"
    lines = "parameters by layers and embedding, those of the fullest stage, activations a layer, microbatches in flight"

    def __init__(self, o):
        text = source(o.megatron, "megatron/training/theoretical_memory_usage.py")
        self.there = bool(text)
        if text:
            self.module = module("megatron_memory", text, {"megatron_memory.utils": {
                "is_hybrid_model": lambda args: False, "print_rank_0": lambda *args: None}})
            self.version = revision(o.megatron)

    def ask(self, m, l):
        if l.zero == 3:
            return None
        args = types.SimpleNamespace(
            hidden_size=m.hidden, num_layers=m.layers, num_attention_heads=m.heads, kv_channels=m.hidden // m.heads,
            group_query_attention=m.kv != m.heads, num_query_groups=m.kv, ffn_hidden_size=m.ff, swiglu=m.gated,
            padded_vocab_size=m.vocab, seq_length=m.seq, untie_embeddings_and_output_weights=m.gated,
            normalization="RMSNorm" if m.gated else "LayerNorm", multi_latent_attention=False, mtp_num_layers=None,
            num_experts=m.experts or None, moe_layer_freq=1, moe_ffn_hidden_size=m.ff if m.experts else None,
            moe_shared_expert_intermediate_size=None, moe_latent_size=None, moe_router_topk=m.top_k, add_bias_linear=not m.gated,
            tensor_model_parallel_size=l.tp, pipeline_model_parallel_size=l.pp, virtual_pipeline_model_parallel_size=None,
            data_parallel_size=l.dp, world_size=l.devices, expert_tensor_parallel_size=l.tp, expert_model_parallel_size=l.ep,
            use_distributed_optimizer=l.zero == 1, micro_batch_size=1, sequence_parallel=l.sp,
            # Fused attention keeps no scores; Megatron's formula calls that selective recomputation.
            recompute_granularity="selective" if l.recompute == "none" and l.flash else {"none": None}.get(l.recompute, l.recompute))
        said = sys.stdout
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
        try:
            told = self.module.report_theoretical_memory(args, num_microbatches=l.microbatches)
        finally:
            sys.stdout.close()
            sys.stdout = said
        return Said(*(x * 2**20 for x in told))


# ---- NeMo's: Megatron Bridge ----


class Bridge:
    name = "Megatron Bridge"
    lines = "dense and experts' states apart, parameters of each, its assumptions in words"

    def __init__(self, o):
        text = source(o.bridge, "src/megatron/bridge/training/utils/theoretical_memory_utils.py")
        self.there = bool(text)
        if not text:
            return
        try:
            import torch.nn.functional as functional  # the source imports torch in this way
        except ImportError:
            self.there = False
            return
        self.silu, self.gelu = functional.silu, functional.gelu
        self.module = module("bridge_memory", text, {
            "megatron.bridge.training.config": {"ConfigContainer": object},
            "megatron.bridge.utils.vocab_utils": {"calculate_padded_vocab_size": lambda n, *args, **more: n}})
        self.version = revision(o.bridge)

    def ask(self, m, l):
        if l.zero == 3:
            return None
        model = types.SimpleNamespace(
            hidden_size=m.hidden, num_layers=m.layers, num_attention_heads=m.heads, kv_channels=m.hidden // m.heads,
            num_query_groups=m.kv, ffn_hidden_size=m.ff, gated_linear_unit=m.gated,
            activation_func=self.silu if m.gated else self.gelu, vocab_size=m.vocab, should_pad_vocab=False, seq_length=m.seq,
            share_embeddings_and_output_weights=not m.gated, num_moe_experts=m.experts or None, moe_router_topk=m.top_k,
            moe_ffn_hidden_size=m.ff if m.experts else None, tensor_model_parallel_size=l.tp, pipeline_model_parallel_size=l.pp,
            context_parallel_size=1, expert_model_parallel_size=l.ep, expert_tensor_parallel_size=l.tp)
        config = types.SimpleNamespace(model=model, train=types.SimpleNamespace(micro_batch_size=1),
                                       optimizer=types.SimpleNamespace(use_distributed_optimizer=l.zero == 1), data_parallel_size=l.dp)
        # Like its report, which gives activations only with sequence parallelism and selective recomputation.
        tells = l.sp and (l.recompute == "selective" or l.recompute == "none" and l.flash)
        e = self.module.estimate_training_memory(config, num_microbatches=l.microbatches, include_activation=tells)
        return Said(e.weight_and_optimizer_bytes, e.activation.memory_bytes if tells else None,
                    e.total_memory_bytes if tells else None)


# ---- EleutherAI's cookbook ----


class Cookbook:
    name = "EleutherAI cookbook"
    lines = "parameters, gradients, optimizer, activations, buffers of ZeRO, a constant of your own"

    def __init__(self, o):
        self.text = source(o.cookbook, "calc/calc_transformer_mem.py")
        self.there = bool(self.text)
        if self.text:
            self.version = revision(o.cookbook)

    def ask(self, m, l):
        options = {"num-gpus": l.devices, "tensor-parallel-size": l.tp, "pipeline-parallel-size": l.pp, "zero-stage": l.zero,
                   "batch-size-per-gpu": 1, "sequence-length": m.seq, "vocab-size": m.vocab, "hidden-size": m.hidden,
                   "num-attention-heads": m.heads, "num-layers": m.layers, "ffn-expansion-factor": m.ff / m.hidden,
                   "num-mlp-linears": 3 if m.gated else 2, "kv-size-ratio": m.kv / m.heads, "num-experts": m.experts,
                   "expert-parallelism": l.ep}
        flags = ["--partition-activations"] if l.sp else []
        flags += ["--checkpoint-activations"] if l.recompute != "none" or l.flash else []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "calc.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.text)
            done = subprocess.run([sys.executable, path, *(f"--{k}={v}" for k, v in options.items()), *flags],
                                  capture_output=True, text=True, check=True)
        told = {k: float(v) * GIB for k, v in re.findall(r"Per-GPU (\w+) Memory(?: \(\w+\))?: ([\d.]+) GiB", done.stdout)}
        total = float(re.search(r"Required for Training: ([\d.]+) GiB", done.stdout)[1]) * GIB
        return Said(told["Model"] + told["Gradient"] + told["Optimizer"], told["Activation"], total)


# ---- DeepSpeed's estimate_zero*_model_states_mem_needs() ----


class DeepSpeed:
    name = "DeepSpeed"
    lines = "states on a device and on the host, with and without offloading, the largest layer"

    def __init__(self, o):
        self.calls = {}
        for stage, path in ((2, "stage_1_and_2.py"), (3, "stage3.py")):
            text = source(o.deepspeed, "deepspeed/runtime/zero/" + path)
            name = f"estimate_zero{stage}_model_states_mem_needs"
            for node in ast.parse(text).body if text else []:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    names = {}
                    exec(compile(ast.Module([node], []), path, "exec"), names)  # pylint: disable=exec-used
                    self.calls[stage] = names[name]
        self.there = len(self.calls) == 2
        if self.there:
            self.version = revision(o.deepspeed)

    def ask(self, m, l):
        if l.tp * l.pp > 1 or l.zero < 2:
            return None  # DeepSpeed's functions know replicas only
        nodes = max(1, l.devices // 8)
        total = parameters(m)
        options = {"num_gpus_per_node": l.devices // nodes, "num_nodes": nodes, "cpu_offload": False}
        if l.zero == 2:
            return Said(self.calls[2](total, **options)[1])
        # The largest module that model_to_params() would find: the embedding, or the head.
        return Said(self.calls[3](total, m.vocab * m.hidden, **options)[1])


def parameters(m):
    width = m.hidden // m.heads
    mlp = (3 if m.gated else 2) * m.hidden * m.ff
    layer = 2 * m.hidden * width * (m.heads + m.kv) + (mlp * m.experts + m.hidden * m.experts if m.experts else mlp)
    if m.gated:
        return m.layers * (layer + 2 * m.hidden) + m.hidden + 2 * m.vocab * m.hidden
    biases = width * (m.heads + 2 * m.kv) + m.hidden + m.ff + m.hidden
    return m.layers * (layer + biases + 4 * m.hidden) + 2 * m.hidden + m.vocab * m.hidden


# ---- Hugging Face's `accelerate estimate-memory` ----


class Accelerate:
    name = "accelerate"
    lines = "the largest layer, the whole model, the largest of four figures of training; of one device"

    def __init__(self, o):
        self.python = o.python
        told = self.run("import accelerate, transformers; print(accelerate.__version__)")
        self.there = told is not None
        self.version = told

    def run(self, code):
        done = subprocess.run([self.python, "-c", code], capture_output=True, text=True)
        return done.stdout.strip().splitlines()[-1] if done.returncode == 0 and done.stdout.strip() else None

    def ask(self, m, l):
        """The output of the command for a model made from the sizes, not from the Hub."""
        if l.devices != 8 or not m.gated or l.zero != 3 or l.recompute != "none":
            return None  # the command knows no layout, so one row per model is enough
        code = f"""
import torch
from transformers import LlamaConfig, AutoModel
from accelerate import init_empty_weights
from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
with init_empty_weights():
    model = AutoModel.from_config(LlamaConfig(hidden_size={m.hidden}, intermediate_size={m.ff}, num_hidden_layers={m.layers},
        num_attention_heads={m.heads}, num_key_value_heads={m.kv}, vocab_size={m.vocab}), dtype=torch.float32)
print(max(estimate_training_usage(calculate_maximum_sizes(model)[0], "float16").values()))
"""
        told = self.run(code)
        return Said(float(told)) if told else None


# ---- PyTorch's FSDPMemTracker ----


class Tracker:
    name = "FSDPMemTracker"
    lines = ("sharded and gathered parameters and gradients, optimizer, activations, temporaries, buffers of all-gather and "
             "reduce-scatter, inputs, by module and moment")

    def __init__(self, o):
        self.o = o
        told = Accelerate.run(self, "import torch.distributed._tools.fsdp2_mem_tracker, torch; print(torch.__version__)")
        self.there = told is not None
        self.version = "torch " + (told or "")

    @property
    def python(self):
        return self.o.python

    def watch(self, m, world, recompute, dtype):
        """{"peak": {kind: bytes}, "after_backward": {...}} of the second step: the optimizer's state is there."""
        asked = json.dumps({"model": dataclasses.asdict(m), "world": world, "recompute": recompute, "dtype": dtype})
        done = subprocess.run([self.python, os.path.join(ROOT, "bench", "estimators_fsdp.py"), asked],
                              capture_output=True, text=True)
        if done.returncode:
            raise SystemExit("estimators_fsdp.py: " + done.stderr.strip()[-600:])
        return json.loads(done.stdout)

    def ask(self, m, l):
        if l.zero != 3:
            return None
        told = self.watch(m, l.devices, l.recompute, "bfloat16")
        after, peak = told["after_backward"], told["peak"]
        states = sum(after[k] for k in ("Sharded Param", "Sharded Grad", "OptState"))
        return Said(states, peak["Activation"] + peak["Temp"], peak["Total"])


# ---- to the byte ----


SMALL = Model("small", 256, 4, 8, 8, 1024, 4096, 512)


def small_scenario(m, world, recompute, dtype):
    return f"""version: 1
mesh: {{fsdp: {world}}}
model: {{kind: transformer, activation: swiglu, norm: rms, rope: {{}}, d_model: {m.hidden}, d_ff: {m.ff}, layers: {m.layers},
        heads: {m.heads}, kv_heads: {m.kv}, vocab: {m.vocab}, dtype: {dtype}}}
batch: {{size: {world}, seq: {m.seq}}}
step: [forward, backward, update]
optimizer: {{kind: adamw}}
types: {{parameters: float32, reduce: float32}}
{"recompute: {kind: full}" if recompute == "full" else ""}
params: [[.*, []]]
axes: {{batch: fsdp}}
zero: {{stage: 3, axis: fsdp, prefetch: 1}}
"""


def to_the_byte(o, tracker, out):
    print("## To the byte: FSDPMemTracker and a small Llama\n", file=out)
    print("Width 256, four layers, eight heads, 512 tokens, a vocabulary of 4,096, on 8 devices, one sequence each; bytes of a device "
          "in the second step. *Of a layer*: five layers minus four.\n", file=out)
    print("| | | shardsim | FSDPMemTracker | difference |\n|---|---|--:|--:|--:|", file=out)
    for dtype, recompute in (("float32", "none"), ("bfloat16", "none"), ("float32", "full"), ("bfloat16", "full")):
        here, there = [], []
        for layers in (SMALL.layers, SMALL.layers + 1):
            m = dataclasses.replace(SMALL, layers=layers)
            here.append(plan(o, small_scenario(m, 8, recompute, dtype))["breakdown"])
            there.append(tracker.watch(m, 8, recompute, dtype))
        kept = [t["peak"]["Activation"] + t["peak"]["Temp"] for t in there]
        ours_kept = [b["at_peak"]["activations"] for b in here]
        rows = [("parameters", here[0]["at_peak"]["parameters"], there[0]["peak"]["Sharded Param"]),
                ("gradients, before the update", here[0]["before_update"]["gradients"], there[0]["after_backward"]["Sharded Grad"]),
                ("optimizer", here[0]["at_peak"]["optimizer"], there[0]["peak"]["OptState"]),
                ("gathered at the peak", here[0]["at_peak"]["gathered"], there[0]["peak"]["Unsharded Param"]),
                ("activations at the peak", ours_kept[0], kept[0]),
                ("activations of a layer", ours_kept[1] - ours_kept[0], kept[1] - kept[0]),
                ("inputs and buffers", here[0]["at_peak"]["data"], there[0]["peak"]["Inputs"] + there[0]["peak"]["Buffer"]),
                ("peak", sum(here[0]["at_peak"].values()), there[0]["peak"]["Total"])]
        for what, a, b in rows:
            print(f"| {dtype}, recompute {recompute} | {what} | {a:,} | {b:,} | {b - a:+,} |", file=out)
    print(file=out)


# ---- the table ----


def gib(n):
    return "" if n is None else f"{n / GIB:.1f}"


def cell(said):
    if said is None:
        return ""
    if said.activations is None and said.total is None:
        return gib(said.states)
    return f"{gib(said.states)} / {gib(said.activations)} / {gib(said.total)}"


def write(o, peers, out):
    there = [p for p in peers if p.there]
    absent = [p.name for p in peers if not p.there]
    print("# Memory estimators side by side\n", file=out)
    print("Written by `bench/estimators.py`; `docs/memory_estimators.md` explains the differences.\n", file=out)
    print("; ".join(f"{p.name}: {p.version}" for p in there) + ".\n", file=out)
    if absent:
        print("Not installed, hence not run:  " + ", ".join(absent) + ".\n", file=out)
    print("GiB of a device: *states / activations / total*, or only states. States are parameters, gradients and optimizer state. For "
          "shardsim and FSDPMemTracker, states are after the backward phase, activations and total at the peak. Not all gradients exist at "
          "the peak, so states and activations do not add up to the total. bfloat16 with a master and two moments in float32, gradients "
          "in float32, one sequence a microbatch; all-gathers of sequence parallelism are repeated in the backward phase.\n", file=out)
    print("| model | layout | shardsim | of which logits and loss | " + " | ".join(p.name for p in there) + " |", file=out)
    print("|---|---|---|--:|" + "---|" * len(there), file=out)
    for m, l in CASES:
        said, b = ours(o, m, l)
        logits = sum(x["bytes"] for x in b["activations_at_peak"] if x["part"] in ("loss", "head"))
        asked = [p.ask(m, l) for p in there]
        print(m.name, l.words(), cell(said), *(cell(a) for a in asked), sep=" | ", file=sys.stderr, flush=True)
        print(f"| {m.name} | {l.words()} | {cell(said)} | {gib(logits)} | " + " | ".join(map(cell, asked)) + " |", file=out)
    print("\n## What each prints\n", file=out)
    print("| | lines |\n|---|---|", file=out)
    print("| `shardsim plan` | parameters of the model and of a device; parameters, gradients, optimizer, data, gathered copies, "
          "activations and workspace at the peak, at their most and before the update; activations by part of the model, logits among "
          "them; the op at the peak; the largest transfer; each rank of a pipeline with its microbatches alive; the runtime's reserve, "
          "and the remaining memory; what would make it fit |", file=out)
    for p in there:
        print(f"| {p.name} | {p.lines} |", file=out)
    print(file=out)
    tracker = next((p for p in there if p.name == Tracker.name), None)
    if tracker:
        to_the_byte(o, tracker, out)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--program", default=os.path.join(ROOT, "build", "shardsim"))
    for name in ("megatron", "bridge", "cookbook", "deepspeed"):
        ap.add_argument("--" + name, metavar="DIR", default=os.environ.get(f"SHARDSIM_{name.upper()}"))
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--out")
    o = ap.parse_args()
    peers = [kind(o) for kind in (Tracker, Megatron, Bridge, Cookbook, DeepSpeed, Accelerate)]
    for p in peers:
        if not p.there:
            print(f"{p.name}: not installed, skipped", file=sys.stderr)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as text:
        write(o, peers, text)
        text.seek(0)
        with (open(o.out, "w", encoding="utf-8") if o.out else os.fdopen(os.dup(1), "w", encoding="utf-8")) as out:
            out.write(text.read().rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
