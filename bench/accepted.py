#!/usr/bin/env python3
"""Whether the parsers of Megatron-LM, torchtitan and DeepSpeed accept what `search --for` found.

    bench/accepted.py [--megatron CHECKOUT] [--torchtitan CHECKOUT] [--deepspeed CHECKOUT]
                      [--program build/shardsim] [--python PYTHON] [--out FILE.md] [--keep FOLDER] [MODEL...]

Each model is begun by `init`, searched by a few plans of `search --for SYSTEM`, once as it is and once
held to tensor and pipeline parallelism, and what `-o` wrote is exported.  PYTHON has torch, of which no GPU is asked.  Megatron-LM's command is given to its parser,
its validation and its TransformerConfig, with the device's properties in place of a GPU's; torchtitan's
file to its ConfigManager (a checkout of before February 2026, the last with TOML files), and then, under
a fake process group, to its meshes, its converters, its parallel plan and its schedule of a pipeline.
A flavor that the file says how to register is registered.  DeepSpeed's file is given to its DeepSpeedConfig
with the replicas that AutoTP leaves.  Before its parser, Megatron-LM's commands are held to the rules that
it checks when it runs (megatron_rules(), which needs no torch: --megatron rules).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Models, devices, sequences of a step.
ASKED = {
    "megatron": (("llama3-8b", 16, 64), ("llama3-70b", 64, 128), ("gpt2-xl", 8, 64), ("mistral-7b", 16, 64),
                 ("mixtral-8x7b", 64, 128), ("qwen3-8b", 16, 64), ("qwen3-30b-a3b", 32, 64),
                 ("qwen2.5-32b", 32, 64), ("deepseek-v2-lite", 16, 64), ("starcoder2-7b", 8, 64)),
    "torchtitan": (("llama3-8b", 16, 64), ("llama3-70b", 64, 128), ("mistral-7b", 16, 64), ("llama2-7b", 8, 64),
                   ("llama2-13b", 16, 64), ("llama2-70b", 64, 128), ("llama3.1-8b", 16, 64), ("qwen3-8b", 16, 64),
                   ("deepseek-v2-lite", 16, 64), ("deepseek-v2", 64, 64), ("llama3.1-70b", 64, 128)),
}

ASKED["deepspeed"] = tuple(x for x in ASKED["megatron"] if x[0] in ("llama3-8b", "gpt2-xl", "qwen3-8b"))
ENDINGS = {"megatron": ".sh", "torchtitan": ".toml", "deepspeed": ".json"}
# A second search of each model, for what the best layout of few devices does not have.
HELD = ["--range", "tp=2", "--range", "pp=2", "--range", "cp=1"]
NO_STAGES = ["--range", "tp=2", "--range", "pp=1", "--range", "cp=1"]

# Each reads a list of exported files as JSON, and prints for each the parser's refusal or nothing.
COMMON = r"""
import argparse, json, os, sys, traceback, typing
if not hasattr(typing, "override"):  # Python before 3.12
    typing.override = lambda f: f
checkout, jobs = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, checkout)
def refuse(parser, why):
    raise ValueError(why)
argparse.ArgumentParser.error = refuse

def judge(accept):
    for job in jobs:
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                said = ["", accept(job)]
            except BaseException as e:
                where = traceback.extract_tb(e.__traceback__)[-1]
                said = [f"{type(e).__name__}: {e}", f"{os.path.basename(where.filename)}:{where.lineno}"]
            os.write(write, json.dumps(said).encode())
            os._exit(0)
        os.close(write)
        print("SAID", os.read(read, 65536).decode(), flush=True)
        os.wait()
"""
MEGATRON = COMMON + r"""
import torch
class Device:
    major, minor, name, total_memory, multi_processor_count = 9, 0, "H100", 80 << 30, 132
torch.cuda.get_device_properties = lambda *a: Device()
torch.cuda.get_device_capability = lambda *a: (9, 0)
torch.cuda.device_count = lambda: 8
from megatron.training import arguments
from megatron.core.models.common.embeddings import rope_utils
# As where Transformer Engine is installed, whose kernels these are.
rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb_thd = lambda *a: None

def accept(job):
    sys.argv = ["pretrain_gpt.py"] + job["argv"]
    os.environ.update(WORLD_SIZE=str(job["devices"]), RANK="0", LOCAL_RANK="0", CUDA_DEVICE_MAX_CONNECTIONS="1")
    if "--use-megatron-fsdp" in job["argv"]:
        del os.environ["CUDA_DEVICE_MAX_CONNECTIONS"]
    args = arguments.parse_args()
    arguments.validate_args(args)
    config = arguments.core_transformer_config_from_args(args)
    return f"{args.data_parallel_size} replicas, {config.num_layers} layers"
judge(accept)
"""
TORCHTITAN = COMMON + r"""
import re
import torch
torch._utils._get_available_device_type = lambda: "cpu"
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims
from torchtitan.distributed.utils import init_fake_mode
from torchtitan.protocols import train_spec
from torchtitan.protocols.model_converter import build_model_converters

def register(spec, text):
    said = re.search(r"register one in.*:\n((?:#   .*\n)+)", text)
    if said:
        import importlib
        args = importlib.import_module("torchtitan.models.llama3.model.args")
        spec.model_args["custom"] = eval(f"({said.group(1).replace('#', '')})", vars(args))

def accept(job):
    text = open(job["file"], encoding="utf-8").read()
    config = ConfigManager().parse_args(["--job.config_file", job["file"]])
    p = config.parallelism
    init_fake_mode(job["devices"])
    dims = ParallelDims(dp_replicate=p.data_parallel_replicate_degree, dp_shard=p.data_parallel_shard_degree,
                        cp=p.context_parallel_degree, tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
                        ep=p.expert_parallel_degree, etp=p.expert_tensor_parallel_degree, world_size=job["devices"])
    dims.build_mesh()
    spec = train_spec.get_train_spec(config.model.name)
    register(spec, text)
    args = spec.model_args[config.model.flavor]
    args.update_from_config(config)
    with torch.device("meta"):
        model = spec.model_cls(args)
    build_model_converters(config, dims).convert(model)
    total = sum(x.numel() for x in model.parameters())
    t, replicas = config.training, dims.dp_replicate * dims.dp_shard
    assert t.global_batch_size % (t.local_batch_size * replicas) == 0, "batch"
    if dims.pp_enabled:
        spec.pipelining_fn(model, dims, config, torch.device("meta"), args, spec.parallelize_fn,
                           spec.build_loss_fn(config, parallel_dims=dims))
    else:
        spec.parallelize_fn(model, dims, config)
    return f"{total / 1e9:.2f} billion parameters"
judge(accept)
"""
DEEPSPEED = COMMON + r"""
from deepspeed.runtime.config import DeepSpeedConfig

class Replicas:
    def __init__(self, n):
        self.n = n
    def get_data_parallel_world_size(self):
        return self.n

def accept(job):
    said = json.load(open(job["file"], encoding="utf-8"))
    tensor = said.get("tensor_parallel", {}).get("autotp_size", 1)
    from deepspeed import comm
    comm.get_rank = lambda *a: 0
    config = DeepSpeedConfig(job["file"], mpu=Replicas(job["devices"] // tensor))
    assert config.tensor_parallel_config.autotp_size in (0, tensor)
    return f"ZeRO {config.zero_optimization_stage} over {config.world_size} replicas"
judge(accept)
"""
RULES = "rules"  # in place of a checkout
PARSERS = {"megatron": MEGATRON, "torchtitan": TORCHTITAN, "deepspeed": DEEPSPEED}
# In the place of torchrun: prints its devices and the arguments behind the script's name.
TORCHRUN = """#!/bin/sh
exec python3 -c 'import json, sys
a = sys.argv[1:]
print(json.dumps({"devices": int(a[1]) * int(a[3]), "argv": a[5:]}))' "$@"
"""


def number(argv, option, default=1):
    return int(argv[argv.index(option) + 1]) if option in argv else default


def megatron_rules(argv, devices):
    """What Megatron-LM would refuse only when it runs, in our words; "" if nothing.

    Sources at d98e8a64d: validate_args() of training/arguments.py; num_microbatches_calculator.py; the
    interleaved schedule of core/pipeline_parallel/schedules.py; TransformerConfig."""
    tensor, stages = number(argv, "--tensor-model-parallel-size"), number(argv, "--pipeline-model-parallel-size")
    context, experts = number(argv, "--context-parallel-size"), number(argv, "--expert-model-parallel-size")
    layers, heads = number(argv, "--num-layers"), number(argv, "--num-attention-heads")
    laid_out = "--pipeline-model-parallel-layout" in argv
    parts = (argv[argv.index("--pipeline-model-parallel-layout") + 1].count("|") + 1) // stages if laid_out else \
        number(argv, "--num-virtual-stages-per-pipeline-rank")
    replicas, rest = divmod(devices, tensor * stages * context)
    if rest:
        return "devices do not divide into tensor x pipeline x context"
    microbatches, rest = divmod(number(argv, "--global-batch-size"), number(argv, "--micro-batch-size") * replicas)
    if rest:
        return "the batch does not divide into microbatches of the replicas"
    group = number(argv, "--microbatch-group-size-per-virtual-pipeline-stage", stages)
    interleaved = stages > 1 and parts > 1
    waits = "--no-overlap-p2p-communication" in argv
    rules = (
        (not laid_out and layers % (stages * parts), "layers do not divide into stages"),
        (heads % tensor, "heads do not divide by tensor parallelism"),
        (number(argv, "--num-query-groups", heads) % tensor and tensor % number(argv, "--num-query-groups", heads),
         "query groups do not divide by tensor parallelism"),
        (context > 1 and number(argv, "--seq-length") % (2 * context), "sequences do not divide into 2 x context"),
        ("--sequence-parallel" in argv and number(argv, "--seq-length") % (tensor * context),
         "sequences do not divide by tensor parallelism"),
        (number(argv, "--num-experts", experts) % experts, "experts do not divide by expert parallelism"),
        (devices // stages % experts, "devices of a stage do not divide by expert parallelism"),
        (interleaved and not stages <= group <= microbatches,
         "a group of microbatches is outside of [pipeline ranks, microbatches]"),
        (interleaved and 0 < microbatches % group < stages,
         "the last group of microbatches is smaller than the pipeline"),
        (interleaved and waits and stages == 2, "two ranks interleave without overlapped sends"),
    )
    return next((why for fails, why in rules if fails), "")


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def last_line(done):
    return ([x for x in done.stderr.strip().splitlines() if x.strip()] or [f"status {done.returncode}"])[-1]


def begin(o, model, devices, batch, path):
    """A scenario of the model to search from; the reason if exporting fails."""
    if model.endswith(".yaml"):
        return os.path.join(ROOT, "scenarios", "models", model), ["--devices", str(devices), "-s",
                                                                  f"batch.size={batch}"]
    done = run([o.program, "init", "--model", model, "--devices", str(devices), "--batch", str(batch),
                "--hardware", "h100-80g-roce", "-o", path, "--force"])
    if done.returncode:
        sys.exit(f"init --model {model}: {last_line(done)}")
    return path, []


def layout_of(path):
    """The lines of a scenario that define its layout."""
    with open(path, encoding="utf-8") as f:
        lines = re.findall(r"^(?:mesh|zero|recompute|pipeline|batch): .*", f.read(), re.M)
    return "; ".join(re.sub(r"\s+#.*", "", x) for x in lines)


def search(o, system, asked, held, folder):
    """The row of one model: what was found, and the exported code or the reason for none."""
    model, devices, batch = asked
    stem = os.path.join(folder, f"{system}-{model}{'-held' if held else ''}")
    best, code = stem + ".best.yaml", stem + ENDINGS[system]
    row = {"model": model.replace(".yaml", ""), "devices": devices, "file": code, "layout": "-"}
    if not os.path.exists(best):
        path, more = begin(o, model, devices, batch, stem + ".yaml")
        done = run([o.program, "search", path, *more, *held, "-q", "--for", system, "--plans", str(o.plans),
                    "--top", "1", "--force", "-o", best])
        if done.returncode:
            none = re.search(r"^best +(none.*(?:\n +.*)*)", done.stdout, re.M)
            return {**row, "why": none.group(1) if none else last_line(done)}
    row["layout"] = layout_of(best)
    done = run([o.program, "export", "--to", system, best, "--force", "-o", code])
    return {**row, "why": f"export: {last_line(done)}"} if done.returncode else row


def commands(rows, folder):
    """What each exported command runs: read by a shell, with another torchrun in its path."""
    path = os.path.join(folder, "torchrun")
    with open(path, "w", encoding="utf-8") as out:
        out.write(TORCHRUN)
    os.chmod(path, 0o755)
    for row in rows:
        done = run(["sh", row["file"], "--tokenizer-type", "NullTokenizer", "--mock-data"],
                   env={**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]})
        row.update(json.loads(done.stdout))


def judge(o, system, rows, folder):
    """Give what was exported to the system's own parser."""
    rows = [r for r in rows if "why" not in r]
    if system == "megatron":
        commands(rows, folder)
        for row in rows:
            why = megatron_rules(row["argv"], row["devices"])
            row["said"] = f"**refused**: {why}" if why else "the rules are met"
    if getattr(o, system) == RULES:
        return
    rows = [r for r in rows if not r.get("said", "").startswith("**")]
    done = run([o.python, "-c", PARSERS[system], getattr(o, system),
                json.dumps(rows)], cwd=folder)
    said = [json.loads(x[5:]) for x in done.stdout.splitlines() if x.startswith("SAID ")]
    if len(said) != len(rows):
        sys.exit(f"{system}: {done.stderr[-2000:]}")
    for row, (why, where) in zip(rows, said):
        row["said"] = f"**refused**: {why} ({where})" if why else f"accepted: {where}"


def print_rows(system, rows, out):
    out.append(f"\n## {system}\n\n| model | devices | found | {system}'s parser |\n| --- | --- | --- | --- |\n")
    for r in rows:
        said = r.get("said") or f"not asked: {r['why']}"
        out.append(f"| {r['model']} | {r['devices']} | {r['layout']} | {' '.join(said.split()).replace('|', '/')[:300]} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "shardsim"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--megatron", help="a checkout of Megatron-LM; 'rules': only megatron_rules()")
    parser.add_argument("--torchtitan", help="a checkout of torchtitan that reads TOML")
    parser.add_argument("--deepspeed", help="a checkout of DeepSpeed")
    parser.add_argument("--plans", type=int, default=12, help="of each search")
    parser.add_argument("--out")
    parser.add_argument("--keep", help="folder for what is written; existing results are not searched again")
    parser.add_argument("models", nargs="*")
    o = parser.parse_args()
    out, refused = [HEAD], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.abspath(o.keep or folder)
        os.makedirs(folder, exist_ok=True)
        for system in ASKED:
            if not getattr(o, system):
                continue
            if getattr(o, system) != RULES:
                setattr(o, system, os.path.abspath(getattr(o, system)))
            rows = [search(o, system, x, held, folder) for x in ASKED[system]
                    for held in ([], NO_STAGES if system == "deepspeed" else HELD) if not o.models or x[0] in o.models]
            judge(o, system, rows, folder)
            refused += sum("refused" in r.get("said", "refused") for r in rows)
            print_rows(system, rows, out)
    text = "".join(out)
    print(text, end="")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text)
    return 1 if refused else 0


HEAD = """# What other systems' parsers say of the layouts that search found for them

Made by `bench/accepted.py`. Each model is begun by `shardsim init` (or is a shipped file of `scenarios/models`),
searched by some plans of `search --for SYSTEM`, once as it is and once held to `tp=2 pp=2 cp=1`
(`pp=1` for DeepSpeed), and `export --to SYSTEM` of what `-o` wrote is given to the system's own code on a host without GPUs: Megatron-LM's `parse_args`, `validate_args` and TransformerConfig;
torchtitan's ConfigManager, and then, under a fake process group, its meshes, parallel plan and pipeline; DeepSpeed's
DeepSpeedConfig.
"""

if __name__ == "__main__":
    sys.exit(main())
