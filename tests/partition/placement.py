#!/usr/bin/env python3
"""The textbook's bytes: layouts by rules for weights and input axes alone, under `placement: follow`.

    placement.py --program shardsim [--table [--golden DIR]]

TAP by default: for every layout, model and number of layers the bytes that a step receives equal the
formula to the byte, and equal layers receive equal bytes.  `--table` prints the table of
docs/placement.md instead, with what the search moves and, from golden data, what XLA moves.
Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

# A block of B x S tokens of width D, F inside the mlp, H heads of K on G key heads; V words.
B, S, D, F, H, G, K, V = 8, 32, 64, 256, 8, 8, 8, 512
BYTES = 4
ACTIVATION = B * S * D * BYTES
KERNELS = (D * H * K + 2 * D * G * K + H * K * D + 2 * D * F) * BYTES
NORMS = 2 * D * BYTES

MEGATRON = """\
  - [attn/(q|k|v)/kernel, [{cols}, tp, null]]
  - [attn/o/kernel, [tp, null, {cols}]]
  - [mlp/up/kernel, [{cols}, tp]]
  - [mlp/down/kernel, [tp, {cols}]]
  - [embed, [tp, {cols}]]
  - [head, [{cols}, tp]]
  - [norm, [{cols}]]
"""


def tensor(t):
    """Two all-reduces of the activation forward and two backward, of 2 (t - 1) operands each."""
    return 8 * (t - 1) * ACTIVATION


def vocabulary(t):
    """Embedding and head cut by words: an all-reduce of the activation each, and of three numbers a
    token for the cross-entropy: the maximum, the sum of exponentials, the label's logit."""
    return 2 * (t - 1) * (2 * ACTIVATION + 3 * B * S * BYTES)


def scalar(n):
    """The loss, over the axis that shards the batch or the sequence."""
    return 2 * (n - 1) * BYTES


WORDS = 2 * V * D * BYTES  # embedding and head
FINAL = D * BYTES          # the last norm's scale

# Each layout: name, mesh, rules, options; bytes of a layer, and the remaining bytes of a block's
# step and of a whole transformer's step, each as (formula, value); and the source of the formula.
LAYOUTS = [
    dict(name="DP", golden="dp", mesh={"dp": 8}, rules="  - [.*, []]\n", more="axes: {batch: dp}\n",
         layer=("2(d-1)P", 2 * 7 * (KERNELS + NORMS)),
         block=scalar(8), whole=scalar(8) + 2 * 7 * (WORDS + FINAL),
         source="gradients all-reduced: arXiv 1910.02054, section 7.1"),
    dict(name="FSDP", golden="fsdp", mesh={"fsdp": 8}, rules="  - [.*, [fsdp]]\n",
         more="axes: {batch: fsdp}\n",
         layer=("2(f-1)P", 2 * 7 * (KERNELS + NORMS)),
         block=scalar(8), whole=scalar(8) + 2 * 7 * (WORDS + FINAL),
         source="gathered once and kept, gradients scattered: arXiv 1910.02054, section 7.2.2, which "
                "gathers twice"),
    dict(name="TP", golden="tp", mesh={"tp": 8}, rules=MEGATRON.format(cols="null"), more="",
         layer=("8(t-1)A", tensor(8)), block=0, whole=vocabulary(8),
         source="4 all-reduces a layer: arXiv 1909.08053, figure 4"),
    dict(name="DP x TP", golden="dp_tp", mesh={"dp": 2, "tp": 4},
         rules=MEGATRON.format(cols="null"), more="axes: {batch: dp}\n",
         layer=("8(t-1)A + 2(d-1)(P + (t-1)N)", tensor(4) + 2 * (KERNELS + 4 * NORMS)),
         block=4 * scalar(2), whole=4 * scalar(2) + vocabulary(4) + 2 * (WORDS + 4 * FINAL),
         source="both of the above; norms are on every device"),
    dict(name="FSDP x TP", golden="fsdp_tp", mesh={"fsdp": 2, "tp": 4},
         rules=MEGATRON.format(cols="fsdp"), more="axes: {batch: fsdp}\n",
         layer=("8(t-1)A + 2(f-1)(P + (t-1)N)", tensor(4) + 2 * (KERNELS + 4 * NORMS)),
         block=4 * scalar(2), whole=4 * scalar(2) + vocabulary(4) + 2 * (WORDS + 4 * FINAL),
         source="both of the above"),
    dict(name="TP + SP", golden=None, mesh={"tp": 8}, rules=MEGATRON.format(cols="null"),
         more="axes: {seq: tp}\nconstraints: [['(attn|mlp|embed)/out', [null, tp]]]\n",
         layer=("10(t-1)A + 2(t-1)N", tensor(8) + 2 * 7 * ACTIVATION + 2 * 7 * NORMS),
         block=scalar(8), whole=vocabulary(8) + 7 * ACTIVATION + 2 * 7 * FINAL,
         source="6 all-gathers, 2 of them again in the backward phase, and 4 reduce-scatters: arXiv "
                "2205.05198, section 4.2.2"),
]


def scenario(layout, kind, layers, placement, heads):
    mesh = ", ".join(f"{axis}: {size}" for axis, size in layout["mesh"].items())
    vocab = f", vocab: {V}" if kind == "transformer" else ""
    rules = layout["rules"]
    more = layout["more"]
    if kind == "block":  # a rule for a parameter that the model lacks is rightly an error
        rules = "".join(r + "\n" for r in rules.splitlines() if "embed" not in r and "head" not in r)
        more = more.replace("|embed", "")
    else:
        more = more.replace("axes: {seq: tp}\n", "")
    return (f"version: 1\nname: textbook\nmesh: {{{mesh}}}\n"
            f"model: {{kind: {kind}, d_model: {D}, d_ff: {F}, heads: {heads}, layers: {layers}{vocab}}}\n"
            f"batch: {{size: {B}, seq: {S}}}\nplacement: {placement}\nparams:\n{rules}{more}")


def planned(program, *words):
    out = subprocess.run([program, "plan", "--json", *words], capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"{words}: {out.stderr}")
    return json.loads(out.stdout)["received_bytes"]["total"]


def received(program, layout, kind, layers, placement="follow", heads=H):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(scenario(layout, kind, layers, placement, heads))
        file.flush()
        return planned(program, file.name)


def check(program):
    n = failed = 0
    for layout in LAYOUTS:
        for kind, rest in (("block", layout["block"]), ("transformer", layout["whole"])):
            totals = {layers: received(program, layout, kind, layers) for layers in (1, 2, 3, 12)}
            for layers in (1, 2, 12):
                n += 1
                got = totals[layers] - rest
                good = got == layers * layout["layer"][1]
                failed += not good
                print(f"{'' if good else 'not '}ok {n} - {layout['name']}: {kind} of {layers}: "
                      f"{layout['layer'][0]} a layer")
                if not good:
                    print(f"# {got} bytes in {layers} layers, expected {layout['layer'][1]} in each")
            n += 1
            good = totals[3] - totals[2] == totals[2] - totals[1] == (totals[12] - totals[3]) / 9
            failed += not good
            print(f"{'' if good else 'not '}ok {n} - {layout['name']}: {kind}: equal layers, equal bytes")
    # One key head, which all devices have: the gradients of keys and of values are summed, but no
    # array computed from these sums.
    one = dict(LAYOUTS[2], rules="  - [attn/(k|v)/kernel, []]\n" + LAYOUTS[2]["rules"])
    for layers in (1, 2):
        n += 1
        got = received(program, one, "block", layers, heads=f"{H}, kv_heads: 1")
        want = layers * (tensor(8) + 2 * 2 * 7 * B * S * K * BYTES)
        failed += got != want
        print(f"{'' if got == want else 'not '}ok {n} - TP: one key head: block of {layers}")
        if got != want:
            print(f"# {got} bytes in {layers} layers, expected {want}")
    # The search knows the bytes of an algorithm: as all-reduces take n log n, other collectives
    # win.
    n += 1
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios",
                        "block_tensor_parallel.yaml")
    follow, search = (planned(program, path, "--set", f"placement={placement}", "--set",
                              "algorithms={all-reduce: recursive-doubling}")
                      for placement in ("follow", "search"))
    failed += not search < follow
    print(f"{'' if search < follow else 'not '}ok {n} - the search prices the algorithms asked for")
    if not search < follow:
        print(f"# {search} bytes, {follow} by follow")
    print(f"1..{n}")
    return failed


def xla(golden, layout):
    """XLA's received bytes in the same block's step, where measured; else a dash."""
    path = os.path.join(golden or "", "jax", "follow.jsonl")
    if not layout["golden"] or not os.path.exists(path):
        return "-"
    for line in open(path, encoding="utf-8"):
        asked = json.loads(line)
        given = asked["in"]
        config = given["config"]
        if (given["model"] == "block" and given["layout"] == layout["golden"]
                and given["mode"] == "fwd_bwd" and dict(given["mesh"]) == layout["mesh"]
                and (config["d_model"], config["seq"], config["mlp"]) == (D, S, "gelu")):
            return f"{asked['xla']['received_bytes_total']:,}"
    return "-"


def table(program, golden):
    print("| layout | mesh | formula of a layer | bytes | ours | search | XLA | source |")
    print("|---|---|---|---|---|---|---|---|")
    for layout in LAYOUTS:
        mesh = ", ".join(f"{axis}={size}" for axis, size in layout["mesh"].items())
        ours = received(program, layout, "block", 1)
        searched = received(program, layout, "block", 1, "search")
        print(f"| {layout['name']} | {mesh} | {layout['layer'][0]} | "
              f"{layout['layer'][1] + layout['block']:,} | {ours:,} | {searched:,} | "
              f"{xla(golden, layout)} | {layout['source']} |")


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--program", required=True)
    ap.add_argument("--table", action="store_true")
    ap.add_argument("--golden")
    args = ap.parse_args()
    if args.table:
        table(args.program, args.golden)
        return 0
    check(args.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
