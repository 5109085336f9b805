#!/usr/bin/env python3
"""The first step of an mlp of one layer whose products are rounded, in plain Python: its loss and the norm of
its gradients by each recipe, beside those of `shardsim run --json` (tests/steps/products.sh).

    products.py RECIPE BLOCK RESULT.json

SPDX-License-Identifier: Apache-2.0
"""
import json, math, struct, sys

D, F, B, S = 8, 16, 2, 8  # widths of the layer, sequences and their length
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "e2m1": 6.0}
BITS = {"e4m3": (3, -6), "e5m2": (2, -14), "e2m1": (1, 0)}  # of a fraction, and the least exponent


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def filled(name, rows, columns, scale):
    h = 2166136261
    for c in name.encode():
        h = ((h ^ c) * 16777619) & 0xFFFFFFFF
    at = lambda i: f32((((i * 2654435761 + h) & 0xFFFFFFFF) / 2**32 - 0.5) * scale)
    return [[at(r * columns + c) for c in range(columns)] for r in range(rows)]


def rounded(x, code):
    bits, least = BITS[code]
    x = max(-LARGEST[code], min(LARGEST[code], x))
    unit = 2.0 ** (max(math.frexp(x)[1] - 1, least) - bits) if x else 1
    return round(x / unit) * unit  # to even between two


def scale(code, recipe, amax, whole):
    """The scale of a block, and the scale's encoding."""
    largest = LARGEST[code]
    if recipe == "mxfp8":
        e = -127 if amax == 0 else math.ceil(math.log2(amax / largest))
        return 2.0**-e, 2.0**e
    if recipe == "nvfp4":
        outer = f32(whole / f32(largest * 448))
        inner = rounded(max(f32(f32(amax / largest) / outer), 2.0**-6), "e4m3")
        return f32(f32(1 / outer) / inner), f32(outer * inner)
    to = f32(largest / max(amax, 1e-12))
    return to, f32(1 / to)


def coded(x, recipe, block, role, along):
    """x quantized for a matmul that sums over dimension `along` (0: rows, 1: columns)."""
    code = "e2m1" if recipe == "nvfp4" else "e5m2" if role == "gradient" and recipe == "tensorwise" else "e4m3"
    rows, columns = len(x), len(x[0])
    each = {"tensorwise": (rows, columns), "rowwise": (rows, 1) if along == 0 else (1, columns)}.get(recipe)
    if not each:
        each = (min(block, rows), 1) if along == 0 else (1, min(block, columns))
        if recipe == "blockwise" and role == "weight":
            each = (min(block, rows), min(block, columns))
    group = lambda r, c: (r // each[0], c // each[1])
    amax, whole = {}, max(abs(v) for row in x for v in row)
    for r in range(rows):
        for c in range(columns):
            amax[group(r, c)] = max(amax.get(group(r, c), 0), abs(x[r][c]))
    out = [[0.0] * columns for _ in range(rows)]
    for r in range(rows):
        for c in range(columns):
            to, back = scale(code, recipe, amax[group(r, c)], whole)
            out[r][c] = f32(rounded(f32(x[r][c] * to), code) * back)
    return out


def transposed(x):
    return [list(column) for column in zip(*x)]


def times(x, y):
    return [[f32(sum(a * b for a, b in zip(row, column))) for column in transposed(y)] for row in x]


def main():
    recipe, block, result = sys.argv[1], int(sys.argv[2]), json.load(open(sys.argv[3]))
    x, ct = filled("x", B * S, D, 2), filled("ct", B * S, D, 2)
    up, down = filled("layers/0/mlp/up/kernel", D, F, math.sqrt(12 / D)), filled("layers/0/mlp/down/kernel", F, D,
                                                                                 math.sqrt(12 / F))
    read = lambda a, role, along: coded(a, recipe, block, role, along)
    hidden = times(read(x, "data", 1), read(up, "weight", 0))
    act = [[max(v, 0.0) for v in row] for row in hidden]
    out = times(read(act, "data", 1), read(down, "weight", 0))
    loss = sum(a * b for p, q in zip(out, ct) for a, b in zip(p, q))
    ddown = times(transposed(read(act, "data", 0)), read(ct, "gradient", 0))
    dact = times(read(ct, "gradient", 1), transposed(read(down, "weight", 1)))
    dhidden = [[g if h > 0 else 0.0 for g, h in zip(p, q)] for p, q in zip(dact, hidden)]
    dup = times(transposed(read(x, "data", 0)), read(dhidden, "gradient", 0))
    norm = math.sqrt(sum(v * v for g in (ddown, dup) for row in g for v in row))
    told = result["training"]
    wrong = max(abs(told["losses"][0] - loss) / abs(loss), abs(told["grad_norms"][0] - norm) / norm)
    print("loss %.7g, here %.7g; norm %.7g, here %.7g" % (told["losses"][0], loss, told["grad_norms"][0], norm))
    return wrong > 1e-5


sys.exit(main())
