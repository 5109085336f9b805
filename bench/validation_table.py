#!/usr/bin/env python3
"""Write the tables of docs/validation.md from the figures of peers_time.py and of the clusters' files.

    validation_table.py FIGURES.json HARDWARE_FOLDER PAGE.md

FIGURES: from peers_time.py --json.  HARDWARE_FOLDER: scenarios/hardware, whose files have the errors of
cross-validation in their `validation` sections.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import sys

MEANING = {
    "korthikanti": "A100, TP 8 and pipelines, no replicas: matmuls, recomputation, transfers inside a node",
    "sc21": "A100, up to 3,072: three axes; times derived from printed TFLOP/s",
    "vtrain_multi": "A100, tens of nodes: 1F1B, gradients not in buckets",
    "vtrain_single": "A100, one node, small models: launches, small matmuls",
    "bloom": "A100, up to 384: a vocabulary of 250,880, ZeRO-1",
    "llm_foundry": "A100 and H100, FSDP: gathers beside computation",
    "maxtext": "TPU v4, v5e and v5p: a torus, slices, XLA",
    "torchtitan": "H100, FSDP2 and TP, recomputation by op",
    "b200": "B200, Megatron-LM in bfloat16: dense, TP and pipelines",
    "fp8_blackwell": "B200 and GB200, Megatron Bridge, FP8 matmuls",
    "fp8_nemo": "H100, NeMo, FP8 matmuls",
    "fp8_torchtitan": "H100, FSDP2, FP8 matmuls",
    "tpu_v6e": "TPU v6e, MaxText: a torus, XLA",
}
TOOLS = ["calculon", "calculon-links", "simumax", "simumax-links"]


def validations(folder):
    """Of each set: the largest of its clusters' cross-validated errors, in %."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            section = re.search(r"^validation:\n((?:[ -].*\n)*)", f.read(), re.M)
        for entry in re.split(r"^  - ", section[1] if section else "", flags=re.M)[1:]:
            keys = dict(re.findall(r"(\w+): *([^\s,}]+)", entry))
            if "cross_validated_mape" in keys:
                error = 100 * float(keys["cross_validated_mape"])
                found[keys["set"]] = max(found.get(keys["set"], 0), error)
    return found


def figure(here, tool, key, form="{:.1f}"):
    value = here.get(tool, {}).get(key)
    return form.format(value) if value is not None else "-"


def times(sets, crossed):
    yield ["set", "rows", "shardsim", "cross-validated", "one efficiency", *TOOLS, "what it is of"]
    for name, here in sets.items():
        row = [name, here["rows"], figure(here, "shardsim", "mape")]
        row.append(f"{crossed[name]:.1f}" if name in crossed else "-")
        row.append(figure(here, "constant", "mape"))
        for tool in TOOLS:
            said, text = here.get(tool, {}).get("rows", 0), figure(here, tool, "mape")
            row.append(text if said in (0, here["rows"]) else f"{text} ({said} rows)")
        yield row + [MEANING.get(name, "")]


def rankings(sets):
    tools = ["shardsim", *TOOLS]
    yield ["set", "groups", *(f"{t}: Spearman, regret" for t in tools)]
    for name, here in sets.items():
        if "groups" in here["constant"]:
            yield [name, here["constant"]["groups"],
                   *(f"{figure(here, t, 'spearman', '{:.3f}')}, {figure(here, t, 'regret')}" for t in tools)]


def memories(sets):
    tools = ["shardsim", "calculon", "simumax"]
    yield ["set", *(f"{t}: rows, error, bias" for t in tools)]
    for name, here in sets.items():
        if any("memory_rows" in here.get(t, {}) for t in tools):
            yield [name, *(", ".join([figure(here, t, "memory_rows", "{:d}"), figure(here, t, "memory_mape"),
                                      figure(here, t, "memory_bias", "{:+.1f}")]) for t in tools)]


def reasons(sets):
    yield ["tool", "set", "rows it has no words for", "why"]
    for tool in ("shardsim", "calculon", "simumax"):
        for name, here in sets.items():
            for why, n in sorted(here.get(tool, {}).get("cannot", {}).items()):
                yield [tool, name, n, why]


def markdown(rows):
    rows = [[str(x) for x in row] for row in rows]
    rows.insert(1, ["---"] * len(rows[0]))
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def main():
    figures, hardware, page = sys.argv[1:]
    with open(figures, encoding="utf-8") as f:
        kept = json.load(f)
    sets = kept["sets"]
    tables = {"times": times(sets, validations(hardware)), "rankings": rankings(sets), "memory": memories(sets),
              "reasons": reasons(sets),
              "versions": [["tool", "commit, date"], *sorted(kept["versions"].items())]}
    with open(page, encoding="utf-8") as f:
        text = f.read()
    for name, rows in tables.items():
        begin = f"<!-- {name}: made by bench/validation.sh -->\n"
        at = text.index(begin) + len(begin)
        text = text[:at] + markdown(rows) + text[text.index("<!-- to here -->", at):]
    with open(page, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
