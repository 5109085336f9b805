#!/usr/bin/env python3
"""Fit the constants of a cluster to published steps, by the parts of modelled times.

usage: bench/fit_linear.py PROGRAM CLUSTER PARTS FILE.jsonl...      (needs numpy and scipy)

PARTS is a list of: products, elementwise, attention, tensor (transfers along tp), data (transfers along dp
and slices), spread; for example products,elementwise,spread.  Each row is asked once, as plan.train_step.
A part of a step's time is inversely proportional to its constant, so that the step with other constants
follows without asking again.  Launches are an exception, as they set a minimum: run the script again with
the fitted constants until they no longer change.  Prints the divisor of each constant (for spread: the
summand), the error of each set, and the error in 5-fold cross-validation; for sets of fewer than 20 rows
also the median over folds.  `shardsim calibrate` does the same without the approximation, in minutes to
hours.
"""
import json
import subprocess
import sys
from statistics import median

import numpy as np
from scipy.optimize import minimize

FOLDS = 5
DEVICES_A_NODE = 8


def ask(program, rows):
    """The modelled breakdown of each row."""
    text = "".join(json.dumps({"id": r["id"], "op": "plan.train_step", "in": r["in"]}) + "\n" for r in rows)
    run = subprocess.run([program, "query"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line)["out"]["breakdown"] for line in run.stdout.decode().splitlines()]


def along(breakdown, *names):
    """Seconds of exposed transfers along axes with this prefix."""
    return sum(s for axes, s in breakdown["exposed_by_axes"].items() if axes.startswith(names))


class Steps:
    """Parts of modelled steps, one entry a row."""

    def __init__(self, program, rows):
        parts = ask(program, rows)
        column = lambda key: np.array([p[key] for p in parts])
        self.set = np.array([r["set"] for r in rows])
        self.measured = np.array([r["measured"]["step_seconds"] for r in rows])
        self.nodes = np.array([max(1.0, r["in"]["devices"] / DEVICES_A_NODE) for r in rows])
        self.products, self.elementwise = column("matmul_seconds"), column("elementwise_seconds")
        self.attention, self.update = column("attention_seconds"), column("update_seconds")
        self.bubble = column("waiting_seconds")
        self.tensor = np.array([along(p, "tp", "copy") for p in parts])
        self.stages = np.array([along(p, "pp") for p in parts])
        self.data = column("exposed_communication_seconds") - self.tensor - self.stages

    def seconds(self, by):
        """Steps with each part taking so many times as long."""
        get = lambda part: by.get(part, 1.0)
        slowest = 1 + by.get("spread", 0.0) * np.sqrt(2 * np.log(self.nodes))
        work = (self.products * get("products") + self.elementwise * get("elementwise") +
                self.attention * get("attention")) * slowest + self.tensor * get("tensor") + self.stages
        idle = 1 + self.bubble / (self.products + self.elementwise + self.attention + self.tensor + self.stages)
        return work * idle + self.data * get("data") + self.update * get("elementwise")

    def off(self, by):
        return self.seconds(by) / self.measured - 1


def fit(steps, parts, rows):
    """The time of each part with the least mean error; sets have equal weight."""
    weight = np.array([1 / (steps.set == s).sum() for s in steps.set])[rows]

    def loss(x):
        by = dict(zip(parts, x))
        far = sum((v - (p != "spread")) ** 2 for p, v in by.items())
        if min(x) <= (-1 if "spread" in parts else 0):
            return 1e9
        return (np.abs(np.log(np.maximum(steps.off(by) + 1, 1e-9)))[rows] * weight).sum() / weight.sum() + 0.002 * far

    x = np.array([0.0 if p == "spread" else 1.0 for p in parts])
    for _ in range(3):
        x = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-4, "fatol": 1e-6}).x
    return dict(zip(parts, x))


def main():
    program, cluster, parts, files = sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:]
    rows = []
    for name in files:
        with open(name, encoding="utf-8") as f:
            rows += [r for r in map(json.loads, f) if r["in"]["hardware"] == cluster and "step_seconds" in r["measured"]]
    steps = Steps(program, rows)
    index = np.arange(len(rows))
    found = fit(steps, parts, index)
    print(cluster, {p: round(float(v), 4) for p, v in found.items()})
    unseen = np.zeros(len(rows))
    for k in range(FOLDS):
        unseen[index % FOLDS == k] = steps.off(fit(steps, parts, index[index % FOLDS != k]))[index % FOLDS == k]
    for name in sorted(set(steps.set)):
        of = steps.set == name
        folds = [100 * np.abs(unseen[of & (index % FOLDS == k)]).mean() for k in range(FOLDS) if (of & (index % FOLDS == k)).any()]
        devices = [r["in"]["devices"] for r in np.array(rows, dtype=object)[of]]
        print(f"  {name}: {of.sum()} rows on {min(devices)} to {max(devices)} devices, as it is {100 * np.abs(steps.off({}))[of].mean():.2f} %, "
              f"fitted {100 * np.abs(steps.off(found))[of].mean():.2f} %, cross-validated {100 * np.abs(unseen[of]).mean():.2f} %, "
              f"median of folds {median(folds):.2f} %")


if __name__ == "__main__":
    main()
