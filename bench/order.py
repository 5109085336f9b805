#!/usr/bin/env python3
"""Compare the order of strategies by modelled and by replayed time, for all shipped scenarios with several.

    order.py SHARDSIM [HARDWARE [SECONDS [SCENARIO...]]]

HARDWARE: a hardware file of this machine (`shardsim bench --hardware`; without one, or with '-', the file is made
first).  Replay uses computations as measured here, but transfers at the rate and latency of the scenario.  The only
tier of the file therefore gets the same rate and latency, and only the reader of a transfer waits for it, as in replay.
`compare` takes at most SECONDS (4) per scenario.  Two strategies are a tie if their replayed steps differ by no more
than their noise, or their modelled steps by less than TIE.  Prints for each scenario the rank correlation of the
strategies' times (Spearman) and the pairs in different order.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TIE = 0.01  # modelled steps that differ by less are equal within any model's error


def ranks(values):
    """From 1; equal values share the mean of theirs."""
    return [1 + sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    above = sum((p - mx) * (q - my) for p, q in zip(x, y))
    below = (sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)) ** 0.5
    return above / below if below else float("nan")


def with_transfers(hardware, transfers):
    """The hardware file with the scenario's transfers as its only tier."""
    head = re.split(r"^(?:tiers|software):", hardware, flags=re.M)[0]
    return (f"{head}tiers:\n  - name: transfers\n    rate: {int(transfers['bytes_per_second'])}B/s\n"
            f"    latency: {round(transfers['latency_seconds'] * 1e9)}ns\n    step: 0ns\n")


def ask(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1):
        print(f"{' '.join(command)}: status {run.returncode}: {run.stderr.decode().strip()[:300]}", file=sys.stderr)
        return None
    return json.loads(run.stdout)


def order(shardsim, scenario, hardware, seconds, folder):
    compared = ask([shardsim, "compare", "--quiet", "--json", "--seconds", str(seconds), scenario])
    results = [r for r in (compared or {}).get("results", []) if (r.get("time") or {}).get("replayed")]
    if len(results) < 2:
        return None
    ties = {frozenset((s["strategy"], t["strategy"] if isinstance(t, dict) else t))
            for s in compared["strategies"] for t in s["within_noise"]}
    path = os.path.join(folder, "fair.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(with_transfers(hardware, results[0]["time"]["replayed"]["transfers"]))
    rows = []
    for result in results:
        name = result["strategy"]
        planned = ask([shardsim, "plan", "--quiet", "--json", "-S", name, "-s", f"hardware={path}", scenario])
        if planned:
            planned = planned[0] if isinstance(planned, list) else planned
            rows.append((name, result["time"]["replayed"]["step_seconds"], planned["time"]["modelled"]["step_seconds"]))
    other, pairs = [], 0
    for i, (a, ra, ma) in enumerate(rows):
        for b, rb, mb in rows[i + 1:]:
            if frozenset((a, b)) in ties or abs(ma - mb) < TIE * min(ma, mb):
                continue
            pairs += 1
            if (ra < rb) != (ma < mb):
                other.append(f"{a} {ra * 1e6:.0f} us, {b} {rb * 1e6:.0f} us replayed; {ma * 1e6:.0f}, {mb * 1e6:.0f} modelled")
    return len(rows), spearman([r[1] for r in rows], [r[2] for r in rows]), pairs, other


def main():
    shardsim, seconds = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 4
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    scenarios = sys.argv[4:] or sorted(glob.glob(os.path.join(here, "scenarios", "*.yaml")))
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != "-" else os.path.join(folder, "here.yaml")
        if not os.path.exists(path):
            subprocess.run([shardsim, "bench", "--hardware", "--force", "--output", path], check=True)
        with open(path, encoding="utf-8") as file:
            hardware = file.read()
        print("| scenario | strategies | Spearman | pairs apart | in another order |\n|---|--:|--:|--:|---|")
        for scenario in scenarios:
            with open(scenario, encoding="utf-8") as file:
                if "\nstrategies:" not in file.read():
                    continue
            found = order(shardsim, scenario, hardware, seconds, folder)
            if found:
                n, rho, pairs, other = found
                print(f"| {os.path.basename(scenario)} | {n} | {rho:.3f} | {pairs} | {len(other)}"
                      f"{': ' if other else ''}{'; '.join(other)} |", flush=True)


if __name__ == "__main__":
    main()
