#!/usr/bin/env python3
"""Run the code that `shardsim export` writes for every strategy of every shipped scenario.

JAX runs the code on virtual devices of the host, PyTorch under a fake process group.

    bench/export.py [--program build/shardsim] [--python PYTHON] [--out FILE.md] [SCENARIO...]

PYTHON has jax and torch.  The table says for each strategy whether the code runs, whether JAX's shards
and PyTorch's local shapes are the planned ones, and the bytes and flops of XLA's program beside those of
shardsim (`shardsim replay --beside`).  Models on more than 1024 devices or too large for a host are
checked by PyTorch alone.  FILE.md is written after each scenario; if SCENARIOs are given, its rows of
other scenarios stay unchanged.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEVICES_MAX = 1024  # virtual devices for JAX
HEAD = ("scenario", "strategy", "devices", "our step", "JAX", "XLA's bytes", "our bytes",
        "by search", "XLA's flops", "our flops", "PyTorch")
GRADIENTS = "gradients"  # the kind of step of which JAX computes everything

# Runs the main function of the code, and prints XLA's counts for the step.
RUN_AND_COUNT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("step", sys.argv[1])
step = importlib.util.module_from_spec(spec)
spec.loader.exec_module(step)
compiled_step = step.compiled_step
def counted(*given):
    made = compiled_step(*given)
    print("flops", int(made[0].cost_analysis()["flops"]))
    return made
step.compiled_step = counted
del sys.argv[0]
step.main()
"""


class Row(NamedTuple):
    scenario: str
    strategy: str
    devices: int
    step: str
    jax: str
    xla_bytes: Optional[int]
    bytes: Optional[int]
    search_bytes: Optional[int]  # by `placement: search`
    xla_flops: Optional[int]  # of the device with the most
    flops: Optional[int]
    torch: str


def run(command, seconds=600):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None


def reason(done):
    if done is None:
        return "took more than ten minutes"
    lines = [x for x in done.stderr.strip().splitlines() if x.strip()]
    if not lines:
        return f"status {done.returncode}"
    return lines[-1].split("error: ")[-1].replace(ROOT + os.sep, "").replace("|", "/")[:160]


def in_jax(o, path, strategy, folder):
    """The verdict, bytes and flops of XLA's program, and the number of microbatches."""
    code, text = os.path.join(folder, "step.py"), os.path.join(folder, "step.hlo.txt")
    made = run([o.program, "export", "--to", "jax", "-S", strategy, path, "-o", code])
    if made is None or made.returncode:
        return "not said: " + reason(made), None, None, 1
    with open(code, encoding="utf-8") as f:
        parts = re.search(r"^# One microbatch of (\d+)", f.read(), re.M)
    parts = int(parts[1]) if parts else 1
    done = run([o.python, "-c", RUN_AND_COUNT, code, text])
    if done is None or done.returncode:
        return "FAILS: " + reason(done), None, None, parts
    told = run([o.program, "replay", "--json", text])
    if told is None or told.returncode:
        return "FAILS: replay: " + reason(told), None, None, parts
    return ("runs, shards agree", json.loads(told.stdout)["received_bytes"]["total"],
            int(re.search(r"^flops (\d+)", done.stdout, re.M)[1]), parts)


def in_torch(o, path, strategy, folder):
    code = os.path.join(folder, "torch_step.py")
    made = run([o.program, "export", "--to", "pytorch", "-S", strategy, path, "-o", code])
    if made is None or made.returncode:
        return "not said: " + reason(made)
    done = run([o.python, code])
    return "shapes agree" if done and done.returncode == 0 else "FAILS: " + reason(done)


def step_of(result, parts):
    update = bool(result["received_bytes"]["by_phase"].get("optimizer"))
    return ", ".join(["update"] * update + [f"{parts} microbatches"] * (parts > 1)) or GRADIENTS


def name_of(path):
    return os.path.basename(path)[:-len(".yaml")]


def row_of(o, path, planned):
    said, xla_bytes, xla_flops, parts = "too many devices", None, None, 1
    with tempfile.TemporaryDirectory() as folder:
        if planned["devices"] <= DEVICES_MAX:
            said, xla_bytes, xla_flops, parts = in_jax(o, path, planned["strategy"], folder)
        torch = in_torch(o, path, planned["strategy"], folder)
    search = planned.get("search") or {}
    return Row(name_of(path), planned["strategy"], planned["devices"],
               step_of(planned, parts), said, xla_bytes, planned["received_bytes"]["total"],
               search.get("received_bytes"), xla_flops, planned["balance"]["flops"]["max"], torch)


def cells(line):
    return [c.strip() for c in line.strip().split("|")[1:-1]]


def read(path):
    """The rows of a table that was written before."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        table = [cells(x) for x in f if x.startswith("|")]
    if not table or tuple(table[0]) != HEAD:
        return []
    kinds = Row.__annotations__.values()
    return [Row(*(c if kind is str else int(c.replace(",", "")) if c else None
                  for kind, c in zip(kinds, line))) for line in table[2:]]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--program", default=os.path.join(ROOT, "build", "shardsim"))
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--out")
    ap.add_argument("scenarios", nargs="*")
    o = ap.parse_args()
    rows = [] if not o.scenarios else read(o.out)
    for path in o.scenarios or sorted(glob.glob(os.path.join(ROOT, "scenarios", "*.yaml"))):
        planned = run([o.program, "plan", "-q", "--json", path])
        try:
            results = json.loads(planned.stdout)
        except ValueError:
            print(f"{path}: not planned", file=sys.stderr)
            continue
        new = []
        for r in results if isinstance(results, list) else [results]:
            new.append(row_of(o, path, r))
            print(*new[-1], file=sys.stderr, flush=True)
        rows = sorted([r for r in rows if r.scenario != name_of(path)] + new,
                      key=lambda r: r.scenario)
        if o.out:
            with open(o.out, "w", encoding="utf-8") as out:
                write(rows, out)
    if not o.out:
        write(rows, sys.stdout)


def number(x):
    return "" if x is None else f"{x:,}"


def write(rows, out):
    jax = [r for r in rows if r.jax.startswith("runs")]
    torch = [r for r in rows if r.torch.startswith("shapes")]
    both = [r for r in jax if r.step == GRADIENTS]
    fewer = [r for r in both if r.xla_bytes < r.bytes]
    searched = [r for r in both if r.xla_bytes < min(r.bytes, r.search_bytes or r.bytes)]
    print("# Exported code, run\n", file=out)
    print("Written by `bench/export.py`; `docs/placement.md` discusses the differences. JAX compiles the "
          "gradients of one microbatch; a step with `update` includes the optimizer's communication and all "
          "microbatches. Bytes are received bytes over all devices, flops the maximum of a device, "
          "as counted by XLA and by shardsim.\n", file=out)
    print(f"{len(rows)} strategies: {len(jax)} run in JAX with the planned shards, "
          f"{len(torch)} agree in PyTorch. Of {len(both)} gradient-only steps XLA moves the same "
          f"bytes in {sum(r.xla_bytes == r.bytes for r in both)}, more in "
          f"{sum(r.xla_bytes > r.bytes for r in both)}, fewer in {len(fewer)}; fewer than "
          f"`placement: search` in {len(searched)}.\n", file=out)
    for r in fewer:
        print(f"- {r.scenario}, {r.strategy}: XLA moves {1 - r.xla_bytes / r.bytes:.0%} fewer bytes, "
              f"for {r.xla_flops / r.flops:.2f} times the flops.", file=out)
    print("\n" * bool(fewer), end="", file=out)
    print("| " + " | ".join(HEAD) + " |", file=out)
    print("|---|---|--:|---|---|--:|--:|--:|--:|--:|---|", file=out)
    for r in rows:
        print("| " + " | ".join(number(x) if isinstance(x, int) or x is None else x for x in r) + " |",
              file=out)


if __name__ == "__main__":
    main()
