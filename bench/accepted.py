#!/usr/bin/env python3
"""Whether other systems accept what `search --for` found for them, by their own checks.

    bench/accepted.py [--megatron CHECKOUT] [--torchtitan CHECKOUT] [--deepspeed CHECKOUT] [--vllm FOLDER]
                      [--sglang FOLDER] [--jax FOLDER] [--program build/shardsim] [--arrays build/bench/model_arrays]
                      [--python PYTHON] [--held] [--out FILE.md] [--keep FOLDER] [MODEL...]

Each model is begun by `init`, searched for some seconds by `search --for SYSTEM` (with --held, once more with
tensor and pipeline parallelism), and what `-o` wrote is exported.  PYTHON has torch, of which no GPU is asked.
FOLDER is added to Python's path; `.` for an installed system.  `make bench/model_arrays` first for servers: the
configs of their models are those that are built into the program, and CC makes a CUDA driver without devices.
Megatron-LM's command is held to the rules of its schedules (megatron_rules(), which needs no torch: --megatron
rules), and then to its parser, its validation and its TransformerConfig, with the device's properties in place of a
GPU's, and under a fake process group to its groups of ranks, its microbatches, its interleaved schedule and the
layers of its stages.  For torchtitan of 2026 the job in the file's comments is written to a module and given to its
ConfigManager, and then, as its Trainer does under a fake process group, to its meshes, its rules of batches and
CUDA graphs, its model, its parallel plan and its pipeline.  DeepSpeed's file is given to its DeepSpeedConfig with
the replicas that AutoTP leaves.  The command of vLLM is given to the parser of `vllm serve` and its engine
arguments, which make the whole VllmConfig of a host with the cluster's devices; that of SGLang to its ServerArgs, their
check and its ModelConfig.  JAX's code is run on virtual devices of this host with shapes in
place of arrays: the whole step is lowered, and a step of the model's first layers compiled.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Models, clusters, devices, sequences of a step and their tokens.
ASKED = {
    "megatron": (
        ("llama3-8b", "h100-80g-roce", 16, 64, 4096),
        ("llama3.1-70b", "h100-sxm", 64, 128, 8192),
        ("llama3.1-405b", "h100-sxm", 512, 512, 8192),
        ("llama2-13b", "a100-80g-roce", 16, 64, 4096),
        ("llama3.2-1b", "a100-sxm", 8, 64, 4096),
        ("mistral-7b", "h200-sxm", 8, 64, 4096),
        ("gpt2-xl", "a100-sxm", 8, 64, 1024),
        ("qwen2.5-7b", "h100-sxm", 8, 64, 4096),
        ("qwen2.5-32b", "h100-sxm", 32, 64, 4096),
        ("qwen3-8b", "b200", 8, 64, 4096),
        ("qwen3-14b", "h100-sxm", 16, 64, 4096),
        ("qwen3-32b", "gb200-nvl72", 32, 64, 4096),
        ("qwen3-30b-a3b", "h100-sxm", 32, 64, 4096),
        ("qwen3-235b-a22b", "h100-sxm", 256, 256, 4096),
        ("mixtral-8x7b", "h100-80g-roce", 64, 128, 4096),
        ("mixtral-8x22b", "h200-sxm", 128, 128, 4096),
        ("deepseek-v2-lite", "h100-sxm", 16, 64, 4096),
        ("deepseek-v3", "h100-sxm", 1024, 1024, 4096),
        ("starcoder2-7b", "a100-80g-selene", 8, 64, 4096),
        ("llama3.3-70b", "gb200-nvl72", 64, 128, 8192),
    ),
    "torchtitan": (
        ("llama3-8b", "h100-80g-roce", 16, 64, 4096),
        ("llama3-70b", "h100-sxm", 64, 128, 4096),
        ("llama3.1-8b", "b200", 8, 64, 8192),
        ("llama3.1-70b", "h100-sxm", 64, 128, 8192),
        ("llama3.1-405b", "h100-sxm", 512, 512, 8192),
        ("llama3.2-1b", "a100-sxm", 8, 64, 4096),
        ("llama3.2-3b", "h100-sxm", 8, 64, 4096),
        ("llama3.3-70b", "gb200-nvl72", 64, 128, 8192),
        ("qwen3-0.6b", "a100-sxm", 8, 64, 4096),
        ("qwen3-1.7b", "h100-sxm", 8, 64, 4096),
        ("qwen3-4b", "h200-sxm", 8, 64, 4096),
        ("qwen3-8b", "b200", 8, 64, 4096),
        ("qwen3-14b", "h100-sxm", 16, 64, 4096),
        ("qwen3-32b", "gb200-nvl72", 32, 64, 4096),
        ("qwen3-30b-a3b", "h100-sxm", 32, 64, 4096),
        ("qwen3-235b-a22b", "h100-sxm", 256, 256, 4096),
        ("deepseek-v2-lite", "h100-sxm", 16, 64, 4096),
        ("deepseek-v2", "b200", 64, 64, 4096),
        ("deepseek-v3", "h100-sxm", 1024, 1024, 4096),
    ),
}
# Servers: models, clusters, devices, no batch, tokens behind which a decode is, and what is added to the model's config
# or to the scenario.
NVFP4 = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16,
                                 "ignore": ["lm_head"],
                                 "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
                                     "dynamic": False, "num_bits": 4, "type": "float", "group_size": 16},
                                     "input_activations": {"dynamic": False, "num_bits": 4, "type": "float",
                                                           "group_size": 16}}}}}
ROUNDED = "products={recipe: rowwise, amax: local}"
ASKED["vllm"] = ASKED["sglang"] = (
    ("llama3.2-1b", "a100-sxm", 1, None, 4096),
    ("llama3.1-8b", "h100-sxm", 8, None, 4096),
    ("llama3.1-8b", "l40s", 4, None, 4096, ROUNDED),
    ("llama3.1-8b", "b200", 2, None, 8192, NVFP4),
    ("llama3.1-70b", "h100-sxm", 8, None, 8192),
    ("llama3.3-70b", "b200", 4, None, 8192, NVFP4),
    ("llama3.1-405b", "h200-sxm", 16, None, 8192),
    ("mistral-7b", "a100-80g-roce", 2, None, 4096),
    ("qwen2.5-7b", "h100-sxm", 8, None, 4096),
    ("qwen3-32b", "h100-80g-roce", 16, None, 8192, ROUNDED),
    ("gemma2-9b", "h100-sxm", 2, None, 4096),
    ("phi4", "h100-sxm", 4, None, 4096),
    ("olmo2-13b", "h200-sxm", 4, None, 2048),
    ("mixtral-8x7b", "h100-sxm", 8, None, 4096),
    ("qwen3-30b-a3b", "h100-sxm", 8, None, 4096),
    ("qwen3-235b-a22b", "h200-sxm", 16, None, 8192),
    ("glm4.5-air", "h100-sxm", 8, None, 4096),
    ("gpt-oss-20b", "h100-sxm", 1, None, 4096),
    ("gpt-oss-120b", "b200", 4, None, 8192),
    ("deepseek-v2-lite", "h100-sxm", 4, None, 4096),
    ("deepseek-v3", "h200-sxm", 16, None, 4096),
    ("deepseek-v3", "h100-sxm", 32, None, 4096),
    ("kimi-k2", "b200", 32, None, 4096),
)
ASKED["jax"] = (
    ("llama3-8b", "h100-80g-roce", 16, 64, 4096),
    ("llama3.1-70b", "h100-sxm", 64, 128, 8192),
    ("llama3.2-1b", "tpu-v5e", 16, 64, 4096),
    ("llama3.2-3b", "tpu-v4", 32, 64, 4096),
    ("llama2-13b", "a100-80g-roce", 16, 64, 4096),
    ("mistral-7b", "h200-sxm", 8, 64, 4096),
    ("gpt2-xl", "a100-sxm", 8, 64, 1024),
    ("qwen2.5-7b", "h100-sxm", 8, 64, 4096),
    ("qwen2.5-32b", "tpu-v5p", 64, 64, 4096),
    ("qwen3-8b", "b200", 8, 64, 4096),
    ("qwen3-14b", "h100-sxm", 16, 64, 4096),
    ("qwen3-32b", "gb200-nvl72", 32, 64, 4096),
    ("gemma2-9b", "tpu-v5p", 16, 64, 4096),
    ("gemma3-4b", "tpu-v4", 16, 64, 4096),
    ("phi4", "h100-sxm", 16, 64, 4096),
    ("starcoder2-7b", "a100-80g-selene", 8, 64, 4096),
    ("qwen3-30b-a3b", "h100-sxm", 32, 64, 4096),
    ("mixtral-8x7b", "h100-80g-roce", 64, 128, 4096),
    ("deepseek-v2-lite", "h100-sxm", 16, 64, 4096),
    ("gpt-oss-20b", "h100-sxm", 16, 64, 4096),
)
ASKED["deepspeed"] = tuple(x for x in ASKED["megatron"] if x[0] in ("llama3-8b", "gpt2-xl", "qwen3-8b"))
ENDINGS = {"megatron": ".sh", "torchtitan": ".toml", "deepspeed": ".json", "vllm": ".sh", "sglang": ".sh", "jax": ".py"}
# A second search of each model, for what the best layout of few devices does not have.
HELD = ["--range", "tp=2", "--range", "pp=2", "--range", "cp=1"]
NO_STAGES = ["--range", "tp=2", "--range", "pp=1", "--range", "cp=1"]

# Each reads a list of exported files as JSON, and prints for each the parser's refusal or nothing.
COMMON = r"""
import argparse, json, os, signal, sys, traceback, typing
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
            signal.alarm(900)  # ends the process
            try:
                said = ["", accept(job)]
            except BaseException as e:
                where = traceback.extract_tb(e.__traceback__)[-1]
                said = [f"{type(e).__name__}: {e}", f"{os.path.basename(where.filename)}:{where.lineno}"]
            os.write(write, json.dumps(said).encode())
            os._exit(0)
        os.close(write)
        print("SAID", os.read(read, 65536).decode() or '["ended or took more than 900 s", ""]', flush=True)
        os.wait()
"""
MEGATRON = COMMON + r"""
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
class Device:
    major, minor, name, total_memory, multi_processor_count = 9, 0, "H100", 80 << 30, 132
torch.cuda.get_device_properties = lambda *a: Device()
torch.cuda.get_device_capability = lambda *a: (9, 0)
torch.cuda.device_count = lambda: 8
from megatron.training import arguments
from megatron.core.models.common.embeddings import rope_utils
# As where Transformer Engine is installed, whose kernels these are.
from megatron.core import num_microbatches_calculator, parallel_state
from megatron.core.pipeline_parallel.schedules import get_schedule_table
from megatron.core.transformer.transformer_block import get_num_layers_to_build
rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb_thd = lambda *a: None

def run_time(args, config, devices):
    # As initialize_megatron() and a step do: groups of ranks, microbatches, layers of each stage.
    dist.init_process_group("fake", rank=0, world_size=devices, store=FakeStore())
    stages, parts = args.pipeline_model_parallel_size, args.virtual_pipeline_model_parallel_size
    parallel_state.initialize_model_parallel(
        args.tensor_model_parallel_size, stages, parts, context_parallel_size=args.context_parallel_size,
        expert_model_parallel_size=args.expert_model_parallel_size,
        expert_tensor_parallel_size=args.expert_tensor_parallel_size,
        num_distributed_optimizer_instances=args.num_distributed_optimizer_instances,
        order="tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp", create_gloo_process_groups=False)
    num_microbatches_calculator.init_num_microbatches_calculator(
        0, None, args.global_batch_size, args.micro_batch_size, args.data_parallel_size)
    microbatches = num_microbatches_calculator.get_num_microbatches()
    if stages > 1 and parts:
        table = get_schedule_table(microbatches, parts, config.microbatch_group_size_per_vp_stage)
        assert len(table) == microbatches * parts, "the schedule's table"
    layers = 0
    for rank in range(stages):
        parallel_state.set_pipeline_model_parallel_rank(rank)
        layers += sum(get_num_layers_to_build(config, part if parts else None, rank) for part in range(parts or 1))
    assert layers == config.num_layers, f"{layers} layers in stages"
    return layers

def accept(job):
    sys.argv = ["pretrain_gpt.py"] + job["argv"]
    os.environ.update(WORLD_SIZE=str(job["devices"]), RANK="0", LOCAL_RANK="0", CUDA_DEVICE_MAX_CONNECTIONS="1")
    if "--use-megatron-fsdp" in job["argv"]:
        del os.environ["CUDA_DEVICE_MAX_CONNECTIONS"]
    args = arguments.parse_args()
    arguments.validate_args(args)
    config = arguments.core_transformer_config_from_args(args)
    return f"{args.data_parallel_size} replicas, {run_time(args, config, job['devices'])} layers"
judge(accept)
"""
TORCHTITAN = COMMON + r"""
import shlex
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
torch._utils._get_available_device_type = lambda: "cpu"
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims

def read(job):
    # The module and the arguments that the comments of an exported file hold.
    text = open(job["file"], encoding="utf-8").read()
    said = text.partition("without the leading '#   ',\n")[2].partition("# and run\n")
    if not said[2]:
        raise ValueError("no job: " + text.partition("no TOML:\n# ")[2].partition("\n")[0])
    command = "".join(line[1:] + "\n" for line in said[2].splitlines() if line.startswith(("#   torchrun", "#     --")))
    return "".join(line[4:] + "\n" for line in said[0].splitlines()), shlex.split(command.replace("\\\n", " "))

def accept(job):
    module, argv = read(job)
    devices = int(argv[2]) * int(argv[4])
    folder = os.path.join(os.path.dirname(job["file"]), "jobs", os.path.basename(job["file"]))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "shardsim_job.py"), "w", encoding="utf-8") as out:
        out.write(module)
    sys.path.insert(0, folder)
    config = ConfigManager().parse_args(argv[argv.index("torchtitan.train") + 1:])
    os.environ.update(WORLD_SIZE=str(devices), RANK="0", LOCAL_RANK="0", MASTER_ADDR="localhost", MASTER_PORT="1")
    dist.init_process_group("fake", rank=0, world_size=devices, store=FakeStore())
    # As Trainer does, up to the parallel model.
    dims = ParallelDims.from_config(config.parallelism, devices)
    dims.build_mesh()
    p, t = config.parallelism, config.training
    tokens = t.num_tokens_per_microbatch_per_dp_rank
    assert tokens % dims.seq_len_divisor == 0, "tokens of a microbatch do not divide"
    microbatches = p.num_pp_microbatches if dims.pp_enabled else 1
    rank_tokens = tokens * microbatches * dims.dp_replicate * dims.dp_shard
    assert t.num_tokens_per_train_step % rank_tokens == 0, "tokens of a step do not divide"
    spec = config.model_spec
    spec.model.update_from_config(config=config)
    config._validate_cuda_graphs()
    with torch.device("meta"):
        model = spec.model.build()
    model.verify_module_protocol()
    total = sum(x.numel() for x in model.parameters())
    common = dict(parallel_dims=dims, training=t, parallelism=p, compile_config=config.compile,
                  ac_config=config.activation_checkpoint, dump_folder=config.dump_folder)
    if dims.pp_enabled:
        spec.pipelining_fn(model, device=torch.device("meta"), model_config=spec.model,
                           parallelize_fn=spec.parallelize_fn,
                           loss_fn=config.loss.build(compile_config=config.compile), **common)
    else:
        spec.parallelize_fn(model, **common)
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
# A device of each cluster, by the first part of its name: compute capability and GiB.
DEVICES = {"a100": ((8, 0), 80), "l40s": ((8, 9), 48), "h100": ((9, 0), 80), "h200": ((9, 0), 141), "b200": ((10, 0), 180)}
SERVER = COMMON + r"""
import logging
import torch

class Device:
    name, multi_processor_count = "NVIDIA of the cluster", 132

def pretend(job):
    # A host with all devices of the cluster.
    Device.major, Device.minor = job["capability"]
    Device.total_memory = job["GiB"] << 30
    torch.cuda.get_device_properties = lambda *a: Device()
    torch.cuda.get_device_capability = lambda *a: (Device.major, Device.minor)
    torch.cuda.get_device_name = lambda *a: Device.name
    torch.cuda.mem_get_info = lambda *a: (Device.total_memory, Device.total_memory)
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: job["devices"]
    torch.cuda.is_available = lambda: True

def check(job, devices, quantization):
    assert devices == job["devices"], f"{devices} devices"
    assert bool(quantization) == job["quantized"], f"weights are of type {quantization}"
"""
VLLM = SERVER + r"""
import vllm.platforms
from vllm.platforms.cuda import NonNvmlCudaPlatform
pretend(jobs[0])

class Cluster(NonNvmlCudaPlatform):
    @classmethod
    def get_device_capability(cls, device_id=0):
        from vllm.platforms.interface import DeviceCapability
        return DeviceCapability(Device.major, Device.minor)
    @classmethod
    def device_count(cls):
        return torch.cuda.device_count()
    @classmethod
    def is_fully_connected(cls, physical_device_ids):
        return True

vllm.platforms._current_platform = Cluster()
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.model_executor.models import registry
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser
registry._run_in_subprocess = lambda function: function()  # which would see no devices

def accept(job):
    pretend(job)
    assert job["argv"][0] == "serve", job["argv"]
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(job["argv"][1:])
    args.model = args.model_tag
    validate_parsed_serve_args(args)
    config = AsyncEngineArgs.from_cli_args(args).create_engine_config(UsageContext.OPENAI_API_SERVER)
    p = config.parallel_config
    check(job, p.world_size_across_dp, config.model_config.quantization)
    return (f"{p.data_parallel_size} x {p.tensor_parallel_size} devices, {config.scheduler_config.max_num_seqs} sequences, "
            f"{config.model_config.quantization or config.model_config.dtype}")
judge(accept)
"""
SGLANG = SERVER + r"""
pretend(jobs[0])
from sglang.srt.configs.model_config import ModelConfig
from sglang.srt.server_args import prepare_server_args

def accept(job):
    pretend(job)
    assert job["argv"][:2] == ["-m", "sglang.launch_server"], job["argv"]
    args = prepare_server_args(job["argv"][2:])
    args.resolve_once()
    args.check_server_args()
    model = ModelConfig.from_server_args(args)
    check(job, args.tp_size * (1 if args.enable_dp_attention else args.dp_size), model.quantization)
    return (f"TP {args.tp_size}, DP {args.dp_size}, EP {args.ep_size}, {args.max_running_requests} sequences, "
            f"{model.quantization or model.dtype}")
judge(accept)
"""
JAX = COMMON + r"""
import importlib.util

def step_of(file):
    # The module, its mesh, and shapes in place of its arrays, whose shards are held to those that were planned.
    import jax
    spec = importlib.util.spec_from_file_location("step", file)
    step = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(step)
    mesh = step.make_mesh()
    def shapes(table):
        return {name: jax.ShapeDtypeStruct(shape, dtype, sharding=jax.sharding.NamedSharding(mesh, spec))
                for name, (shape, dtype, _, spec) in table.items()}
    params, inputs = shapes(step.PARAMS), shapes(step.INPUTS)
    for name, shape in step.SHARDS.items():
        array = {**params, **inputs}[name]
        found = array.sharding.shard_shape(array.shape)
        assert found == shape, f"{name}: shards of {found}, not {shape}"
    return step, (mesh, params, inputs)

def accept(job):
    os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={job['devices']} "
                               "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    import jax
    compiling = jax.stages.Lowered.compile
    step, arrays = step_of(job["file"])
    jax.stages.Lowered.compile = lambda lowered: lowered
    lines = step.compiled_step(*arrays)[0].as_text().count("\n")
    jax.stages.Lowered.compile = compiling
    few, fewer = step_of(job["few"])
    size = few.compiled_step(*fewer)[0].memory_analysis().argument_size_in_bytes
    return f"{len(step.SHARDS)} arrays, {lines} ops; of {job['layers']} layers {size / 2**30:.2f} GiB of arguments"
judge(accept)
"""
# A driver of which libraries find symbols, and no device: CUDA_ERROR_NO_DEVICE.
DRIVER = "".join(f"int {name}(void) {{ return 100; }}\n" for name in """
    cuCtxGetCurrent cuCtxSetCurrent cuDeviceGetAttribute cuDevicePrimaryCtxRetain cuDriverGetVersion cuGetErrorString
    cuGetProcAddress_v2 cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemGetAllocationGranularity cuMemMap
    cuMemRelease cuMemSetAccess cuMemUnmap cuPointerGetAttribute cuTensorMapEncodeTiled""".split())
JAX_LAYERS = 8  # of the step that XLA compiles
RULES = "rules"  # in place of a checkout
PARSERS = {"megatron": MEGATRON, "torchtitan": TORCHTITAN, "deepspeed": DEEPSPEED, "vllm": VLLM, "sglang": SGLANG,
           "jax": JAX}
# The program of each script; in its place: prints its arguments.
PROGRAMS = {"megatron": "torchrun", "vllm": "vllm", "sglang": "python3"}
PRINTS = f"""#!{sys.executable}
import json, sys
print(json.dumps(sys.argv[1:]))
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
    lines = [x for x in done.stderr.strip().splitlines() if x.strip()] or [f"status {done.returncode}"]
    return next((x for x in lines if "error: " in x), lines[-1])


def begin(o, asked, path):
    """Write a scenario of the model to search from."""
    model, hardware, devices, batch, seq = asked[:5]
    use = ["--batch", str(batch)] if batch else ["--serve"]
    if len(asked) > 5 and isinstance(asked[5], dict):
        model = os.path.join(path + ".model", "config.json")
    done = run([o.program, "init", "--model", model, "--devices", str(devices), *use, "--seq", str(seq),
                "--hardware", hardware, "-o", path, "--force"])
    if done.returncode:
        sys.exit(f"init --model {model}: {last_line(done)}")


# Reads configs that are built into the program, in YAML, and writes each as a config.json with the class of the model.
CONFIG = """
import json, os, sys, yaml
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as classes
classes["kimi_k2"] = "DeepseekV3ForCausalLM"  # as its own config has it
def typed(x):
    if isinstance(x, dict):
        return {k: typed(v) for k, v in x.items()}
    try:
        return float(x) if isinstance(x, str) else x  # YAML has no 1e-6
    except ValueError:
        return x
for text, longest, more, path in json.loads(sys.argv[1]):
    config = typed(yaml.safe_load(text))
    if longest > 0:
        config.setdefault("max_position_embeddings", longest)
    if config.get("quantization_config", {}).get("quant_method") == "fp8":
        config["quantization_config"]["activation_scheme"] = "dynamic"
    config.update(more, architectures=[classes[config["model_type"]]], torch_dtype="bfloat16")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        json.dump(config, out)
"""


def write_configs(o, wanted):
    """Write config.json files, each as (published model, what is added to its config, path)."""
    lines = [line.split("\t") for line in run([o.arrays, "--sizes"]).stdout.splitlines()]
    published = {name: (text, int(longest)) for name, _, text, longest in lines}
    wanted = [(*published[model], more, path) for model, more, path in wanted if not os.path.exists(path)]
    done = run([o.python, "-c", CONFIG, json.dumps(wanted)]) if wanted else None
    if done and done.returncode:
        sys.exit(f"configs of models: {last_line(done)}")


def layout_of(path):
    """The lines of a scenario that define its layout."""
    with open(path, encoding="utf-8") as f:
        lines = re.findall(r"^(?:mesh|zero|recompute|pipeline|batch): .*", f.read(), re.M)
    return "; ".join(re.sub(r"\s+#.*", "", x) for x in lines)


def search(o, system, asked, held, folder):
    """The row of one model: what was found, and the exported code or the reason for none."""
    model, hardware, devices, batch = asked[:4]
    more = asked[5] if len(asked) > 5 else None
    types = "" if not more else "-fp8" if more == ROUNDED else "-nvfp4"
    stem = os.path.join(folder, f"{system}-{model}{types}-{devices}{'-held' if held else ''}")
    best, code = stem + ".best.yaml", stem + ENDINGS[system]
    row = {"model": model + types, "published": model, "devices": devices, "where": f"{devices} {hardware}", "file": code,
           "layout": "-", "added": more if isinstance(more, dict) else {}}
    if not batch:
        row["capability"], row["GiB"] = DEVICES[hardware.partition("-")[0]]
    if row["added"]:
        write_configs(o, [(model, more, os.path.join(stem + ".yaml.model", "config.json"))])
    if not os.path.exists(best):
        begin(o, asked, stem + ".yaml")
        use = ["--plans", str(o.plans)] if batch else ["--serve"]
        done = run([o.program, "search", stem + ".yaml", *held, "-q", "--for", system, *use,
                    *(["-s", more] if more == ROUNDED else []), "--seconds", str(o.seconds), "-t", "1", "--top", "1", "--force", "-o",
                    best])
        if not os.path.exists(best):
            none = re.search(r"^best +(none.*(?:\n +.*)*)", done.stdout, re.M)
            return {**row, "why": none.group(1) if none else last_line(done)}
    row["layout"] = layout_of(best)
    done = run([o.program, "export", "--to", system, best, "--force", "-o", code])
    if system == "jax" and not done.returncode:
        row["few"], row["layers"] = code[:-3] + "-few.py", JAX_LAYERS
        done = run([o.program, "export", "--to", system, best, "--force", "-o", row["few"], "-s",
                    f"model.layers={JAX_LAYERS}"])
    return {**row, "why": f"export: {last_line(done)}"} if done.returncode else row


def commands(system, rows, folder):
    """What each exported command runs: read by a shell, with another program in its path."""
    path = os.path.join(folder, "programs", PROGRAMS[system])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(PRINTS)
    os.chmod(path, 0o755)
    more = ["--tokenizer-type", "NullTokenizer", "--mock-data"] if system == "megatron" else []
    for row in rows:
        done = run(["sh", row["file"], *more],
                   env={**os.environ, "PATH": os.path.dirname(path) + os.pathsep + os.environ["PATH"]})
        row["argv"] = json.loads(done.stdout)


def servers(o, rows, folder):
    """Put the model of each command where its name is a path, and a driver; what Python needs to find it."""
    names = [r["argv"][1] if r["argv"][0] == "serve" else r["argv"][r["argv"].index("--model-path") + 1] for r in rows]
    configs = [os.path.join(folder, name, "config.json") for name in names]
    write_configs(o, [(r["published"], r["added"], config) for r, config in zip(rows, configs)])
    for row, path in zip(rows, configs):
        with open(path, encoding="utf-8") as config:
            row["quantized"] = "--quantization" in row["argv"] or "quantization_config" in json.load(config)
    source = os.path.join(folder, "driver.c")
    with open(source, "w", encoding="utf-8") as out:
        out.write(DRIVER)
    run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", os.path.join(folder, "libcuda.so.1")])
    return {**os.environ, "LD_LIBRARY_PATH": folder, "HF_HUB_OFFLINE": "1"}


def judge(o, system, rows, folder):
    """Give what was exported to the system's own parser."""
    rows, env = [r for r in rows if "why" not in r], None
    if system in PROGRAMS:
        commands(system, rows, folder)
    if system in ("vllm", "sglang"):
        env = servers(o, rows, folder)
    if system == "megatron":
        for row in rows:
            run_by = row["argv"]
            row.update(devices=int(run_by[1]) * int(run_by[3]), argv=run_by[5:])
            why = megatron_rules(row["argv"], row["devices"])
            row["said"] = f"**refused**: {why}" if why else "the rules are met"
    if getattr(o, system) == RULES:
        return
    rows = [r for r in rows if not r.get("said", "").startswith("**")]
    # Modules remember what devices can do from when they are imported.
    for alike in ([r for r in rows if r.get("capability") == x] for x in {r.get("capability") for r in rows}):
        done = run([o.python, "-c", PARSERS[system], getattr(o, system), json.dumps(alike)], cwd=folder, env=env)
        said = [json.loads(x[5:]) for x in done.stdout.splitlines() if x.startswith("SAID ")]
        if len(said) != len(alike):
            sys.exit(f"{system}: {done.stderr[-2000:]}")
        for row, (why, where) in zip(alike, said):
            row["said"] = f"**refused**: {why} ({where})" if why else f"accepted: {where}"


def print_rows(system, rows, out):
    out.append(f"\n## {system}\n\n| model | devices | found | {system}'s checks |\n| --- | --- | --- | --- |\n")
    for r in rows:
        said = r.get("said") or f"not asked: {r['why']}"
        out.append(f"| {r['model']} | {r['where']} | {r['layout']} | {' '.join(said.split()).replace('|', '/')[:300]} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "shardsim"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--megatron", help="a checkout of Megatron-LM; 'rules': only megatron_rules()")
    parser.add_argument("--torchtitan", help="a checkout of torchtitan since August 2026")
    parser.add_argument("--deepspeed", help="a checkout of DeepSpeed")
    parser.add_argument("--vllm", help="a folder with the package vllm, or .")
    parser.add_argument("--sglang", help="a folder with the package sglang, or .")
    parser.add_argument("--jax", help="a folder with the package jax, or .")
    parser.add_argument("--arrays", default=os.path.join(ROOT, "build", "bench", "model_arrays"))
    parser.add_argument("--plans", type=int, default=12, help="of each search")
    parser.add_argument("--seconds", type=int, default=40, help="of each search, at most")
    parser.add_argument("--held", action="store_true", help="search again with tensor and pipeline parallelism")
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
                    for held in (([], NO_STAGES if system == "deepspeed" else HELD) if o.held and x[3] else ([],))
                    if not o.models or x[0] in o.models]
            judge(o, system, rows, folder)
            refused += sum("refused" in r.get("said", "refused") for r in rows)
            print_rows(system, rows, out)
    text = "".join(out)
    print(text, end="")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text)
    return 1 if refused else 0


HEAD = """# Layouts found by search, judged by other systems' own checks

Made by `bench/accepted.py`. Each model is begun by `shardsim init` and searched by `search --for SYSTEM`, and `export
--to SYSTEM` of what `-o` wrote is given to the system's own code on a host without GPUs.
"""

if __name__ == "__main__":
    sys.exit(main())
