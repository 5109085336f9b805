#!/usr/bin/env python3
"""Search the best layout of GPT3-175B on 4,096 A100s with shardsim and with Calculon, and price each result by both models.

    search_vs_calculon.py --program ./shardsim --calculon DIR [--python PYTHON] [--plans N] [--top N] [--output FILE.md]

DIR: a checkout of github.com/calculon-ai/calculon (this file contains no part of it); PYTHON: one with numpy, pandas and
psutil, which Calculon needs.  Calculon's search is its own command on one process, stopped early over microbatches as in
its README (-m), with its own files of the model and of the A100, but without the second memory for offloading, and
without overlap of transfers and computation, which the cluster of the scenario lacks as well.  Without --calculon the
table has shardsim alone, and says so.

Both search on one core.  shardsim is asked for a layout of Calculon by ranges of one value each.  Choices that only
Calculon has (two ways to sum activations) are left out, so that several of its rows are one layout of shardsim, with the
time of the best row.  Calculon has no vocabulary, context parallelism, order of axes or ZeRO beyond stage 1: it is asked
for a layout of shardsim without these, and the best of its own choices counts.

Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEVICES, BATCH = 4096, 1536
SCENARIO = os.path.join(HERE, "scenarios", "models", "gpt3-175b.yaml")
RECOMPUTE = {"none": "none", "selective": "attn_only", "full": "full"}  # ours: theirs
CHOICES = ("tp", "pp", "virtual", "microbatch", "recompute", "sp", "zero")


# ---- the side that runs inside Calculon's checkout ----


def price(folder, system):
    """Read executions as lines of JSON, and print their seconds, or null if Calculon refuses."""
    import logging

    sys.path.insert(0, folder)
    import calculon
    from calculon import System
    from calculon.llm.llm import Llm

    app = Llm.Application(calculon.io.read_json_file(os.path.join(folder, "models", "gpt3-175B.json")))
    syst = System(calculon.io.read_json_file(system))
    for line in sys.stdin:
        model = Llm(app, logging.Logger("calculon"))
        try:
            model.compile(syst, Llm.Execution.from_json(json.loads(line)))
            model.run(syst)
            print(model.get_total_time())
        except (Llm.Error, AssertionError):
            print("null")


# ---- Calculon from outside ----


def write_system(folder, out):
    with open(os.path.join(folder, "systems", "a100_80g.json"), encoding="utf-8") as f:
        system = json.load(f)
    system["mem2"]["GiB"] = 0
    with open(out, "w", encoding="utf-8") as f:
        json.dump(system, f)


def search_calculon(a, system, out):
    began = time.monotonic()
    run = subprocess.run(
        [a.python, "bin/calculon", "llm-optimal-execution", "models/gpt3-175B.json", str(DEVICES), str(BATCH), "float16",
         system, out, "-c", "1", "-m", "-t", str(a.top), "--no-tp-overlap", "--no-dp-overlap"],
        cwd=a.calculon, env={**os.environ, "PYTHONPATH": "."}, capture_output=True, text=True)
    seconds = time.monotonic() - began
    tried = re.search(r"Total executions: (\d+)", run.stdout + run.stderr)
    if run.returncode != 0 or not tried:
        sys.exit("calculon's search failed: " + (run.stderr.strip().splitlines() or ["it says nothing"])[-1])
    with open(out, encoding="utf-8") as f:
        rows = json.load(f)
    return int(tried.group(1)), seconds, [rows[k] for k in sorted(rows, key=int)]


def executions(layout):
    """Calculon's options for a layout of ours; its other options are free."""
    sp, zero = layout["sp"] == "yes", layout["zero"] > 0
    tp, pp, dp = layout["tp"], layout["pp"], layout["dp"]
    nets = [(0, 1) if n > 1 else (0,) for n in (tp, pp, dp)]
    for redo, kind, net in itertools.product(
            (True, False) if sp and layout["recompute"] != "full" else (False,),
            ("rs_ag",) if sp else ("ar", "p2p_rs_ag"), itertools.product(*nets)):
        yield {"num_procs": DEVICES, "tensor_par": tp, "pipeline_par": pp, "data_par": dp, "tensor_par_net": net[0],
               "pipeline_par_net": net[1], "data_par_net": net[2], "batch_size": BATCH, "microbatch_size": layout["microbatch"],
               "datatype": "float16", "fused_activation": True, "attention_type": "multihead",
               "activation_recompute": RECOMPUTE[layout["recompute"]], "pipeline_interleaving": layout["virtual"],
               "optimizer_sharding": zero, "tensor_par_comm_type": kind, "tensor_par_overlap": "none", "seq_par_ag_redo": redo,
               "data_par_overlap": False, "weight_offload": False, "activations_offload": False, "optimizer_offload": False,
               "training": True}


def price_by_calculon(a, system, layout):
    """Seconds of the best execution that is this layout; None: Calculon has no such layout, or the layout does not fit."""
    if layout.get("cp", 1) > 1 or layout["recompute"] not in RECOMPUTE:
        return None
    text = "".join(json.dumps(e) + "\n" for e in executions(layout))
    run = subprocess.run([a.python, os.path.abspath(__file__), "--price", a.calculon, system], input=text, capture_output=True,
                         text=True, check=True)
    seconds = [json.loads(line) for line in run.stdout.split()]
    return min((s for s in seconds if s is not None), default=None)


def layout_of(row):
    """Calculon's row in our words."""
    e = row["execution"]
    return {"tp": e["tensor_par"], "pp": e["pipeline_par"], "dp": e["data_par"], "virtual": e["pipeline_interleaving"],
            "microbatch": e["microbatch_size"], "recompute": next(k for k, v in RECOMPUTE.items() if v == e["activation_recompute"]),
            "sp": "yes" if e["tensor_par_comm_type"] == "rs_ag" else "no", "zero": int(e["optimizer_sharding"])}


# ---- ours ----


def search_ours(a, *more):
    began = time.monotonic()
    run = subprocess.run([a.program, "search", SCENARIO, "--devices", str(DEVICES), "-q", "--json", "--threads", "1", *more],
                         capture_output=True, text=True)
    seconds = time.monotonic() - began
    if run.returncode != 0:
        return None, seconds, (run.stderr.strip().splitlines() or ["nothing fits"])[-1]
    return json.loads(run.stdout), seconds, None


def price_by_ours(a, layout):
    """Seconds of the layout with axes in the usual order, or None."""
    ranges = [f"--range={c}={layout[c]}" for c in CHOICES]
    shards = layout["dp"] if layout["zero"] else 1
    found, _, _ = search_ours(a, *ranges, f"--range=shards={shards}", "--range=cp=1", "--range=order=pp-dp-cp-tp",
                              "--forbid=schedule=ZBH1", "--plans", "1")
    return found["best"][0]["step_seconds"] if found and found["best"] else None


# ---- figures ----


def words(layout):
    """The name of a layout in the notation of shardsim search."""
    zero = f" z{layout['zero']}" if layout["zero"] else ""
    return (f"t{layout['tp']} p{layout['pp']} d{layout['dp']} v{layout['virtual']} mb{layout['microbatch']}{zero}"
            f"{' sp' if layout['sp'] == 'yes' else ''} recompute-{layout['recompute']}")


def ranks(values):
    """Mean ranks: ties share theirs."""
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) - 1) / 2 for v in values]


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    below = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return top / below if below else float("nan")


def regret(wanted, by):
    """By how many percent the choice of one model is longer in the other."""
    chosen = min(range(len(by)), key=by.__getitem__)
    return 100 * (wanted[chosen] / min(wanted) - 1)


def shown(seconds):
    return "none" if seconds is None else f"{seconds:.2f} s"


def rate(layouts, seconds):
    return f"{layouts:,} | {seconds:.0f} s | {layouts / seconds:,.0f}"


def distinct(rows):
    """Calculon's rows as shardsim layouts with Calculon's best time of each, in Calculon's order."""
    best = {}
    for row in rows:
        layout = layout_of(row)
        seconds = BATCH / row["stats"]["sample_rate"]
        key = tuple(layout.items())
        if key not in best or seconds < best[key]:
            best[key] = seconds
    return [(dict(key), seconds) for key, seconds in best.items()]


def compare(a, lines, ours):
    with tempfile.TemporaryDirectory() as folder:
        system = os.path.join(folder, "system.json")
        write_system(a.calculon, system)
        tried, seconds, rows = search_calculon(a, system, os.path.join(folder, "best.json"))
        layouts = distinct(rows)
        theirs, winner = layouts[0][0], ours["best"][0]["layout"]
        lines.insert(5, f"| Calculon | {rate(tried, seconds)} | {words(theirs)} |")
        lines += ["", "| winner of | layout | by shardsim | by Calculon |", "|---|---|---|---|",
                  f"| shardsim | {words(winner)} | {shown(ours['best'][0]['step_seconds'])} | "
                  f"{shown(price_by_calculon(a, system, winner))} |",
                  f"| Calculon | {words(theirs)} | {shown(price_by_ours(a, theirs))} | {shown(layouts[0][1])} |"]
    priced = [(price_by_ours(a, layout), there, layout) for layout, there in layouts]
    fit = [(here, there) for here, there, _ in priced if here is not None]
    refused = [words(layout) for here, _, layout in priced if here is None]
    lines += ["", f"Calculon's best {len(rows)} are {len(layouts)} layouts here, of which {len(fit)} fit, by shardsim's model, and divide."]
    if len(fit) > 1:
        here, there = zip(*fit)
        lines += [f"Their Spearman correlation is {spearman(here, there):.3f}. By shardsim's model Calculon's choice among them is "
                  f"{regret(here, there):.1f} % longer than the best; by Calculon's model shardsim's choice is {regret(there, here):.1f} % "
                  "longer."]
    if refused:
        lines += ["Not priced by shardsim: " + "; ".join(refused) + "."]


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--price":
        price(sys.argv[2], sys.argv[3])
        return
    ap = argparse.ArgumentParser(description="Search GPT3-175B on 4,096 A100s by shardsim and by Calculon.")
    ap.add_argument("--program", required=True)
    ap.add_argument("--calculon")
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--plans", default="40")
    ap.add_argument("--top", type=int, default=100)
    ap.add_argument("--output")
    a = ap.parse_args()
    ours, seconds, why = search_ours(a, "--plans", a.plans)
    if not ours or not ours["best"]:
        sys.exit("shardsim's search found nothing: " + (why or "no layout that was planned fits"))
    winner = ours["best"][0]["layout"]
    proven = ours["proven_seconds"]
    lines = ["GPT3-175B, batch 1,536, 4,096 A100s, one core each.", "",
             "| | layouts | time | layouts a second | winner |", "|---|---|---|---|---|",
             f"| shardsim | {rate(ours['layouts'], seconds)} | {words(winner)} |", "",
             f"shardsim planned {ours['plans']} layouts" +
             (f"; none of the others is below {proven:.2f} s." if proven else "; no other is better.")]
    if a.calculon:
        a.calculon = os.path.abspath(a.calculon)
        compare(a, lines, ours)
    else:
        lines += ["", "Calculon was not asked: --calculon names no checkout."]
    text = "\n".join(lines) + "\n"
    if a.output:
        with open(a.output, "w", encoding="utf-8") as f:
            f.write(text)
    print(text, end="")


if __name__ == "__main__":
    main()
