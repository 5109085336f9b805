#!/usr/bin/env python3
"""How even attention is on the ranks of a ring, by which tokens they hold and how long documents are.

    packed_table.py SHARDSIM [SCENARIO [TOKENS]]      (SCENARIO: scenarios/packed.yaml; TOKENS: 16384)

On paper: flops of attention, of each rank in the whole step.  Per order the mean of the ranks over the most, and in
brackets the most over the mean of all the work there is with contiguous pieces: what the slowest rank takes longer
than if that was dealt evenly.  Tiles of scores with one pair to see are worked on whole, so that orders differ in
how much there is.  Standard library only.

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
