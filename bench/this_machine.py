#!/usr/bin/env python3
"""Compare steps modelled from a hardware file of this machine with the same steps measured on it.

    this_machine.py SHARDSIM [HARDWARE [REPEATS [ROUNDS]]]

HARDWARE: a file made by `shardsim bench --hardware`; without one, the file is made first.  There are ten scenarios,
none of them measured for that file, with steps of some 20 to 60 ms on one and two devices.  They take turns in ROUNDS
rounds (5) of REPEATS repeated steps (15); the fastest step counts, because other programs can only slow a step down.
Also printed: the CPU time divided by the devices, which shows how much of the wall time other programs took, and the
replayed step, in which each device has a core for itself.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile

ONE = "mesh: {dp: 1}\nparams: [[.*, []]]\n"
DATA = "mesh: {dp: 2}\nparams: [[.*, []]]\naxes: {batch: dp}\n"
FSDP = "mesh: {fsdp: 2}\nparams: [[.*kernel, [fsdp]], [.*, []]]\naxes: {batch: fsdp}\n"
TENSOR = """mesh: {tp: 2}
params:
  - [(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
"""
UPDATE = "step: [forward, backward, update]\noptimizer: {kind: adamw, lr: 1e-3}\n"
GRADIENTS = "step: [forward, backward]\n"

SCENARIOS = {
    "mlp": ONE + GRADIENTS + """model: {kind: mlp, d_model: 320, d_ff: 1280, activation: relu, layers: 2}
batch: {size: 3, seq: 160}
""",
    "mlp-float64": ONE + GRADIENTS + """model: {kind: mlp, d_model: 256, d_ff: 768, activation: relu, layers: 2, dtype: float64}
batch: {size: 2, seq: 200}
""",
    "transformer": ONE + GRADIENTS + """model: {kind: transformer, d_model: 192, d_ff: 768, heads: 3, layers: 2, vocab: 1000}
batch: {size: 3, seq: 192}
""",
    "transformer-swiglu": ONE + GRADIENTS + """model: {kind: transformer, activation: swiglu, rope: {theta: 10000}, d_model: 320,
        d_ff: 640, heads: 10, kv_heads: 5, layers: 2, vocab: 256}
batch: {size: 5, seq: 96}
""",
    "transformer-float64": ONE + GRADIENTS + """model: {kind: transformer, d_model: 128, d_ff: 512, heads: 2, layers: 2, vocab: 300, dtype: float64}
batch: {size: 3, seq: 96}
""",
    "long-attention": ONE + GRADIENTS + """model: {kind: attention, d_model: 192, heads: 6, layers: 1}
batch: {size: 1, seq: 1536}
""",
    "transformer-adamw": ONE + UPDATE + """model: {kind: transformer, d_model: 256, d_ff: 1024, heads: 8, layers: 2, vocab: 256}
batch: {size: 2, seq: 128}
steps: 15
""",
    "dp": DATA + GRADIENTS + """model: {kind: transformer, d_model: 256, d_ff: 768, heads: 4, layers: 2, vocab: 512}
batch: {size: 6, seq: 128}
""",
    "tp": TENSOR + GRADIENTS + """model: {kind: transformer, d_model: 320, d_ff: 1280, heads: 4, layers: 2, vocab: 512}
batch: {size: 4, seq: 128}
""",
    "fsdp": FSDP + GRADIENTS + """model: {kind: transformer, d_model: 256, d_ff: 1024, heads: 8, layers: 2, vocab: 512}
batch: {size: 8, seq: 96}
""",
}


def ask(command, scenario):
    """The `time` of the only result of a command."""
    run = subprocess.run(command, input=scenario.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: status {run.returncode}\n{run.stderr.decode()}{scenario}")
    result = json.loads(run.stdout)
    return (result[0] if isinstance(result, list) else result)["time"]


def measure(shardsim, scenario, repeats, found):
    """Keep the least of each time."""
    time = ask([shardsim, "run", "--json", "--repeat", str(repeats), "-"], scenario)
    devices = len(time["replayed"]["per_device"]["busy_seconds"])
    for name, seconds in (("measured", time["measured"]["fastest_step_seconds"]),
                          ("cpu", time["measured"]["cpu_seconds"] / devices),
                          ("replayed", time["replayed"]["step_seconds"])):
        found[name] = min(found.get(name, seconds), seconds)
    found["devices"] = devices


def main():
    shardsim = sys.argv[1]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    with tempfile.TemporaryDirectory() as folder:
        hardware = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else os.path.join(folder, "here.yaml")
        if len(sys.argv) < 3:
            subprocess.run([shardsim, "bench", "--hardware", "--force", "--output", hardware], check=True)
        texts = {name: f"version: 1\nname: {name}\n{text}" for name, text in SCENARIOS.items()}
        found = {name: {} for name in texts}
        for _ in range(rounds):
            for name, text in texts.items():
                measure(shardsim, text, repeats, found[name])
        print("| scenario | devices | measured, ms | CPU a device, ms | replayed, ms | modelled, ms "
              "| modelled / measured | modelled / replayed |\n|---|--:|--:|--:|--:|--:|--:|--:|")
        worst = 0
        for name, text in texts.items():
            time = ask([shardsim, "plan", "--json", "-s", f"hardware={hardware}", "-"], text)
            modelled, f = time["modelled"]["step_seconds"], found[name]
            worst = max(worst, abs(modelled / f["measured"] - 1))
            print(f"| {name} | {f['devices']} | {f['measured'] * 1e3:.1f} | {f['cpu'] * 1e3:.1f} | {f['replayed'] * 1e3:.1f} "
                  f"| {modelled * 1e3:.1f} | {modelled / f['measured']:.3f} | {modelled / f['replayed']:.3f} |")
        print(f"\nlargest error against measured: {worst:.1%}")


main()
