#!/usr/bin/env python3
"""Modelled times of Muon's layouts beside published ones: Megatron-LM, 32 GB300, TP 2 x 8, EP 8 x 2.

    bench/muon_published.py SHARDSIM        prints a table

Published (github.com/NVIDIA/Megatron-LM/issues/6676): the optimizer's part of a step with weights sharded over tensor
parallelism of 2 and 8 further devices, experts over 8 and 2: 632 ms duplicated, 356 ms distributed, 157 ms with one home a
matrix.  The shapes of the matrices are not published.  Here they are assumed: 8 layers of width 5120 with 5 large dense
matrices each, as the 200 collectives that distributed has beside duplicated are those of 40 matrices (each has a norm and
5 Gram matrices instead of a gather); inner width and experts are chosen so that the sum of all three is near.  So the
comparison tests ratios, not the model's absolute time.  In that system's distributed mode experts stay duplicated, and so
here: a rule says it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys
import tempfile

PUBLISHED = {"duplicated": 632, "distributed": 356, "owned": 157}
RULES = [["moe/(up|gate)/kernel", ["b", None, "c"]], ["moe/down/kernel", ["b", "c", None]],
         ["attn/(q|k|v)/kernel", ["b", "c"]], ["attn/o/kernel", ["c", None, "b"]],
         ["shared/(up|gate)/kernel", ["b", "c"]], ["shared/down/kernel", ["c", "b"]], [".*", []]]
SCENARIO = {
    "version": 1, "mesh": {"a": 2, "b": 8, "c": 2}, "hardware": "gb300-nvl72",
    "model": {"kind": "mixtral", "d_model": 5120, "d_ff": 20480, "heads": 40, "kv_heads": 8, "head_dim": 128, "layers": 8,
              "vocab": 32768, "dtype": "bfloat16"},
    "moe": {"experts": 128, "top_k": 8, "d_ff": 2048, "shared": 1, "shared_d_ff": 20480},
    "batch": {"size": 32, "seq": 4096}, "step": ["forward", "backward", "update"],
    "optimizer": {"kind": "muon", "momentum": 0.95}, "types": {"parameters": "float32"}, "params": RULES,
    "axes": {"batch": ["a", "b"]},
    "strategies": [
        {"name": "none", "step": ["forward", "backward"], "optimizer": {"kind": "none"}, "types": {"parameters": "compute"}},
        {"name": "duplicated"},
        {"name": "distributed", "optimizer": {"layout": "distributed"},
         "params": [["opt/muon/layers/.*moe/(up|gate|down)", ["b"]]] + RULES},
        {"name": "owned", "optimizer": {"layout": "owned", "homes": ["b", "c"]}}]}


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(SCENARIO, file)
        file.flush()
        planned = subprocess.run([sys.argv[1], "plan", "-q", "--json", file.name], capture_output=True, text=True, check=True)
    seconds = {s["strategy"]: s["time"]["modelled"]["step_seconds"] for s in json.loads(planned.stdout)}
    modelled = {name: 1e3 * (seconds[name] - seconds["none"]) for name in PUBLISHED}
    print("| layout | published, ms | modelled, ms | off | published, to owned | modelled, to owned | off |")
    print("|---|---|---|---|---|---|---|")
    wrong = False
    for name, want in PUBLISHED.items():
        a, b = want / PUBLISHED["owned"], modelled[name] / modelled["owned"]
        wrong |= abs(b / a - 1) > 0.25
        print(f"| {name} | {want} | {modelled[name]:.0f} | {100 * (modelled[name] / want - 1):+.0f} % | {a:.2f} | {b:.2f} | "
              f"{100 * (b / a - 1):+.0f} % |")
    return wrong or sorted(modelled, key=modelled.get) != sorted(PUBLISHED, key=PUBLISHED.get)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
