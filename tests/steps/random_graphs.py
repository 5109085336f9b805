#!/usr/bin/env python3
"""random_graphs.py PROGRAM FOLDER SEED COUNT [FUNCTION] - random graphs of all functions of `graph:`, planned and run.

Functions are drawn from the program's own table (`show functions`), shapes, shardings and meshes at random, with
gradients where all has one.  As random_scenarios.py does: what is refused is taken out, bytes, flops and peak memory of a
plan are those of the run, and no run is wrong.  Fails, too, where a function never occurred among many.  With a
FUNCTION, each graph has it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import re
import struct
import subprocess
import sys

import random_draw
import random_scenarios as scenarios

AXES = ["dp", "tp", "sp", "ep"]
SIZES = [1, 2, 3, 4, 6, 8, 12, 16]
ELEMENTS = 4096  # of one array
VALUES = "values.safetensors"  # with an array of each of these numbers of elements
COUNTS = sorted({a * b * c for a in SIZES for b in SIZES for c in SIZES if a * b * c <= 512})
ENOUGH = 400     # graphs of which each function is in some
BINARY = ["add", "sub", "mul", "div", "max", "min", "equal", "less", "less_equal", "not_equal", "greater", "greater_equal",
          "and", "or", "xor", "atan2", "pow", "rem", "gate"]
WHOLE = ["bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"]  # of two; bit_not has one
OF_NUMBER = ["scale", "add_scalar", "fill"]
POSITIVE = ["log", "sqrt", "rsqrt"]
ODD = ["gelu_grad", "gelu_exact_grad", "silu_grad", "quick_gelu_grad", "cummax", "cummin",
       "attention_grad"]  # without a gradient


class Array:
    def __init__(self, name, dims, whole=False, bound=2.0):
        self.name, self.dims, self.whole, self.bound = name, dims, whole, bound


class Graph:
    def __init__(self, rng, even):
        self.rng, self.even = rng, even  # even: sizes that most axes divide, and arrays that have rules
        self.dims, self.inputs, self.params, self.lines, self.arrays = {}, {}, {}, [], []
        self.backward = rng.random() < 0.5
        for _ in range(rng.choice([2, 3])):
            self.new_dim(rng.choice([4, 8, 12, 16] if even else SIZES))
        for _ in range(rng.choice([2, 3])):
            self.leaf(rng.sample(list(self.dims), rng.randint(1, len(self.dims))))

    def new_dim(self, size):
        name = f"d{len(self.dims)}"
        self.dims[name] = size
        return name

    def count(self, dims):
        return random_draw.product(self.dims[d] for d in dims)

    def leaf(self, dims):
        if self.even or self.rng.random() < 0.5:
            name = f"p{len(self.params)}"
            self.params[name] = dims
        else:
            name = f"x{len(self.inputs)}"
            stored = self.count(dims) in COUNTS and not self.even and self.rng.random() < 0.2
            self.inputs[name] = {"dims": dims, "values": f"n{self.count(dims)}"} if stored else dims
        self.arrays.append(Array(name, dims))
        return self.arrays[-1]

    def ids(self, dims, below):
        """Whole numbers below the size of a dim: an input."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = {"dims": dims, "below": below}
        self.arrays.append(Array(name, dims, True, self.dims[below]))
        return self.arrays[-1]

    def pick(self, rank=1, whole=False):
        """An array with so many dims at least, mostly a late one."""
        some = [a for a in self.arrays if a.whole == whole and len(a.dims) >= rank]
        if not some:
            dims = self.rng.sample(list(self.dims), min(rank, len(self.dims)))
            while len(dims) < rank:
                dims.append(self.new_dim(self.rng.choice([2, 3, 4])))
            return self.ids(dims, self.rng.choice(list(self.dims))) if whole else self.leaf(dims)
        return self.rng.choice(some[-3:] if self.rng.random() < 0.7 else some)

    def add(self, function, text, dims, whole=False, bound=2.0):
        """Add a line, and a second line that bounds large values."""
        name = f"y{len(self.lines)}"
        self.lines.append(f"{name}[{','.join(dims)}] = {text}")
        self.backward &= function not in ODD
        array = Array(name, list(dims), whole, bound)
        if not whole and bound > 6:
            self.lines.append(f"{name}.t[{','.join(dims)}] = tanh({name})")
            array = Array(name + ".t", list(dims), False, 1.0)
        self.arrays.append(array)
        return array


def between(g, x, dim, size):
    """The dims of x with another in place of one."""
    new = g.new_dim(size)
    return new, [new if d == dim else d for d in x.dims]


def partner(g, x):
    """An array of dims of x, to combine with it."""
    same = [a for a in g.arrays if not a.whole and a is not x and set(a.dims) <= set(x.dims)]
    if same and g.rng.random() < 0.6:
        return g.rng.choice(same)
    return g.leaf(g.rng.sample(x.dims, g.rng.randint(min(1, len(x.dims)), len(x.dims))))


def elementwise(g, f):
    if f in WHOLE or f == "bit_not":
        x = g.pick(whole=True)
        if f == "bit_not":
            return g.add(f, f"bit_not({x.name})", x.dims, True)
        other = g.ids(x.dims, g.rng.choice(list(g.dims)))
        if "shift" in f:
            return g.add(f, f"{f}({x.name}, bit_and({other.name}, 3))", x.dims, True)
        return g.add(f, f"{f}({x.name}, {other.name})", x.dims, True)
    x = g.pick(0)
    if f == "fill":
        return g.add(f, f"fill({x.name}, 0.5)", x.dims)
    if f in OF_NUMBER:
        return g.add(f, f"{f}({x.name}, {g.rng.choice([-0.5, 1.5])})", x.dims, bound=x.bound + 2)
    if f in BINARY:
        y = partner(g, x)
        second = f"({y.name} * {y.name} + 0.5)" if f in ("div", "rem") else y.name
        first = f"({x.name} * {x.name} + 0.5)" if f == "pow" else x.name
        return g.add(f, f"{f}({first}, {second})", x.dims, bound=x.bound * y.bound + 4 if f != "pow" else 50)
    if f in POSITIVE:
        return g.add(f, f"{f}({x.name} * {x.name} + 0.5)", x.dims, bound=x.bound + 1)
    if f == "log1p":
        return g.add(f, f"log1p({x.name} * {x.name})", x.dims)
    if f in ("exp", "exp2", "expm1", "tan"):
        return g.add(f, f"{f}(tanh({x.name}) / 2)", x.dims)
    return g.add(f, f"{f}({x.name})", x.dims, bound=x.bound ** 2 if f == "relu_squared" else x.bound)


def einsum(g, f):
    a = g.pick()
    if g.rng.random() < 0.15:
        dims = g.rng.sample(a.dims, g.rng.randint(0, len(a.dims)))
        return g.add(f, f"einsum({a.name})", dims, bound=a.bound * g.count(a.dims) ** 0.5)
    b = g.rng.choice([x for x in g.arrays if not x.whole])
    if g.rng.random() < 0.5 or not set(a.dims) & set(b.dims):
        shared = g.rng.sample(a.dims, g.rng.randint(1, len(a.dims)))
        b = g.leaf(shared + ([g.new_dim(g.rng.choice(SIZES))] if g.rng.random() < 0.6 else []))
    every = list(dict.fromkeys(a.dims + b.dims))
    if g.count(every) > 16 * ELEMENTS or len(every) > 6:
        return None
    dims = [d for d in every if d not in a.dims or d not in b.dims or g.rng.random() < 0.5]
    g.rng.shuffle(dims)
    if g.count(dims) > ELEMENTS:
        return None
    return g.add(f, f"einsum({a.name}, {b.name})", dims, bound=a.bound * b.bound * (g.count(every) / g.count(dims)) ** 0.5)


def reduce(g, f):
    x = g.pick()
    dims = [d for d in x.dims if g.rng.random() < 0.5]
    if len(dims) == len(x.dims):
        dims.pop()
    return g.add(f, f"{f}({x.name})", dims, bound=x.bound * (g.count(x.dims) ** 0.5 if f == "sum" else 1))


def along(g, f):
    x = g.pick()
    reverse = ", reverse=true" if g.rng.random() < 0.4 else ""
    dim = g.rng.choice(x.dims)
    if f == "recurrence":
        a = g.leaf(list(x.dims))
        return g.add(f, f"recurrence(sigmoid({a.name}), {x.name}, {dim}{reverse})", x.dims, bound=x.bound * 4)
    text = f"sigmoid({x.name}) + 0.5" if f == "cumprod" else x.name
    return g.add(f, f"{f}({text}, {dim}{reverse})", x.dims, bound=x.bound * g.dims[dim])


def of_dim(g, f):
    """softmax, argmax and others: a dim stays, or goes."""
    x = g.pick()
    dim = g.rng.choice(x.dims)
    kept = [d for d in x.dims if d != dim]
    if f == "softmax":
        return g.add(f, f"softmax({x.name}, {dim})", x.dims, bound=1)
    if f == "logsumexp":
        return g.add(f, f"logsumexp({x.name}, {dim})", kept, bound=x.bound + 3)
    if f in ("argmax", "argmin"):
        return g.add(f, f"{f}({x.name}, {dim})", kept, True, g.dims[dim])
    if f == "topk":
        choice, dims = between(g, x, dim, g.rng.randint(1, g.dims[dim]))
        return g.add(f, f"topk({x.name}, {dim}, {choice})", kept + [choice], True, g.dims[dim])
    scale = ", " + g.leaf([dim]).name if g.rng.random() < 0.6 else ""
    return g.add(f, f"{f}({x.name}, {dim}{scale})", x.dims, bound=4)


def place(g, f):
    x = g.pick(whole=g.rng.random() < 0.1)
    dim = g.rng.choice(x.dims)
    size = g.dims[dim]
    if f == "reverse":
        return g.add(f, f"reverse({x.name}, {dim})", x.dims, x.whole, x.bound)
    if f == "shift":
        return g.add(f, f"shift({x.name}, {dim}, {g.rng.randint(-size, size)})", x.dims, x.whole, x.bound)
    if f == "slice":
        stride = g.rng.choice([1, 1, 2, 3])
        start = g.rng.randint(0, size - 1)
        most = (size - 1 - start) // stride + 1
        to, dims = between(g, x, dim, g.rng.choice([most, g.rng.randint(1, most), max(1, most // 2)]))
        return g.add(f, f"slice({x.name}, {dim}, {to}, {start}, stride={stride})", dims, x.whole, x.bound)
    if f == "pad":
        apart = g.rng.choice([0, 0, 1, 2])
        to, dims = between(g, x, dim, size + g.rng.choice([size, 1, 3, 4]) + apart * size)
        fill = g.rng.choice(["", "", ", fill=1"])
        return g.add(f, f"pad({x.name}, {dim}, {to}, {g.rng.randint(-1, 3) if size > 1 else 0}, between={apart}{fill})",
                     dims, x.whole, x.bound)
    if f == "repeat":
        to, dims = between(g, x, dim, size * g.rng.choice([2, 3, 4]))
        return g.add(f, f"repeat({x.name}, {dim}, {to})", dims, x.whole, x.bound)
    if f == "rename":
        to, dims = between(g, x, dim, size)
        return g.add(f, f"rename({x.name}, {dim}, {to})", dims, x.whole, x.bound)
    other, dims = between(g, x, dim, g.rng.choice([size, 1, 2]))  # concat
    y = g.ids(dims, dim) if x.whole else g.leaf(dims)
    to, dims = between(g, x, dim, size + g.dims[other])
    first, second = ((x, dim), (y, other)) if g.rng.random() < 0.5 else ((y, other), (x, dim))
    if first[0] is y:
        dims = [to if d == other else d for d in y.dims]
    return g.add(f, f"concat({first[0].name}, {first[1]}, {second[0].name}, {second[1]}, {to})", dims, x.whole,
                 max(x.bound, 2))


def windows(g, f):
    x = g.pick()
    dim = g.rng.choice(x.dims)
    size, taps = g.dims[dim], g.rng.choice([1, 2, 3, 4])
    stride, dilation, low, high = (g.rng.choice(some) for some in ([1, 1, 2, 3], [1, 1, 2], [0, 1, 2], [0, 1, 2]))
    span = (taps - 1) * dilation + 1
    if size + low + high < span or len(x.dims) > 5 or g.count(x.dims) * taps > ELEMENTS:
        return None
    count = (size + low + high - span) // stride + 1
    to, tap = g.new_dim(count), g.new_dim(taps)
    dims = [e for d in x.dims for e in ([to, tap] if d == dim else [d])]
    more = f"stride={stride}, dilation={dilation}, low={low}"
    if f == "windows":
        return g.add(f, f"windows({x.name}, {dim}, {to}, {tap}, {more}, high={high})", dims, bound=x.bound)
    y = g.leaf(dims)
    return g.add(f, f"windows_add({y.name}, {to}, {tap}, {dim}, {more})", x.dims, bound=2 * taps)


def choose(g, f):
    """embed, pick and their ways back: by ids along a dim."""
    dim = g.rng.choice(list(g.dims))
    if f in ("embed", "pick"):
        x = g.pick()
        dim = g.rng.choice(x.dims)
        kept = [d for d in x.dims if d != dim]
        if f == "embed":
            free = [d for d in g.dims if d not in x.dims] or [g.new_dim(g.rng.choice(SIZES))]
            ids = g.ids(g.rng.sample(free, min(len(free), g.rng.choice([1, 1, 2]))), dim)
            if g.count(ids.dims + kept) > ELEMENTS:
                return None
            return g.add(f, f"embed({x.name}, {ids.name}, {dim})", ids.dims + kept, bound=x.bound)
        ids = g.ids(kept, dim)
        return g.add(f, f"pick({x.name}, {ids.name}, {dim})", kept, bound=x.bound)
    x = g.pick()
    new = g.new_dim(g.rng.choice(SIZES))
    if f == "embed_add":
        ids = g.ids(x.dims[:g.rng.randint(1, len(x.dims))], new)
        rest = x.dims[len(ids.dims):]
        return g.add(f, f"embed_add({x.name}, {ids.name}, {new})", [new] + rest, bound=x.bound * 3)
    ids = g.ids(list(x.dims), new)
    return g.add(f, f"pick_add({x.name}, {ids.name}, {new})", x.dims + [new], bound=x.bound)


def attention(g, f):
    b, h, k = g.new_dim(g.rng.choice([1, 2, 4])), g.new_dim(g.rng.choice([2, 4])), g.new_dim(g.rng.choice([2, 4]))
    q, t = g.new_dim(g.rng.choice([4, 8])), g.new_dim(g.rng.choice([4, 8]))
    causal = g.rng.random() < 0.5
    t = q if causal else t
    x, y, z = g.leaf([b, q, h, k]), g.leaf([b, t, h, k]), g.leaf([b, t, h, k])
    made = g.add("attention", f"attention({x.name}, {y.name}, {z.name}{', causal=true' if causal else ''})", x.dims)
    if f == "attention":
        return made
    of, dims = g.rng.choice([("q", x.dims), ("k", y.dims), ("v", z.dims)])
    return g.add(f, f"attention_grad({made.name}, {x.name}, of={of})", dims, bound=16)


def other(g, f):
    x = g.pick(0)
    if f == "rope":
        s, k = g.new_dim(g.rng.choice([4, 8])), g.new_dim(g.rng.choice([2, 4, 8]))
        y = g.leaf([s, g.new_dim(g.rng.choice([1, 2, 4])), k])
        return g.add(f, f"rope({y.name}, {s}, {k}, interleaved={g.rng.choice(['true', 'false'])})", y.dims, bound=3)
    if f == "causal_mask":
        x = g.pick(2)
        query, key = g.rng.sample(x.dims, 2)
        masked = g.add(f, f"exp(causal_mask({x.name}, {query}, {key}) / 4)", x.dims, bound=4)
        return masked
    if f == "transpose":
        dims = g.rng.sample(x.dims, len(x.dims))
        return g.add(f, f"transpose({x.name})", dims, bound=x.bound)
    if f == "full":
        return g.add(f, f"full(0.5)[{','.join(x.dims)}] + {x.name}", x.dims, bound=x.bound + 1)
    if f == "reshape":
        n = g.count(x.dims)
        first = g.rng.choice([d for d in range(1, n + 1) if n % d == 0])
        dims = [g.new_dim(first), g.new_dim(n // first)]
        return g.add(f, f"reshape({x.name})", dims, bound=x.bound)
    if f == "select":
        y = partner(g, x)
        return g.add(f, f"select(less({x.name}, {y.name}), {x.name}, {y.name})", x.dims, bound=max(x.bound, y.bound))
    if f == "clamp":
        return g.add(f, f"clamp({x.name}, -0.7, 0.8)", x.dims, bound=1)
    if f == "convert":
        if g.rng.random() < 0.5:
            return g.add(f, f"convert({x.name} * 3, int32)", x.dims, True, 100)
        y = g.pick(0, whole=True)
        return g.add(f, f"convert({y.name}, float32) / 8", y.dims, bound=y.bound / 8)
    if f == "iota":
        x = g.pick()
        return g.add(f, f"{x.name} * convert(iota({g.rng.choice(x.dims)}), float32) / 8", x.dims, bound=2 * x.bound)
    if f == "one_hot":
        dim = g.new_dim(g.rng.choice(SIZES))
        ids = g.ids([g.rng.choice(list(g.dims)[:2])], dim)
        return g.add(f, f"one_hot({ids.name}, {dim})", ids.dims + [dim], bound=1)
    if f == "constraint":
        return g.add(f, f"constraint(c{len(g.lines)}, {x.name})", x.dims, bound=x.bound)
    return g.add(f, f"{f}({x.name})", x.dims, bound=x.bound)  # stop_gradient, and what is new


MAKERS = {"einsum": einsum, "attention": attention, "attention_grad": attention}
for names, maker in (("sum mean", reduce), ("cumsum cumprod cummax cummin recurrence", along),
                     ("softmax logsumexp argmax argmin topk rms_norm layer_norm", of_dim),
                     ("slice pad reverse concat repeat rename shift", place), ("windows windows_add", windows),
                     ("embed embed_add pick pick_add", choose),
                     ("greater greater_equal", elementwise)):
    MAKERS.update({name: maker for name in names.split()})


def functions_of(program):
    """Names in the program's table: elementwise ones, and others."""
    text = subprocess.run([program, "show", "functions"], capture_output=True, text=True, check=True).stdout
    head, rest = re.match(r"elementwise.*\n((?:    .*\n)+)((?s:.*))", text).groups()
    plain = re.findall(r"\w+", head)
    return plain, re.findall(r"^(\w+)\(", rest, re.M)


def maker_of(function, plain, rng):
    if function in ("max", "min"):
        return reduce if rng.random() < 0.5 else elementwise
    return MAKERS.get(function, elementwise if function in plain else other)


def spec_of(rng, mesh, sizes, uneven, dense=0.45):
    """A sharding that divides, unless dims are padded."""
    free, spec = list(mesh), []
    rng.shuffle(free)
    for size in sizes:
        axes, cut = [], 1
        while free and rng.random() < dense and (uneven or size % (cut * mesh[free[-1]]) == 0):
            cut *= mesh[free[-1]]
            axes.append(free.pop())
        spec.append(axes if len(axes) > 1 else axes[0] if axes else None)
    return spec


def graph_of(rng, functions, wanted, alone):
    g = Graph(rng, alone)
    plain, others = functions
    draw = [wanted] if wanted else []
    if not alone:
        draw += rng.choices(plain + others, k=rng.randint(2, 7 if not wanted else 3))
    rng.shuffle(draw)
    for f in draw:
        for _ in range(20 if f == wanted else 3):
            if maker_of(f, plain, rng)(g, f):
                break
    return g


def read_names(lines):
    return {name for line in lines for name in re.findall(r"[a-z]\d+(?:\.t)?", line.split(" = ", 1)[1])}


def scenario_of(rng, name, functions, wanted=None, alone=False):
    """A graph with a wanted function, or of that `alone`, then with dims that divide."""
    g = graph_of(rng, functions, wanted, alone)
    mesh, uneven = random_draw.mesh_of(rng, AXES), rng.random() < 0.12 and not alone
    read = read_names(g.lines)
    made = [line.split("[")[0] for line in g.lines]
    outputs = [n for n in made if n not in read]
    for leaves in g.inputs, g.params:
        for leaf in [n for n in leaves if n not in read]:
            del leaves[leaf]
    axes = {}
    for dim in rng.sample(list(g.dims), min(len(g.dims), 2)):
        axis = rng.choice(list(mesh))
        if axis not in axes.values() and rng.random() < 0.6 and (uneven or g.dims[dim] % mesh[axis] == 0):
            axes[dim] = axis
    constraints = [[f"^{a.name}$", spec_of(rng, mesh, [g.dims[d] for d in a.dims], uneven)]
                   for a in g.arrays if a.name in made and rng.random() < 0.3]
    backward = g.backward and g.params and not all(a.whole for a in g.arrays if a.name in outputs)
    if backward:  # of fractions alone
        outputs = [a.name for a in g.arrays if a.name in outputs and not a.whole]
    stored = {"values": VALUES} if any("values" in leaf for leaf in g.inputs.values()) else {}
    return {"name": name, "mesh": mesh,
            "graph": {"dims": g.dims, "inputs": g.inputs, "params": g.params, "ops": g.lines, "outputs": outputs, **stored},
            "step": ["forward", "backward"] if backward else ["forward"],
            "params": [[f"^{n}$", spec_of(rng, mesh, [g.dims[d] for d in dims], uneven, 0.7 if alone else 0.45)]
                       for n, dims in g.params.items()],
            "axes": axes, "constraints": constraints,
            "placement": rng.choice(["follow", "search"]), **({"uneven": "pad"} if uneven else {})}


def write_values(folder):
    """The file that graphs name: random numbers, for each of COUNTS an array of so many."""
    rng, header, end = random.Random(0), {}, 0
    for n in COUNTS:
        header[f"n{n}"] = {"dtype": "F32", "shape": [n], "data_offsets": [end, end + 4 * n]}
        end += 4 * n
    text = json.dumps(header).encode()
    with open(os.path.join(folder, VALUES), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.write(struct.pack(f"<{end // 4}f", *(rng.gauss(0, 1) for _ in range(end // 4))))


def main():
    wanted = sys.argv[5] if len(sys.argv) > 5 else None
    functions, seen = functions_of(sys.argv[1]), {}

    def make(rng, name):
        return scenario_of(rng, name, functions, wanted)

    def count(planned):
        for scenario in planned:
            for f in set(re.findall(r"(\w+)\(", " ".join(scenario["graph"]["ops"]))):
                seen[f] = seen.get(f, 0) + 1

    write_values(sys.argv[2])
    wrong = scenarios.main(make, count)
    missing = [f for f in functions[0] + functions[1] if f not in seen]
    if missing and int(sys.argv[4]) >= ENOUGH and not wanted:
        print("never occurred:", *missing)
        wrong = True
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
