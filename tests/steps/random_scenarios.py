#!/usr/bin/env python3
"""random_scenarios.py PROGRAM FOLDER SEED COUNT - random whole scenarios, planned and run.

Each file has many strategies, which override all that a scenario says.  Strategies that are refused
are taken out by the lines of their errors, which all have the form FILE:LINE:COLUMN; the rest is
planned and run.  Both ends without a signal and without a sanitizer's word, bytes, flops and peak
memory of a plan are those of the run, and no run is wrong.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import json
import os
import random
import re
import subprocess
import sys

import random_options
from random_draw import options_in, options_of

STRATEGIES = 20  # strategies per file
SWEEPS = 50      # scenarios for which there is also a file with a sweep
SECONDS = 300    # seconds until a program counts as hanging
ENOUGH = 4000    # scenarios of which each option is in some that ran


def write(path, scenarios):
    """Write a file with one strategy per line after two header lines, in JSON, which YAML includes."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("version: 1\nstrategies:\n")
        for scenario in scenarios:
            file.write("  - " + json.dumps(scenario) + "\n")


def ask(program, command, path, *more):
    words = [program, command, "-q", "--json", path, *more]
    if command == "run":
        words.insert(2, "--repeat=1")
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, -1, "", f"no end after {SECONDS} seconds\n")


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
    """Differences between a run and its plan.  A router may decide otherwise than is planned."""
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
    """Plan the scenarios without the refused ones; return the plan and its scenarios."""
    while scenarios:
        write(path, scenarios)
        answer = ask(program, "plan", path)
        lines, placeless = refused_lines(path, answer)
        if crashed(answer):
            wrong = "plan crashed"
        elif placeless or (not lines and not answer.stdout):
            wrong = "an error without its place"
        elif lines and (answer.returncode != 2 or min(lines) < 3):
            wrong = f"errors with status {answer.returncode}, or above the strategies"
        elif not lines:
            return answer, scenarios
        else:
            scenarios = [s for i, s in enumerate(scenarios) if i + 3 not in lines]
            continue
        left = [s for s in scenarios if plan_good(program, path, [s], tell)[1]] if len(scenarios) > 1 else []
        if len(left) in (0, len(scenarios)):
            tell(wrong, answer.stderr[-2000:] + "\n".join(map(json.dumps, scenarios if not left else [])))
            return None, []
        scenarios = left
    return None, []


def run_of(program, path, scenarios, tell):
    """{name: (result or None, messages)} of runs: together, or each by itself where that crashes."""
    write(path, scenarios)
    ran = ask(program, "run", path)
    if not crashed(ran):
        runs = results(ran) if ran.stdout else {}
        return {s["name"]: (runs.get(s["name"]), ran.stderr) for s in scenarios}
    if len(scenarios) == 1:
        tell("run crashed", ran.stderr[-2000:] + json.dumps(scenarios[0]))
        return {}
    return {name: ended for s in scenarios for name, ended in run_of(program, path, [s], tell).items()}


def try_file(program, path, made, tell):
    planned, scenarios = plan_good(program, path, made, tell)
    plans = results(planned) if planned else {}
    runs = run_of(program, path, scenarios, tell) if planned else {}
    for scenario in scenarios:
        name = scenario["name"]
        if name in runs:
            ran, told = runs[name]
            for wrong in differences(plans[name], ran) if ran else out_of_memory(plans[name], told):
                tell(wrong, json.dumps(scenario))
    return scenarios


def try_sweep(program, path, scenario, tell):
    """Plan and run a file with one scenario.  It may be refused like any scenario, with a place."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file)
    planned, ran = ask(program, "plan", path), ask(program, "run", path)
    if planned.returncode == ran.returncode == 2 and all(
            lines and not other for lines, other in (refused_lines(path, answer) for answer in (planned, ran))):
        return
    if planned.returncode not in (0, 1) or ran.returncode not in (0, 1):
        tell("a sweep without an answer", planned.stderr + ran.stderr + json.dumps(scenario))
        return
    runs = results(ran)
    for name, plan in results(planned).items():
        for wrong in differences(plan, runs[name]):
            tell(wrong, name + ": " + json.dumps(scenario))


def main(make, note=lambda tried: None, try_file=try_file, most=STRATEGIES, least=10):
    """Try as many scenarios as asked for, `most` in a file, and tell `note` of those that were run;
    whether any is wrong, or less than one of `least` is possible."""
    program, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed)
    found, good = [], 0
    random_options.write_files(folder)

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


def main_of_training():
    """Try scenarios that are trained; of many, each option is in some that ran."""
    options, seen, sweeps = options_of(sys.argv[1]), set(), random.Random(sys.argv[3])

    def try_both(program, path, made, tell):
        if sweeps.randrange(SWEEPS) < len(made):
            try_sweep(program, path, random_options.sweep_of(options, sweeps, "sweep"), tell)
            seen.add("sweep")
        return try_file(program, path, made, tell)

    def note(tried):
        for scenario in tried:
            seen.update(options_in(scenario, options))

    wrong = main(functools.partial(random_options.scenario_of, options), note, try_both, least=3)
    missing = sorted(random_options.drawn() - seen) if int(sys.argv[4]) >= ENOUGH else []
    if missing:
        print("in no scenario that ran:", *missing)
    return wrong or bool(missing)


if __name__ == "__main__":
    sys.exit(1 if main_of_training() else 0)
