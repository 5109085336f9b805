#!/usr/bin/env python3
"""Measure the cost of a device: resident memory beyond its payload, and the time to start a device.

    devices.py SHARDSIM [TIMES]      (TIMES: 5; of wall times the median is taken)

`bench`: the process starts, every device makes some all-reduces of 8 bytes, and the process ends.  `run`: a
step of a small data-parallel MLP, with its records and its verification.  KiB per device: the maximum
resident size (of a longer process) minus the one with 8 devices, divided by the number of additional
devices, minus a device's peak of arrays.
Goals: 50 ms with 8 devices, 1 s with 1,024; 128 KiB a device.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

FEW = 8
STEP = ["--set", "batch.seq=1", "--set", "model.d_model=4", "--set", "model.d_ff=4"]


def resident(pid):
    """The most that was resident so far, in KiB; 0 when it has ended.  (What wait4() tells counts this
    interpreter, of which the process was a copy.)"""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def measure(command):
    """Seconds of wall time, the largest resident size in KiB, and what was printed."""
    began = time.perf_counter()
    kib = 0
    with tempfile.TemporaryFile() as out, subprocess.Popen(command, stdout=out) as process:
        while process.poll() is None:
            try:
                kib = max(kib, resident(process.pid))
            except FileNotFoundError:
                pass
            time.sleep(0.001)
        seconds = time.perf_counter() - began
        if process.returncode:
            sys.exit(f"{' '.join(command)}: status {process.returncode}")
        out.seek(0)
        return seconds, kib, json.load(out)


def start(command):
    """Seconds of wall time alone."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def bench(program, devices, kind, sample_ms):
    return [program, "bench", "-n", str(devices), "--memory", kind, "--sizes", "8", "--samples", "1",
            "--sample-ms", str(sample_ms), "--warmup", "1", "--json"]


def run(program, devices, repeats):
    scenario = os.path.join(os.path.dirname(__file__), "..", "scenarios", "data_parallel.yaml")
    return [program, "run", scenario, "--set", f"mesh.dp={devices}", "--set", f"batch.size={devices}", *STEP,
            "--repeat", str(repeats), "--json", "--quiet"]


def payload(results):
    """Bytes of a device's arrays at their highest."""
    if isinstance(results, list):  # of bench: an operand and a result
        return 2 * results[0]["bytes"]
    return results["memory"]["peak_bytes"][0]


def row(name, devices, times, short, long):
    """`short` and `long`: the command for a number of devices, as a minimal run and as a run long enough to sample."""
    _, kib_few, _ = measure(long(FEW))
    _, kib, results = measure(long(devices))
    each = (kib - kib_few) / (devices - FEW) - payload(results) / 1024 if devices > FEW else None
    ms = statistics.median(start(short(devices)) for _ in range(times)) * 1000
    print(f"| {name} | {devices} | {ms:.0f} | {kib / 1024:.1f} | {'-' if each is None else f'{each:.1f}'} |", flush=True)


def main():
    program, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"# What a device costs\n\n`bench/devices.py build/shardsim {times}`, {os.cpu_count()} cores.\n")
    print("| what | devices | whole process, ms | resident, MiB | beyond the payload, KiB a device |\n|---|---|---|---|---|")
    for kind in ("mmap", "jemalloc"):
        for devices in (FEW, 1024, 4000) + ((16384,) if kind == "mmap" else ()):
            row(f"bench, memory from {kind}", devices, times, lambda n, k=kind: bench(program, n, k, 0),
                lambda n, k=kind: bench(program, n, k, 300))
    for devices in (FEW, 1024):
        row("run, data parallel", devices, times, lambda n: run(program, n, 1), lambda n: run(program, n, 20000 // n))


main()
