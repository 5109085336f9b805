#!/usr/bin/env python3
"""random_scenarios.py PROGRAM FOLDER SEED COUNT - random whole scenarios, planned and run.

Each file has many strategies, which override all that a scenario says.  Strategies that are refused
are taken out by the lines of their errors, which all have the form FILE:LINE:COLUMN; the rest is
planned and run.  Both ends without a signal and without a sanitizer's word, bytes, flops and peak
memory of a plan are those of the run, and no run is wrong.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import re
import subprocess
import sys

STRATEGIES = 20  # strategies per file
SECONDS = 300    # seconds until a program counts as hanging
AXES = ["dp", "tp", "sp", "ep"]
TRANSFORMERS = ["transformer", "gpt2", "llama3", "mixtral", "deepseek"]
TYPES = ["float32", "float64", "bfloat16", "float16"]


def some(rng, chance, make):
    """A part of an option's map, or nothing of it."""
    return make() if rng.random() < chance else {}


def mesh_of(rng):
    names = rng.sample(AXES, rng.choice([1, 1, 2, 2, 3]))
    mesh = {name: rng.choice([1, 2, 2, 2, 4]) for name in names}
    while len(mesh) > 1 and product(mesh.values()) > 8:
        mesh[max(mesh, key=mesh.get)] //= 2
    return mesh


def product(numbers):
    n = 1
    for number in numbers:
        n *= number
    return n


def axis_or_null(rng, mesh):
    return rng.choice(list(mesh) + [None])


def spec(rng, mesh, rank):
    free = list(mesh)
    rng.shuffle(free)
    return [free.pop() if free and rng.random() < 0.4 else None for _ in range(rank)]


def layers_of(rng, kind):
    """Layers that see all, a window or a chunk, some of them without rotary positions."""
    types = ["full", "window", "chunk"]
    if kind != "deepseek":
        types += ["full-plain", "window-plain", "chunk-plain"]
    layers = {"layer_types": rng.choices(types, k=rng.choice([1, 2, 3])), "attention": "fused",
              "window": rng.choice([1, 3, 100]), "chunk": rng.choice([3, 5, 100])}
    return {**layers, "causal": True} if kind in ("block", "transformer") else layers


def rope_of(rng):
    """Rotary positions, with scalings of frequencies that sequences of 8 and 16 tokens differ in."""
    rope = {"theta": rng.choice([100, 10000]), "interleaved": rng.random() < 0.5}
    rope.update(some(rng, 0.2, lambda: {"local_theta": 50}))
    rope.update(some(rng, 0.4, lambda: {"scaling": rng.choice([
        {"kind": "linear", "factor": 4}, {"kind": "dynamic", "factor": 2, "original": 8},
        {"kind": "llama3", "factor": 8, "original": 16, "low": 1, "high": 4},
        {"kind": "yarn", "factor": 4, "original": 8, "mscale": 0.7, "mscale_all": 1.2},
        {"kind": "yarn", "factor": 4, "original": 8, "untruncated": True}])}))
    return rope


def model_of(rng, kind):
    model = {"kind": kind, "d_model": rng.choice([8, 16, 32]), "layers": rng.choice([1, 2, 4])}
    if kind != "attention":
        model.update(d_ff=rng.choice([16, 32]),
                     activation=rng.choice(["gelu", "swiglu", "relu", "silu", "geglu"]))
    if kind != "mlp":
        model["heads"] = rng.choice([2, 4, 8])
    if kind not in ("mlp", "attention", "block"):
        model["vocab"] = rng.choice([32, 64])
        model.update(some(rng, 0.3, lambda: {"tied": rng.random() < 0.5}))
    if kind in ("attention", "block", "transformer"):
        model.update(some(rng, 0.3, lambda: {"causal": rng.random() < 0.5}))
    if kind not in ("mlp", "t5"):
        model.update(some(rng, 0.3, lambda: {"kv_heads": rng.choice([1, 2, 4])}))
        model.update(some(rng, 0.2, lambda: {"attention": rng.choice(["fused", "unfused"])}))
        model.update(some(rng, 0.2, lambda: {"window": rng.choice([0, 3, 8, 100])}))
        model.update(some(rng, 0.2, lambda: {"attention_bias": rng.choice(["none", "qkv", "all"])}))
    if kind not in ("mlp", "attention", "t5"):
        if kind != "deepseek":
            model.update(some(rng, 0.3, lambda: {"qk_norm": rng.choice([True, False, "heads", "whole", "late", "bare"])}))
            model.update(some(rng, 0.25, lambda: {"sinks": rng.random() < 0.8}))
        model.update(some(rng, 0.25, lambda: {"attention_scale": rng.choice([0.1, 0.5])}))
        model.update(some(rng, 0.25, lambda: {"attention_cap": rng.choice([0.5, 30])}))
        model.update(some(rng, 0.3, lambda: layers_of(rng, kind)))
    if kind not in ("attention", "t5"):
        model.update(some(rng, 0.2, lambda: {"bias": rng.random() < 0.5}))
    if kind in ("attention", "block", "transformer", "llama3", "mixtral", "deepseek"):
        model.update(some(rng, 0.4, lambda: {"rope": rope_of(rng)}))
    if kind == "t5":
        model.update(some(rng, 0.5, lambda: {"decoder_layers": rng.choice([1, 2])}))
    model.update(some(rng, 0.3, lambda: {"dtype": rng.choice(TYPES)}))
    return model


def moe_of(rng):
    experts = rng.choice([4, 8])
    moe = {"experts": experts, "top_k": rng.choice([1, 2, 3]), "d_ff": rng.choice([8, 16]),
           "routing": rng.choice(["uniform", "zipf", "hot-expert", "ragged", "empty", "rotating",
                                  "hot-rank", "learned"])}
    for chance, key, values in (
            (0.2, "shared", [1, 2]), (0.2, "first_dense", [1]), (0.2, "every", [1, 2]),
            (0.3, "score", ["softmax", "sigmoid"]), (0.2, "renormalize", [True, False]),
            (0.2, "bias", [True, False]), (0.3, "capacity", [0.5, 1, 1.25, 4]),
            (0.3, "drop", ["tokens", "choices"]), (0.3, "token_groups", [1, 2, 4]),
            (0.3, "aux_loss", [0.01]), (0.2, "z_loss", [0.001]), (0.3, "ranks", [2, 4]),
            (0.2, "groups", [2]), (0.2, "scale", [2.5]), (0.2, "skew", [0, 1.5])):
        moe.update(some(rng, chance, lambda: {key: rng.choice(values)}))
    return moe


def products_of(rng):
    """Products in 8 bits; blocks are narrow enough for widths of 8 and more."""
    products = {"recipe": rng.choice(["tensorwise", "rowwise", "blockwise", "mxfp8", "nvfp4"])}
    for chance, key, values in (
            (0.3, "gradients", ["e4m3", "e5m2"]), (0.5, "block", [4, 8]), (0.3, "amax", ["local"]),
            (0.3, "gathers", [True]), (0.3, "kept", ["codes", "wide"]),
            (0.3, "except", [[], ["head"], ["attn"]])):
        products.update(some(rng, chance, lambda: {key: rng.choice(values)}))
    return products


def training_of(rng, mesh):
    out = {"step": ["forward", "backward", "update"],
           "optimizer": {"kind": rng.choice(["sgd", "adamw"]), "lr": 0.01}}
    for key, values in (("momentum", [0.9]), ("weight_decay", [0.1]), ("clip", [1]),
                        ("decay", ["constant", "cosine"]), ("warmup", [2])):
        out["optimizer"].update(some(rng, 0.2, lambda: {key: rng.choice(values)}))
    out.update(some(rng, 0.4, lambda: {"steps": rng.choice([1, 2, 3])}))
    out.update(some(rng, 0.5, lambda: {"zero": {"stage": rng.choice([1, 2, 3]),
                                                "axis": rng.choice(list(mesh))}}))
    out.update(some(rng, 0.3, lambda: {"types": {key: rng.choice(TYPES) for key in rng.sample(
        ["parameters", "gradients", "moments", "reduce"], 2)}}))
    out.update(some(rng, 0.2, lambda: {"loss_scale": {"kind": rng.choice(["static", "dynamic"]),
                                                      "initial": rng.choice([1, 1024])}}))
    return out


def pipeline_of(rng, mesh, scenario):
    mesh["pp"] = 2
    scenario["pipeline"] = {"axis": "pp", "schedule": rng.choice(
        ["GPipe", "1F1B", "Interleaved1F1B", "ZBH1", "DualPipeV"]),
                            **some(rng, 0.3, lambda: {"layers": "weighed"})}
    scenario["batch"]["microbatches"] = rng.choice([2, 4])


def uneven(rng, scenario):
    """Sizes that divide by next to nothing, and are padded."""
    scenario["uneven"] = "pad"
    scenario["batch"]["size"] = scenario["batch"].get("microbatches", 1) * rng.choice([3, 5, 6])
    for key, values in ("d_ff", [17, 30]), ("vocab", [31, 50]), ("heads", [3, 5, 6]):
        if key in scenario["model"]:
            scenario["model"][key] = rng.choice(values)
    if "heads" in scenario["model"]:
        scenario["model"].update(head_dim=4, kv_heads=rng.choice([1, scenario["model"]["heads"]]))
    if scenario["model"]["kind"] == "t5":
        del scenario["model"]["kv_heads"]


def scenario_of(rng, name):
    kind = rng.choice(["mlp", "attention", "block", "t5"] + TRANSFORMERS)
    mesh = mesh_of(rng)
    free = list(mesh)
    rng.shuffle(free)
    scenario = {"name": name, "mesh": mesh, "model": model_of(rng, kind),
                "batch": {"size": rng.choice([8, 16]), "seq": rng.choice([8, 16])},
                "step": rng.choice([["forward"], ["forward", "backward"]]),
                "axes": some(rng, 0.8, lambda: {"batch": free.pop()})}
    if kind == "mixtral" or (kind in TRANSFORMERS + ["block"] and rng.random() < 0.4):
        scenario["moe"] = moe_of(rng)
    if kind == "deepseek":
        scenario["mla"] = {"kv_rank": 8, "rope_dim": 4, "value_dim": 8,
                           "q_rank": rng.choice([0, 8])}
    if free and rng.random() < 0.3:
        scenario["axes"]["seq"] = free.pop()
    scenario["params"] = [[pattern, spec(rng, mesh, rank)] for pattern, rank in
                          rng.sample([["up/kernel", 2], ["down/kernel", 2], ["o/kernel", 3],
                                      ["(q|k|v)/kernel", 3], ["embed", 2]], 2)
                          if pattern] + [[".*", spec(rng, mesh, 1)]]
    if rng.random() < 0.5:
        scenario.update(training_of(rng, mesh))
        if rng.random() < 0.4:
            scenario["batch"]["microbatches"] = rng.choice([2, 4])
        if rng.random() < 0.3:
            pipeline_of(rng, mesh, scenario)
    if rng.random() < 0.3:
        uneven(rng, scenario)
    return more_options(rng, scenario, mesh, kind)


def more_options(rng, scenario, mesh, kind):
    """Options of any scenario, each now and then; one time in ten also one that is no good."""
    for key, values in (
            ("recompute", ["none", "selective", "full", [".*"], {"kind": "full", "every": 2},
                           "selective_op", "minimal", "save_out_proj",
                           {"kind": "selective_op", "hold": True},
                           {"keep": ["op:product/2", "op:sum"], "whole": True, "hold": True},
                           {"kind": "selective", "modules": ["core_attn", "mlp"], "whole": True},
                           {"every": 2, "offset": 1}, {"first": 1, "count": "stage"},
                           {"group": 2, "count": "stage"}]),
            ("placement", ["follow", "search"]), ("price", ["bytes", "time"]),
            ("frozen", [[], ["o/kernel"], [".*"]]),
            ("lora", [{"rank": 2, "targets": ["kernel"]}, {"rank": 3, "targets": ["up/kernel"]},
                      {"rank": 4, "alpha": 8, "targets": [".*"], "start": "random"},
                      {"rank": 2, "targets": ["kernel"], "base": "nf4"},
                      {"rank": 2, "targets": ["down/kernel"], "base": "int8"}]),
            ("offload", [{"activations": "all"}, {"activations": ["mlp", "attn"], "layers": 1},
                         {"optimizer": 1}, {"optimizer": 0.5, "activations": "all"},
                         {"optimizer": 1, "parameters": True, "prefetch": 2}]),
            ("rules", ["params", "auto"]), ("seed", [0, 7, 2 ** 40]),
            ("hardware", [None, "h100-sxm", "tpu-v4"]), ("constraints", [[], [[
                "mlp/out", spec(rng, mesh, 3)]]]),
            ("algorithms", [{}, {"all-reduce": "ring"}, {"all-gather": "direct"}]),
            ("limits", [{"memory": None}, {"memory": "1GiB"}, {"memory": "100KiB"}]),
            ("straggler", [{"device": 1, "compute": 2}, {"device": 0, "links": 3}]),
            ("transfers", [{"rate": "10GB/s", "latency": "1us"}])):
        if rng.random() < 0.15:
            scenario[key] = rng.choice(values)
    scenario.update(some(rng, 0.15, lambda: {"products": products_of(rng)}))
    if scenario.get("price") == "time" or "straggler" in scenario:
        scenario["hardware"] = "h100-sxm"
    if "update" not in scenario["step"]:
        scenario.pop("recompute", None)
    if kind not in ("mlp", "t5") and rng.random() < 0.2:
        scenario["context"] = {"axis": axis_or_null(rng, mesh),
                               "method": rng.choice(["gather", "ring"]),
                               "order": rng.choice(["contiguous", "zigzag", "striped"])}
    if rng.random() < 0.1:
        scenario[rng.choice(list(scenario)[1:])] = rng.choice(
            [None, -1, 0, "x", [], {}, {"x": 1}, [[]], 2 ** 63, 1e308, True])
    return scenario


def write(path, scenarios):
    """One line a strategy, behind two that have nothing; YAML reads what JSON writes."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("version: 1\nstrategies:\n")
        for scenario in scenarios:
            file.write("  - " + json.dumps(scenario) + "\n")


def ask(program, command, path, *more):
    words = [program, command, "-q", "--json", path, *more]
    if command == "run":
        words.insert(2, "--repeat=1")
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)


def crashed(answer):
    return answer.returncode not in (0, 1, 2) or "Sanitizer" in answer.stderr or \
        "runtime error" in answer.stderr


def refused_lines(path, answer):
    """The lines of the errors, and the first error that has no place."""
    lines = set()
    for line in answer.stderr.splitlines():
        found = re.match(re.escape(path) + r":(\d+):\d+: error: ", line)
        if found:
            lines.add(int(found.group(1)))
        elif re.match(r"(\S+ )?error: (?!and \d+ more$)", line):
            return lines, line
    return lines, None


def results(answer):
    out = json.loads(answer.stdout)
    return {one["strategy"]: one for one in (out if isinstance(out, list) else [out])}


def differences(planned, ran):
    """What a run has otherwise than its plan.  A router may decide otherwise than is planned."""
    wrong = []
    verify = ran.get("verify") or {"ok": True}
    # A value that overflows in the unsharded computation too is not ok, but equal.
    if not verify["ok"] and ("first_wrong_step" in verify or
                             any("nonfinite" not in array for array in verify["wrong"])):
        wrong.append("verified wrongly")
    if any(row["assumed"] for row in planned.get("experts") or []):
        return wrong
    for what in (("received_bytes", "total"), ("received_bytes", "by_axis"),
                 ("received_bytes", "by_op"), ("received_bytes", "by_phase"), ("flops",),
                 ("memory", "peak_bytes")):
        a, b = planned, ran
        for key in what:
            a, b = a[key], b[key]
        if a != b:
            wrong.append(f"{'.'.join(what)}: planned {a}, ran {b}")
    return wrong


def out_of_memory(planned, errors):
    """A strategy without a result: its run ended where the plan has more than the limit."""
    if not re.search(r": %s: device \d+ is out of memory" % planned["strategy"], errors):
        return ["no result"]
    memory = planned["memory"]
    return [] if max(memory["peak_bytes"]) > memory["limit_bytes"] else ["out of memory, though the plan fits"]


def plan_good(program, path, scenarios, tell):
    """Plan what is not refused; the answer, and the scenarios that are in it."""
    while scenarios:
        write(path, scenarios)
        answer = ask(program, "plan", path)
        if crashed(answer):
            tell("plan crashed", answer.stderr[-2000:])
            return None, []
        if answer.stdout:
            return answer, scenarios
        lines, placeless = refused_lines(path, answer)
        if placeless or not lines or min(lines) < 3:
            tell("an error without its place", placeless or answer.stderr[:2000])
            return None, []
        scenarios = [s for i, s in enumerate(scenarios) if i + 3 not in lines]
    return None, []


def try_file(program, path, made, tell):
    planned, scenarios = plan_good(program, path, made, tell)
    if not planned:
        return []
    ran = ask(program, "run", path)
    if crashed(ran):
        tell("run crashed", ran.stderr[-2000:])
        return scenarios
    plans, runs = results(planned), results(ran) if ran.stdout else {}
    for scenario in scenarios:
        name = scenario["name"]
        for wrong in differences(plans[name], runs[name]) if name in runs else out_of_memory(
                plans[name], ran.stderr):
            tell(wrong, json.dumps(scenario))
    return scenarios


def main(make=scenario_of, note=lambda tried: None, try_file=try_file, most=STRATEGIES, least=10):
    """Try as many scenarios as asked for, `most` in a file, and tell `note` of those that were run;
    whether any is wrong, or less than one of `least` is possible."""
    program, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed)
    found, good = [], 0

    def tell(what, more):
        found.append(what)
        print(f"{what}\n{more}", flush=True)

    for first in range(0, count, most):
        path = os.path.join(folder, f"random{first}.yaml")
        before = len(found)
        made = [make(rng, f"s{first + i}") for i in range(min(most, count - first))]
        tried = try_file(program, path, made, tell)
        good += len(tried)
        note(tried)
        if len(found) == before:
            os.remove(path)
    print(f"seed {seed}: {good} of {count} scenarios are planned and run, {len(found)} wrong")
    return bool(found) or good * least < count


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
