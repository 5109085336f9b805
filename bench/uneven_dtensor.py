#!/usr/bin/env python3
"""Count the bytes that PyTorch's DTensor moves in reshards of shards that do not divide, for uneven_vs_dtensor.py.

    uneven_dtensor.py < CASES.jsonl > ANSWERS.jsonl

A case has mesh ([[name, size], ...]), shape, from, to (for each dimension the axes that shard it, in the order
of the mesh) and partial (the axes of a partial sum).  An answer lists the bytes that each device receives:
DTensor's redistribute() runs once for each device, in a process group of one, and its collectives are counted
where they are called, as moved by direct algorithms.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, placement_types
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode


class Received(TorchDispatchMode):
    """Elements that one device receives."""

    def __init__(self):
        super().__init__()
        self.count, self.inside = 0, False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).split(".")[1] if str(func).startswith("_c10d_functional") else ""
        if not self.inside and name == "all_gather_into_tensor":
            self.count += (args[1] - 1) * args[0].numel()
        elif not self.inside and name == "reduce_scatter_tensor":
            self.count += args[0].numel() // args[2] * (args[2] - 1)
        elif not self.inside and name == "all_reduce":
            size = dist.distributed_c10d._resolve_process_group(args[2]).size()
            chunk = -(-args[0].numel() // size)
            self.count += (size - 1) * chunk + args[0].numel() - chunk
        elif not self.inside and name.startswith("all_to_all"):
            self.count += sum(args[1]) - args[1][dist.get_group_rank(args[3], dist.get_rank())]
        return func(*args, **(kwargs or {}))


def count_all_to_all(counter):
    """On the CPU the all-to-all between two dimensions is made of an all-gather; other devices have it."""
    original = placement_types.shard_dim_alltoall

    def counted(tensor, gather_dim, shard_dim, mesh, mesh_dim):
        size = mesh.size(mesh_dim)
        counter.count += tensor.numel() // size * (size - 1)
        counter.inside = True
        try:
            return original(tensor, gather_dim, shard_dim, mesh, mesh_dim)
        finally:
            counter.inside = False

    placement_types.shard_dim_alltoall = counted
    return original


def placements(case, spec, partial):
    out = []
    for name, _ in case["mesh"]:
        dims = [d for d, axes in enumerate(spec) if name in axes]
        out.append(Shard(dims[0]) if dims else Partial() if name in partial else Replicate())
    return out


def received(case, rank):
    sizes = [size for _, size in case["mesh"]]
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=math.prod(sizes))
    mesh = init_device_mesh("cpu", tuple(sizes), mesh_dim_names=tuple(name for name, _ in case["mesh"]))
    shape = torch.Size(case["shape"])
    local = torch.zeros(shape)
    for dim, (size, at) in enumerate(zip(sizes, mesh.get_coordinate())):
        place = placements(case, case["from"], [])[dim]
        if place.is_shard():
            chunks = torch.chunk(local, size, dim=place.dim)
            local = chunks[at] if at < len(chunks) else local.narrow(place.dim, 0, 0)
    stride = torch.empty(shape).stride()
    array = DTensor.from_local(local.contiguous(), mesh, placements(case, case["from"], case["partial"]),
                               run_check=False, shape=shape, stride=stride)
    counter = Received()
    original = count_all_to_all(counter)
    try:
        with counter:
            array.redistribute(mesh, placements(case, case["to"], []))
    finally:
        placement_types.shard_dim_alltoall = original
        dist.destroy_process_group()
    return 4 * counter.count


def main():
    warnings.simplefilter("ignore")
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        try:
            answer = [received(case, rank) for rank in range(math.prod(size for _, size in case["mesh"]))]
        except Exception as error: # the error is the answer to a case that DTensor cannot do
            if dist.is_initialized():
                dist.destroy_process_group()
            answer = "%s: %s" % (type(error).__name__, str(error).split("\n")[0][:80])
        print(json.dumps(answer), flush=True)


main()
