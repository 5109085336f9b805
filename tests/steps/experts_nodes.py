#!/usr/bin/env python3
"""experts_nodes.py PROGRAM FOLDER SEED COUNT - random layouts of experts, planned and run.

Experts lie over one axis or several, with other tensor parallelism than the rest or the same, or over
the axes of tensor parallelism themselves; tokens are sent straight to experts or once to each node,
also by routers that choose from some groups.  Each program is right, its plan has the bytes and the
peak memory of its run, and rows that travel along each set of axes are those that are counted here,
choice by choice.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import subprocess
import sys

from experts_grid import draw, splitmix

MASK = (1 << 32) - 1


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def step_through(n, which):
    step = 1 + which % max(n - 1, 1)
    while gcd(step, n) != 1:
        step -= 1
    return step


def draw_limited(tokens, choices, experts, groups, kept, seed):
    """A uniform routing from `kept` of `groups` groups."""
    numbers = splitmix(seed)
    for _ in range(16):
        for _ in range(experts):
            next(numbers)
    places = [[next(numbers) & MASK for _ in range(16)] for _ in range(2)]
    each, ids = experts // groups, []
    for t in range(tokens):
        o = t % 16
        for at, stride in zip(places, (2654435769, 1779033703)):
            at[o] = (at[o] + stride) & MASK
        group, expert = places[0][o] * groups >> 32, places[1][o] * each >> 32
        ids.append([(group + j % kept * step_through(groups, o)) % groups * each
                    + (expert + j // kept * step_through(each, o)) % each
                    for j in range(choices)])
    return ids


class Layout:
    """A random layout; absent axes have size 1."""

    def __init__(self, rng):
        self.size = {"dp": rng.choice([1, 2]), "node": rng.choice([1, 2, 2, 4]),
                     "ep": rng.choice([1, 2, 2, 3]), "tp": rng.choice([1, 1, 2])}
        if self.devices() > 16:
            self.size.update(dp=1, tp=1)
        self.by_node = self.size["node"] > 1 and rng.random() < 0.7
        self.expert_order = rng.choice([["node", "ep"], ["ep", "node"]])
        self.expert_tensor = rng.random() < 0.5  # experts' widths lie over tp, too
        self.tensor = rng.random() < 0.5         # those of attention do
        self.each = rng.choice([1, 2])
        self.groups = self.size["node"]
        self.experts = self.each * self.size["node"] * self.size["ep"]
        self.limited = self.groups > 1 and rng.random() < 0.6
        self.kept = rng.randrange(1, self.groups) if self.limited else self.groups
        self.top_k = rng.randrange(1, min(4, self.experts // self.groups * self.kept) + 1)
        self.routing = rng.choice(["uniform", "uniform", "zipf"])
        self.rows, self.seq = rng.choice([1, 2]), rng.choice([2, 5, 8])
        self.seed, self.layers = rng.randrange(1000), rng.choice([1, 2])
        self.dtype = rng.choice(["float32", "float32", "float64", "bfloat16"])
        self.mesh = [a for a in rng.sample(list(self.size), 4) if self.size[a] > 1] or ["dp"]
        self.backward = rng.random() < 0.8

    def devices(self):
        n = 1
        for size in self.size.values():
            n *= size
        return n

    def names(self, axes):
        return "[" + ", ".join(a for a in axes if self.size[a] > 1) + "]"

    def text(self):
        mesh = ", ".join(f"{a}: {self.size[a]}" for a in self.mesh)
        tp = "tp" if self.size["tp"] > 1 else "null"
        wide = tp if self.expert_tensor else "null"
        expert = self.names(self.expert_order)
        expert = "null" if expert == "[]" else expert
        batch = self.rows * self.size["dp"] * self.size["ep"] * self.size["node"]
        groups = f"groups: {self.groups}, kept: {self.kept}, " if self.groups > 1 else ""
        node = "node_axis: node, " if self.by_node else ""
        axes = self.names(["dp", "ep", "node"])
        lines = [
            "version: 1", f"mesh: {{{mesh}}}",
            "model: {kind: transformer, d_model: 8, d_ff: 8, heads: 2, vocab: 16,"
            f" layers: {self.layers}, dtype: {self.dtype}, activation: swiglu}}",
            f"moe: {{experts: {self.experts}, top_k: {self.top_k}, d_ff: 4, {groups}{node}"
            f"routing: {self.routing}}}",
            f"batch: {{size: {batch}, seq: {self.seq}}}",
            f"step: [forward{', backward' if self.backward else ''}]", f"seed: {self.seed}",
            "params:", f"  - [moe/(gate|up)/kernel, [{expert}, null, {wide}]]",
            f"  - [moe/down/kernel, [{expert}, {wide}]]"]
        if self.tensor:
            lines += [f"  - [(q|k|v)/kernel, [null, {tp}]]", f"  - [attn/o/kernel, [{tp}]]"]
        lines += ["  - [.*, []]"]
        return "\n".join(lines + ([f"axes: {{batch: {axes}}}"] if axes != "[]" else [])) + "\n"

    # ---- what must travel ----

    def place(self, index, order):
        """Coordinates on node and ep of a shard, by the order of the axes."""
        inner = self.size[order[1]]
        return {order[0]: index // inner, order[1]: index % inner}

    def choices(self):
        """(token's place, places of its experts) of a group."""
        shards = self.size["ep"] * self.size["node"]
        tokens = self.rows * shards * self.seq
        if self.routing == "uniform" and self.kept < self.groups:
            ids = draw_limited(tokens, self.top_k, self.experts, self.groups, self.kept, self.seed)
        else:
            ids = draw(self.routing, tokens, self.top_k, self.experts, 1, self.seed)
        for t, row in enumerate(ids):
            yield (self.place(t // (self.rows * self.seq), ["ep", "node"]),
                   [self.place(e // self.each, self.expert_order) for e in row])

    def travels(self):
        """Bytes by axes of all rows that move between tokens and experts in a step."""
        size = {"float32": 4, "float64": 8, "bfloat16": 2}[self.dtype]
        row, passes = 8 * size, 4 if self.backward else 2
        whole = tuple(a for a in self.mesh if a in ("node", "ep") and self.size[a] > 1)
        moved = {}

        def add(axes, n):
            if n and axes:
                moved[axes] = moved.get(axes, 0) + n * self.layers * self.size["dp"] * self.size["tp"]

        for own, places in self.choices():
            apart = sum(p != own for p in places)
            if not self.by_node:
                add(whole, passes * row * apart)
                continue
            nodes = {p["node"] for p in places} - {own["node"]}
            add(("node",), passes * row * len(nodes))
            add(("ep",), passes * row * sum(p["ep"] != own["ep"] for p in places))
            add(whole, (2 if self.backward else 1) * size * apart)
        return moved


# Few layouts give the sums of tokens a sharding that nodes cannot be taken from.
REFUSED = "the tokens at experts are not sharded over the axis"


def results(program, command, path):
    done = subprocess.run([program, command, "-q", "--json", path], capture_output=True, text=True,
                          timeout=300, check=False)
    if REFUSED in done.stderr:
        return None
    if done.returncode not in (0, 1) or not done.stdout:
        raise AssertionError(f"{command}: status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_moved(result):
    moved = {}
    for c in result["collectives"]:
        if c["op"] == "all-to-all-v":
            axes = tuple(c["axes"])
            moved[axes] = moved.get(axes, 0) + c["received_bytes"]
    return {axes: n for axes, n in moved.items() if n}


def check(program, layout, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(layout.text())
    run, plan = results(program, "run", path), results(program, "plan", path)
    if run is None and plan is None:
        return False
    if not run["verify"]["ok"]:
        raise AssertionError("the numbers are wrong")
    for what in "received_bytes", "memory":
        for key in ("total", "by_axis") if what == "received_bytes" else ("peak_bytes",):
            got, planned = run[what][key], plan[what][key]
            if key == "peak_bytes" and isinstance(planned[0], dict):
                continue
            if got != planned:
                raise AssertionError(f"{key}: run {got}, planned {planned}")
    if rows_moved(run) != layout.travels():
        raise AssertionError(f"rows: {rows_moved(run)}, counted {layout.travels()}")
    return True


def main():
    program, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    bad = nodes = refused = 0
    for i in range(seed, seed + count):
        layout = Layout(random.Random(i))
        path = os.path.join(folder, f"nodes_{i}.yaml")
        nodes += layout.by_node
        try:
            refused += not check(program, layout, path)
            os.remove(path)
        except AssertionError as wrong:
            bad += 1
            print(f"program {i}: {wrong}")
    print(f"{count} programs, {nodes} of them by nodes; {refused} refused, {bad} wrong")
    return bad > 0 or refused * 10 > count + 10


if __name__ == "__main__":
    sys.exit(main())
