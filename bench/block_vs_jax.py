"""Measure steps of this simulator and of JAX in turn, and print them as a Markdown table.

    block_vs_jax.py SHARDSIM SCENARIO ROUNDS REPEATS [MODEL]

Each round runs every row once, shardsim's step and JAX's step one after the other, so that both have
the same load on the machine.  Wall time is the median over the rounds of each process's median step;
CPU time (all threads, one step) stays comparable even if other users load the machine.  JAX is the
one of the Python that runs this script.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

SHARDSIM, SCENARIO, ROUNDS, REPEATS = sys.argv[1:5]
MODEL = sys.argv[5] if len(sys.argv) > 5 else "block"
SHAPE = "4,512,1024,16,4096"
MANY = "8,256,1024,16,4096"
CORES = len(os.sched_getaffinity(0))

# Each row: its name, shardsim's strategy and threads per kernel, JAX's layout, devices and shape.
ROWS = {
    "block": [
        ("unsharded", "unsharded", CORES, ("none", "1", SHAPE)),
        ("tensor parallel, 8", "tp-8", 1, ("tp", "8", SHAPE)),
        ("tensor parallel, 16", "tp-16", 1, ("tp", "16", SHAPE)),
        ("data x tensor, 4 x 16 = 64", "dp-tp-64", 1, None),
        ("unsharded, 8 x 256", "unsharded-8x256", CORES, ("none", "1", MANY)),
        ("data parallel, 8", "dp-8", 1, ("dp", "8", MANY)),
        ("FSDP, 8", "fsdp-8", 1, ("fsdp", "8", MANY)),
    ],
    "mlp": [
        ("unsharded", "unsharded", CORES, ("none", "1", SHAPE)),
        ("tensor parallel, 8", "tensor", 1, ("tp", "8", SHAPE)),
    ],
}[MODEL]

# Without these variables both sides choose their kernels for this machine.
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}


def output(command, **environment):
    return subprocess.run(command, env=ENVIRONMENT | environment, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def ours(strategy, threads):
    result = json.loads(output([SHARDSIM, "run", "--json", "--quiet", "--repeat", REPEATS,
                                "--threads", str(threads), "--strategy", strategy, SCENARIO]))
    if not result["verify"]["ok"]:
        sys.exit(f"{strategy}: wrong numbers")
    return result["time"]["measured"]


def jax(layout, devices, shape):
    script = pathlib.Path(__file__).with_name("block_jax.py")
    text = output([sys.executable, str(script), MODEL, layout, devices, REPEATS], SHAPE=shape)
    return json.loads(text.splitlines()[-1])


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def print_facts():
    version = output([sys.executable, "-c", "import jax; print(jax.__version__)"]).strip()
    print(f"# One {MODEL} step beside JAX\n")
    print(f"{cpu_name()}, {CORES} cores; JAX {version} on CPU; {ROUNDS} rounds of {REPEATS} steps "
          f"each; load at the end {os.getloadavg()[0]:.1f}\n")
    print(f"d_model 1024, 16 heads, ffn 4096; batch 4 x 512 unless said; forward and backward; "
          f"float32; OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE cleared\n")


def main():
    runs = [([], []) for _ in ROWS]
    for _ in range(int(ROUNDS)):
        for (what, strategy, threads, other), (mine, theirs) in zip(ROWS, runs):
            print(what, file=sys.stderr)
            mine.append(ours(strategy, threads))
            if other:
                theirs.append(jax(*other))
    print_facts()
    print("| step | s | fastest | CPU s | / unsharded | JAX s | fastest | CPU s | JAX / ours |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (what, strategy, _, _), (mine, theirs) in zip(ROWS, runs):
        if strategy.startswith("unsharded"):
            base = median(mine, "step_seconds")
        step = median(mine, "step_seconds")
        fastest = min(run["fastest_step_seconds"] for run in mine)
        line = (f"| {what} | {step:.3f} | {fastest:.3f} | {median(mine, 'cpu_seconds'):.2f} "
                f"| {step / base:.2f} |")
        if theirs:
            step_jax = median(theirs, "step_seconds")
            fastest_jax = min(run["fastest_step_seconds"] for run in theirs)
            line += (f" {step_jax:.3f} | {fastest_jax:.3f} | {median(theirs, 'cpu_seconds'):.2f} "
                     f"| {step_jax / step:.2f} |")
        else:
            line += " | | | |"
        print(line)


main()
