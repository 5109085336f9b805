#!/usr/bin/env python3
"""A train step of a transformer as primitive lines of a `graph:`, as a tracer writes it: some 450 a layer.

    bench/long_graph.py LAYERS >long.yaml      a scenario
    bench/long_graph.py --time PROGRAM 20 80 320 1000   plans of each, in seconds and per layer

Forward phase, gradients by reverse mode, and Adam are all plain lines; the mesh is dp 4 x tp 2.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

SIZES = {"b": 32, "s": 1024, "t": 1024, "d": 2048, "h": 16, "k": 128, "f": 8192}


class Tape:
    """Graph lines, with the dims of each array and the gradient functions of its operands."""

    def __init__(self):
        self.lines, self.dims, self.made, self.params = [], {}, [], []

    def line(self, name, dims, text, *back):
        self.lines.append(f"{name}[{','.join(dims)}] = {text}")
        self.dims[name] = dims
        self.made.append((name, back))
        return name

    def name(self):
        return f"v{len(self.lines)}"

    def param(self, name, dims):
        self.dims[name] = dims
        self.params.append(name)
        return name

    def wide(self, a, b):
        """The dims of an elementwise result, in the order of SIZES."""
        return [d for d in SIZES if d in self.dims[a] or d in self.dims[b]]

    def narrow(self, g, x):
        """A gradient summed over what its operand was broadcast along."""
        if self.dims[g] == self.dims[x]:
            return g
        return self.line(self.name(), self.dims[x], f"sum({g})")

    def einsum(self, a, b, dims):
        def of(other):
            return lambda g, x: self.line(self.name(), self.dims[x], f"einsum({g}, {other})")

        return self.line(self.name(), dims, f"einsum({a}, {b})", (a, of(b)), (b, of(a)))

    def mul(self, a, b):
        def of(other):
            return lambda g, x: self.narrow(self.line(self.name(), self.wide(g, other), f"{g} * {other}"), x)

        return self.line(self.name(), self.wide(a, b), f"{a} * {b}", (a, of(b)), (b, of(a)))

    def add(self, a, b):
        return self.line(self.name(), self.wide(a, b), f"{a} + {b}", (a, self.narrow), (b, self.narrow))

    def sub(self, a, b):
        def minus(g, x):
            return self.narrow(self.line(self.name(), self.dims[g], f"neg({g})"), x)

        return self.line(self.name(), self.wide(a, b), f"{a} - {b}", (a, self.narrow), (b, minus))

    def sum(self, a, dims):
        def spread(g, x):
            zero = self.line(self.name(), self.dims[x], f"{x} * 0")
            return self.line(self.name(), self.dims[x], f"{g} + {zero}")

        return self.line(self.name(), dims, f"sum({a})", (a, spread))

    def largest(self, a, dims):
        return self.line(self.name(), dims, f"max({a})")

    def same(self, function, a, derivative):
        """An elementwise function, and its derivative as text of {x} and {y}."""
        y = self.name()

        def back(g, x):
            slope = self.line(self.name(), self.dims[x], derivative.format(x=x, y=y))
            return self.line(self.name(), self.dims[x], f"{g} * {slope}")

        return self.line(y, self.dims[a], function.format(x=a), (a, back))

    def rename(self, a, one, other):
        dims = [other if d == one else d for d in self.dims[a]]

        def back(g, x):
            return self.line(self.name(), self.dims[x], f"rename({g}, {other}, {one})")

        return self.line(self.name(), dims, f"rename({a}, {one}, {other})", (a, back))

    def gradients(self, loss):
        made, found = list(self.made), {}
        found[loss] = self.line(self.name(), self.dims[loss], f"{loss} * 0 + 1")
        for name, back in reversed(made):
            for x, step in back if name in found else ():
                g = step(found[name], x)
                found[x] = self.line(self.name(), self.dims[x], f"{found[x]} + {g}") if x in found else g
        return found


def norm(t, x, scale):
    mean = t.same("{x} / 2048 + 1e-6", t.sum(t.mul(x, x), ["b", "s"]), "{x} * 0 + 0.00048828125")
    return t.mul(t.mul(x, t.same("rsqrt({x})", mean, "-0.5 * {y} * {y} * {y}")), scale)


def layer(t, x, n):
    p = {name: t.param(f"layers.{n}.{name}", dims) for name, dims in (
        ("norm1", ["d"]), ("q", ["d", "h", "k"]), ("k", ["d", "h", "k"]), ("v", ["d", "h", "k"]),
        ("o", ["d", "h", "k"]), ("norm2", ["d"]), ("gate", ["d", "f"]), ("up", ["d", "f"]), ("down", ["d", "f"]))}
    y = norm(t, x, p["norm1"])
    q, k, v = (t.einsum(y, p[name], ["b", "s", "h", "k"]) for name in "qkv")
    k, v = t.rename(k, "s", "t"), t.rename(v, "s", "t")
    scores = t.same("{x} * 0.08838834764831845", t.einsum(q, k, ["b", "s", "t", "h"]), "{x} * 0 + 0.088388347648")
    e = t.same("exp({x})", t.sub(scores, t.largest(scores, ["b", "s", "h"])), "copy({y})")
    share = t.mul(e, t.same("1 / {x}", t.sum(e, ["b", "s", "h"]), "-1 * {y} * {y}"))
    mixed = t.einsum(share, v, ["b", "s", "h", "k"])
    x = t.add(x, t.einsum(mixed, p["o"], ["b", "s", "d"]))
    y = norm(t, x, p["norm2"])
    gate, up = (t.einsum(y, p[name], ["b", "s", "f"]) for name in ("gate", "up"))
    sigmoid = t.same("sigmoid({x})", gate, "{y} * (1 - {y})")
    return t.add(x, t.einsum(t.mul(t.mul(gate, sigmoid), up), p["down"], ["b", "s", "d"]))


def adam(t, p, g, states):
    dims, inputs = t.dims[p], [f"{p}.{s}" for s in "mv"]
    for s in inputs:
        states[s] = dims
    m, v = inputs

    def line(text, *arrays):
        return t.line(t.name(), dims, text.format(*arrays))

    m1 = line("{} + {}", line("{} * 0.9", m), line("{} * 0.1", g))
    v1 = line("{} + {}", line("{} * 0.95", v), line("{} * 0.05", line("{} * {}", g, g)))
    root = line("{} + 1e-8", line("sqrt({})", line("{} / 0.05", v1)))
    hat = line("{} / {}", line("{} / 0.1", m1), root)
    decayed = line("{} + {}", hat, line("{} * 0.01", p))
    return [line("{} - {}", p, line("{} * 1e-4", decayed)), m1, v1]


def scenario(layers):
    t = Tape()
    states = {"x": ["b", "s", "d"]}
    x = "x"
    t.dims[x] = states[x]
    for n in range(layers):
        x = layer(t, x, n)
    loss = t.sum(t.mul(x, x), [])
    found = t.gradients(loss)
    outputs = [loss]
    for p in t.params:
        outputs += adam(t, p, found[p], states)

    rules = [["[.](q|k|v|o)$", [None, "tp"]], ["[.](gate|up|down)$", [None, "tp"]], [".*", []]]
    states_specs = [["[.](q|k|v|o)[.][mv]$", [None, "tp"]], ["[.](gate|up|down)[.][mv]$", [None, "tp"]],
                    ["^x$", ["dp"]]]
    graph = {"dims": SIZES, "inputs": states, "params": {p: t.dims[p] for p in t.params}, "ops": t.lines,
             "outputs": outputs}
    return {"version": 1, "name": f"long-{layers}", "mesh": {"dp": 4, "tp": 2}, "graph": graph,
            "step": ["forward"], "params": rules, "constraints": states_specs}


def measure(program, counts):
    for layers in counts:
        made = scenario(layers)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(made, file)
            file.flush()
            before = time.monotonic()
            done = subprocess.Popen([program, "plan", "--quiet", "--json", file.name], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(done.pid, 0)
            took = time.monotonic() - before
        lines = len(made["graph"]["ops"])
        print(f"{layers:5} layers, {lines:6} lines: {took:6.2f} s, CPU {usage.ru_utime + usage.ru_stime:6.2f} s, "
              f"{1e3 * (usage.ru_utime + usage.ru_stime) / layers:6.2f} ms a layer, "
              f"{usage.ru_maxrss / 1024:.0f} MiB, status {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--time":
        measure(sys.argv[2], [int(n) for n in sys.argv[3:]])
    else:
        json.dump(scenario(int(sys.argv[1])), sys.stdout, indent=0)
