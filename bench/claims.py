#!/usr/bin/env python3
"""Find the errors that clusters' files claim, write them, and hold them against the errors made.

usage: bench/claims.py PROGRAM ROWS [--write] [--page FILE]

ROWS is a folder of measured steps (docs/validation.md), PROGRAM answers them.  For each set of rows of a
cluster: what its steps had (`with`), the length of sequences, and the claim: the error that nine of ten
are within, of all rows, and of those that are alike (`near`: the same tensor parallelism, and the same
power of two of rows and of the inner dimension of products) where there are at least eight.
--write puts that into the files of scenarios/hardware; then build anew.  The page is of what files
claim now, and of the same claims cross-validated: rows are dealt to five folds, and the errors of each are
held against claims of the other four.
"""
import argparse
import collections
import json
import math
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FOLDS, FEW, SHARE = 5, 8, 0.9


def ask(program, rows):
    """The answer to each row, by id."""
    text = "".join(json.dumps({"id": r["id"], "op": "plan.train_step", "in": r["in"]}) + "\n" for r in rows)
    run = subprocess.run([program, "query"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return {a["id"]: a["out"] for a in map(json.loads, run.stdout.decode().splitlines()) if "out" in a}


def alike(near):
    return near["tensor"], *(1 << int(math.log2(max(1, near[k]))) for k in ("rows", "inner"))


def claim_of(errors):
    """The bound that holds nine of ten further errors, as order statistic of equally distributed errors."""
    errors = sorted(errors)
    return errors[min(len(errors), math.ceil(SHARE * (len(errors) + 1))) - 1]


def claims_of(steps):
    """The claim for all steps, and the claims for similar steps."""
    groups = collections.defaultdict(list)
    for s in steps:
        groups[s["alike"]].append(s["error"])
    near = {k: (len(v), claim_of(v)) for k, v in sorted(groups.items()) if len(v) >= FEW}
    return claim_of([s["error"] for s in steps]), near if len(near) > 1 else {}


def claimed(claims, step):
    every, near = claims
    return near[step["alike"]][1] if step["alike"] in near else every


def read(program, folder):
    """The steps of each cluster and set."""
    sets = collections.defaultdict(list)
    for path in sorted(Path(folder).glob("*.jsonl")):
        rows = [r for r in map(json.loads, path.read_text().splitlines()) if "step_seconds" in r["measured"]]
        answers = ask(program, rows)
        for r in rows:
            if r["id"] not in answers:
                continue
            a = answers[r["id"]]
            b = a["breakdown"]
            sets[r["in"]["hardware"], r["set"]].append({
                "error": abs(a["step_seconds"] / r["measured"]["step_seconds"] - 1), "alike": alike(b["near"]),
                "with": b["with"], "length": r["in"]["model"]["seq"], "claim": b["expected_error"],
                "beyond": b["extrapolated_in"]})
    return sets


def entry(steps, least):
    """The lines of a validation that are found here.  Few rows claim no less than `least`, the error of
    constants that are not fitted to them."""
    every, near = claims_of(steps)
    every = max(every, least) if len(steps) < FEW else every
    words = [w for s in steps for w in s["with"]]
    lengths = [s["length"] for s in steps]
    lines = [f"    length_least: {min(lengths)}", f"    length_most: {max(lengths)}",
             f"    with: [{', '.join(dict.fromkeys(words))}]", f"    claim: {every:.4f}"]
    if near:
        lines.append("    near:")
        lines += [f"      - {{tensor: {t}, rows: {m}, inner: {k}, steps: {n}, claim: {c:.4f}}}"
                  for (t, m, k), (n, c) in near.items()]
    return lines


def write(sets):
    mine = re.compile(r"    (length_least|length_most|with|claim|near|pipelines|experts):|      - \{tensor:")
    for (cluster, name), steps in sets.items():
        path = TOP / "scenarios/hardware" / f"{cluster}.yaml"
        lines, out, here, least = path.read_text().splitlines(), [], False, 0
        for line in lines + ["end"]:
            if here and not line.startswith("    "):
                out += entry(steps, least)
                here = False
            if line == f"  - set: {name}":
                here = True
            if here and line.startswith("    cross_validated_mape: "):
                least = float(line.split()[1])
            if line != "end" and not (here and mine.match(line)):
                out.append(line)
        path.write_text("\n".join(out) + "\n")


def crossed(steps):
    """Pairs of an error and its claim from steps of the other folds."""
    n = min(FOLDS, len(steps))
    for k in range(n):
        others = [s for i, s in enumerate(steps) if i % n != k]
        if others:
            claims = claims_of(others)
            yield from ((s["error"], claimed(claims, s)) for i, s in enumerate(steps) if i % n == k)


def row(name, pairs, beyond):
    errors, claims = [e for e, _ in pairs], [c for _, c in pairs]
    if not pairs:
        return f"| {name} | 0 | - | - | - | - | {beyond} |"
    inside = sum(e <= c for e, c in pairs) / len(pairs)
    mean, claim = sum(errors) / len(pairs), sum(claims) / len(pairs)
    return (f"| {name} | {len(pairs)} | {100 * mean:.1f} | {100 * claim:.1f} | {claim / mean:.2f} | "
            f"{100 * inside:.1f} | {beyond} |")


def page(sets):
    out = ["# Claimed and actual errors\n",
           "Made by `bench/claims.py`: published steps, the error that plans claim, and the actual error, in % of "
           "the measured step. *Within*: rows whose error is at most the claim. A step with a property that no validation "
           "step of its cluster's file had is *extrapolated*: no error is claimed. The second "
           "table compares each fifth of a set with claims found from the other four fifths.\n"]
    head = ("| set | rows | mean error | mean claim | claim/error | within | extrapolated |\n"
            "| --- | --- | --- | --- | --- | --- | --- |")
    for title, pairs_of in (("As files claim", lambda steps: [(s["error"], s["claim"]) for s in steps if s["claim"] is not None]),
                            ("Cross-validated", lambda steps: list(crossed([s for s in steps if s["claim"] is not None])))):
        every, beyond_all, rows = [], 0, []
        for (cluster, name), steps in sorted(sets.items()):
            pairs, beyond = pairs_of(steps), sum(s["claim"] is None for s in steps)
            rows.append(row(f"{name}, {cluster}", pairs, beyond))
            every, beyond_all = every + pairs, beyond_all + beyond
        out += [f"## {title}\n", head, *rows, row("all", every, beyond_all), ""]
    words = collections.Counter(w for steps in sets.values() for s in steps for w in s["beyond"])
    if words:
        out.append("Extrapolated in: " + ", ".join(f"{w} ({n} rows)" for w, n in sorted(words.items())) + ".\n")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page")
    o = parser.parse_args()
    sets = read(o.program, o.rows)
    if o.write:
        write({k: v for k, v in sets.items()
               if f"  - set: {k[1]}\n" in (TOP / "scenarios/hardware" / f"{k[0]}.yaml").read_text()})
    if o.page:
        Path(o.page).write_text(page(sets))


if __name__ == "__main__":
    main()
