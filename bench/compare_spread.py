#!/usr/bin/env python3
"""Measure how much the replayed steps of `compare` differ from run to run, alone and beside busy loops.

    compare_spread.py SHARDSIM [RUNS [SCENARIO]]      (RUNS: 20; SCENARIO: scenarios/strategies.yaml)

A busy loop is a shell in an empty loop; with one loop per core, every thread of the program shares its core.
Printed per strategy: the median replayed step over the runs, the least and the most relative to that median,
and the largest change from one run to the next.  Two successive runs contradict each other if they disagree
which of two strategies is faster, and neither calls the two a tie.
Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import json
import os
import statistics
import subprocess
import sys
import time


def compare(program, scenario):
    """The step of each strategy in seconds, the pairs that are no tie as (faster, slower), and the wall time."""
    began = time.perf_counter()
    run = subprocess.run([program, "compare", "--quiet", "--json", scenario], stdout=subprocess.PIPE, check=True)
    seconds = time.perf_counter() - began
    said = json.loads(run.stdout)
    steps = {r["strategy"]: r["time"]["replayed"]["step_seconds"] for r in said["results"]}
    ties = {s["strategy"]: set(s.get("within_noise") or ()) for s in said["strategies"]}
    faster = {(a, b) for a, b in itertools.permutations(steps, 2) if steps[a] < steps[b] and b not in ties[a]}
    return steps, faster, seconds


def percent(x):
    return f"{100 * x:+.1f} %"


def table(runs):
    print("| strategy | median step, ms | least..most of the runs | most from one run to the next |\n|---|---|---|---|")
    for name in runs[0][0]:
        steps = [steps[name] for steps, _, _ in runs]
        middle = statistics.median(steps)
        change = max((abs(b / a - 1) for a, b in zip(steps, steps[1:])), default=0)
        print(f"| {name} | {middle * 1000:.3f} | {percent(min(steps) / middle - 1)}..{percent(max(steps) / middle - 1)} "
              f"| {100 * change:.1f} % |")
    rows = list(zip(runs, runs[1:]))
    other = sum(sorted(a[0], key=a[0].get) != sorted(b[0], key=b[0].get) for a, b in rows)
    against = sum(any((y, x) in b[1] for x, y in a[1]) for a, b in rows)
    print(f"\nOf {len(rows)} runs {other} ordered the strategies otherwise than the run before, {against} contradicted it. "
          f"A run took {statistics.median(r[2] for r in runs):.1f} s.\n", flush=True)


def measure(program, scenario, nruns, nloops):
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(nloops)]
    try:
        return [compare(program, scenario) for _ in range(nruns)]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program, nruns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    scenario = sys.argv[3] if len(sys.argv) > 3 else os.path.join(here, "scenarios", "strategies.yaml")
    for nloops in range(3):
        print(f"{nruns} runs beside {('no busy loop', 'one busy loop', 'two busy loops')[nloops]}, {os.cpu_count()} cores:\n")
        table(measure(program, scenario, nruns, nloops))


main()
