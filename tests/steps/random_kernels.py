#!/usr/bin/env python3
"""random_kernels.py PROGRAM CLUSTERS SEED COUNT - random kernels never take longer on better devices.

Each is asked for (kernel.time) on each cluster that says `no_slower_than` and on the one that it names,
and on a cluster with a rate larger.  Prints what takes longer.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import os
import random
import re
import subprocess
import sys

ROUNDING = 1e-9
RATES = ["memory.rate=", "tiers.0.rate="]


def size(rng, least, most):
    return round(2 ** rng.uniform(least, most))


def product(rng):
    return {"m": size(rng, 0, 15), "n": size(rng, 5, 16), "k": size(rng, 5, 16)}


def attention(rng):
    kv_heads = size(rng, 0, 4)
    return {"batch": size(rng, 0, 8), "length": size(rng, 1, 14), "kv_heads": kv_heads,
            "heads": kv_heads * size(rng, 0, 4), "head_dim": rng.choice([64, 128, 192, 256])}


def latent(rng):
    return {"batch": size(rng, 0, 8), "length": size(rng, 1, 14), "heads": size(rng, 0, 7)}


def experts(rng):
    n = rng.choice([8, 64, 128, 256])
    return {"tokens": size(rng, 0, 14), "hidden": size(rng, 10, 13), "inter": size(rng, 8, 12), "experts": n,
            "topk": size(rng, 0, 3)}


def collective(rng):
    return {"devices": rng.choice([2, 3, 4, 8]), "bytes": size(rng, 6, 32)}


KINDS = [("product", ["bfloat16", "fp8", "fp8_block"], product), ("prefill", ["bfloat16/bfloat16", "bfloat16/fp8"], attention),
         ("decode", ["bfloat16/bfloat16", "bfloat16/fp8"], attention), ("mla_prefill", ["bfloat16/bfloat16"], latent),
         ("mla_decode", ["bfloat16/bfloat16"], latent), ("mla_module_decode", ["bfloat16/bfloat16/bfloat16"], latent),
         ("experts", ["bfloat16", "fp8_block"], experts), ("copy", ["any"], lambda rng: {"bytes": size(rng, 6, 34)}),
         *((op, ["any"], collective) for op in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                "engine-all-reduce"))]


def pairs(folder):
    """(Name, a better one's name) of shipped clusters; and each with a larger rate."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        name, text = os.path.basename(path)[:-5], open(path, encoding="utf-8").read()
        found += [(other, name) for other in re.findall(r"^  - no_slower_than: (\S+)$", text, re.M)]
        if "\nmeasured_kernels:\n" in text and "float8_e4m3fn" in text:
            found += [(name, f"{name} with {rate}20TB/s") for rate in RATES]
    return found


def seconds(program, kernels, cluster):
    lines = [json.dumps({"id": None, "op": "kernel.time", "in": {**k, "cluster": cluster}}) for k in kernels]
    done = subprocess.run([program, "query"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for kernel, answer in zip(kernels, answers):
        if "err" in answer:
            sys.exit(f"{cluster}: {json.dumps(kernel)}: {answer['err']['message']}")
    return [a["out"]["seconds"] for a in answers]


def main():
    program, folder, seed, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    rng = random.Random(seed)
    every = pairs(folder)
    each = count // len(every) + 1
    for one, better in every:
        kernels = []
        for _ in range(each):
            op, types, sizes = rng.choice(KINDS)
            kernels.append({"op": op, "type": rng.choice(types), "sizes": sizes(rng)})
        for kernel, a, b in zip(kernels, seconds(program, kernels, one), seconds(program, kernels, better)):
            if b > a * (1 + ROUNDING):
                print(f"seed {seed}: {better} takes {b / a:.4f} times the {one}'s: {json.dumps(kernel)}")
    print(f"{each * len(every)} kernels, {len(every)} pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
