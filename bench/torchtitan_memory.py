#!/usr/bin/env python3
"""Peak memory of torchtitan's steps as planned, beside its benchmark page of December 2024.

    bench/torchtitan_memory.py build/shardsim

prints the table of docs/torchtitan_memory.md.  Each row is a file of torchtitan's options, which is
imported and planned on h100-96g-titan; products in FP8 are planned in 16 bits.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile

PAGE = "https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md"
GIB = 2**30
BY_OP = 'mode = "selective"\nselective_ac_option = "op"\n'
FULL = 'mode = "full"\n'


def options(flavor, batch, seq, policy, training=(), experimental=()):
    """The text of a TOML file, with the sections of 2024."""
    return "\n".join(['[model]', 'name = "llama3"', f'flavor = "{flavor}"', '[training]',
                      f'batch_size = {batch}', f'seq_len = {seq}', *training, '[experimental]',
                      *experimental, '[activation_checkpoint]', policy])


def rows():
    """(what, GPUs, options, published GiB)"""
    compiled = "compile = true"
    for gpus, published in ((8, (82.4, 77.0, 76.8)), (128, (67.0, 62.0, 61.8))):
        for what, more, gib in zip(("", ", compiled", ", compiled, FP8"),
                                   ((), (compiled,), (compiled,)), published):
            yield (f"8B, FSDP{what}", gpus, options("8B", 2, 8192, BY_OP, more), gib)
    for cp, gib in ((1, 83.9), (2, 84.2), (4, 84.0), (8, 84.5)):
        yield (f"8B, {32768 * cp} tokens, CP {cp}, FP8", 8,
               options("8B", 1, 32768 * cp, FULL,
                       (compiled, f"data_parallel_shard_degree = {8 // cp}"),
                       (f"context_parallel_degree = {cp}",)), gib)
    yield ("70B, FSDP 32, TP 8, FP8", 256,
           options("70B", 16, 8192, FULL, (compiled, "tensor_parallel_degree = 8")), 71.9)
    sharded = (compiled, "data_parallel_shard_degree = 8", "tensor_parallel_degree = 8")
    for schedule, gib in (("1F1B", 82.5), ("Interleaved1F1B", 72.7)):
        yield (f"405B, TP 8, PP 8, {schedule}, FP8, async TP", 512,
               options("405B", 32, 8192, FULL, sharded,
                       ("pipeline_parallel_degree = 8",
                        f'pipeline_parallel_schedule = "{schedule}"')), gib)
    for cp, gib in ((1, 75.3), (2, 75.9), (4, 77.1), (8, 84.9)):
        sharded = (compiled, f"data_parallel_shard_degree = {8 // cp}", "tensor_parallel_degree = 8")
        yield (f"405B, {32768 * cp} tokens, CP {cp}, TP 8, PP 8, FP8, async TP", 512,
               options("405B", 8, 32768 * cp, FULL, sharded,
                       ("pipeline_parallel_degree = 8", f"context_parallel_degree = {cp}")), gib)


def planned(program, gpus, text):
    """GiB of the fullest device: in use, and with what the runtime and the allocator keep."""
    with tempfile.TemporaryDirectory() as folder:
        toml, scenario = os.path.join(folder, "job.toml"), os.path.join(folder, "job.yaml")
        with open(toml, "w", encoding="utf-8") as out:
            out.write(text)
        subprocess.run([program, "import", "--from", "torchtitan", "--devices", str(gpus), toml,
                        "-o", scenario], check=True)
        told = subprocess.run([program, "plan", "-q", "--json", "-s", "hardware=h100-96g-titan",
                               scenario], stdout=subprocess.PIPE, check=False).stdout
    result = json.loads(told)
    live = max(p["value"] if isinstance(p, dict) else p for p in result["memory"]["peak_bytes"])
    return live / GIB, (live * 1.2 + GIB) / GIB


def main():
    program = sys.argv[1]
    print("| Llama 3 | GPUs | in use | planned | published | |\n|---|---|---|---|---|---|")
    for what, gpus, text, published in rows():
        live, reserved = planned(program, gpus, text)
        print(f"| {what} | {gpus} | {live:.1f} | {reserved:.1f} | {published:.1f} | "
              f"{100 * (reserved / published - 1):+.1f} % |", flush=True)


if __name__ == "__main__":
    main()
