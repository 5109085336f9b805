#!/usr/bin/env python3
"""Print a table of the functions of `graph:`: each alone in random graphs, sharded at random, executed, and beside XLA.

    functions_table.py SHARDSIM [N [BESIDE [FUNCTION...]]]      (200 graphs, 20 of them beside XLA; all functions)

Of an elementwise function a quarter as many are beside XLA: they differ in nothing that moves.

A graph is one function of random shapes on a random mesh, its operands sharded at random and its result as the
placement follows, half of them with gradients.  `right`: verified against float64, and received bytes of the run are the
plan's.  Beside XLA: the exported step compiled by JAX for as many devices of the host, results where XLA leaves them, its
collectives counted by `replay`.  JAX is the one of the Python that runs this script.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(HERE, "tests", "steps"))
import random_graphs as graphs  # noqa: E402
import random_scenarios as scenarios  # noqa: E402

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def xla_bytes(program, path, strategy, folder):
    """What XLA's program of the exported step receives; None: it cannot be exported, or compiled."""
    code = subprocess.run([program, "export", "--to=jax", "--strategy", strategy, path], capture_output=True, text=True,
                          check=False)
    if code.returncode:
        return None
    step = {"__name__": "step"}
    exec(compile(code.stdout, strategy, "exec"), step)
    mesh = step["make_mesh"]()
    try:
        made = step["compiled_step"](mesh, step["arrays"](step["PARAMS"], mesh), step["arrays"](step["INPUTS"], mesh))
    except RuntimeError as error:  # XLA's partitioner itself
        print(f"XLA refuses {path} {strategy}:", str(error).split("\n", 1)[0], file=sys.stderr)
        return None
    text = os.path.join(folder, "step.hlo")
    with open(text, "w", encoding="utf-8") as file:
        file.write(made[0].as_text())
    told = subprocess.run([program, "replay", "--json", "--devices", str(step["NDEVICES"]), text], capture_output=True,
                          text=True, check=True)
    return json.loads(told.stdout)["received_bytes"]["total"]


def row_of(program, function, functions, n, beside, folder):
    rng, made, wrong = random.Random(function), [], []
    while len(made) < n:
        scenario = graphs.scenario_of(rng, f"s{len(made)}", functions, function, True)
        scenario["placement"], scenario["constraints"] = "follow", []
        if scenario["graph"]["ops"]:
            made.append(scenario)
    right = gradients = cases = above = 0
    ours, theirs = 0, 0
    for first in range(0, n, 50):
        path = os.path.join(folder, f"{function}{first}.yaml")
        planned, tried = scenarios.plan_good(program, path, made[first:first + 50], lambda *what: wrong.append(what))
        if not planned:
            continue
        plans, runs = scenarios.results(planned), scenarios.results(scenarios.ask(program, "run", path))
        for scenario in tried:
            name = scenario["name"]
            good = name in runs and not scenarios.differences(plans[name], runs[name])
            right += good
            gradients += good and "backward" in scenario["step"]
            if not good:
                wrong.append((name, scenario))
            if cases == beside:
                continue
            xla, own = xla_bytes(program, path, name, folder), plans[name]["received_bytes"]["total"]
            if xla is None:
                continue
            cases, above, ours, theirs = cases + 1, above + (own > xla), ours + own, theirs + xla
            if own > xla and os.environ.get("TELL"):
                print(own, xla, json.dumps(scenario), file=sys.stderr)
    for one in wrong:
        print(*one, file=sys.stderr)
    return right, gradients, cases, ours, theirs, above


def main():
    program, n, beside = sys.argv[1], *(int(x) for x in (sys.argv[2:4] + ["200", "20"][len(sys.argv[2:4]):]))
    functions = graphs.functions_of(program)
    names = sys.argv[4:] or list(dict.fromkeys(functions[0] + functions[1]))
    print("| function | right | with gradients | beside XLA | received, bytes | XLA's, bytes | more than XLA |\n"
          "|---|--:|--:|--:|--:|--:|--:|")
    total = [0] * 6
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row = row_of(program, name, functions, n, beside // 4 if name in functions[0] else beside, folder)
            total = [a + b for a, b in zip(total, row)]
            print("| `%s` | %d | %d | %d | %d | %d | %d |" % (name, *row), flush=True)
    print("| all | %d | %d | %d | %d | %d | %d |" % tuple(total))


main()
