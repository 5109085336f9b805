#!/usr/bin/env python3
"""Ask shardsim and other tools for the time of published training steps, row by row, in one run.

    peers_time.py [--program ./shardsim] [--calculon DIR] [--simumax DIR] [--python PYTHON]
                  [--json FILE] [--csv FILE] ROWS.jsonl...

DIR: a checkout of github.com/calculon-ai/calculon or github.com/MooreThreads/SimuMax; this file contains no
part of them.  SimuMax needs numpy, pandas, sympy and matplotlib, which PYTHON must have.  ROWS: measured
steps, each a question of plan.train_step ("in") and its time ("measured").  A further tool `constant` assumes
one efficiency for all rows of a set, the median of the set.

Each of the other tools is asked twice: with its own A100 file as shipped, and (`-links`) with the links that
the cluster's owners state.  A row that a tool cannot express does not count in the tool's error, and the reason
is listed.  Properties that a tool does not know are left out of its question: Calculon knows no vocabulary and no
bf16 on A100s (asked as float16), SimuMax no unfused attention.

Prints a table.  --json: writes its figures, and keeps the figures in FILE of tools that are not asked now;
--csv: writes the seconds of each row.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import csv
import json
import os
import re
import subprocess
import sys
import time
from statistics import median

# GB/s of each device between nodes, one way, as stated for the clusters.
BETWEEN = {"a100-80g-selene": 25.0, "a100-80g-vtrain": 12.5, "a100-80g-jeanzay": 6.25}
A100 = tuple(BETWEEN)
WITHIN = 300.0  # NVLink3, each device, one way
NODE = 8
SIMUMAX_OLD = "95a0211"  # last commit of SimuMax's A100 with NVLink, configs/system/a100_bf16.json


# ---- rows that each tool can express ----


def cannot(q, tool):
    """All reasons why a tool cannot express a row; None: it can."""
    m, why = q["model"], []
    if q["zero_stage"] > 1:
        why.append("ZeRO-3" if q["zero_stage"] == 3 else "ZeRO-2")
    if q["hardware"].startswith("tpu"):
        why.append("no file of TPUs")
    elif q["hardware"].startswith("h100") and tool == "simumax":
        why.append("no file of H100s")
    elif q["hardware"] not in A100 and not why:
        why.append("links not stated in this script")
    if q["recompute"] not in ("none", "full", "selective"):
        why.append("recomputation by op or layer")
    if q["cp"] > 1 or q["ep"] > 1 and tool == "calculon":
        why.append("context or expert parallelism")
    if tool == "calculon":
        why += [
            w
            for w, there in (
                ("gated mlp", m["gated_mlp"]),
                ("grouped key heads", m["kv_heads"] != m["heads"]),
                ("fused attention", q["flash_attention"]),
            )
            if there
        ]
    return ", ".join(why) or None


def net_of(q):
    """How many devices a group of tensor, data, pipeline parallelism spans, the innermost first, as Megatron lays them."""
    t = q["tp"]
    d = t * q["dp"]
    return t, d, d * q["pp"]


# ---- the side that runs inside a tool's checkout ----


def ask_calculon(folder, links):
    import logging

    sys.path.insert(0, folder)
    import calculon
    from calculon import System
    from calculon.llm.llm import Llm

    log = logging.getLogger("calculon")
    log.setLevel(logging.ERROR)
    with open(os.path.join(folder, "systems", "a100_80g.json")) as f:
        shipped = f.read()

    def answer(q):
        m, system = q["model"], json.loads(shipped)
        if links:
            system["networks"][0]["bandwidth"] = WITHIN
            system["networks"][1]["bandwidth"] = BETWEEN[q["hardware"]]
        system["mem1"]["GiB"] = 1e6  # ample, because only the time is asked
        t, d, p = net_of(q)
        inside = lambda n: n <= NODE and NODE % n == 0
        app = Llm.Application(
            {
                "hidden": m["hidden"],
                "feedforward": m["mlp_dim"],
                "seq_size": m["seq"],
                "attn_heads": m["heads"],
                "attn_size": m.get("head_dim", m["hidden"] // m["heads"]),
                "num_blocks": m["layers"],
            }
        )
        sp, re = (
            q["sequence_parallel"],
            {"full": "full", "selective": "attn_only", "none": "none"}[q["recompute"]],
        )
        exe = Llm.Execution.from_json(
            {
                "num_procs": q["devices"],
                "tensor_par": q["tp"],
                "pipeline_par": q["pp"],
                "data_par": q["dp"],
                "tensor_par_net": 0 if inside(t) else 1,
                "data_par_net": 0 if inside(d) else 1,
                "pipeline_par_net": 0 if inside(p) else 1,
                "batch_size": q["global_batch"],
                "microbatch_size": q["micro_batch"],
                "datatype": "float16",
                "fused_activation": False,
                "attention_type": "multihead",
                "activation_recompute": re,
                "pipeline_interleaving": q["virtual_stages"],
                "optimizer_sharding": q["zero_stage"] > 0 and q["dp"] > 1,
                "tensor_par_comm_type": "rs_ag" if sp else "ar",
                "tensor_par_overlap": "none",
                "seq_par_ag_redo": sp and re != "full",
                "data_par_overlap": False,
                "weight_offload": False,
                "activations_offload": False,
                "optimizer_offload": False,
                "training": True,
            }
        )
        model = Llm(app, log)
        syst = System(system)
        model.compile(syst, exe)
        model.run(syst)
        s = model.get_stats_json(False)
        return {"step_seconds": s["total_time"], "peak_bytes": s["proc_mem_tier1_cap_req"]}

    return answer


def ask_simumax(folder, links):
    import contextlib, io, warnings

    warnings.simplefilter("ignore")
    sys.path.insert(0, folder)
    from simumax.core.config import ModelConfig, StrategyConfig, SystemConfig
    from simumax.core.perf_llm import PerfLLM

    with open(os.path.join(folder, "configs", "system", "a100_pcie.json")) as f:
        shipped = f.read()
    nvlink = None
    if (
        links
    ):  # the one A100 that it ships is PCIe's; an older commit had one with NVLink, of which the links are taken
        text = subprocess.run(
            ["git", "-C", folder, "show", SIMUMAX_OLD + ":configs/system/a100_bf16.json"],
            stdout=subprocess.PIPE,
        ).stdout
        if not text:
            sys.exit(f"{folder}: no commit {SIMUMAX_OLD}; fetch the whole history")
        nvlink = json.loads(text)["networks"]

    def bytes_of(x):
        if isinstance(x, (int, float)):
            return x
        n, u = re.match(r"([\d.]+)\s*([A-Za-z]*)", str(x)).groups()
        return float(n) * {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}[u[:1].lower()]

    def answer(q):
        m, system = q["model"], json.loads(shipped)
        if links:
            system["networks"] = json.loads(json.dumps(nvlink))
            for tier in ("low_intra_node", "high_intra_node"):
                system["networks"][tier]["bandwidth"]["gbps"] = WITHIN
            system["networks"]["inter_node"]["bandwidth"]["gbps"] = (
                BETWEEN[q["hardware"]] * NODE
            )  # it counts a node's
        if q["global_batch"] % (q["dp"] * q["micro_batch"]):
            raise ValueError("the batch does not divide")
        layers, pp = m["layers"], q["pp"]
        s = {
            "seq_len": m["seq"],
            "micro_batch_size": q["micro_batch"],
            "micro_batch_num": q["global_batch"] // (q["dp"] * q["micro_batch"]),
            "dtype": "bf16",
            "world_size": q["devices"],
            "tp_size": q["tp"],
            "pp_size": pp,
            "ep_size": 1,
            "etp_size": 1,
            "enable_sequence_parallel": q["sequence_parallel"],
            "interleaving_size": q["virtual_stages"],
            "pp_comm_async": q["virtual_stages"] == 1,
            "zero_state": q["zero_stage"],
            "overlap_grad_reduce": False,
            "enable_recompute": q["recompute"] != "none",
            "recompute_granularity": {"full": "full_block", "selective": "sdp_only", "none": None}[
                q["recompute"]
            ],
            "recompute_layer_num": 0 if q["recompute"] == "none" else layers,
        }
        if layers % pp:
            if (layers + 2) % pp == 0:
                s["account_for_embedding_in_pipeline_split"] = s["account_for_loss_in_pipeline_split"] = True
            else:
                s["num_layers_in_last_pipeline_stage"] = layers - (-(-layers // pp)) * (pp - 1)
                if s["num_layers_in_last_pipeline_stage"] < 1:
                    raise ValueError("layers do not divide")
        model = {
            "hidden_size": m["hidden"],
            "head_num": m["heads"],
            "kv_head_num": m["kv_heads"],
            "head_size": m.get("head_dim", m["hidden"] // m["heads"]),
            "intermediate_size": m["mlp_dim"],
            "layer_num": layers,
            "vocab_size": m["vocab"],
            "use_swiglu": m["gated_mlp"],
        }
        perf = PerfLLM()
        with contextlib.redirect_stdout(io.StringIO()):
            perf.configure(
                strategy_config=StrategyConfig.init_from_dict(s),
                model_config=ModelConfig.init_from_dict(model),
                system_config=SystemConfig.init_from_dict(system),
            )
            perf.run_estimate()
            cost, mem = perf.analysis_cost().data, perf.analysis_mem().data
        peaks = [mem] if "peak_mem" in mem else list(mem.values())
        return {
            "step_seconds": q["global_batch"] * m["seq"] / cost["throughput_per_accelerator"] / q["devices"],
            "peak_bytes": max(bytes_of(p["peak_mem_with_reserved"]) for p in peaks),
        }

    return answer


def serve(tool, folder, links):
    """Rows on standard input, answers on standard output, a line each."""
    answer = {"calculon": ask_calculon, "simumax": ask_simumax}[tool](folder, links)
    for line in sys.stdin:
        r = json.loads(line)
        why = cannot(r["in"], tool)
        try:
            o = {"cannot": why} if why else answer(r["in"])
        except Exception as e:  # a tool's own refusal
            o = {
                "cannot": "refused: "
                + (re.sub(r"\d+(\.\d+)?", "N", str(e)).splitlines() or [type(e).__name__])[0][:90]
            }
        print(json.dumps({"id": r["id"], **o}), flush=True)


# ---- the side that asks ----


def flops(q):
    """Hardware flops of a step: 6 a weight and token (8 with full recompute), attention counted full."""
    m = q["model"]
    k = m.get("head_dim", m["hidden"] // m["heads"])
    w = m["layers"] * (
        m["hidden"] * k * (2 * m["heads"] + 2 * m["kv_heads"])
        + (3 if m["gated_mlp"] else 2) * m["hidden"] * m["mlp_dim"]
    )
    again = 4 / 3 if q["recompute"] == "full" else 1
    return (
        q["global_batch"]
        * m["seq"]
        * ((6 * w + 12 * m["layers"] * m["heads"] * k * m["seq"]) * again + 6 * m["hidden"] * m["vocab"])
    )


def ranks(v):
    """Mean ranks: ties share theirs."""
    s = sorted(v)
    first, last = {}, {}
    for n, x in enumerate(s):
        first.setdefault(x, n)
        last[x] = n
    return [(first[x] + last[x]) / 2 for x in v]


def spearman(pairs):
    a, b = ranks([x for x, _ in pairs]), ranks([y for _, y in pairs])
    mean = (len(pairs) - 1) / 2
    va, vb = sum((x - mean) ** 2 for x in a), sum((y - mean) ** 2 for y in b)
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / (va * vb) ** 0.5 if va and vb else 0.0


def ranking(said, got):
    """Layouts of equal model, batch, hardware and devices: rank correlation, and the loss of the predicted best layout."""
    groups = {}
    for r in said:
        q = r["in"]
        groups.setdefault(
            json.dumps(
                [q["model"], q["hardware"], q["devices"], q["global_batch"], q["dtype"]], sort_keys=True
            ),
            [],
        ).append((got[r["id"]]["step_seconds"], r["measured"]["step_seconds"]))
    groups = [g for g in groups.values() if len(g) >= 5]
    if not groups:
        return {}
    loss = [100 * (max(y for t, y in g if t == min(g)[0]) / min(y for _, y in g) - 1) for g in groups]
    return {
        "groups": len(groups),
        "spearman": sum(map(spearman, groups)) / len(groups),
        "regret": sum(loss) / len(loss),
        "regret_worst": max(loss),
    }


def ask(command, rows, wrap=lambda r: r):
    began = time.time()
    text = "".join(json.dumps(wrap(r)) + "\n" for r in rows)
    run = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=False)
    got = {}
    for line in run.stdout.decode("utf-8", "replace").splitlines():
        try:
            o = json.loads(line)
        except ValueError:
            continue
        got[o.get("id")] = o.get("out", o)
    return got, time.time() - began


def version(folder):
    p = subprocess.run(
        ["git", "-C", folder, "log", "-1", "--format=%H %cs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return p.stdout.decode().strip()


def said_by(answers, rows):
    return [r for r in rows if isinstance(answers.get(r["id"], {}).get("step_seconds"), (int, float))]


def constant(rows):
    """Seconds of each row if all had the efficiency of the median."""
    work = {r["id"]: flops(r["in"]) / r["in"]["devices"] for r in rows}
    rate = median([work[r["id"]] / r["measured"]["step_seconds"] for r in rows])
    return {i: {"step_seconds": w / rate} for i, w in work.items()}


def errors(rows, answers):
    """Of step times, in % of the measured ones."""
    off = [100 * (answers[r["id"]]["step_seconds"] / r["measured"]["step_seconds"] - 1) for r in rows]
    return {"rows": len(rows), "mape": sum(map(abs, off)) / len(off), "median": median(map(abs, off)),
            "bias": sum(off) / len(off), "worst": max(map(abs, off))}


def memory(rows, answers):
    off = [100 * (answers[r["id"]]["peak_bytes"] / r["measured"]["peak_bytes"] - 1)
           for r in rows if "peak_bytes" in r["measured"] and answers[r["id"]].get("peak_bytes")]
    if not off:
        return {}
    return {"memory_rows": len(off), "memory_mape": sum(map(abs, off)) / len(off),
            "memory_bias": sum(off) / len(off)}


def figures(rows, answers):
    """Of one tool and one set."""
    said = said_by(answers, rows)
    out = {"rows": 0}
    if said:
        out = {**errors(said, answers), **ranking(said, answers), **memory(said, answers),
               "constant": errors(said, constant(said))["mape"]}
    why = collections.Counter(answers.get(r["id"], {}).get("cannot", "no answer") for r in rows if r not in said)
    if why:
        out["cannot"] = dict(why)
    return out


def line_of(name, tool, of, c):
    text = f"{name:14} {tool:14} {c['rows']:4}/{of:4}"
    if c["rows"]:
        text += f" {c['mape']:7.2f} {c['median']:7.2f} {c['bias']:7.2f} {c['worst']:6.1f} {c['constant']:8.2f} |"
        text += (f" {c['groups']:6} {c['spearman']:8.3f} {c['regret']:6.2f} {c['regret_worst']:6.1f} |"
                 if "groups" in c else f"{'':31}|")
    if "memory_rows" in c:
        text += f" {c['memory_rows']:6} {c['memory_mape']:6.1f} {c['memory_bias']:6.1f}"
    return text.rstrip(" |")


def options():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for tool in ("program", "calculon", "simumax", "json", "csv"):
        ap.add_argument("--" + tool)
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("rows", nargs="+")
    return ap.parse_args()


def ask_all(a, rows):
    """Answers, version and seconds of each tool."""
    tools, versions, seconds = {}, {}, {}
    if a.program:
        tools["shardsim"], seconds["shardsim"] = ask(
            [a.program, "query"], rows, lambda r: {"id": r["id"], "op": "plan.train_step", "in": r["in"]})
    for tool in ("calculon", "simumax"):
        if not getattr(a, tool):
            continue
        folder = os.path.abspath(getattr(a, tool))
        for name, links in ((tool, "shipped"), (tool + "-links", "links")):
            versions[name] = version(folder)
            tools[name], seconds[name] = ask(
                [a.python, os.path.abspath(__file__), "--serve", tool, folder, links], rows)
    return tools, versions, seconds


def read_kept(name):
    if not name or not os.path.exists(name):
        return {"versions": {}, "sets": {}}
    with open(name, encoding="utf-8") as f:
        return json.load(f)


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--serve":
        serve(sys.argv[2], sys.argv[3], sys.argv[4] == "links")
        return
    a = options()
    rows = []
    for name in a.rows:
        with open(name, encoding="utf-8") as f:
            rows += [r for r in map(json.loads, f) if "step_seconds" in r["measured"]]
    tools, versions, seconds = ask_all(a, rows)
    kept = read_kept(a.json)
    kept["versions"].update(versions)
    print(f"{'set':14} {'tool':14}      rows    MAPE  median    bias  worst constant | groups Spearman regret  worst"
          " | memory   MAPE   bias")
    print("# % of what was measured, over the rows that a tool supports; constant: one efficiency, the same rows")
    for name in dict.fromkeys(r["set"] for r in rows):
        some = [r for r in rows if r["set"] == name]
        here = kept["sets"].setdefault(name, {})
        here["rows"] = len(some)
        for tool, answers in [("constant", constant(some)), *tools.items()]:
            here[tool] = figures(some, answers)
            print(line_of(name, tool, len(some), here[tool]))
    for name, here in kept["sets"].items():
        for tool in tools:
            for why, n in sorted(here.get(tool, {}).get("cannot", {}).items()):
                print(f"# {tool}: {n} of {name} not supported: {why}")
    for tool, text in versions.items():
        print(f"# {tool} {text}")
    print("# seconds asked: " + ", ".join(f"{t} {s:.1f}" for t, s in seconds.items()))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(kept, f, indent=1, sort_keys=True)
            f.write("\n")
    if a.csv:
        with open(a.csv, "w", newline="", encoding="utf-8") as f:
            out = csv.writer(f, lineterminator="\n")
            out.writerow(["set", "id", "measured_s", *tools])
            for r in rows:
                out.writerow([r["set"], r["id"], r["measured"]["step_seconds"],
                              *(t.get(r["id"], {}).get("step_seconds") for t in tools.values())])


if __name__ == "__main__":
    main()
