#!/usr/bin/env python3
"""Hold planned steps of serving against published measurements (bench/serving.csv, docs/serving_times.md).

usage: bench/serving.py PROGRAM [--set SET,..] [--sample] [--rows] [--page FILE] [--fit KEY,.. CLUSTER] [--write]

A row is of one batch of sequences: its prompts are taken in, then each step makes a token of every
sequence.  What was measured is the time until the last token (`seconds`), or the tokens made a second
(`tokens`, of all devices).  The program plans the prefill, and the decode behind a cache of the middle
length; the time is that of one prefill and of output - 1 decodes.

A row is in half 1 or 2 by its number's parity.  Constants (`serving:` of a cluster's file) are found from
half 1 by --fit, which prints the error of both halves, and of each set by constants found from the
others' rows alone.  Rows whose products are of 4 bits have no words here, rows of as many sequences
as fit (batch 0) say none, and rows whose caches do not fit at their full length were not one batch: all are
counted, not judged.
--sample takes a few rows of half 1 of each set, as tests do.
--write puts what rows had, and the claims, into the files of clusters; then build anew.
"""
import argparse
import collections
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "bench"))
import claims  # noqa: E402

GPT = "kind: gpt2, vocab: 51200, positions: 4096"
MODELS = {  # those without a size of their own
    "internlm-20b": "kind: llama3, layers: 60, d_model: 5120, d_ff: 13824, heads: 40, vocab: 103168",
    "gpt-20b": GPT + ", layers: 44, d_model: 6144, d_ff: 24576, heads: 48",
    "gpt-89b": GPT + ", layers: 48, d_model: 12288, d_ff: 49152, heads: 96",
    "gpt3-175b": GPT + ", layers: 96, d_model: 12288, d_ff: 49152, heads: 96",
    "mtnlg-530b": GPT + ", layers: 105, d_model: 20480, d_ff: 81920, heads: 128",
}
PRODUCTS = {
    "float8": "products: {recipe: tensorwise, amax: static}\n",
    "int8": "products: {weights: int8, except: []}\n",
    "int4": "products: {weights: int4, block: 32, except: []}\n",
}
RULES = {
    "": ["[(attn/(q|k|v)|mlp/(up|gate)|head)/kernel, [null, tp]]",
         "[(attn/o|mlp/down)/kernel|embed/table, [tp]]"],
    "gpt": ["[(attn/(q|k|v)|mlp/up)/kernel, [null, tp]]", "[(q|k|v|up)/bias, [tp]]",
            "[(attn/o|mlp/down)/kernel|embed/table, [tp]]"],
    "gpt-j": ["[(attn/(q|k|v)|mlp/up|head)/kernel, [null, tp]]", "[(up|head)/bias, [tp]]",
              "[(attn/o|mlp/down)/kernel|embed/table, [tp]]"],
    "falcon": ["[(attn/(q|k|v)|mlp/up)/kernel, [null, tp]]",
               "[(attn/o|mlp/down)/kernel|embed/table, [tp]]"],
    "mixtral": ["[(attn/(q|k|v)|head)/kernel, [null, tp]]", "[attn/o/kernel|embed/table, [tp]]",
                "[moe/(up|gate)/kernel, [null, null, tp]]", "[moe/down/kernel, [null, tp]]"],
}


def rules(model):
    family = next((f for f in ("gpt-j", "falcon", "mixtral") if model.startswith(f)), "")
    if not family and model.startswith(("gpt", "mtnlg")):
        family = "gpt"
    return "".join(f"\n  - {r}" for r in [*RULES[family], "[.*, []]"])


def scenario(row, step, context=0):
    name = row["model"]
    model = MODELS.get(name, f"size: {name}")
    text = (f"version: 1\nname: row\nhardware: {row['cluster']}\nmesh: {{tp: {row['tp']}}}\n"
            f"model: {{{model}, dtype: float16}}\nbatch: {{size: {row['batch']}, seq: {row['prompt']}}}\n"
            f"step: [{step}]\nparams:{rules(name)}\n")
    text += PRODUCTS.get(row["weights"], "")
    kept = ["cache: float8_e4m3"] if row["cache"] == "float8" else []
    behind = [f"context: {context}"] if context else []
    return text + (f"decode: {{{', '.join(kept + behind)}}}\n" if kept + behind else "")


class Asked:
    """Plans by scenario and constants; each is asked once."""

    def __init__(self, program):
        self.program, self.known = program, {}

    def plan(self, text, constants):
        key = text, tuple(sorted(constants.items()))
        if key not in self.known:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                line = [self.program, "plan", "-q", file.name, "--json"]
                for name, value in constants.items():
                    line += ["-s", f"hardware.serving.{name}={value}"]
                done = subprocess.run(line, capture_output=True, text=True)
            if done.returncode not in (0, 1):
                raise SystemExit(f"{text}\n{done.stderr}")
            answer = json.loads(done.stdout)
            self.known[key] = {**answer["time"]["modelled"],
                               "parameters": answer["memory"]["breakdown"]["parameters"]["model"]}
        return self.known[key]


def steps_of(asked, row, constants):
    """(prefill, decode in the middle), or None: the last decode's cache does not fit."""
    prompt, output = int(row["prompt"]), int(row["output"])
    prefill = asked.plan(scenario(row, "prefill"), constants)
    if output == 1:
        return prefill, None
    last = asked.plan(scenario(row, "decode", prompt + output - 1), {})
    if not last["fits"]:
        return None
    return prefill, asked.plan(scenario(row, "decode", prompt + output // 2), constants)


def seconds_of(row, steps):
    prefill, decode = steps
    return prefill["step_seconds"] + (int(row["output"]) - 1) * (decode["step_seconds"] if decode else 0)


def measured(row):
    value = float(row["value"])
    return int(row["batch"]) * int(row["output"]) / value if row["measured"] == "tokens" else value


def errors(asked, rows, constants):
    """The relative error of each row; None: it does not fit."""
    with ThreadPoolExecutor(2) as pool:
        steps = list(pool.map(lambda r: steps_of(asked, r, constants), rows))
    return [seconds_of(r, s) / measured(r) - 1 if s else None for r, s in zip(rows, steps)], steps


def mean(values):
    values = [abs(v) for v in values if v is not None]
    return statistics.mean(values) if values else math.nan


def of_half(rows, half):
    return [r for r in rows if int(r["row"]) % 2 == half % 2]


# ---- constants ----

GRID = {
    "launch": ["1us", "2us", "3us", "4us", "6us", "8us"],
    "step": ["0s", "500us", "1ms", "2ms", "3ms", "4ms"],
    "memory_efficiency": [0.7, 0.75, 0.8, 0.85, 0.9],
    "matmul_efficiency": [0.65, 0.7, 0.75, 0.8, 0.85],
    "attention_efficiency": [0.3, 0.45, 0.6],
    "attention_half_queries": [0, 5, 10, 20, 30, 45, 60],
    "direct_latency": ["5us", "10us", "15us", "20us", "30us", "50us"],
}
FITTED_TO = 6  # rows of each set at most, evenly over the half


def sample(rows):
    by_set = collections.defaultdict(list)
    for r in rows:
        by_set[r["set"]].append(r)
    return [r for s in by_set.values() for r in s[:: math.ceil(len(s) / FITTED_TO)]]


def score(asked, rows, constants):
    """The mean of the sets' mean errors, so that a large set does not decide alone."""
    by_set = collections.defaultdict(list)
    for row, error in zip(rows, errors(asked, rows, constants)[0]):
        by_set[row["set"]].append(error)
    return statistics.mean(mean(e) for e in by_set.values())


def fit(asked, rows, keys, constants):
    """Coordinate descent over the constants until no step helps."""
    rows = [r for r, e in zip(rows, errors(asked, rows, constants)[0]) if e is not None]
    best = score(asked, rows, constants)
    while True:
        before = best
        for key in keys:
            for value in GRID[key]:
                tried = {**constants, key: value}
                found = score(asked, rows, tried)
                if found < best - 1e-6:
                    best, constants = found, tried
        if best > before - 1e-3:
            return constants


def print_fit(asked, rows, keys):
    first, second = of_half(rows, 1), of_half(rows, 2)
    found = fit(asked, sample(first), keys, {})
    print("of half 1", found, flush=True)
    for half, these in ((1, first), (2, second)):
        print(f"half {half}: {100 * score(asked, these, found):.1f} %", flush=True)
    for left in sorted({r["set"] for r in rows}):
        refit = fit(asked, sample([r for r in first if r["set"] != left]), keys, found)
        held = [r for r in rows if r["set"] == left]
        print(f"{left} held out: mean error {100 * mean(errors(asked, held, refit)[0]):.1f} % with {refit}", flush=True)


# ---- tables ----


def table(heads, rows):
    return "\n".join("| " + " | ".join(r) + " |" for r in [heads, ["---"] * len(heads), *rows]) + "\n"


def percent(value):
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def judged(asked, rows):
    """(row, steps, error) of each row with a single batch."""
    found, steps = errors(asked, rows, {})
    return [(r, s, e) for r, s, e in zip(rows, steps, found) if e is not None]


def claim_on(steps):
    """The error that plans of the row's steps claim; None: extrapolated."""
    claims = [s["expected_error"] for s in steps if s]
    return None if None in claims else max(claims)


def set_row(name, rows, its, unsaid):
    halves = [percent(mean([e for r, _, e in its if int(r["row"]) % 2 == h])) for h in (1, 0)]
    bias = statistics.mean(e for _, _, e in its) if its else math.nan
    claims = [(claim_on(s), abs(e)) for _, s, e in its]
    known = [(c, e) for c, e in claims if c is not None]
    inside = sum(e <= c for c, e in known) / len(known) if known else math.nan
    return [name, str(len(rows) + unsaid), str(len(its)), *halves,
            "-" if math.isnan(bias) else f"{100 * bias:+.1f}",
            percent(mean([c for c, _ in known])), percent(inside), str(len(claims) - len(known))]


def print_errors(asked, said, unsaid, args):
    by_set = collections.defaultdict(list)
    for r in said:
        by_set[r["set"]].append(r)
    its = {name: judged(asked, rows) for name, rows in by_set.items()}
    heads = ["set", "rows", "judged", "half 1", "half 2", "bias", "claim", "within", "extrapolated"]
    names = sorted(set(by_set) | (set() if args.set else set(unsaid)))
    lines = [set_row(n, by_set[n], its.get(n, []), unsaid[n]) for n in names]
    lines.append(set_row("all", said, [i for n in its.values() for i in n], 0 if args.set else sum(unsaid.values())))
    text = table(heads, lines)
    print(text, end="")
    if args.rows:
        print_rows([i for n in its.values() for i in n])
    if args.page:
        page = Path(args.page)
        before, rest = page.read_text().split("<!-- errors: made by bench/serving.py -->\n")
        page.write_text(before + "<!-- errors: made by bench/serving.py -->\n" + text
                        + rest[rest.index("<!-- to here -->"):])
    if args.write:
        write([i for n in its.values() for i in n])


def print_rows(its):
    for r, (prefill, decode), error in its:
        each = 1e3 * (decode["step_seconds"] if decode else 0)
        print(f"{r['set']} {r['row']}: {r['model']} tp {r['tp']}, {r['batch']} x {r['prompt']}/{r['output']}: "
              f"{measured(r):.4g} s, prefill {prefill['step_seconds']:.4g} s, decode {each:.4g} ms, {100 * error:+.1f} %")


def entry(its):
    """The validation of a cluster's file, its claims from half 2, which constants are not fitted to."""
    steps = []
    for r, both, error in its:
        last = both[1] or both[0]
        steps.append({"error": abs(error), "alike": claims.alike(last["near"]), "half": int(r["row"]) % 2,
                      "with": [w for s in both if s for w in s["with"]],
                      "length": int(r["prompt"]) + int(r["output"]) - 1})
    second = [s for s in steps if s["half"] == 0]
    unfitted = mean([s["error"] for s in second])
    lines = claims.entry(second, unfitted)
    alike = claims.entry(steps, unfitted)
    parameters = [both[0]["parameters"] for _, both, _ in its]
    devices = [int(r["tp"]) for r, _, _ in its]
    shortest = min(int(r["prompt"]) for r, _, _ in its)
    return ["  - set: serving", f"    software: {', '.join(sorted({r['set'] for r, _, _ in its}))}",
            f"    rows: {len(its)}", f"    mape: {mean([s['error'] for s in steps if s['half']]):.4f}",
            f"    cross_validated_mape: {unfitted:.4f}",
            f"    parameters_least: {min(parameters)}", f"    parameters_most: {max(parameters)}",
            f"    devices_least: {min(devices)}", f"    devices_most: {max(devices)}",
            f"    length_least: {shortest}", *alike[1:3], *lines[3:]]


def write(its):
    by_cluster = collections.defaultdict(list)
    for i in its:
        by_cluster[i[0]["cluster"]].append(i)
    for cluster, these in by_cluster.items():
        path = TOP / "scenarios/hardware" / f"{cluster}.yaml"
        lines = path.read_text().splitlines()
        if "validation:" not in lines:
            lines.insert(lines.index("fitted:") if "fitted:" in lines else len(lines), "validation:")
        out, here = [], False
        for line in lines:
            here = line == "  - set: serving" or (here and line.startswith("    "))
            if not here:
                out.append(line)
            if line == "validation:":
                out += entry(these)
        path.write_text("\n".join(out) + "\n")


def rows_said():
    """Rows that a scenario can express, and the count of other rows of each set."""
    said, unsaid = [], collections.Counter()
    with open(TOP / "bench/serving.csv") as file:
        for row in csv.DictReader(file):
            if row["weights"] in ("float16", *PRODUCTS) and int(row["batch"]) > 0:
                said.append(row)
            else:
                unsaid[row["set"]] += 1
    return said, unsaid


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--set")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--page")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fit", nargs=2, metavar=("KEYS", "CLUSTER"))
    args = parser.parse_args()
    asked = Asked(args.program)
    said, unsaid = rows_said()
    said = [r for r in said if not args.set or r["set"] in args.set.split(",")]
    if args.sample:
        said = sample(of_half(said, 1))
    if args.fit:
        return print_fit(asked, [r for r in said if r["cluster"] == args.fit[1]], args.fit[0].split(","))
    return print_errors(asked, said, unsaid, args)


if __name__ == "__main__":
    main()
