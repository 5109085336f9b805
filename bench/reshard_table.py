#!/usr/bin/env python3
"""Print the golden reshards: bytes of the bound, of XLA or DTensor and of shardsim, a device's traffic and memory, and planning times.

    reshard_table.py BUILD [GOLDEN]      (GOLDEN: $SHARDSIM_GOLDEN, else ../shared/golden beside the checkout)

BUILD is a directory where shardsim was built.  Standard library and a C compiler ($CC, else cc).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIELDS = ("bound", "received", "received_max", "sent_max", "peak", "shards", "messages", "steps", "all_steps", "ns", "ns_max")
TYPES = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1, "int32": 4, "float64": 8}


def numbers(case):
    """A question as the line of numbers that reshard_cases.c reads."""
    names = [name for name, _ in case["mesh"]]

    def sharding(spec, partial):
        entries = [[] if e is None else [e] if isinstance(e, str) else e for e in spec or []]
        entries += [[]] * (len(case["shape"]) - len(entries))
        out = []
        for entry in entries:
            out += [len(entry), *(names.index(a) for a in entry)]
        return out + [sum(1 << names.index(a) for a in partial)]

    return [len(names), *(size for _, size in case["mesh"]), len(case["shape"]), *case["shape"], TYPES[case["dtype"]],
            *sharding(case["from"], case.get("partial", [])), *sharding(case["to"], [])]


def plan(build, cases, times):
    """The figures of each case, by name."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "reshard_cases")
        libs = os.path.join(os.path.abspath(build), ".libs")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-I", os.path.join(HERE, "lib"), "-o", program,
                        os.path.join(HERE, "bench", "reshard_cases.c"), "-L", libs, "-lshd", "-Wl,-rpath," + libs], check=True)
        text = "".join(" ".join(map(str, case)) + "\n" for case in cases)
        run = subprocess.run([program, str(times)], input=text.encode(), stdout=subprocess.PIPE, check=True)
    rows = [dict(zip(FIELDS, map(int, line.split()))) for line in run.stdout.decode().splitlines()]
    assert len(rows) == len(cases)
    return rows


def golden(folder, *path):
    with open(os.path.join(folder, *path), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def devices(case):
    n = 1
    for _, size in case["in"]["mesh"]:
        n *= size
    return n


def ratio(a, b):
    return "%.3f" % (a / b) if b else "-"


def mesh_name(case):
    return "x".join(str(size) for _, size in case["in"]["mesh"])


def table(cases, rows, theirs, head):
    """A line a mesh, and one for all; `theirs` gives a case's bytes, its steps and ours that compare."""
    print("| mesh | cases | bound | %s | ours | %s / ours | most | %s, steps | ours, steps | ours, sent max / mean | ours, peak / shards |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|" % (head, head, head))
    groups = {}
    for case, row in zip(cases, rows):
        for name in (mesh_name(case), "all"):
            groups.setdefault(name, []).append((case, row))
    for name in [n for n in groups if n != "all"] + ["all"]:
        pairs = groups[name]
        them = [theirs(c, r) for c, r in pairs]
        bound, ours = sum(t[3] for t in them), sum(t[1] for t in them)
        other = sum(t[0] for t in them)
        most = max([t[0] / t[1] for t in them if t[1]] or [0])
        moving = [(c, r) for c, r in pairs if r["received"]]
        sent = [r["sent_max"] * devices(c) / r["received"] for c, r in moving]
        print("| %s | %d | %d | %d | %d | %s | %.2f | %.2f | %.2f | %.2f (at most %.2f) | at most %.2f |" % (
            name, len(pairs), bound, other, ours, ratio(other, ours), most, statistics.mean(t[2] for t in them),
            statistics.mean(r["steps"] for _, r in pairs), statistics.mean(sent or [1]), max(sent or [1]),
            max([r["peak"] / r["shards"] for _, r in pairs if r["shards"]] or [0])))


def times(what, rows):
    us = sorted(r["ns"] / 1000 for r in rows)
    print("| %s | %d | %.2f | %.2f | %.2f | %.1f |" % (what, len(us), statistics.median(us), us[len(us) * 99 // 100], us[-1],
                                                    max(r["ns_max"] for r in rows) / 1000))


def random_cases(seed, count):
    """4 axes, 1,024 devices, up to 3 dimensions, every other with partial axes."""
    rng = random.Random(seed)
    sizes = [4, 8, 4, 8]
    for number in range(count):
        rank = rng.randint(1, 3)
        sides = []
        for side in range(2):
            axes = rng.sample(range(4), 4)
            entries, partial = [[] for _ in range(rank)], 0
            for a in axes:
                if side == 0 and number % 2 and rng.random() < 0.3:
                    partial |= 1 << a
                else:
                    d = rng.randint(0, rank)
                    if d < rank:
                        entries[d].append(a)
            sides.append([n for e in entries for n in (len(e), *e)] + [partial])
        yield [4, *sizes, rank, *([1024] * rank), 4, *sides[0], *sides[1]]


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get(
        "SHARDSIM_GOLDEN", os.path.join(os.path.dirname(HERE), "shared", "golden"))
    xla = golden(folder, "jax", "reshard_plan.jsonl")
    torch = golden(folder, "torch", "redistribute.jsonl")
    ours_xla = plan(sys.argv[1], [numbers(c["in"]) for c in xla], 101)
    ours_torch = plan(sys.argv[1], [numbers(c["in"]) for c in torch], 101)
    large = plan(sys.argv[1], list(random_cases(1, 1000)), 21)
    at_bound = sum(r["received"] == r["bound"] == c["out"]["received_bytes"]["total"] for c, r in zip(xla, ours_xla))
    above = sum(c["xla"]["received_bytes_total"] > r["received"] for c, r in zip(xla, ours_xla))
    print("## Beside XLA\n\nReceived bytes of all devices.  At the bound: %d of %d; XLA is above it in %d.\n" % (at_bound, len(xla), above))
    table(xla, ours_xla, lambda c, r: (c["xla"]["received_bytes_total"], r["received"], sum(c["xla"]["op_counts"].values()), r["bound"]), "XLA")
    print("\n## Beside PyTorch's DTensor\n\nReceived bytes of the busiest device (DTensor's to one element); the bound is the"
          " mean of all devices.\n")
    table(torch, ours_torch, lambda c, r: (c["out"]["received_bytes_per_device_at_most"] - TYPES[c["in"]["dtype"]], r["received_max"],
                                           len(c["dtensor"]["plan"]), r["bound"] // devices(c)), "DTensor")
    print("\n## Planning\n\nMicroseconds of CPU time a plan (of each case the median of many, the clock included).\n\n"
          "| cases | number | median | 99 % | worst | worst single |\n|---|---|---|---|---|---|")
    times("beside XLA", ours_xla)
    times("beside DTensor", ours_torch)
    times("random, 4 axes, 1,024 devices", large)


main()
