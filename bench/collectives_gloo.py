"""Measure the seconds of a collective between PyTorch processes by Gloo, float32, sum.

    collectives_gloo.py PROCESSES OP BYTES...

BYTES is the larger of operand and result of a process.  Prints {"bytes", "seconds"} per line: the
median of the samples, in each the slowest process's time.  Exit status 3: no such collective.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

N, OP, SIZES = int(sys.argv[1]), sys.argv[2], [int(s) for s in sys.argv[3:]]
SAMPLES, SAMPLE_S = 5, 0.005


def permute(me, x, y):
    send = dist.isend(x, (me + 1) % N)
    dist.recv(y, (me - 1) % N)
    send.wait()


def caller(me, size):
    x = torch.arange(size // 4, dtype=torch.float32) % 8
    y = torch.zeros_like(x)
    parts, mine = list(y.chunk(N)), x[:len(x) // N]
    return {
        "all-reduce": lambda: dist.all_reduce(x),
        "reduce-scatter": lambda: dist.reduce_scatter_tensor(parts[0], x),
        "all-gather": lambda: dist.all_gather(parts, mine),
        "all-to-all": lambda: dist.all_to_all_single(y, x),
        "permute": lambda: permute(me, x, y),
        "broadcast": lambda: dist.broadcast(x, 0),
        "reduce": lambda: dist.reduce(x, 0),
        "gather": lambda: dist.gather(mine, parts if me == 0 else None, 0),
        "scatter": lambda: dist.scatter(mine, list(x.chunk(N)) if me == 0 else None, 0),
    }[OP]


def sample(call, calls):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    seconds = torch.tensor([(time.perf_counter() - begin) / calls])
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def main(me, path):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=me, world_size=N)
    for size in SIZES:
        call = caller(me, size)
        sample(call, 1)
        calls = max(1, int(SAMPLE_S / sample(call, 2)))
        seconds = statistics.median([sample(call, calls) for _ in range(SAMPLES)])
        if me == 0:
            print(json.dumps({"bytes": size, "seconds": seconds}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        try:
            mp.spawn(main, (os.path.join(folder, "store"),), nprocs=N)
        except mp.ProcessRaisedException:
            sys.exit(3)
