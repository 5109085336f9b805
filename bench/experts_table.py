#!/usr/bin/env python3
"""How even the devices of each routing are, on paper: the table of docs/experts.md.

    experts_table.py SHARDSIM [SCENARIO]      (SCENARIO: scenarios/routing.yaml)

Rows of the fullest expert and device, and bytes into the device that receives most, over the mean;
flops as mean over most.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys


def row(r):
    (e,) = r["experts"]
    rows, ranks, received = e["rows_of_experts"], e["rows_of_ranks"], e["received_bytes"]
    return [
        r["strategy"] + (" (assumed)" if e["assumed"] else ""),
        f"{rows['times_the_mean']:.2f}",
        f"{ranks['times_the_mean']:.2f}",
        f"{r['balance']['expert_flops']['ratio']:.3f}",
        f"{r['balance']['flops']['ratio']:.3f}",
        f"{sum(received['each']) / 1024:.1f} KiB",
        f"{received['times_the_mean']:.2f}",
    ]


def line(cells):
    print("| " + " | ".join(cells) + " |")


def main():
    program = sys.argv[1]
    scenario = sys.argv[2] if len(sys.argv) > 2 else "scenarios/routing.yaml"
    done = subprocess.run([program, "plan", "-q", "--json", scenario], check=True,
                          capture_output=True, text=True)
    line(["routing", "an expert's rows", "a device's rows", "experts' flops", "all flops",
          "rows sent", "received"])
    line(["---"] * 7)
    for r in json.loads(done.stdout):
        line(row(r))


if __name__ == "__main__":
    main()
