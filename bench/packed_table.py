#!/usr/bin/env python3
"""Print how evenly a ring shares attention, by the order of tokens and the length of documents.

    packed_table.py SHARDSIM [SCENARIO [TOKENS]]      (SCENARIO: scenarios/packed.yaml; TOKENS: 16384)

The figures are planned flops of attention of each rank in the whole step.  For each order: the mean of the ranks divided
by the most, and in brackets the most divided by the mean with contiguous pieces, the factor by which the slowest rank
is slower than with that work shared evenly.  A tile of scores with a single visible pair is computed completely, so
that the orders differ in their total work.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys

ORDERS = ("contiguous", "zigzag", "striped")
MEANS = (None, 4096, 1024, 256, 64)


def balance(program, scenario, tokens, order, mean):
    """The mean and the most of the ranks."""
    documents = "null" if mean is None else f"{{mean: {mean}, seed: 1}}"
    sets = [f"batch.seq={tokens}", f"context.documents={documents}"]
    command = [program, "plan", "--json", scenario, "--strategy", order]
    for text in sets:
        command += ["--set", text]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures = json.loads(run.stdout)["balance"]["attention_flops"]
    return figures["mean"], figures["max"]


def main():
    program = sys.argv[1]
    scenario = sys.argv[2] if len(sys.argv) > 2 else "scenarios/packed.yaml"
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 16384
    print("| documents, tokens in the mean | " + " | ".join(ORDERS) + " |\n|---|" + "---|" * len(ORDERS))
    for mean in MEANS:
        row = []
        even = None
        for order in ORDERS:
            average, most = balance(program, scenario, tokens, order, mean)
            even = average if even is None else even
            row.append(f"{average / most:.3f} ({most / even:.2f})")
        print(f"| {'one of ' + str(tokens) if mean is None else mean} | " + " | ".join(row) + " |")


main()
