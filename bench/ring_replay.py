#!/usr/bin/env python3
"""Count and time how evenly a ring shares attention, with contiguous pieces of the sequence and with zigzag order.

    ring_replay.py SHARDSIM [SCENARIO [TOKENS ...]]      (SCENARIO: scenarios/ring.yaml; TOKENS: 1024 4096)

The steps are executed.  Printed as the mean of the ranks divided by the most: pairs of query and key in kernels, the
time of attention in the replayed step, and the time of all work in the step; and the replayed step itself, the least of
three runs.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys

RUNS = 3


def run(program, scenario, tokens, strategy):
    command = [program, "run", "--quiet", "--json", scenario, "--strategy", strategy, "--set", f"batch.seq={tokens}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    said = json.loads(done.stdout)
    return said[0] if isinstance(said, list) else said


def row(program, scenario, tokens, strategy):
    runs = [run(program, scenario, tokens, strategy) for _ in range(RUNS)]
    best = min(runs, key=lambda r: r["time"]["replayed"]["step_seconds"])
    balance = best["balance"]
    forward, backward = best["attention"]
    return (f"| {tokens} | {strategy} | {balance['attention_flops']['ratio']:.3f} | "
            f"{forward['busy_balance']:.2f}, {backward['busy_balance']:.2f} | {balance['busy_seconds']['ratio']:.2f} | "
            f"{1e3 * best['time']['replayed']['step_seconds']:.2f} ms |")


def main():
    program = sys.argv[1]
    scenario = sys.argv[2] if len(sys.argv) > 2 else "scenarios/ring.yaml"
    print("| tokens | strategy | pairs | time of attention, forward and backward | of all work | replayed step |")
    print("|---|---|---|---|---|---|")
    for tokens in sys.argv[3:] or ["1024", "4096"]:
        for strategy in "ring", "zigzag":
            print(row(program, scenario, tokens, strategy))


main()
