#!/usr/bin/env python3
"""Compare published recipes with what search and init find for the same model, cluster and batch.

usage: bench/recipes.py PROGRAM TABLE [--rows WORD] [--seconds N]

TABLE is a CSV of measured steps as bench/practice.py reads it, of which the rows of experts count; the shipped
scenarios of published models follow.  For each recipe: its step by `plan`, the best of a search of N seconds of the
processor with one thread and without ranges, and the step of what `init` writes, over the recipe's; processor
seconds.  All are modelled.  A recipe that takes more than what search leaves free of a device's memory gives search as much as it takes.
Standard library only.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import tempfile

import practice
import search_speed

MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scenarios", "models")
# Scenarios and their strategies.
SHIPPED = [("llama3-70b", None), ("llama3-405b", "8k"), ("llama3-405b", "128k"), ("mixtral-8x7b", None), ("deepseek-v3", None)]


def asked(program, *arguments):
    """The JSON that a command prints (None: none), and its processor seconds."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([program, *arguments, "-q", "--json"], stdout=out, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        out.seek(0)
        try:
            return json.load(out), usage.ru_utime + usage.ru_stime
        except json.JSONDecodeError:
            return None, usage.ru_utime + usage.ru_stime


def device_bytes(program, text):
    """The memory of a scenario's device."""
    hardware = re.search(r"^hardware: (\S+)", text, re.M).group(1)
    shown = subprocess.run([program, "show", "hardware", hardware], stdout=subprocess.PIPE, check=True).stdout.decode()
    return float(re.search(r"^memory: ([\d.]+) GiB", shown, re.M).group(1)) * 2**30


def init(program, text, strategy, devices, folder):
    """The step of what init writes (None: it does not fit), and the processor seconds of init."""
    path = os.path.join(folder, "init.yaml")
    model = re.search(r"^model: .*?size: ([\w.-]+)", text, re.M).group(1)
    hardware = re.search(r"^hardware: (\S+)", text, re.M).group(1)
    size, seq = re.search(r"batch: \{size: (\d+), seq: (\d+)", text[text.find(f"name: {strategy}") if strategy else 0:]).groups()
    before = os.times()
    done = subprocess.run([program, "init", model, "--devices", str(devices), "--hardware", hardware, "--batch", size, "--seq", seq,
                           "--force", "-o", path], stderr=subprocess.DEVNULL, check=False)
    spent = sum(os.times()[2:4]) - sum(before[2:4])
    if done.returncode != 0:
        return None, spent
    figures = asked(program, "plan", path)[0]["time"]["modelled"]
    return (figures["step_seconds"] if figures["fits"] else None), spent


def texts(table, word):
    """Names of recipes, their scenarios and strategies."""
    for row in csv.DictReader(open(table)):
        if word in row["id"] and practice.kind_of(row) == "experts":
            yield row["id"], practice.question(row)["in"]["yaml"], None
    for name, strategy in SHIPPED:
        if word in name:
            yield name + (" " + strategy if strategy else ""), open(os.path.join(MODELS, name + ".yaml")).read(), strategy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--rows", default="", help="only recipes whose name has this")
    parser.add_argument("--seconds", type=int, default=60)
    a = parser.parse_args()
    print("| recipe | its step | search's best | of the recipe's | processor | open | init's of the recipe's | processor |")
    print("|---|---|---|---|---|---|---|---|")
    for name, text, strategy in texts(a.table, a.rows):
        own = ["--strategy", strategy] if strategy else []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "recipe.yaml")
            with open(path, "w") as file:
                file.write(text)
            plan = asked(a.program, "plan", path, *own)[0]
            step = plan["time"]["modelled"]["step_seconds"]
            memory = plan["time"]["modelled"]["memory_bytes"]
            command = [a.program, "search", path, *own]
            found, spent = search_speed.ask(command, a.seconds)[:2]
            if found and plan["time"]["modelled"]["fits"] and memory > (1 - found["memory_margin"]) * device_bytes(a.program, text):
                found, spent = search_speed.ask([*command, "--memory", f"{memory}B"], a.seconds)[:2]
            best = found["best"][0]["step_seconds"] if found and found.get("best") else None
            first, spent_init = init(a.program, text, strategy, plan["devices"], folder)
            fits = "" if plan["time"]["modelled"]["fits"] else ", does not fit"
            open_share = 100 * max(0, 1 - (found.get("proven_seconds") or 0) / best) if best else 100
            print(f"| {name} | {step:.4g} s{fits} | {f'{best:.4g} s | {best / step:.2f}' if best else 'none | '} | {spent:.0f} s | "
                  f"{open_share:.0f} % | {f'{first / step:.2f}' if first else 'none'} | {spent_init:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
