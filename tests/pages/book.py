#!/usr/bin/env python3
"""Exercises of the book "How to Scale Your Model", asked of shardsim: the table of docs/book.md.

    book.py SHARDSIM SOURCES                prints the table
    book.py SHARDSIM SOURCES --check PAGE   and holds the page to it

Each exercise runs the commands that the table shows, from the source directory, and holds what comes out
to the formula that one would use by hand, within 1 %, and to the book's own number where that is told
to be the same.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess
import sys

BEGIN, END = "<!-- made by tests/pages/book.py -->\n", "<!-- to here -->\n"
PROGRAM, SOURCES = sys.argv[1:3]
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
said = []  # commands of the exercise


def run(line, expected=0, show=True):
    """Standard output of a command."""
    if show:
        said.append(line)
    done = subprocess.run([PROGRAM, *line.split()], cwd=SOURCES, capture_output=True, text=True)
    if done.returncode not in ((0, 1) if expected is None else (expected,)):
        sys.exit(f"shardsim {line}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def answer(line, show=True, expected=0):
    """Run a command line quietly with --json, and parse the output."""
    if show:
        said.append(line)
    quiet = "plan -q" if line.startswith("plan") else line.split()[0]
    return json.loads(run(quiet + line[len(line.split()[0]) :] + " --json", expected, show=False))


def near(found, expected, what, within=0.01):
    if abs(found - expected) > within * abs(expected):
        sys.exit(f"{what}: {found:.6g}, expected {expected:.6g}")
    return found


def link(kind, cluster, mesh, axes, size, show=True):
    return answer(
        f"explain collective {kind} --hardware docs/book/{cluster}-peak.yaml --mesh {mesh} --axes {axes} "
        f"--bytes {size}",
        show,
    )


def op(line, name, show=True):
    """Flops a byte, seconds and the bound of an op by explain --roofline."""
    for row in run(line, show=show).splitlines():
        if row.startswith(name):
            intensity, time, unit, bound = re.search(
                r" ([\d.]+) +([\d.]+) (\w+) +[\d.]+ % +(\w+)$", row
            ).groups()
            return float(intensity), float(time) * SECONDS[unit], bound
    sys.exit(f"{line}: no {name}")


def kept(line, names):
    """Bytes of arrays that `show memory` lists."""
    text, total = run(line), 0
    for name in names:
        size, unit = re.search(rf"^([\d.]+) (\w+) activations: .*{name}$", text, re.M).groups()
        total += float(size) * UNITS[unit]
    return total


def transfers(plan, mesh):
    """Seconds of all transfers of forward and backward, by axes, each by itself on the torus."""
    seconds, times = {}, {}
    for c in plan["collectives"]:
        if c["phase"] not in ("forward", "backward") and not c["where"].startswith("opt/gradient"):
            continue
        axes = ",".join(c["axes"])
        key = c["op"], axes, c["operand_bytes"]
        if key not in times:
            times[key] = link(c["op"], "tpu-v5p", mesh, axes, c["operand_bytes"], show=False)["seconds"]
        seconds[axes] = seconds.get(axes, 0) + c["count"] * times[key]
    return seconds


def modelled(plan):
    return plan["time"]["modelled"]


# ---- rooflines ----


def r1():
    text = run("show hardware tpu-v5e").replace("\n    ", " ")
    rows = float(re.search(r"^int8: .*\(weights: below ([\d.]+) rows", text, re.M)[1])
    near(rows, 3.94e14 / 2 / 8.1e11, "int8 rows")
    op_at = [
        op(f"explain --roofline docs/book/matmul.yaml -s graph.dims.b={b}", "y/einsum") for b in (244, 246)
    ]
    assert [o[2] for o in op_at] == ["memory", "compute"], op_at
    return f"{rows:.1f} rows; with all bytes of a matmul of 65536 x 65536 between 244 and 246"


def r2():
    text = run("show hardware tpu-v5e").replace("\n    ", " ")
    rows = float(re.search(r"^bfloat16: .*; of a byte each ([\d.]+)\)", text, re.M)[1])
    return f"{near(rows, 1.97e14 / 2 / 8.1e11, 'int8 weights'):.1f} rows"


def r4():
    intensity, seconds, bound = op("explain --roofline docs/book/own_matrix.yaml", "y/einsum")
    near(intensity, 1, "intensity")
    near(seconds, 2 * 128 * 4096 * 4096 / 8.1e11, "time")
    assert bound == "memory"
    return f"{intensity:.1f} of bfloat16, {seconds * 1e3:.2f} ms, by {bound}"


def r5():
    text = run("show hardware h100-sxm").replace("\n    ", " ")
    rows = float(re.search(r"^bfloat16: .*\(weights: below ([\d.]+) rows", text, re.M)[1])
    return f"{near(rows, 9.89e14 / 3.35e12, 'H100'):.1f} rows"


# ---- sharded matrices ----


def long_ring(a):
    return f"{a['seconds'] * 1e6:.1f} us; of a long ring {a['long_ring_seconds'] * 1e6:.1f}"


def s2():
    a = link("all-gather", "tpu-v4", "4,4,4", "0", 2 * 256 * 1024)
    near(a["seconds"], 2 * 1024 * 1024 * 0.75 / 9e10, "one axis")
    near(a["long_ring_seconds"], 23e-6, "the book's", 0.02)
    b = link("all-gather", "tpu-v4", "4,4,4", "0,1", 2 * 256 * 1024)
    near(b["long_ring_seconds"], 46e-6, "the book's", 0.02)
    c = link("all-reduce", "tpu-v4", "4,4,4", "2", 2 * 256 * 1024)
    near(c["long_ring_seconds"], 11.6e-6, "the book's", 0.02)
    return f"{long_ring(a)}. {long_ring(b)}. {long_ring(c)}"


def s3():
    a = link("all-gather", "tpu-v4", "4,4,4", "0", 64)
    assert a["bound"] == "latency"
    return f"{near(a['seconds'], 2e-6, 'two hops') * 1e6:.0f} us, bound by {a['bound']}"


def s4():
    few = answer("plan docs/book/contracted.yaml -s graph.dims.b=1024")
    many = answer("plan docs/book/contracted.yaml")
    text = []
    for rows, (gather, parts) in ((1024, few), (4096, many)):
        g, p = modelled(gather), modelled(parts)
        near(g["compute_seconds"], 2 * rows * 8192 * 32768 / 4.59e14, "whole product")
        near(p["matmul_seconds"], 2 * rows * 8192 * 32768 / 4 / 4.59e14, "a fourth")
        near(g["exposed_communication_seconds"], 2 * 8192 * 32768 * 0.75 / 1.8e11, "all-gather of the weight")
        near(
            p["exposed_communication_seconds"],
            2 * 2 * rows * 32768 * 0.75 / 1.8e11,
            "all-reduce of the result",
        )
        ms = [max(x["compute_seconds"], x["exposed_communication_seconds"]) * 1e3 for x in (g, p)]
        which = [
            "compute" if x["compute_seconds"] > x["exposed_communication_seconds"] else "network"
            for x in (g, p)
        ]
        text.append(f"of {rows} rows: gather {ms[0]:.2f} ms ({which[0]}), sum {ms[1]:.2f} ms ({which[1]})")
    return "; ".join(text)


def s10():
    g = link("all-gather", "tpu-v5e", "16,16", "0", "4MiB")
    a = link("all-to-all", "tpu-v5e", "16,16", "0", "4MiB")
    near(a["seconds"] / g["long_ring_seconds"], 0.25, "a quarter")
    return f"{a['seconds'] * 1e6:.0f} us to {g['long_ring_seconds'] * 1e6:.0f}: {a['seconds'] / g['long_ring_seconds']:.2f}"


# ---- flops of transformers ----


def t4():
    found = []
    for seq in (480, 492):
        intensity, _, bound = op(
            f"explain --roofline docs/book/attention.yaml -s batch.seq={seq}", "layers/*/attn/heads"
        )
        near(intensity, seq / 2, "half of the sequence", 0.02)
        found.append(bound)
    few, _, _ = op(
        "explain --roofline docs/book/attention.yaml -s batch.seq=274 -s model.kv_heads=4",
        "layers/*/attn/heads",
    )
    near(few, 274 * 8 / 9, "T G / (G + 1)", 0.02)
    assert found == ["memory", "compute"], found
    return f"T = S = 486 with as many key heads; with eight queries a key head {few:.0f} at 274"


def t7():
    flops = answer("plan docs/book/deepseek_v3.yaml", expected=1)["work"]["model_flops"]
    long = answer("plan docs/book/deepseek_v3.yaml -s batch.seq=4096", expected=1)["work"]["model_flops"] / 4096
    peak = 2.79e6 * 3600 * 1.513e15
    mfu, with_attention = (x * 14.8e12 / peak for x in (flops, long))
    near(mfu, 0.217, "the book's", 0.015)
    return f"{mfu * 100:.1f} % by {flops / 6e9:.1f}e9 active weights; {with_attention * 100:.1f} % with attention"


# ---- training ----


def tr2():
    kinds = answer("plan docs/book/llama2_13b.yaml -S one-device", expected=1)["memory"]["by_kind"]
    states = near(kinds["parameters"] + kinds["optimizer"], 10 * 13015864320, "10 bytes a parameter")
    arrays = kept("show memory docs/book/llama2_13b.yaml -S one-device", ["mlp/gate", "mlp/up", "residual2"])
    near(arrays, 2 * 40 * 488 * 32768 * (5120 + 2 * 13824), "2 L B (D + 2 F)")
    return f"{states / 1e9:.1f} GB; {arrays / 1e12:.1f} TB"


def tr3():
    line = "plan docs/book/llama2_13b.yaml -s recompute=none -S "
    copies = modelled(answer(line + "data-parallel", expected=1))
    assert copies["fits"] is False
    cut = answer(line + "fsdp")
    sent, compute = transfers(cut, "dp=4,fsdp=1024"), modelled(cut)["matmul_seconds"]
    near(compute, 6 * (13015864320 - 32000 * 5120) * 3 * 2**20 / 4096 / 4.59e14, "matmuls at peak", 0.02)
    mixed = answer(line + "fsdp-tp")
    both = transfers(mixed, "dp=1024,tp=4")
    assert sent["fsdp"] > compute > max(both["dp"], both["tp"]), (sent, both, compute)
    return (
        f"{copies['memory_bytes'] / 1e9:.0f} GB do not fit. FSDP: transfers {sent['fsdp'] * 1e3:.0f} ms, matmuls "
        f"{compute * 1e3:.0f} ms: network. With TP: {both['dp'] * 1e3:.0f} and {both['tp'] * 1e3:.0f} ms: compute; "
        f"{compute / 0.4 * 1e3:.0f} ms at 40 %"
    )


# ---- training, applied ----

PARAMETERS = 70553706496


def a2():
    flops = answer("plan docs/book/llama3_70b.yaml -S one-token", expected=1)["work"]["model_flops"]
    near(flops, 6 * (PARAMETERS - 128256 * 8192), "6 P without the table", 0.02)
    return f"{flops / 1e11:.2f}e11, {flops / 4.59e14 * 1e3:.2f} ms at peak"


def a3():
    flops = answer("plan docs/book/llama3_70b.yaml -S one-token", expected=1)["work"]["model_flops"]
    years = flops * 15e12 / 4.59e14 / 86400 / 365
    near(years, 435, "the book's", 0.02)
    return f"{years:.0f} years"


def a4():
    flops = answer("plan docs/book/llama3_70b.yaml -S one-token", expected=1)["work"]["model_flops"]
    days = flops * 15e12 / (8960 * 4.59e14 * 0.4) / 86400
    near(days, 44, "the book's", 0.02)
    return f"{days:.1f} days"


def a5():
    kinds = answer("plan docs/book/llama3_70b.yaml -S one-device", expected=1)["memory"]["by_kind"]
    states = near(kinds["parameters"] + kinds["optimizer"], 10 * PARAMETERS, "10 bytes a parameter")
    arrays = kept("show memory docs/book/llama3_70b.yaml -S one-device", ["residual1", "residual2"])
    near(arrays, 2 * 2 * 80 * 8192 * 4 * 2**20, "two arrays a layer")
    return f"{states / 1e12:.2f} + {arrays / 1e12:.1f} TB: {(states + arrays) / 96e9:.0f} chips"


def a6():
    plan = answer("plan docs/book/llama3_70b.yaml -S fsdp-tp")
    kinds = plan["memory"]["by_kind"]
    two = 2 * 2 * 80 * 8192 * 4 * 2**20 / 8192
    states = near(kinds["parameters"] + kinds["optimizer"], 10 * PARAMETERS / 8192, "10 bytes a parameter")
    near(states + two, 1.43e9, "of 8192 chips")
    assert kinds["activations"] > two
    return (
        f"{(states + two) / 1e9:.2f} GB of states and those arrays; in total "
        f"{modelled(plan)['memory_bytes'] / 1e9:.2f}"
    )


def a8():
    plan = answer("plan docs/book/llama3_70b.yaml -S fsdp -s recompute=none")
    compute, sent = modelled(plan)["matmul_seconds"], transfers(plan, "dp=8192")["dp"]
    near(compute, 6 * (PARAMETERS - 128256 * 8192) * 512 / 4.59e14, "matmuls at peak", 0.02)
    near(sent, 3 * 2 * PARAMETERS / 5.4e11, "three passes over 2 P bytes", 0.05)
    step = near(modelled(plan)["step_seconds"], sent, "the step is what is sent", 0.05)
    return (
        f"512 tokens a chip: transfers {sent * 1e3:.0f} ms, matmuls {compute * 1e3:.0f} ms: network; the step "
        f"{step * 1e3:.0f} ms"
    )


def a9():
    plan = answer("plan docs/book/llama3_70b.yaml -S fsdp-tp -s recompute=none")
    compute, sent = modelled(plan)["matmul_seconds"], transfers(plan, "dp=2048,tp=4")
    passes = 3 * 2 * PARAMETERS / 4 / 4.05e11  # at a fourth of 2 P bytes, by four and a half links
    hops = 12 * 80 * 32e-6  # of four small arrays per layer, three times each
    assert passes < sent["dp"] < passes + hops, (passes, sent)
    assert max(sent.values()) < compute, (sent, compute)
    step = modelled(plan)["step_seconds"]
    alone = modelled(answer("plan docs/book/llama3_70b.yaml -S fsdp -s recompute=none", show=False))
    assert step < 0.9 * alone["step_seconds"], (step, alone)
    return (
        f"transfers of FSDP {sent['dp'] * 1e3:.0f} ms, of TP {sent['tp'] * 1e3:.0f}, matmuls "
        f"{compute * 1e3:.0f} ms: compute; the step {step * 1e3:.0f} ms"
    )


# ---- inference ----

LLAMA2_13B, V5E, V5E_FLOPS = 13015864320, 8.1e11, 1.97e14


def caches(line, devices, show=True):
    """Bytes of the caches on all devices; each has some ids and places beside them."""
    each = answer(line, show, expected=None)["memory"]["by_kind"]["cache"]
    return devices * each


def kernels(plan):
    """Seconds of matmuls and attention: weights and caches read once."""
    return modelled(plan)["matmul_seconds"] + modelled(plan)["attention_seconds"]


def i1():
    return f"{near(caches('plan docs/book/llama2_13b_decode.yaml', 8), 6.7e9, 'cache') / 1e9:.2f} GB"


def i2():
    found = []
    for batch, heads in ((1, 40), (8, 40), (16, 40), (1, 8), (8, 8), (16, 8), (64, 8)):
        line = f"plan docs/book/llama2_13b_decode.yaml -s batch.size={batch}"
        plan = answer(line + (f" -s model.kv_heads={heads}" if heads < 40 else ""), expected=None)
        cache = 2 * 2 * 40 * 128 * heads * 8192 * batch
        weights = 2 * (LLAMA2_13B - 32000 * 5120 - 2 * 40 * 5120 * 128 * (40 - heads))
        compute = kernels(plan)
        near(compute, (weights + cache) / 8 / V5E, f"batch {batch}, {heads} key heads", 0.03)
        found.append((compute * 1e3, modelled(plan)["step_seconds"] * 1e3))
    text = [" ".join(f"{x[k]:.2f}" for x in found[a:b]) for k in (0, 1) for a, b in ((0, 3), (3, 7))]
    return f"{text[0]} ms; {text[1]}. With collectives {text[2]}; {text[3]}"


def i3():
    plan = answer("plan docs/book/inference_model.yaml -s batch.seq=8191")
    parameters = near(plan["memory"]["breakdown"]["parameters"]["model"], 18.4e9, "the book's")
    token = 16 * plan["memory"]["by_kind"]["cache"] / 8192
    near(token, 2 * 2 * 64 * 8 * 256, "bytes a token")
    return f"{parameters / 1e9:.2f}e9; {token / 1e3:.0f} kB in bfloat16"


def i4():
    m = modelled(answer("plan docs/book/inference_model.yaml"))
    twice = 2 * 64 * 4096 * 8 * 256  # of keys and values, which eight devices cut
    near(m["matmul_seconds"], 2 * (18.4e9 + twice) / 16 / V5E, "all weights once", 0.02)
    return (
        f"{m['matmul_seconds'] * 1e3:.2f} ms in bfloat16; the step {m['step_seconds'] * 1e3:.2f}, since "
        f"{m['exposed_communication_seconds'] * 1e3:.2f} ms of hops are exposed"
    )


# ---- inference, applied ----

DECODE = "plan docs/book/llama3_70b_decode.yaml"
LONG = DECODE + " -s mesh.cp=1 -s batch.size=1 -s batch.seq=32767"


def b1():
    token = near(caches(LONG, 8) / 32768, 327680, "bytes a token")
    return f"{token / 1e3:.0f} kB in bfloat16; of 32,768 tokens {token * 32768 / 1e9:.1f} GB, {token * 4096 / 1e9:.2f} on each of 8"


def b2():
    plan = answer(DECODE, expected=None)
    kinds = plan["memory"]["by_kind"]
    total = near(16 * (kinds["parameters"] + kinds["cache"]), 2 * 112e9, "twice the book's", 0.03)
    m = modelled(plan)
    read = near(kernels(plan), 17.3e-3, "the book's, of half the bytes on half the chips", 0.05)
    return (
        f"{total / 1e9:.0f} GB in bfloat16; on 16 chips {read * 1e3:.1f} ms, with collectives "
        f"{m['step_seconds'] * 1e3:.1f}: {32 / m['step_seconds']:.0f} tokens a second"
    )


def b3():
    least, most = 1, 64
    while most - least > 1:
        middle = (least + most) // 2
        fits = modelled(answer(f"{DECODE} -s batch.size={middle}", show=False, expected=None))["fits"]
        least, most = (middle, most) if fits else (least, middle)
    plan = answer(f"{DECODE} -s batch.size={least}")
    near(least, (256e9 - 2 * PARAMETERS) / 327680 / 8192, "what memory leaves", 0.05)
    read = near(kernels(plan), 16e9 / V5E, "all of the memory read once", 0.05)
    return f"{least} sequences; {read * 1e3:.1f} ms, with collectives {modelled(plan)['step_seconds'] * 1e3:.1f}"


def b4():
    plan = answer(DECODE + " -s step=[prefill] -s batch.size=1 -s batch.seq=8192", expected=None)
    flops = plan["work"]["unsharded_flops"]
    without = 2 * (PARAMETERS - 2 * 128256 * 8192) * 8192
    near(flops, without + 2 * 80 * 64 * 128 * 8192 * 8192 + 2 * 128256 * 8192, "weights, and attention", 0.02)
    return f"{flops / (16 * V5E_FLOPS * 0.4):.2f} s at 40 %, of which attention is {(flops - without) / flops * 100:.0f} %"


def b5():
    flops = answer(DECODE + " -s step=[prefill] -s batch.size=1 -s batch.seq=8192", expected=None)["work"]["unsharded_flops"]
    step = modelled(answer(DECODE, expected=None))["step_seconds"]
    ratio = near(flops / (16 * V5E_FLOPS * 0.4) * 32 / (step * 512), 3, "the book's", 0.1)
    return f"{ratio:.2f} servers of prefill to one of decode"


# Chapter and question, the question in a few words, the function that answers it, the book's
# number, and the reason for a difference.
EXERCISES = [
    (
        "rooflines 1",
        "rows from which an int8 matmul keeps a v5e busy",
        r1,
        "243",
        "with all bytes, a little more",
    ),
    ("rooflines 2", "int8 weights, bfloat16 rows", r2, "120", "it rounds 8.1e11 and 1.97e14"),
    (
        "rooflines 4",
        "a matrix for each row: intensity",
        r4,
        "2 (int8), memory at any size",
        "bfloat16 has twice the bytes",
    ),
    ("rooflines 5", "rows for an H100", r5, "298; newer 295", "the older one takes 1e15 flops/s"),
    (
        "sharding 2",
        "v4 4x4x4, bfloat16 [1024, 4096] sharded twice: gathered over X; over X and Y; summed over Z",
        s2,
        "23 us; 46 us; 190, newer 11.6 us",
        "it drops (n-1)/n; 190 is of an array that is not sharded",
    ),
    ("sharding 3", "256 bytes gathered over X", s3, "2 us, latency", ""),
    (
        "sharding 4",
        "a weight sharded along the contracted dimension (v5p, 8192 x 32768, X = 4): gather it or all-reduce results",
        s4,
        "gathering is bound by compute from 2550 rows",
        "with (n-1)/n from 1913",
    ),
    (
        "sharding 10",
        "all-to-all to all-gather of the same array, a ring of 16 both ways",
        s10,
        "a quarter",
        "",
    ),
    (
        "transformers 4",
        "where attention is bound by compute (v5e)",
        t4,
        "S = 240 for many queries a key head; T G / (G+1)",
        "at T = S, twice 243 for one query a key head",
    ),
    (
        "transformers 7",
        "MFU of DeepSeek-V3's training",
        t7,
        "21.7 %",
        "it takes 37e9 weights, and no attention",
    ),
    (
        "training 2",
        "Llama 2 13B: state, and three activations saved per layer, 16e6 tokens",
        tr2,
        "130 GB; 42 TB",
        "",
    ),
    (
        "training 3",
        "the same on 16x16x16 v5p, 3e6 tokens",
        tr3,
        "no; FSDP bound by the network; with TP by compute, 300 ms at 40 %",
        "1,024 shards, for 4,096 divide no dimension; 3 Mi tokens; FSDP and TP are each compared with the matmuls, as in the book",
    ),
    (
        "applied: a token",
        "Llama 3 70B: flops, time on a v5p",
        a2,
        "4.2e11, 1 ms",
        "it counts the embedding table; we count attention",
    ),
    ("applied: all", "15e12 tokens on one v5p", a3, "435 years", "as above"),
    ("applied: a pod", "on 8,960 at 40 %", a4, "44 days", "as above"),
    (
        "applied: fewest",
        "chips by memory, two activations saved per layer",
        a5,
        "21.6 TB, 225 (four arrays); newer 11.2 TB, 117",
        "4 Mi tokens, not 4e6",
    ),
    (
        "applied: memory",
        "of each of 8,960",
        a6,
        "2.4 GB (four arrays); newer 1.3",
        "8,192 chips; the total has gradients and gathered parameters, which it leaves out",
    ),
    (
        "applied: FSDP",
        "4 Mi tokens: which bound",
        a8,
        "network: 468 tokens a chip, 850 needed",
        "8,192 chips: 512",
    ),
    (
        "applied: FSDP and TP",
        "2,048 x 4",
        a9,
        "compute: 453 tokens needed; newer 113",
        "transfers are each compared with the matmuls, as in the book; the step is longer: matmuls wait for TP's transfers",
    ),
    ("inference: a KV cache", "Llama 2 13B, 8,192 tokens", i1, "6.7 GB", ""),
    (
        "inference: steps",
        "the same on 8 v5e: a decode of 1, 8 and 16 sequences; with 8 key heads of 1, 8, 16 and 64",
        i2,
        "4.98 12.13 20.30 ms; 4.17 5.60 7.23 17.04",
        "it reads weights and caches at 820 GB/s a chip, and takes as many weights with fewer key heads",
    ),
    ("inference 1", "the book's example model: parameters; KV cache of a token", i3, "18.4e9", ""),
    ("inference 3", "its weights read once, on 16 v5e", i4, "no number: 1.42 ms in int8 by its formula", "twice the bytes"),
    (
        "serving: a token",
        "Llama 3 70B: KV cache of a token, of 32,768",
        b1,
        "324 kB; in int8 160 kB, 5.3 GB",
        "",
    ),
    (
        "serving: 32 sequences",
        "of 8,192 tokens: bytes; a decode",
        b2,
        "112 GB in int8; 17 ms on 8 chips",
        "twice the bytes on twice the chips",
    ),
    (
        "serving: most",
        "sequences of 8,192 tokens that fit on 16 v5e in bfloat16; their decode",
        b3,
        "43; 19 ms",
        "activations take some; it omits collectives",
    ),
    ("serving: prefill", "8,192 tokens on 16 v5e at 40 %", b4, "0.91 s", "it counts the embedding table, and no attention"),
    (
        "serving: servers",
        "of prefill to decode, 8,192 tokens in and 512 out",
        b5,
        "3",
        "32 sequences, as it takes",
    ),
]


def table():
    out = "| exercise | | commands | shardsim | the book | |\n|---|---|---|---|---|---|\n"
    for where, asked, solve, book, why in EXERCISES:
        said.clear()
        ours = solve()
        commands = "<br>".join(f"`{line}`" for line in said)
        out += f"| {where} | {asked} | {commands} | {ours} | {book} | {why} |\n"
    return out


def main():
    made = table()
    if len(sys.argv) < 5:
        print(made, end="")
        return
    with open(sys.argv[4], encoding="utf-8") as page:
        text = page.read()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    if sys.argv[3] == "--update":
        with open(sys.argv[4], "w", encoding="utf-8") as page:
            page.write(text[:begin] + made + text[end:])
    elif text[begin:end] != made:
        sys.exit("the page has\n" + text[begin:end] + "not\n" + made)


if __name__ == "__main__":
    main()
