#!/usr/bin/env python3
"""Ask the program for measured training steps whose configuration is in words, and print its errors by kind.

usage: bench/practice.py PROGRAM TABLE [--rows WORD] [--show]

TABLE is a CSV with the columns id, source, model, hardware, devices, config, measured (docs/validation.md).
A dense model is asked as `plan.train_step`, adapters and experts as `scenario.plan`, these with gradients in
the model's type if the source has the word Megatron-Bridge.  For each row: the error of the step's time in %,
the claimed error, whether the step fits and the memory of the fullest device in GiB; then for each kind the
mean error, the rows that fit, and the claims that held.  Standard library only.
"""
import argparse
import collections
import csv
import json
import re
import subprocess

# hidden, layers, heads, kv_heads, mlp_dim, vocab, gated: from the models' config.json and NeMo's recipes.
DENSE = {
    "llama3-8b": (4096, 32, 32, 8, 14336, 128256, True),
    "llama3-70b": (8192, 80, 64, 8, 28672, 128256, True),
    "codellama-34b": (8192, 48, 64, 8, 22016, 32000, True),
    "nemotron4-15b": (6144, 32, 48, 8, 24576, 256000, False),
    "nemotron3-8b": (4096, 32, 32, 32, 16384, 256000, False),
    "nemotron3-22b": (6144, 40, 48, 48, 24576, 256000, False),
}
ROUNDED = ("tensorwise", "rowwise", "blockwise", "mxfp8", "nvfp4")


def words_of(config):
    """The numbers and words of a configuration: {"seq": 4096, ..., "type": "fp8", "recompute": "none"}."""
    out = {k: int(v) for k, v in re.findall(r"\b(seq|tp|pp|vp|cp|dp|ep|mbs|gbs|pdb|fsdp|rank|zero):? (\d+)", config)}
    out["recompute"] = re.search(r"recompute (\[.*?\]|\{.*?\}|\w+)", config).group(1)
    types = re.search(r"gbs \d+ (\w+) recompute", config)
    out["type"] = types.group(1) if types else "bfloat16"
    targets = re.search(r"LoRA rank \d+ (.*?) seq ", config)
    if targets:
        out["targets"] = targets.group(1)
    return out


def dense(row, c):
    """A question of plan.train_step."""
    keys = ("hidden", "layers", "heads", "kv_heads", "mlp_dim", "vocab", "gated_mlp")
    ask = {"model": dict(zip(keys, DENSE[row["model"]]), seq=c["seq"]), "hardware": row["hardware"],
           "devices": int(row["devices"]), "tp": c["tp"], "pp": c["pp"], "cp": c["cp"], "dp": c["dp"],
           "virtual_stages": c["vp"], "micro_batch": c["mbs"], "global_batch": c["gbs"], "recompute": c["recompute"],
           "dtype": c["type"], "zero_stage": c["zero"], "sequence_parallel": c["tp"] > 1, "flash_attention": True}
    return {"id": row["id"], "op": "plan.train_step", "in": ask}


def mesh_of(row, c):
    """The axes of a scenario, outermost first, and those that shard the batch."""
    if "fsdp" in c:
        return {"fsdp": c["fsdp"], "ep": c["ep"]}, ["fsdp", "ep"]
    axes = {k: c.get(k, 1) for k in ("pp", "dp", "ep", "tp")}
    axes["dp"] = int(row["devices"]) // (axes["pp"] * axes["ep"] * axes["tp"])
    mesh = {k: n for k, n in axes.items() if n > 1} or {"dp": 1}
    return mesh, [k for k in ("dp", "ep") if k in mesh]


def options(row, c, mesh, data):
    """The lines of a scenario but for the shardings."""
    replicas = 1
    for k in data:
        replicas *= mesh[k]
    size = c["gbs"] if "gbs" in c else c["pdb"] * int(row["devices"])
    yield "version: 1\nname: " + row["id"]
    yield "hardware: " + row["hardware"]
    yield "mesh: {" + ", ".join(f"{k}: {n}" for k, n in mesh.items()) + "}"
    yield f"model: {{size: {row['model']}, dtype: bfloat16}}"
    yield f"batch: {{size: {size}, seq: {c['seq']}, microbatches: {size // (replicas * c.get('mbs', c.get('pdb')))}}}"
    yield "step: [forward, backward, update]\noptimizer: {kind: adamw, clip: 1}"
    # Megatron Bridge's performance recipes have grad_reduce_in_fp32 false, of every type of products.
    half = ", gradients: compute, reduce: compute" if "Megatron-Bridge" in row["source"] else ""
    yield f"types: {{parameters: float32{half}}}"
    if c["type"] in ROUNDED + ("fp8",):
        yield f"products: {{recipe: {'tensorwise' if c['type'] == 'fp8' else c['type']}, amax: local}}"
    if "targets" in c:
        yield f"lora: {{rank: {c['rank']}, targets: [{c['targets']}]}}"
    if "ep" in c:
        yield "moe: {routing: uniform}"
    stage = c.get("zero", 3)
    if stage and data:
        yield f"zero: {{stage: {stage}, axis: [{', '.join(data)}]}}"
    if c["recompute"] != "none":
        r = c["recompute"]
        yield "recompute: " + (r.replace("{", "{kind: full, ") if r.startswith("{") else r)
    if c.get("pp", 1) > 1:
        yield ("pipeline: {axis: pp, schedule: " + (f"Interleaved1F1B, stages_per_rank: {c['vp']}" if c["vp"] > 1 else "1F1B") +
               "}")


def shardings(mesh, data):
    """Megatron's rules, of the axes that the mesh has."""
    yield "axes: {batch: [" + ", ".join(data) + "]}"
    yield "params:"
    if "ep" in mesh:
        yield "  - [moe/(up|gate|down)/(kernel|bias), [ep]]"
    if "tp" in mesh:
        yield "  - ['(q|k|v)/kernel', [null, tp]]\n  - [attn/o/kernel, [tp]]\n  - [mlp/(up|gate)/kernel, [null, tp]]"
        yield "  - [mlp/down/kernel, [tp]]\n  - [embed/table, [tp]]\n  - [head/kernel, [null, tp]]"
    yield "  - [.*, []]"
    if "tp" in mesh:
        batch = "[" + ", ".join(data) + "]"
        yield f"constraints:\n  - [head/out, [{batch}, null, tp]]\n  - [out$, [{batch}, tp]]"


def question(row):
    c = words_of(row["config"])
    if "targets" not in c and "ep" not in c:
        return dense(row, c)
    mesh, data = mesh_of(row, c)
    text = "\n".join([*options(row, c, mesh, data), *shardings(mesh, data)]) + "\n"
    return {"id": row["id"], "op": "scenario.plan", "in": {"yaml": text}}


def kind_of(row):
    c = words_of(row["config"])
    if "targets" in c:
        return "LoRA"
    if "ep" in c:
        return "experts"
    if c["seq"] > 8192:
        return "long"
    return "16 bits" if c["type"] in ("bf16", "bfloat16") else "FP8, FP4"


def figures_of(out):
    """What was modelled: out.breakdown of plan.train_step, out.time.modelled of scenario.plan."""
    return out.get("breakdown") or out["time"]["modelled"]


def judged(row, out):
    """Error in %, the claimed error in % (None: extrapolated), whether the step fits, GiB."""
    m = figures_of(out)
    claim = m["expected_error"]
    return (100 * (m["step_seconds"] / float(row["measured"]) - 1), claim and 100 * claim, m["fits"],
            m["memory_bytes"] / 2**30)


def print_kinds(kinds):
    print(f"\n{'kind':10} rows  mean error %  median  bias  fit  claims held")
    for kind, rows in kinds.items():
        errors = sorted(abs(e) for e, *_ in rows)
        claimed = [(e, c) for e, c, *_ in rows if c is not None]
        print(f"{kind:10} {len(rows):4} {sum(errors) / len(errors):13.1f} {errors[len(errors) // 2]:7.1f} "
              f"{sum(e for e, *_ in rows) / len(rows):5.1f} {sum(f for _, _, f, _ in rows):4} "
              f"{sum(abs(e) <= c for e, c in claimed):6} of {len(claimed)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--rows", default="", help="only rows whose id has this")
    parser.add_argument("--show", action="store_true", help="print questions and answers")
    args = parser.parse_args()
    rows = [r for r in csv.DictReader(open(args.table)) if args.rows in r["id"]]
    asked = [question(r) for r in rows]
    run = subprocess.run([args.program, "query"], input="".join(json.dumps(q) + "\n" for q in asked).encode(),
                         stdout=subprocess.PIPE, check=True)
    answers = {a["id"]: a for a in map(json.loads, run.stdout.decode().splitlines())}
    kinds = collections.defaultdict(list)
    for r, q in zip(rows, asked):
        a = answers[r["id"]]
        if args.show:
            print(q["in"].get("yaml") or json.dumps(q["in"]))
            print(json.dumps(a, indent=1))
        if "out" not in a:
            print(r["id"], "refused:", a["err"]["message"])
            continue
        error, claim, fits, memory = judged(r, a["out"])
        kinds[kind_of(r)].append((error, claim, fits, memory))
        print(f"{r['id']:32} {error:7.1f} {'extrap.' if claim is None else f'{claim:6.1f}':>7} "
              f"{'fits' if fits else 'too large':9} {memory:6.1f} GiB")
    print_kinds(kinds)


if __name__ == "__main__":
    main()
