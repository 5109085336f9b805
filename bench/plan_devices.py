#!/usr/bin/env python3
"""Measure the cost of a plan by the number of devices: for a transformer of 70 billion parameters, and
for one of 8 billion with its time on a cluster.

    plan_devices.py SHARDSIM [TIMES]      (TIMES: 5; the least CPU time is taken)

Printed are the CPU time of the whole process and its maximum resident size (at least that of this
interpreter, about 10 MiB, which the system's figure includes).  Wall time is left out: plans use one core
and do not wait.  Goals: 0.3 s on 1,024 devices, 1 s and 200 MB on 1,048,576, at most 3 times the time of 1,024.
Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

BENCH = os.path.dirname(os.path.abspath(__file__))
LARGE = os.path.join(BENCH, "transformer_70b.yaml")
TIMED = os.path.join(BENCH, "..", "scenarios", "models", "llama3-8b.yaml")
DEVICES = [1024, 4096, 65536, 1048576]
COMMANDS = [["plan"], ["plan", "--json"], ["show", "matrix"]]
EXPLAIN = ["explain"]
# Scenario, strategy, devices of the mesh without dp, sequences per rank of dp (None: unchanged).
LAYOUTS = [(LARGE, "dp-tp", 8, None), (LARGE, "fsdp-tp", 512, None), (TIMED, "tp-dp", 8, 16)]


def measure(command, times):
    """CPU seconds, and resident MiB."""
    seconds, mib = [], 0
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: status {process.returncode}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        mib = max(mib, usage.ru_maxrss / 1024)
    return min(seconds), mib


def main():
    program, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("| command | layout | devices | CPU s | / 1,024 | MiB |\n|---|---|--:|--:|--:|--:|")
    for command in [*COMMANDS, EXPLAIN]:
        for scenario, layout, within, sequences in LAYOUTS:
            first = None
            for devices in DEVICES:
                sets = ["--strategy", layout, "--set", f"mesh.dp={devices // within}"]
                if sequences:
                    sets += ["--set", f"batch.size={devices // within * sequences}"]
                seconds, mib = measure([program, *command, scenario, *sets], times)
                first = first or seconds
                print(f"| {' '.join(command)} | {layout} | {devices:,} | {seconds:.3f} | {seconds / first:.2f} "
                      f"| {mib:.0f} |", flush=True)


if __name__ == "__main__":
    main()
