#!/usr/bin/env python3
"""Search the layouts of large models with one thread, and tell effort, memory and proof; beside an earlier program if one is given.

    search_speed.py --program ./shardsim [--before ./shardsim] [--plans N] [--seconds N] [--only NAME] [--output FILE.md]

Seconds are of the processor, user's and system's, as other work on the machine does not count there: a search is interrupted
when it has taken --seconds of them, and reports the best so far.  When it has a first layout, and its best, is told by its
progress, which a terminal is shown ten times a second: a search writes to a pseudo-terminal.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scenarios", "models")
QUESTIONS = {
    "gpt3-175b, 1,024 A100": ["gpt3-175b.yaml", "--devices", "1024"],
    "gpt3-175b, 4,096 A100": ["gpt3-175b.yaml", "--devices", "4096"],
    "llama3-70b, 512 H100": ["llama3-70b.yaml", "--devices", "512"],
    "llama3-405b, 16,384 H100": ["llama3-405b.yaml", "--strategy", "8k"],
    "mixtral-8x7b, 1,024 H100": ["mixtral-8x7b.yaml"],
    "deepseek-v3, 2,048 H800": ["deepseek-v3.yaml", "--set", "hardware=h800-sxm"],
    "qwen3-235b, 64 H100": ["qwen3-235b-a22b", "--hardware", "h100-sxm", "--devices", "64"],
    "qwen3-30b, 131,072 tokens, 64 H100": ["qwen3-30b-a3b", "--hardware", "h100-sxm", "--devices", "64", "--seq", "131072"],
}
HEAD = ["question", "program", "layouts", "plans", "processor", "first layout", "the best", "peak memory", "best",
        "the best of all is at most shorter by"]


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def written(terminal):
    """What a search has written to a terminal since it was last read."""
    try:
        return os.read(terminal, 1 << 16).decode(errors="replace")
    except OSError:  # nothing is there yet, or the search has ended
        return ""


def watch(process, terminal, seconds):
    """Interrupt a search that has taken its seconds; tell when it has had a first layout, and its best."""
    first = last = best = None
    stopped = False
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        spent = processor_seconds(process.pid)
        for told in re.findall(r"best ([0-9.]+ \w+)", written(terminal)):
            first = first or spent
            last = spent if told != best else last
            best = told
        if spent > seconds and not stopped:
            os.kill(process.pid, signal.SIGINT)  # send_signal would reap it, and wait4 then have no usage
            stopped = True
        time.sleep(0.1)
    return first, last


def ask(command, seconds):
    """The JSON of a search that is interrupted after so many seconds of the processor, its seconds, times and usage."""
    terminal, shown = pty.openpty()
    os.set_blocking(terminal, False)
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*command, "--threads", "1", "--json"], stdout=out, stderr=shown)
        os.close(shown)
        times = watch(process, terminal, seconds)
        _, _, usage = os.wait4(process.pid, 0)
        os.close(terminal)
        out.seek(0)
        found = json.loads(out.read() or "null")
    return found, usage.ru_utime + usage.ru_stime, times, usage.ru_maxrss / 1024


def search(program, question, a, folder):
    scenario = os.path.join(MODELS, question[0])
    options = question[1:]
    if not scenario.endswith(".yaml"):  # a model's name and its options for init
        scenario = os.path.join(folder, question[0] + ".yaml")
        subprocess.run([program, "init", *question, "--force", "--output", scenario], check=True, capture_output=True)
        options = []
    return ask([program, "search", scenario, *options, *(["--plans", str(a.plans)] if a.plans else [])], a.seconds)


def row(name, label, found, seconds, times, megabytes):
    if found is None:  # a search that failed
        return [name, label, "failed", *[""] * (len(HEAD) - 3)]
    best = found["best"][0]["step_seconds"] if found["best"] else None
    proven = found.get("proven_seconds")
    left = "0, exact" if found["exact"] else f"{100 * max(0, 1 - proven / best):.1f} %" if best and proven else "not known"
    return [name, label, f"{found['layouts']:,}", str(found["plans"]) + (f", {found['cut_short']}" if found.get("cut_short") else ""),
            f"{seconds:.0f} s", *(f"{t:.0f} s" if t else "not told" for t in times), f"{megabytes:,.0f} MB", f"{best:.3f} s" if best else "none", left]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--before")
    parser.add_argument("--plans", type=int, default=0, help="most plans of a search (default: no limit)")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--output")
    a = parser.parse_args()
    rows = [HEAD, ["---"] * len(HEAD)]
    with tempfile.TemporaryDirectory() as folder:
        for name, question in QUESTIONS.items():
            for label, program in (("before", a.before), ("now", a.program)):
                if program and a.only in name:
                    rows.append(row(name, label, *search(program, question, a, folder)))
                    print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
    text = "".join("| " + " | ".join(r) + " |\n" for r in rows)
    if a.output:
        with open(a.output, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
