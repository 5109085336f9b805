#!/usr/bin/env python3
"""Print the table of docs/experts.md: how evenly each routing loads the devices, by plan.

    experts_table.py SHARDSIM [SCENARIO]      (SCENARIO: scenarios/routing.yaml)

Rows are given for the fullest expert and device, and bytes for the device that receives most, each
divided by the mean; flops as the mean divided by the most.  Standard library only.

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
