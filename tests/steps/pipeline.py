#!/usr/bin/env python3
"""The table of docs/pipeline.md is what the program answers, and the answers are the formulas.

Formulas are written here a second time, as fractions of the whole step with F = I = W = 1 and B = 2.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys
from fractions import Fraction

BEGIN, END = "<!-- made by tests/steps/pipeline.py -->\n", "<!-- to here -->\n"

# name, stages per rank, idle : work as text and as numbers, the least number of microbatches for
# which that holds; the live microbatches of the rank with the most, as text and as numbers, and the
# least number of microbatches for that; source
SCHEDULES = [
    ("GPipe", 1, "(p-1) : m", lambda p, m: (p - 1, m), lambda p: 1,
     "m", lambda p, m: m, lambda p: 1, "1811.06965"),
    ("1F1B", 1, "(p-1) : m", lambda p, m: (p - 1, m), lambda p: 1,
     "min(m, p)", min, lambda p: 1, "2006.09503"),
    ("Interleaved1F1B", 2, "(p-1) : vm", lambda p, m: (p - 1, 2 * m), lambda p: p,
     "p + (p-1)/v", lambda p, m: min(Fraction(m), p + Fraction(p - 1, 2)), lambda p: p, "2104.04473"),
    ("LoopedBFS", 2, "(p-1) : vm", lambda p, m: (p - 1, 2 * m), lambda p: p,
     "m", lambda p, m: m, lambda p: 1, "2211.05953"),
    ("ZBH1", 1, "(p-1) : 3m", lambda p, m: (p - 1, 3 * m), lambda p: p,
     "min(m, p)", min, lambda p: 1, "2401.10241"),
    ("InterleavedZeroBubble", 2, "(p-1) : 3vm", lambda p, m: (p - 1, 6 * m), lambda p: p,
     None, None, None, "2401.10241"),
    ("ZBVZeroBubble", 2, "(p-1) : 6m", lambda p, m: (p - 1, 6 * m), lambda p: 2 * p - 1,
     "p", lambda p, m: p, lambda p: 2 * p - 1, "2401.10241"),
    ("DualPipeV", 2, "2(p-1) : 6m", lambda p, m: (2 * (p - 1), 6 * m), lambda p: 2 * p,
     "p + 1/2", lambda p, m: p + Fraction(1, 2), lambda p: 2 * p, "2412.19437"),
]
RANKS, ROUNDS = (2, 4, 8), (1, 2, 4)
TIMES = {"F": 1, "B": 2, "I": 1, "W": 1, "FB": 3}


def ask(program):
    cases = [(s, p, k * p) for s in SCHEDULES for p in RANKS for k in ROUNDS]
    lines = [json.dumps({"id": i, "op": "pipeline.schedule",
                         "in": {"schedule": s[0], "pp": p, "stages_per_rank": s[1],
                                "microbatches": m, "times": TIMES}})
             for i, (s, p, m) in enumerate(cases)]
    out = subprocess.run([program, "query"], input="\n".join(lines) + "\n", text=True,
                         stdout=subprocess.PIPE, check=True).stdout.splitlines()
    return {(s[0], p, m): json.loads(line).get("out") for (s, p, m), line in zip(cases, out)}


def number(x):
    return "%.4g" % float(x)


def percent(x):
    return "%.1f" % (100 * x)


def live_of(answer, stages):
    return Fraction(max(answer["peak_live_until_W_or_B"]), stages)


def check(answers):
    """Errors of schedules against their formulas."""
    wrong, ncompared = [], 0
    for name, v, _, idle, holds, _, live, live_holds, _ in SCHEDULES:
        for p in RANKS:
            for m in (k * p for k in ROUNDS):
                answer = answers[name, p, m]
                if not answer:
                    if name != "DualPipeV" or m >= 2 * p:
                        wrong.append("%s p %d m %d: no answer" % (name, p, m))
                    continue
                if m >= holds(p):
                    rest, work = idle(p, m)
                    ncompared += 1
                    if abs(answer["bubble_fraction"] - rest / (rest + work)) > 1e-12:
                        wrong.append("%s p %d m %d: bubble %r" % (name, p, m, answer["bubble_fraction"]))
                if live and m >= live_holds(p):
                    ncompared += 1
                    if live_of(answer, v) != live(p, m):
                        wrong.append("%s p %d m %d: live %s" % (name, p, m, live_of(answer, v)))
    return wrong if ncompared > 100 else wrong + ["only %d compared" % ncompared]


def table(answers):
    lines = ["| schedule | v | idle : work | " + " | ".join("p = %d" % p for p in RANKS) +
             " | alive | p = 2 | p = 4 | p = 8 | source |",
             "|---|---|---|" + "---|" * (2 * len(RANKS) + 2)]
    for name, v, text, _, holds, live_text, _, _, source in SCHEDULES:
        bubbles, lives = [], []
        for p in RANKS:
            cells = []
            for m in (k * p for k in ROUNDS):
                answer = answers[name, p, m]
                cells.append("-" if not answer else percent(answer["bubble_fraction"]) +
                             ("" if m >= holds(p) else "*"))
            bubbles.append(" ".join(cells))
            lives.append(number(live_of(answers[name, p, 4 * p], v)))
        lines.append("| %s | %d | %s | %s | %s | %s | [%s](https://arxiv.org/abs/%s) |" %
                     (name, v, text, " | ".join(bubbles), live_text or "", " | ".join(lives),
                      source, source))
    return "\n".join(lines) + "\n"


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--program", required=True)
    a.add_argument("page")
    a = a.parse_args()
    answers = ask(a.program)
    wrong = check(answers)
    with open(a.page, encoding="utf-8") as f:
        page = f.read()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    made = head + BEGIN + table(answers) + END + tail
    if os.environ.get("PIPELINE_UPDATE") == "1" and made != page:
        with open(a.page, "w", encoding="utf-8") as f:
            f.write(made)
        page = made
    for n, (good, what) in enumerate([(not wrong, "bubbles and live microbatches are the formulas'"),
                                      (made == page, "the table of the page is what the program answers")]):
        print("%sok %d - pipeline: %s" % ("" if good else "not ", n + 1, what))
    for line in wrong:
        print("#", line)
    print("1..2")


if __name__ == "__main__":
    sys.exit(main())
