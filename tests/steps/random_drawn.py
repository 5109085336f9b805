#!/usr/bin/env python3
"""random_drawn.py PROGRAM - whether each option of `show options` is drawn by a generator of random scenarios.

SPDX-License-Identifier: Apache-2.0
"""
import random
import sys

import random_graphs
import random_options
import random_serving
from random_draw import options_in, options_of

DRAWS = 3000  # by each generator


def main():
    options, rng, drawn = options_of(sys.argv[1]), random.Random(1), {"version", "strategies"}  # of each file
    functions = random_graphs.functions_of(sys.argv[1])
    for make in (random_options.scenario_of, random_options.sweep_of, random_serving.program_of):
        for _ in range(DRAWS):
            made = make(options, rng, "s")
            for scenario in made if isinstance(made, list) else [made]:
                drawn |= options_in(scenario, options)
    for _ in range(DRAWS // 10):
        drawn |= options_in(random_graphs.scenario_of(rng, "s", functions), options)
    missing = sorted(set(options) - drawn)
    print(f"{len(options) - len(missing)} of {len(options)} options are drawn; missing:", *missing or ["none"])
    return bool(missing)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
