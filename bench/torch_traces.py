#!/usr/bin/env python3
"""Write traces of a PyTorch job's collectives for `shardsim replay`: torch_traces.py FOLDER [--chrome]

Four processes train two MLP blocks for two steps, with gloo on this machine: FSDP2 along dp=2, tensor
parallelism along tp=2.  FOLDER gets rank-0.json to rank-3.json, execution traces (Chakra) or, with
--chrome, traces of the profiler; --whole keeps complete traces.  Otherwise only collectives, the events
around them and the steps are kept, without the ids of processes and threads.

A block has 2 x 16 x 64 float32 parameters, of which a device holds a quarter: 2 KiB.  So a step gathers
2 KiB per device along dp twice for the forward phase and twice for the backward phase, scatters two sums
of 4 KiB, and sums 8 x 16 float32 along tp: once per block forward, and backward for the second block only,
as the gradient of the first block's input is not needed.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import pathlib

import torch
import torch.distributed as dist
from torch import multiprocessing, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

RANKS = 4
KEPT_ATTRIBUTES = ("scope", "tid")
KEPT_ARGUMENTS = ("Concrete Inputs", "Input type", "Input Dims")


class Block(nn.Module):
    """An MLP with a residual."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def is_call(name):
    return name.startswith(("c10d::", "_c10d_functional::", "gloo:", "record_param_comms")) and "wait" not in name


def is_step(name):
    return name.startswith("ProfilerStep#")


def trim_chakra(trace):
    """Calls with their parents, and the groups."""
    nodes = {node["id"]: node for node in trace["nodes"]}
    kept = set()
    for node in trace["nodes"]:
        if not is_call(node["name"]) and not is_step(node["name"]) and not node["name"].startswith("##"):
            continue
        at = node["id"]
        while at in nodes and at not in kept:
            kept.add(at)
            at = nodes[at]["ctrl_deps"]
    out = []
    for number in sorted(kept):
        node = nodes[number]
        small = {"id": number, "name": node["name"], "ctrl_deps": node["ctrl_deps"]}
        if is_call(node["name"]) or node["name"].startswith("##"):
            small["inputs"] = {"values": node["inputs"]["values"]}
        small["attrs"] = [
            {"name": a["name"], "value": a["value"]} for a in node["attrs"] if a["name"] in KEPT_ATTRIBUTES
        ]
        out.append(small)
    return {"schema": trace["schema"], "nodes": out}


def trim_chrome(trace):
    """Calls, the annotations and reverse ops around them, and the job's ranks."""
    calls = [e for e in trace["traceEvents"] if e["ph"] == "X" and is_call(e["name"])]

    def is_around(event):
        return any(
            event["tid"] == c["tid"] and event["ts"] <= c["ts"] <= event["ts"] + event["dur"] for c in calls
        )

    out = []
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["cat"] not in ("cpu_op", "user_annotation"):
            continue
        around = event["cat"] == "user_annotation" or event["name"].startswith("autograd::engine::")
        if not is_call(event["name"]) and not is_step(event["name"]) and not (around and is_around(event)):
            continue
        small = {k: event[k] for k in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
        if is_call(event["name"]):
            small["args"] = {k: v for k, v in event["args"].items() if k in KEPT_ARGUMENTS}
        out.append(small)
    start = min(e["ts"] for e in out)
    for event in out:
        event["ts"] = round(event["ts"] - start, 3)
        event["tid"] -= event["pid"]
        event["pid"] = 0
    return {"distributedInfo": trace["distributedInfo"], "traceEvents": out}


def save(trace, path):
    """One node or event a line."""
    key = "nodes" if "nodes" in trace else "traceEvents"
    head = {k: v for k, v in trace.items() if k != key}
    lines = ",\n".join(json.dumps(item) for item in trace[key])
    path.write_text(f"{json.dumps(head)[:-1]}, {json.dumps(key)}: [\n{lines}\n]}}\n")


def train(rank, options):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29555")
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = nn.Sequential(Block(16), Block(16))
    for block in model:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    path = options.folder / f"rank-{rank}.json"
    observer = None if options.chrome else ExecutionTraceObserver().register_callback(str(path))
    step()
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        execution_trace_observer=observer,
        schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
    ) as profiler:
        for _ in range(3):
            step()
            profiler.step()
    if options.chrome:
        profiler.export_chrome_trace(str(path))
    if not options.whole:
        trace = json.loads(path.read_text())
        save(trim_chrome(trace) if options.chrome else trim_chakra(trace), path)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--chrome", action="store_true", help="traces of the profiler")
    parser.add_argument("--whole", action="store_true", help="with all that is in them")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    multiprocessing.spawn(train, args=(options,), nprocs=RANKS)


if __name__ == "__main__":
    main()
