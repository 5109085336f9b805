#!/usr/bin/env python3
"""Measure collectives of devices on several ranks beside the calls of the MPI library itself.

usage: bench/ranks_vs_mpi.py BUILD [--rounds N] [--ranks N...] [--only OP]

BUILD is a build folder configured with --with-mpi.  With one device per rank and the same
data, the library's call, shardsim's and again the library's take turns.  Prints Markdown: microseconds of
each (the median of all rounds), and shardsim's time divided by the library's (the median of the rounds'
ratios, and their range).

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "gather",
       "scatter", "permute"]
SIZES = [4 << 10, 256 << 10, 4 << 20, 32 << 20]


def launch(ranks, command):
    # A small machine needs to run as root, with more ranks than cores, bound to no core.
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
    run = subprocess.run(["mpirun", "-n", str(ranks), *command], capture_output=True, text=True,
                         env=env, check=False)
    if run.returncode != 0:
        sys.exit("%s ended with %d: %s" % (command[0], run.returncode, run.stderr[:400]))
    return [json.loads(line)["seconds"] for line in run.stdout.splitlines()]


def size_of(n):
    return "%d MiB" % (n >> 20) if n >= 1 << 20 else "%d KiB" % (n >> 10)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--only", choices=OPS)
    args = parser.parse_args()
    subprocess.run(["make", "-s", "-C", args.build, "bench/collectives_ranks"], check=True)
    ours = os.path.join(args.build, "bench", "collectives_ranks")
    with tempfile.TemporaryDirectory() as folder:
        theirs = os.path.join(folder, "collectives_mpi")
        subprocess.run(["mpicc", "-O2", os.path.join(HERE, "collectives_mpi.c"), "-o", theirs],
                       check=True)
        print("| ranks | collective | bytes | MPI, us | shardsim, us | ratio | from | to |")
        print("|---:|---|---:|---:|---:|---:|---:|---:|")
        for ranks in args.ranks:
            for op in [args.only] if args.only else OPS:
                table(ranks, op, theirs, ours, args.rounds)


def table(ranks, op, theirs, ours, rounds):
    sizes = [str(size) for size in SIZES]
    a, b = [], []
    for _ in range(rounds):
        first = launch(ranks, [theirs, op, *sizes])
        b.append(launch(ranks, [ours, str(ranks), op, *sizes]))
        second = launch(ranks, [theirs, op, *sizes])
        a.append([(x + y) / 2 for x, y in zip(first, second)])
    for i, size in enumerate(SIZES):
        ratios = [y[i] / x[i] for x, y in zip(a, b)]
        print("| %d | %s | %s | %.0f | %.0f | %.2f | %.2f | %.2f |" % (
            ranks, op, size_of(size), 1e6 * statistics.median(x[i] for x in a),
            1e6 * statistics.median(x[i] for x in b), statistics.median(ratios), min(ratios),
            max(ratios)), flush=True)


main()
