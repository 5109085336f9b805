#!/usr/bin/env python3
"""Search the layouts of large models with one thread, and tell effort, memory and proof; beside an earlier program if one is given.

    search_speed.py --program ./shardsim [--before ./shardsim] [--plans N] [--seconds N] [--only NAME] [--output FILE.md]

Seconds are of the processor, user's and system's, as other work on the machine does not count there; --seconds limits the
time of each search by the clock.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scenarios", "models")
QUESTIONS = {
    "gpt3-175b, 1,024 A100": ["gpt3-175b.yaml", "--devices", "1024"],
    "gpt3-175b, 4,096 A100": ["gpt3-175b.yaml", "--devices", "4096"],
    "llama3-70b, 512 H100": ["llama3-70b.yaml", "--devices", "512"],
    "llama3-405b, 16,384 H100": ["llama3-405b.yaml", "--strategy", "8k"],
    "mixtral-8x7b, 1,024 H100": ["mixtral-8x7b.yaml"],
    "deepseek-v3, 2,048 H800": ["deepseek-v3.yaml", "--set", "hardware=h800-sxm"],
}
HEAD = ["question", "program", "layouts", "plans", "processor", "peak memory", "best", "the best of all is at most shorter by"]


def search(program, question, a):
    command = [program, "search", os.path.join(MODELS, question[0]), *question[1:], "--threads", "1", "--quiet", "--json",
               "--plans", str(a.plans), "--seconds", str(a.seconds)]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        out.seek(0)
        found = json.load(out)
    return found, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(name, label, found, seconds, megabytes):
    best = found["best"][0]["step_seconds"] if found["best"] else None
    proven = found.get("proven_seconds")
    left = "0, exact" if found["exact"] else f"{100 * max(0, 1 - proven / best):.1f} %" if best and proven else "not known"
    return [name, label, f"{found['layouts']:,}", str(found["plans"]) + (", out of time" if found.get("cut_short") else ""),
            f"{seconds:.0f} s", f"{megabytes:,.0f} MB", f"{best:.3f} s" if best else "none", left]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--before")
    parser.add_argument("--plans", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", default="")
    parser.add_argument("--output")
    a = parser.parse_args()
    rows = [HEAD, ["---"] * len(HEAD)]
    for name, question in QUESTIONS.items():
        for label, program in (("before", a.before), ("now", a.program)):
            if program and a.only in name:
                rows.append(row(name, label, *search(program, question, a)))
                print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
    text = "".join("| " + " | ".join(r) + " |\n" for r in rows)
    if a.output:
        with open(a.output, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
