#!/usr/bin/env python3
"""Run what `shardsim export` writes: every strategy of every shipped scenario, in JAX on virtual
devices of the host and in PyTorch under a fake process group.

    bench/export.py [--program build/shardsim] [--python PYTHON] [--out FILE.md] [SCENARIO...]

PYTHON has jax and torch.  Told for each: whether the code runs, whether JAX's shards and PyTorch's
local shapes are those that were planned, and the bytes that XLA's program moves beside ours
(`shardsim replay --beside`).  Models of more than 1024 devices or too large for a host are checked by
PyTorch alone.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEVICES_MAX = 1024  # virtual devices that JAX is given


def run(command, seconds=600):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None


def reason(done):
    if done is None:
        return "took more than ten minutes"
    lines = [x for x in done.stderr.strip().splitlines() if x.strip()]
    return lines[-1].split("error: ")[-1].replace(ROOT + os.sep, "")[:160] if lines else f"status {done.returncode}"


def size(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.3g} {unit}"
        n /= 1024


def in_jax(o, path, strategy, folder):
    code, text = os.path.join(folder, "step.py"), os.path.join(folder, "step.hlo.txt")
    made = run([o.program, "export", "--to", "jax", "-S", strategy, path, "-o", code])
    if made is None or made.returncode:
        return "not said: " + reason(made), None
    done = run([o.python, code, text])
    if done is None or done.returncode:
        return "FAILS: " + reason(done), None
    told = run([o.program, "replay", "--json", text, "--beside", path, "-S", strategy])
    if told is None or told.returncode:
        return "FAILS: replay: " + reason(told), None
    told = json.loads(told.stdout)
    return "runs, shards agree", (told["received_bytes"]["total"], told["beside"]["received_bytes"])


def in_torch(o, path, strategy, folder):
    code = os.path.join(folder, "torch_step.py")
    made = run([o.program, "export", "--to", "pytorch", "-S", strategy, path, "-o", code])
    if made is None or made.returncode:
        return "not said: " + reason(made)
    done = run([o.python, code])
    return "shapes agree" if done and done.returncode == 0 else "FAILS: " + reason(done)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--program", default=os.path.join(ROOT, "build", "shardsim"))
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--out")
    ap.add_argument("scenarios", nargs="*")
    o = ap.parse_args()
    rows = []
    for path in o.scenarios or sorted(glob.glob(os.path.join(ROOT, "scenarios", "*.yaml"))):
        planned = run([o.program, "plan", "-q", "--json", path])
        try:
            results = json.loads(planned.stdout)
        except ValueError:
            print(f"{path}: not planned", file=sys.stderr)
            continue
        for r in results if isinstance(results, list) else [results]:
            step = "update" if r["received_bytes"]["by_phase"].get("optimizer") else "gradients"
            with tempfile.TemporaryDirectory() as folder:
                small = r["devices"] <= DEVICES_MAX
                jax, bytes_ = in_jax(o, path, r["strategy"], folder) if small else ("too many devices",
                                                                                  None)
                torch = in_torch(o, path, r["strategy"], folder)
            rows.append((os.path.basename(path)[:-5], r["strategy"], r["devices"], jax, bytes_, torch,
                         step))
            print(*rows[-1], file=sys.stderr, flush=True)
    write(rows, open(o.out, "w", encoding="utf-8") if o.out else sys.stdout)


def write(rows, out):
    jax = [r for r in rows if r[3].startswith("runs")]
    torch = [r for r in rows if r[5].startswith("shapes")]
    both = [r for r in jax if r[4] and r[6] == "gradients"]
    print("# Exported code, run\n", file=out)
    print("Written by `bench/export.py`. JAX compiles the step without the optimizer; strategies whose "
          "step has one are marked, as their bytes are of more.\n", file=out)
    print(f"{len(rows)} strategies: {len(jax)} run in JAX with the planned shards, "
          f"{len(torch)} agree in PyTorch. Of {len(both)} without an optimizer XLA moves the same bytes "
          f"in {sum(a == b for a, b in (r[4] for r in both))}, more in "
          f"{sum(a > b for a, b in (r[4] for r in both))}, fewer in "
          f"{sum(a < b for a, b in (r[4] for r in both))}.\n", file=out)
    print("| scenario | strategy | devices | JAX | XLA's bytes | ours | PyTorch |", file=out)
    print("|---|---|--:|---|--:|--:|---|", file=out)
    for name, strategy, devices, said, bytes_, torch_said, step in rows:
        theirs, ours = (size(x) for x in bytes_) if bytes_ else ("", "")
        mark = " (with optimizer)" if bytes_ and step == "update" else ""
        print(f"| {name} | {strategy} | {devices} | {said} | {theirs} | {ours}{mark} | {torch_said} |",
              file=out)


if __name__ == "__main__":
    main()
