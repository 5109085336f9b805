#!/usr/bin/env python3
"""The tables of results/bench/adapters.md are what the program plans.

Published figures stand here with their sources; nothing is fitted to them.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys

BEGIN, END = "<!-- made by tests/steps/adapters.py -->\n", "<!-- to here -->\n"
GIB, GB = 2**30, 10**9

BASE = """version: 1
mesh: {dp: 1}
model: {kind: llama3, d_model: 4096, d_ff: 14336, layers: 32, heads: 32, kv_heads: 8,
        vocab: 128256, dtype: bfloat16}
batch: {size: 2, seq: 2048}
step: [forward, backward, update]
optimizer: {kind: adamw}
recompute: full
lora: {rank: 8, alpha: 16, targets: ['attn/(q|v|o)/', mlp/]}
axes: {batch: dp}
params: [[.*, []]]
"""
LAYER = """version: 1
mesh: {dp: 1}
graph: {dims: {b: 1, i: 512, o: 512}, inputs: {x: [b, i]}, params: {w: [i, o]},
        ops: ["y[b,o] = einsum(x[b,i], w[i,o])"]}
lora: {rank: 8, targets: [w]}
params: [[.*, []]]
"""
LLAMA2 = ["model.d_ff=11008", "model.kv_heads=32", "model.vocab=32000", "batch.seq=512",
          "lora.targets=['attn/(q|v)/']"]
QWEN = ["model.d_ff=11008", "model.kv_heads=32", "model.vocab=151936", "batch.size=1",
        "types={parameters: float32}",
        "lora={rank: 64, targets: ['attn/(q|k|v|o)/', 'mlp/(up|gate)']}"]

# what, published, its unit, whether it is of parameters alone, the scenario's options
ROWS = [
    ("A layer of 512 by 512 in float32, LoRA", 1081344, 1, True, LAYER, []),
    ("The same layer, QLoRA", 177152, 1, True, LAYER, ["lora.base=nf4"]),
    ("Llama 2 7B, LoRA, before training", 13.96, GB, True, BASE, LLAMA2),
    ("Llama 3.1 8B, LoRA, 1 device", 16.2, GIB, False, BASE, []),
    ("Llama 3.1 8B, QLoRA, 1 device", 7.4, GIB, False, BASE, ["lora.base=nf4"]),
    ("Llama 3.1 70B, LoRA, FSDP over 8", 27.6, GIB, False, BASE,
     ["model.d_model=8192", "model.d_ff=28672", "model.layers=80", "model.heads=64",
      "batch.size=16", "mesh.dp=8", "zero={stage: 3, axis: dp}", "lora.rank=16"]),
] + [("Qwen 7B, LoRA, %d tokens" % seq, published, GB, False, BASE, QWEN + ["batch.seq=%d" % seq])
     for seq, published in ((256, 20.1), (1024, 21.5), (2048, 23.8), (4096, 29.7), (8192, 36.6))]

UNITS = {1: "B", GB: "GB", GIB: "GiB"}


def plan(program, scenario, options):
    sets = [part for option in options for part in ("-s", option)]
    out = subprocess.run([program, "plan", "--json", *sets, "-"], input=scenario, text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def most(values):
    return max(v["value"] if isinstance(v, dict) else v for v in values)


def number(value, unit):
    return "%d" % value if unit == 1 else "%.2f" % (value / unit)


def table(program):
    # torchtune makes logits in parts
    rows = ["| | published | planned | | of that logits | without |",
            "|---|---:|---:|---:|---:|---:|"]
    for what, published, unit, static, scenario, options in ROWS:
        result = plan(program, scenario, options)
        memory = result["memory"]
        planned = memory["by_kind"]["parameters"] if static else most(memory["peak_bytes"])
        logits = 0 if static or "Llama" not in what else sum(a["bytes"] for a in memory["breakdown"]["activations_at_peak"]
                                      if a["part"] in ("loss", "head"))
        rows.append("| %s | %s %s | %s | %+.0f %% | %s | %s |" % (
            what, number(published * unit, unit), UNITS[unit], number(planned, unit),
            100 * (planned / (published * unit) - 1),
            number(logits, unit) if logits > 0.005 * unit and unit > 1 else "",
            "%+.0f %%" % (100 * ((planned - logits) / (published * unit) - 1))
            if logits > 0.005 * unit and unit > 1 else ""))
    return "".join(row + "\n" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("page")
    args = parser.parse_args()
    text = open(args.page, encoding="utf-8").read()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = table(args.program)
    if os.environ.get("ADAPTERS_UPDATE"):
        with open(args.page, "w", encoding="utf-8") as page:
            page.write(before + BEGIN + new + END + after)
        old = new
    print("%s 1 - the table of %s is what is planned" % ("ok" if old == new else "not ok",
                                                          os.path.basename(args.page)))
    for a, b in zip(old.splitlines(), new.splitlines()):
        if a != b:
            print("# %s\n# is now\n# %s" % (a, b))
    print("1..1")
    return old != new


if __name__ == "__main__":
    sys.exit(main())
