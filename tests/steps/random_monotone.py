#!/usr/bin/env python3
"""random_monotone.py PROGRAM FOLDER SEED COUNT - random scenarios never take longer on better devices.

Each file of scenarios is planned on a cluster, and on one that is at least as good in every constant:
the same with one rate larger or one latency shorter, or another shipped cluster that says so
(no_slower_than).  No step takes longer there.  Left out are `placement: search`, which ends at the
best that it finds and finds others by other times, and on another device element types that it
computes more slowly.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import glob
import json
import os
import random
import re
import sys

import random_options
import random_scenarios
from random_draw import options_of

CLUSTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios", "hardware")
ROUNDING = 1e-6
# Path, a pattern of its line, and the factor that makes it better.
CONSTANTS = [("rates.bfloat16", r"^  bfloat16: ", 1.3), ("rates.float32", r"^  float32: ", 1.3),
             ("memory.rate", r"^memory:\n(?:  .*\n)*?  rate: ", 1.3), ("kernels.launch", r"^  launch: ", 0.7),
             ("kernels.matmul_efficiency", r"^  matmul_efficiency: ", 1.1),
             ("kernels.memory_efficiency", r"^  memory_efficiency: ", 1.1),
             ("kernels.attention_efficiency", r"^  attention_efficiency: ", 1.1),
             ("tiers.0.rate", r"^tiers:\n(?:.*\n)*?    rate: ", 1.3),
             ("tiers.0.latency", r"^tiers:\n(?:.*\n)*?    latency: ", 0.7)]


def clusters():
    """Of each shipped cluster its name and text."""
    return {os.path.basename(p)[:-5]: open(p, encoding="utf-8").read()
            for p in sorted(glob.glob(os.path.join(CLUSTERS, "*.yaml")))}


def pairs():
    """Pairs of clusters, the second at least as good: shipped clusters, and a copy with one better constant."""
    shipped, better_constant = [], []
    for name, text in clusters().items():
        for other in re.findall(r"^  - no_slower_than: (\S+)$", text, re.M):
            shipped.append((other, name))
        for path, pattern, factor in CONSTANTS:
            found = re.search(pattern + r"([0-9.]+)([a-zA-Z/]*)", text, re.M)
            better = float(found[1]) * factor if found else 0
            if found and not ("efficiency" in path and better > 1):
                better_constant.append((name, f"{name} with {path}={better:.6g}{found[2]}"))
    return shipped, better_constant


def step_seconds(program, path, scenarios, cluster, tell):
    """The step time of each scenario on a cluster, where planning succeeds."""
    answer, good = random_scenarios.plan_good(program, path, [{**s, "hardware": cluster} for s in scenarios], tell)
    plans = random_scenarios.results(answer) if answer else {}
    return {s["name"]: plans[s["name"]]["figures"]["modelled_step_seconds"] for s in good}


def forward_of(scenario):
    """The forward pass alone, whose kernels have the times measured alone."""
    learning = ("optimizer", "zero", "types", "recompute", "steps", "offload", "gathered", "accumulate")
    return {**{k: v for k, v in scenario.items() if k not in learning}, "step": ["forward"]}


def compared(scenario):
    return "hardware" in scenario and scenario.get("placement") != "search" and \
        not re.search("float64|int8|int4", json.dumps(scenario))


def try_file(rng, every, program, path, made, tell):
    one, better = rng.choice(rng.choice(every))
    made = [s if i % 2 else forward_of(s) for i, s in enumerate(made) if compared(s)]
    before = step_seconds(program, path, made, one, tell)
    after = step_seconds(program, path, made, better, tell)
    for scenario in made:
        name = scenario["name"]
        if name in before and name in after and after[name] > before[name] * (1 + ROUNDING):
            tell(f"{better}: {after[name]:.6g} s, {after[name] / before[name]:.4f} times the {one}'s",
                 json.dumps(scenario))
    return [s for s in made if s["name"] in before]


def main():
    rng = random.Random(sys.argv[3])
    return random_scenarios.main(functools.partial(random_options.scenario_of, options_of(sys.argv[1])),
                                 try_file=functools.partial(try_file, rng, pairs()), least=12)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
