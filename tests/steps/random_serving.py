#!/usr/bin/env python3
"""random_serving.py PROGRAM FOLDER SEED COUNT - random steps of serving, planned and run.

Each is a prefill or a decode of a random model on a random mesh, beside the same on one device.  A
run is right if it is verified, its bytes, flops and peak memory are those of the plan, no cache is
gathered, and its tokens are those of one device.  In 16-bit types and in products of 8 bits the
most likely token is not determined, so tokens are compared in the others.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import json
import re
import struct
import sys

from random_draw import SKIP, Draw, mesh_of, options_of, some, spec
from random_options import LORA, MOE, MODEL, PRODUCTS, TYPES
from random_scenarios import ask, crashed, differences, main, plan_good, results

KINDS = ["transformer", "gpt2", "llama3", "mixtral", "deepseek", "decoder"]
AXES = ["dp", "tp", "cp", "ep"]
WEIGHTS = [["attn/.*kernel", 2], ["attn/(q|k|v|q_rope)/kernel", 2], ["(q|router)/kernel", 2],
           ["attn/o/kernel", 2], ["(up|gate|down)/kernel", 1], ["(up|gate)/kernel", 2],
           ["down/kernel", 2], ["embed/table", 2], ["(head|down)/kernel", 2]]


DECODE = (
    ("decode.tokens", 0.9, lambda d: d.choice([1, 2, 3, 9]) if "decode" in d.out["step"] else SKIP),
    ("decode.draft", 0.3, lambda d: d.choice([1, 2, 3]) if "decode" in d.out["step"] else SKIP),
    ("decode.accepted", 0.6, lambda d: d.choice([0.5, 1]) if d.get("decode.draft") else SKIP),
    ("decode.context", 0.4, [0, 1, 7, 16, 150]),
    ("decode.cache", 0.25, ["compute", "float8_e4m3", "float8_e5m2", "int4", "mxfp4", "int4", "mxfp4"]),
    ("decode.block", 0.5, lambda d: d.choice([2, 4]) if d.get("decode.cache") in ("int4", "mxfp4") else SKIP),
    ("decode.page", 0.15, [1, 4]),
    ("decode.shared", 0.9, lambda d: d.choice([1, 4, 8]) if d.get("decode.page") else SKIP),
)

WEIGHTS_KEPT = (  # as codes
    ("products.weights", 1, ["int8", "int4", "mxfp4", "nf4"]),
    ("products.block", 1, [2, 4, 8]),
    ("products.except", 1, [[], ["head"], ["attn", "head"]]),
)

OTHER = (
    ("seed", 0.3, [0, 7, 2 ** 40]),
    ("types.reduce", 0.1, TYPES),
    ("limits.sequences", 0.1, [8, 100]),
    ("limits.tokens", 0.1, [1 << 16, 1 << 20]),
)


def draw_model(d):
    d.take([row for row in MODEL if row[0] not in ("model.mtp", "model.mtp_weight")])
    rng, model = d.rng, d.out["model"]
    model.update(attention="fused", heads=rng.choice([2, 4, 8]), norm=rng.choice(["rms", "rms", "rms", "layer"]))
    if d.kind == "deepseek":
        d.out["mla"] = {"kv_rank": 8, "rope_dim": 4, "value_dim": rng.choice([4, 8]), "q_rank": rng.choice([0, 8])}
        model.update(attention_bias="none", bias=False)
        model.pop("kv_heads", None)
    else:
        model["kv_heads"] = rng.choice([n for n in (1, 2, 4, 8) if n <= model["heads"]])
    if d.kind == "transformer":
        model["causal"] = True
    if rng.random() < 0.6:
        model["dtype"] = rng.choice(["float32", "float64"])
    if d.kind == "mixtral" or rng.random() < 0.3:
        d.take(MOE)  # ranks are those of the mesh if not given, and data depends on them
        d.out["moe"].update(ranks=1, token_groups=1)


def program_of(options, rng, name):
    """A random serving program, sharded and on one device."""
    d = Draw(rng, name + "-one", rng.choice(KINDS), options)
    d.out.update(mesh={"one": 1}, params=[[".*", []]], decode={},
                 batch={"size": rng.choice([1, 3, 4, 8]), "seq": rng.choice([1, 5, 8, 16])},
                 step=rng.choice([["decode"], ["decode"], ["prefill"], ["prefill", "decode"]]))
    draw_model(d)
    d.take(DECODE)
    d.take(OTHER)
    if rng.random() < 0.15:
        d.take(LORA)
    elif rng.random() < 0.3:
        d.take(rng.choice([PRODUCTS, WEIGHTS_KEPT]))
        if d.get("products.recipe") in ("tensorwise", "nvfp4") and rng.random() < 0.5:
            d.put("products.amax", "static")
    return [sharded(rng, d.out, name), d.out]


def sharded(rng, one, name):
    """The program in a random layout."""
    mesh = mesh_of(rng, AXES)
    free = rng.sample(list(mesh), len(mesh))
    out = {**one, "name": name, "mesh": mesh,
           "axes": some(rng, 0.6, lambda: {"batch": free.pop()})}
    if rng.random() < 0.5:
        axis = free.pop() if free and rng.random() < 0.9 else rng.choice(list(mesh))
        out["context"] = {"axis": axis,
                          "order": rng.choice(["contiguous", "zigzag", "striped"]),
                          **some(rng, 0.2, lambda: {"method": "ring"})}
        if one["step"] == ["prefill"] and rng.random() < 0.7:
            out["axes"]["seq"] = out["context"]["axis"]
    if rng.random() < 0.3:
        out["decode"] = {**one["decode"], "page": rng.choice([1, 4, 16])}
    if "moe" in one and rng.random() < 0.5:
        copies = {**one["moe"], "redundant": rng.choice([1, 2, 4, 4, 8])}
        out["moe"] = copies
        if "capacity" in copies:  # of each copy, which drops other tokens than of the expert
            one["moe"] = copies
    if len(one["step"]) == 2 and rng.random() < 0.5:
        out["prefill"] = {"mesh": mesh_of(rng, AXES), "axes": {}, "params": [[".*", []]], "context": {}}
    weights = rng.sample(WEIGHTS, rng.choice([1, 3, 5]))
    axes = {axis: size for axis, size in mesh.items() if axis in free} or mesh
    out["params"] = [[pattern, spec(rng, rng.choice([axes, axes, mesh]), rank)]
                     for pattern, rank in weights] + [[".*", []]]
    for chance, key, values in (
            (0.15, "placement", ["search"]),
            (0.1, "price", ["time"]), (0.1, "algorithms", [{"all-reduce": "ring"}])):
        out.update(some(rng, chance, lambda: {key: rng.choice(values)}))
    return {**out, "hardware": "h100-sxm"} if "price" in out else out


def is_exact(program):
    """Whether tokens are the same in all layouts.  Norms that take the mean away leave equal
    scores: made-up rows of a table of words are the same but for a constant.  And what pages hold
    that no step filled is made up by where they lie.  Where experts drop tokens, or are made up by a
    token's number, those of a common prefix are not the same in all sequences, of which pages keep
    one."""
    moe = program.get("moe", {"routing": "learned"})
    if "shared" in program["decode"] and ("capacity" in moe or moe.get("routing", "learned") != "learned"):
        return False
    if "page" in program["decode"] and (
            "prefill" not in program["step"] or program["decode"].get("context", 0) > 0):
        return False
    types = [program["model"].get("dtype", "float32"), *program.get("types", {}).values()]
    rounds = "recipe" in program.get("products", {}) or "cache" in program["decode"]
    return program["model"]["norm"] == "rms" and not rounds and \
        set(types) <= {"float32", "float64"}


def made(path):
    """The bytes of the tokens in a file of outputs."""
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    begin, stop = header.get("made", header.get("next"))["data_offsets"]
    return data[end + begin:end + stop]


def run(program, path, strategy):
    """The report of a strategy's run, its tokens, and its stderr."""
    out = path + ".safetensors"
    answer = ask(program, "run", path, f"--strategy={strategy}", f"--outputs={out}")
    if crashed(answer) or not answer.stdout:
        return None, None, answer.stderr[-2000:]
    return results(answer)[strategy], made(out), answer.stderr


def caches_moved(ran, program):
    """Why what is kept is moved; that results of its parts are reduced, or new rows are brought to
    all its parts, is no move.  An axis that cuts both heads and the cache may move a cache that has
    fewer bytes than the queries and their results."""
    axis = program.get("context", {}).get("axis")
    if axis and re.search(f'"{axis}"', json.dumps(program["params"])):
        return []
    return [c["op"] + ": " + c["why"] for c in ran["collectives"]
            if re.search(r"needs \S+_cache(/scales)?(/append|/restored)? ", c["why"])]


def parts_of(pair):
    """The strategies that a program and the same on one device are, side by side."""
    ends = ["/" + step for step in pair[0]["step"]] if len(pair[0]["step"]) == 2 else [""]
    return [[program["name"] + end for program in pair] for end in ends]


def wrong_in(program, path, plan, names, pair):
    """Errors in the run of one strategy, compared with its plan."""
    ran, tokens, said = run(program, path, names[0])
    if not ran:
        return ["no result: " + said]
    wrong = differences(plan, ran) + ["moved: " + why for why in caches_moved(ran, pair[0])]
    if all(is_exact(program) for program in pair):
        _, wanted, said = run(program, path, names[1])
        if tokens != wanted:
            wrong.append("other tokens than on one device " + said)
    return wrong


def try_file(program, path, pairs, tell):
    """The pairs of a file that were not refused."""
    planned, left = plan_good(program, path, [s for pair in pairs for s in pair], tell)
    left = {s["name"] for s in left}
    pairs = [pair for pair in pairs if {s["name"] for s in pair} <= left]
    plans = results(planned) if pairs else {}
    for pair in pairs:
        for names in parts_of(pair):
            for wrong in wrong_in(program, path, plans[names[0]], names, pair):
                tell(wrong, names[0] + ": " + json.dumps(pair[0]))
    return pairs


if __name__ == "__main__":
    sys.exit(1 if main(functools.partial(program_of, options_of(sys.argv[1])), try_file=try_file, most=10, least=5) else 0)
