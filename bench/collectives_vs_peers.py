#!/usr/bin/env python3
"""Measure float32 collectives of shardsim, Open MPI, PyTorch Gloo and JAX, which take turns in one run.

    bench/collectives_vs_peers.py [--install] [--keep] [--rounds N] [--ops LIST] ...

Run it in the build directory.  Each round measures each collective in all systems, one after the
other, so that other load on the machine slows all of them equally; the printed time is the median of the
rounds.  Sizes are those of the larger of operand and result of a device.  `copy` is the time in
which the cores copy the bytes that must be read and written.  A system that is not installed is left
out; --install gets the systems: Open MPI by apt, the others by pip into a virtual environment of their own
(--venv).  --keep writes the table to results/bench/.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "permute", "broadcast",
       "reduce", "gather", "scatter"]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def parse_bytes(text):
    for unit, size in UNITS.items():
        if text.endswith(unit):
            return int(text[:-len(unit)]) * size
    return int(text)


def print_bytes(size):
    for unit, unit_size in reversed(UNITS.items()):
        if size >= unit_size and size % unit_size == 0:
            return f"{size // unit_size} {unit}"
    return f"{size} B"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="./shardsim", help="the shardsim to measure")
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--sizes", default="64KiB,1MiB,64MiB")
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--small-devices", type=int, default=64,
                        help="devices of the 8-byte all-reduce; 0: leave it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--venv", default=os.path.join(tempfile.gettempdir(), "shardsim-peers"))
    parser.add_argument("--install", action="store_true", help="get the systems that are lacking")
    parser.add_argument("--keep", action="store_true", help="write results/bench/collectives.md")
    return parser.parse_args()


def install(venv):
    if not shutil.which("mpirun"):
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", "openmpi-bin",
                        "libopenmpi-dev"], check=False)
    if not os.path.exists(venv):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [os.path.join(venv, "bin", "pip"), "install", "-q"]
    subprocess.run([*pip, "jax", "numpy"], check=False)
    subprocess.run([*pip, "--index-url", TORCH_INDEX, "torch"], check=False)


def lines_of(command):
    """The JSON lines a command prints, by bytes; empty where it does not serve."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 3:
        return {}
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return {r["bytes"]: r["seconds"] for r in map(json.loads, done.stdout.splitlines())}


class Ours:
    name = "shardsim"

    def __init__(self, program):
        self.program = program
        self.copy, self.floor = {}, {}

    def measure(self, op, devices, sizes):
        done = subprocess.run(
            [self.program, "bench", "--json", "--op", op, "--devices", str(devices), "--sizes",
             ",".join(map(str, sizes))], capture_output=True, text=True, check=True)
        rows = json.loads(done.stdout)
        assert all(r["wrong"] == 0 for r in rows), rows
        for r in rows:
            self.copy.setdefault((op, devices, r["bytes"]), []).append(
                r["copy_seconds"]["median"])
            self.floor.setdefault((op, devices, r["bytes"]), []).append(
                r["floor_seconds"]["median"])
        return {r["bytes"]: r["seconds"]["median"] for r in rows}


class OpenMPI:
    name = "Open MPI"

    def __init__(self, folder):
        self.program = os.path.join(folder, "collectives_mpi")
        subprocess.run(["mpicc", "-O2", os.path.join(HERE, "collectives_mpi.c"), "-o",
                        self.program], check=True)

    def measure(self, op, devices, sizes):
        return lines_of(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(devices),
                         self.program, op, *map(str, sizes)])


class Python:
    def __init__(self, name, python, script):
        self.name, self.python, self.script = name, python, os.path.join(HERE, script)

    def measure(self, op, devices, sizes):
        return lines_of([self.python, self.script, str(devices), op, *map(str, sizes)])


def find_systems(args, folder):
    systems = [Ours(args.program)]
    if shutil.which("mpirun") and shutil.which("mpicc"):
        systems.append(OpenMPI(folder))
    python = os.path.join(args.venv, "bin", "python")
    for name, module, script in (("Gloo", "torch", "collectives_gloo.py"),
                                 ("JAX", "jax", "collectives_jax.py")):
        if os.path.exists(python) and subprocess.run([python, "-c", f"import {module}"],
                                                     capture_output=True, check=False
                                                     ).returncode == 0:
            systems.append(Python(name, python, script))
    return systems


def measure_all(systems, cases, rounds):
    """{(op, devices, bytes): {system: [seconds]}}"""
    times = {}
    for turn in range(rounds):
        for op, devices, sizes in cases:
            for system in systems[turn % len(systems):] + systems[:turn % len(systems)]:
                if devices > 8 and system.name not in ("shardsim", "Open MPI"):
                    continue
                for size, seconds in system.measure(op, devices, sizes).items():
                    times.setdefault((op, devices, size), {}).setdefault(
                        system.name, []).append(seconds)
            print(f"round {turn + 1} of {rounds}: {op}, {devices} devices", file=sys.stderr)
    return times


def table(systems, times):
    names = [s.name for s in systems]
    ours = systems[0]
    yield "| collective | devices | size | " + " | ".join(names) + " | best peer / shardsim | " \
          "copy | copy / shardsim | floor |"
    yield "|---|--:|--:|" + "--:|" * (len(names) + 4)
    for (op, devices, size), by_system in times.items():
        t = {name: statistics.median(seconds) for name, seconds in by_system.items()}
        peers = [seconds for name, seconds in t.items() if name != "shardsim"]
        copy = statistics.median(ours.copy[op, devices, size])
        floor = statistics.median(ours.floor[op, devices, size])
        cells = [f"{t[name] * 1e3:.3f} ms" if name in t else "-" for name in names]
        ratio = f"{min(peers) / t['shardsim']:.2f}" if peers else "-"
        yield f"| {op} | {devices} | {print_bytes(size)} | " + " | ".join(cells) + \
              f" | {ratio} | {copy * 1e3:.3f} ms | {copy / t['shardsim']:.2f} | " \
              f"{floor * 1e3:.3f} ms |"


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def main():
    args = arguments()
    if args.install:
        install(args.venv)
    sizes = [parse_bytes(s) for s in args.sizes.split(",")]
    cases = [(op, args.devices, sizes) for op in args.ops.split(",")]
    if args.small_devices:
        cases.append(("all-reduce", args.small_devices, [8]))
    with tempfile.TemporaryDirectory() as folder:
        systems = find_systems(args, folder)
        lines = list(table(systems, measure_all(systems, cases, args.rounds)))
    text = "\n".join([f"Machine: {machine()}; {datetime.date.today()}; load "
                      f"{os.getloadavg()[1]:.1f} at the end.", "",
                      f"Command: bench/collectives_vs_peers.py {shlex.join(sys.argv[1:])}", "",
                      f"Medians of {args.rounds} rounds, float32.", "", *lines, ""])
    print(text)
    if args.keep:
        folder = os.path.join(HERE, "..", "results", "bench")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "collectives.md"), "w") as file:
            file.write("# Collectives, and those of other systems\n\n" + text)


main()
