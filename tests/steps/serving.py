#!/usr/bin/env python3
"""serving.py PROGRAM FOLDER - layouts that inference uses make the tokens of one device.

Each family of models makes 64 tokens on one device, and in each of its layouts.  Then the bytes of
a cache are those of the formula: they grow by so much for 32 further tokens.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import os
import sys

from random_scenarios import ask, differences, results, write
from random_serving import caches_moved, run

TOKENS = 64
PROMPT = 16
GROWTH = 32  # further tokens of a cache
BATCH = 4
HEADS = [["attn/(q|k|v|q_rope)/kernel", [None, "tp"]], ["attn/o/kernel", ["tp"]],
         ["mlp/(up|gate)/kernel", [None, "tp"]], ["mlp/down/kernel", ["tp"]],
         ["head/kernel", [None, "tp"]], ["embed/table", ["tp"]], [".*", []]]
QUERIES = [["attn/q/kernel", [None, "tp"]]] + HEADS[1:]  # key heads on every device
EXPERTS = [["moe/.*(up|gate|down)/kernel", ["ep"]], [".*", []]]
WHOLE = [[".*", []]]
LLAMA = {"kind": "llama3", "d_model": 32, "d_ff": 32, "layers": 2, "heads": 8, "kv_heads": 4,
         "vocab": 64, "dtype": "float32"}
DEEPSEEK = {"kind": "deepseek", "d_model": 32, "d_ff": 32, "layers": 2, "heads": 4, "head_dim": 8,
            "vocab": 64, "dtype": "float32"}
MIXTRAL = {**LLAMA, "kind": "mixtral"}
MOE = {"experts": 8, "top_k": 2, "d_ff": 16, "routing": "learned", "ranks": 1}
EP = {"mesh": {"ep": 4}, "axes": {"batch": "ep"}, "params": EXPERTS}
COPIES = {**EP, "moe": {**MOE, "redundant": 4}}  # of experts that one device has once
FAMILIES = {
    "gqa": {"model": LLAMA},
    "mqa": {"model": {**LLAMA, "kv_heads": 1}},
    "window": {"model": {**LLAMA, "window": 10}},
    "a window of one": {"model": {**LLAMA, "window": 1}},
    "a window of one, 8 bits": {"model": {**LLAMA, "window": 1},
                                "decode": {"cache": "float8_e4m3"}},
    "chunks that end with a prompt": {"model": {**LLAMA, "layer_types": ["chunk"], "chunk": 8}},
    "chunk": {"model": {**LLAMA, "layer_types": ["chunk", "full"], "chunk": 12}},
    "sinks": {"model": {**LLAMA, "sinks": True, "layer_types": ["window", "full"], "window": 7}},
    "experts": {"model": MIXTRAL, "moe": MOE},
    "biased experts": {"model": {**MIXTRAL, "bias": True}, "moe": {
        **MOE, "expert_bias": True, "router_bias": True, "bias": True, "shared": 1}},
    "int4": {"model": LLAMA, "products": {"weights": "int4", "block": 4}},
    "mxfp4 experts": {"model": MIXTRAL, "products": {"weights": "mxfp4", "block": 8, "except": []},
                      "moe": MOE},
    "experts of 8 bits": {"model": MIXTRAL, "products": {"weights": "int8"}, "moe": MOE},
    "adapted experts": {"model": MIXTRAL, "moe": MOE, "lora": {
        "rank": 2, "targets": ["moe/(up|down)/kernel"], "start": "random"}},
    "mla int8": {"model": DEEPSEEK, "products": {"weights": "int8"}, "mla": {
        "kv_rank": 16, "q_rank": 8, "rope_dim": 4, "value_dim": 8}},
    "mla": {"model": DEEPSEEK, "mla": {"kv_rank": 16, "q_rank": 8, "rope_dim": 4, "value_dim": 8}},
    "a cache of int4": {"model": {**LLAMA, "d_model": 64}, "decode": {"cache": "int4"}},
    "a cache of mxfp4": {"model": {**LLAMA, "head_dim": 32}, "decode": {"cache": "mxfp4"}},
    "mla, a cache of mxfp4": {"model": DEEPSEEK, "decode": {"cache": "mxfp4"}, "mla": {
        "kv_rank": 64, "q_rank": 8, "rope_dim": 32, "value_dim": 8}},
}
CUT = {"mesh": {"cp": 4}, "context": {"axis": "cp"}}
STRIPED = {"mesh": {"tp": 2, "cp": 2}, "params": HEADS,
           "context": {"axis": "cp", "order": "striped"}}
BOTH = {"step": ["prefill", "decode"]}
PREFILL = {"step": ["prefill"], "decode": {}}
LATER = {"step": ["prefill"], "decode": {"context": 20}}  # a later piece of a prompt
SEQ = {"axes": {"seq": "cp"}}
# what is laid out: its name, the family, and what differs from one device
LAYOUTS = [
    ("tp over key heads", "gqa", {"mesh": {"tp": 4}, "params": HEADS}),
    ("tp beyond key heads", "gqa", {"mesh": {"tp": 8}, "params": QUERIES}),
    ("queries over one axis, keys over another", "gqa", {"mesh": {"a": 2, "b": 4}, "params": [
        ["attn/q/kernel", ["b", "a"]], ["attn/(k|v)/kernel", [None, "b"]], [".*", []]]}),
    ("tp of one key head", "mqa", {"mesh": {"tp": 4}, "params": QUERIES}),
    ("dp", "gqa", {"mesh": {"dp": 4}, "axes": {"batch": "dp"}}),
    ("dp and tp", "gqa", {"mesh": {"dp": 2, "tp": 2}, "axes": {"batch": "dp"}, "params": HEADS}),
    ("a sharded sequence", "gqa", CUT),
    ("a striped sequence and tp", "gqa", STRIPED),
    ("a sharded sequence of one key head", "mqa", CUT),
    ("a window", "window", {"mesh": {"tp": 2}, "params": HEADS}),
    ("a window over a striped sequence", "window", STRIPED),
    ("a window in pages, behind a prefill elsewhere", "window", {
        "mesh": {"tp": 2, "cp": 2}, **BOTH, "params": HEADS, "decode": {"page": 2},
        "context": {"axis": "cp", "order": "striped"}, "prefill": {"mesh": {"tp": 4, "cp": 1}}}),
    ("a window that keeps nothing of a prompt", "a window of one", {
        "mesh": {"tp": 2, "cp": 2}, **BOTH, "params": HEADS, "decode": {"page": 2},
        "context": {"axis": "cp", "order": "striped"}}),
    ("a window of one token in 8 bits", "a window of one, 8 bits", {
        "mesh": {"cp": 2}, **BOTH, "context": {"axis": "cp", "order": "striped"}}),
    ("chunks that keep nothing of a prompt", "chunks that end with a prompt", {
        "mesh": {"tp": 2, "cp": 2}, **BOTH, "params": HEADS, "context": {"axis": "cp"},
        "prefill": {"mesh": {"tp": 4, "cp": 1}}}),
    ("chunks", "chunk", {"mesh": {"tp": 2}, "params": HEADS}),
    ("chunks over a sharded sequence", "chunk", CUT),
    ("sinks", "sinks", {"mesh": {"tp": 4}, "params": HEADS}),
    ("sinks over a striped sequence", "sinks", STRIPED),
    ("ep", "experts", EP),
    ("copies of experts", "experts", COPIES),
    ("several copies of the first experts", "experts", {**COPIES, "moe": {
        **COPIES["moe"], "skew": 1.5}}),
    ("copies of experts with biases", "biased experts", {**EP, "moe": {
        **FAMILIES["biased experts"]["moe"], "redundant": 8}}),
    ("copies of experts of 4 bits", "mxfp4 experts", COPIES),
    ("copies of experts of 8 bits", "experts of 8 bits", COPIES),
    ("copies of adapted experts", "adapted experts", COPIES),
    ("other copies in the prefill", "experts", {**COPIES, **BOTH, "prefill": {
        "mesh": {"ep": 2}, "moe": {"redundant": 2}}}),
    ("compressed attention, tp", "mla", {"mesh": {"tp": 2}, "params": [
        ["attn/(q|q_rope)/kernel", [None, "tp"]], ["attn/o/kernel", ["tp"]], [".*", []]]}),
    ("compressed attention over a sharded sequence", "mla", CUT),
    ("paged", "gqa", {"mesh": {"tp": 2}, "params": HEADS, "decode": {"page": 4}, **BOTH}),
    ("pages of a striped sequence", "gqa", {**STRIPED, "decode": {"page": 4}, **BOTH}),
    ("disaggregated", "gqa", {"mesh": {"tp": 2, "cp": 2}, **BOTH, "params": HEADS, "prefill": {
        "mesh": {"tp": 4, "cp": 1}}}),
    ("speculative", "gqa", {"mesh": {"tp": 2}, "params": HEADS,
                            "decode": {"draft": 3, "accepted": 1.5}}),
    ("weights of 4 bits, tp", "int4", {"mesh": {"tp": 4}, "params": HEADS, **BOTH}),
    ("experts of 4 bits", "mxfp4 experts", EP),
    ("compressed attention of 8 bits, tp", "mla int8", {"mesh": {"tp": 2}, "params": [
        ["attn/(q|q_rope)/kernel", [None, "tp"]], ["attn/o/kernel", ["tp"]], [".*", []]]}),
    ("a prefill by gathers", "gqa", {**CUT, **PREFILL, **SEQ}),
    ("a prefill by a ring", "window", {"mesh": {"cp": 4}, **PREFILL, **SEQ, "context": {
        "axis": "cp", "method": "ring", "order": "zigzag"}}),
    ("a later piece of a prompt", "sinks", {**STRIPED, **LATER}),
    ("a later piece of a prompt, compressed", "mla", {**CUT, **LATER}),
    ("a cache of 4 bits, tp", "a cache of int4", {"mesh": {"tp": 4}, "params": HEADS}),
    ("a cache of 4 bits, tp beyond key heads", "a cache of mxfp4", {
        "mesh": {"tp": 8}, "params": QUERIES}),
    ("a striped cache of 4 bits, dp", "a cache of mxfp4", {
        "mesh": {"dp": 2, "cp": 2}, "axes": {"batch": "dp"},
        "context": {"axis": "cp", "order": "striped"}}),
    ("pages of 4 bits, disaggregated", "a cache of int4", {
        "mesh": {"tp": 2, "cp": 2}, **BOTH, "params": HEADS, "decode": {"page": 4},
        "context": {"axis": "cp", "order": "striped"}, "prefill": {"mesh": {"tp": 4, "cp": 1}}}),
    ("compressed attention, a sharded cache of 4 bits", "mla, a cache of mxfp4", CUT),
]


def strategies_of(number, family, layout):
    """A layout, the same on one device, and the layout with a longer cache."""
    steps = {"step": ["decode"], "decode": {}, **layout}
    tokens = {} if steps["step"] == ["prefill"] else {"tokens": TOKENS}
    kept = FAMILIES[family].get("decode", {})
    one = {"name": f"one{number}", "mesh": {"one": 1}, "batch": {"size": BATCH, "seq": PROMPT},
           "params": WHOLE, **FAMILIES[family], "step": steps["step"],
           "decode": {**tokens, **kept, **{key: value for key, value in steps["decode"].items()
                                           if key == "context"}}}
    own = {**one, **layout, "name": f"layout{number}",
           "decode": {**kept, **steps["decode"], **tokens}}
    kept = own["decode"].get("context", 0 if own["step"] == ["prefill"] else PROMPT)
    longer = {**own, "name": f"longer{number}",
              "decode": {**own["decode"], "context": kept + GROWTH}}
    return own, one, longer


def names_of(strategy):
    return [strategy["name"] + "/" + step for step in strategy["step"]] if \
        len(strategy["step"]) == 2 else [strategy["name"]]


def grows(strategy):
    """Whether a longer cache is planned, too."""
    return strategy["step"] == ["decode"]


def parts(mesh, axis):
    return mesh.get(axis, 1) if axis else 1


def kept_by(layer, model, kept, unit):
    """Tokens for which a layer has room in a step behind `kept` and TOKENS new ones: those that some
    query sees, of a chunk that has begun all, in whole pages and parts."""
    tokens = -(-(kept + TOKENS) // unit) * unit
    kind = model.get("layer_types", ["window" if "window" in model else "full"])
    kind, first = kind[layer % len(kind)], 0
    if kind == "window":
        first = kept - model["window"] + 1
    elif kind == "chunk":
        first = kept - kept % model["chunk"]
    each = model["chunk"] if kind == "chunk" else 1
    while first > 0 and (first % unit or first % each):
        first -= 1
    room = tokens - max(first, 0)
    return max(room, -(-each // unit) * unit) if first > 0 else max(room, unit)


def growth_of(strategy):
    """Bytes on a device of the cache of the further tokens."""
    model, mesh = strategy["model"], strategy["mesh"]
    cut = parts(mesh, strategy.get("context", {}).get("axis"))
    unit = cut * strategy["decode"].get("page", 1)
    tokens = sum(kept_by(layer, model, PROMPT + GROWTH, unit) - kept_by(layer, model, PROMPT, unit)
                 for layer in range(model["layers"]))
    rows = BATCH // parts(mesh, strategy.get("axes", {}).get("batch"))
    if "mla" in strategy:
        width = strategy["mla"]["kv_rank"] + strategy["mla"]["rope_dim"]
    else:
        heads = model["kv_heads"] // (mesh["tp"] if strategy["params"] == HEADS else mesh.get("b", 1))
        width = 2 * heads * model.get("head_dim", model["d_model"] // model["heads"])
    return tokens // cut * rows * bytes_of(strategy, width)


def bytes_of(strategy, width):
    """Bytes of a token's numbers: of 4 bits, with the scales of blocks, a float or an exponent."""
    cache, model = strategy["decode"].get("cache"), strategy["model"]
    if not cache:
        return 4 * width
    row = model.get("head_dim", model["d_model"] // model["heads"])
    if "mla" in strategy:
        row = width
    block = math.gcd(row, {"int4": 128, "mxfp4": 32}[cache])
    return width // 2 + width // block * (4 if cache == "int4" else 1)


def alone(program, path, strategy, name, known):
    """The tokens of one device; known tokens come from the same program."""
    key = json.dumps([name.split("/")[1:], {**strategy, "name": ""}])
    if key not in known:
        known[key] = run(program, path, name)[1]
    return known[key]


def try_layout(program, path, plans, layout, one, known):
    """What is wrong with a layout's strategies."""
    wrong = []
    for name, same in zip(names_of(layout), names_of(one)):
        ran, tokens, said = run(program, path, name)
        if not ran:
            wrong.append(said)
            continue
        wrong += differences(plans[name], ran) + caches_moved(ran, layout)
        if tokens != alone(program, path, one, same, known):
            wrong.append("other tokens than on one device")
    return wrong


def sample():
    """The layouts of this run: for a change one in two, one in eight under a sanitizer; the commit tells which."""
    if os.environ.get("SHD_TEST_TIER") != "change":
        return LAYOUTS
    every = 8 if os.environ.get("SHD_TEST_SIZE") == "small" else 2
    return LAYOUTS[int(os.environ.get("SHD_TEST_TURN", "0")) % every::every]


def main():
    program, folder = sys.argv[1], sys.argv[2]
    path = os.path.join(folder, "serving.yaml")
    layouts = sample()
    all_of = [strategies_of(number, family, layout)
              for number, (_, family, layout) in enumerate(layouts)]
    write(path, [strategy for three in all_of for strategy in three[:2 + grows(three[0])]])
    answer = ask(program, "plan", path)
    if not answer.stdout:
        sys.exit(answer.stderr)
    plans = results(answer)
    known, nwrong = {}, 0
    for (what, _, _), (layout, one, longer) in zip(layouts, all_of):
        wrong = try_layout(program, path, plans, layout, one, known)
        if grows(layout):
            grown = [plans[s["name"]]["memory"]["by_kind"]["cache"] for s in (longer, layout)]
            if grown[0] - grown[1] != growth_of(layout):
                wrong.append(f"{grown[1]} bytes grow to {grown[0]}, not by {growth_of(layout)}")
        for text in wrong:
            print(f"{what}: {text}\n{json.dumps(layout)}")
        nwrong += len(wrong)
    print(f"{len(layouts)} layouts, {nwrong} wrong")
    sys.exit(1 if nwrong else 0)


if __name__ == "__main__":
    main()
