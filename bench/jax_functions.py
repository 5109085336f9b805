#!/usr/bin/env python3
"""Trace JAX's primitives one by one, and compare with JAX: jax_functions.py [--only REGEX] [--uses N] [--seed S] [-v]

The primitives are entries of the tracer's tables: N uses of each at random shapes, axes and types (float32, bfloat16, float16,
float64, int32, int64, uint32, bool as the primitive takes them, complex64 and complex128 if the tracer does), with the gradients of a weighted sum of the results, over two
devices along the first dimension of each argument that divides; a run also compares the devices with one device.

A use is right as in torch_functions.py: types and shapes are JAX's, whole numbers and booleans equal, others nearer than the
tolerance, or no farther from JAX's result in float64 than twice JAX's own.  NaN and infinities are at the same places.  A use
counts only if the primitive is in its jaxpr, or in a jaxpr inside: in that of the function, or of its gradients if the weighted
sum alone does not have it.  Needs shardsim, jax and numpy.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import collections
import os
import re
import sys
import time
import warnings
import zlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32

import shardsim
from shardsim.trace import jax_reader
from shardsim.trace.complex_arrays import PARTS, Complex
from shardsim.trace.jax import from_jax

jax.config.update("jax_enable_x64", True)

#: Relative errors, and the part of the largest element that an element counts as at least.
TOLERANCES = {"float32": (1e-4, 0.02), "bfloat16": (3e-2, 0.5), "float16": (4e-3, 0.5), "float64": (1e-9, 0.02),
              "complex64": (1e-4, 0.05), "complex128": (1e-9, 0.02)}  # fmt: skip
#: Complex types by the types of their parts.
NAMES = {part: kind for kind, part in PARTS.items()}
#: The type in which a run returns arrays, where it is another.
RETURNED = {"bfloat16": "float32"}
FLOATS = ("float32", "float32", "bfloat16", "float64", "float16")
WHOLE = ("int32", "int64", "uint32")
COMPLEX = ("complex64", "complex128")
CRASHES = re.compile(r"Error: |Error\)|Exception|internal|Traceback")


class Draw:
    """Random choices of one use."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.kind = "float32"

    def of(self, *choices):
        return choices[self.random.randint(len(choices))]

    def below(self, first, last):
        return int(self.random.randint(first, last + 1))

    def shape(self, low=1, high=3):
        return tuple(self.of(1, 2, 3, 4, 5, 6) for _ in range(self.below(low, high)))

    def array(self, shape, kind=None, low=-3.0, high=3.0):
        kind = kind or self.kind
        if kind == "bool":
            return jnp.asarray(self.random.randint(0, 2, shape).astype(bool))
        if kind in WHOLE:
            return jnp.asarray(self.random.randint(max(0 if kind[0] == "u" else -9, int(low) if low != -3.0 else -9), int(high) if high != 3.0 else 10, shape)).astype(kind)
        if kind in COMPLEX:
            return jnp.asarray(self.random.uniform(low, high, shape) + 1j * self.random.uniform(low, high, shape)).astype(kind)
        return jnp.asarray(self.random.uniform(low, high, shape)).astype(kind)

    def ids(self, shape, n, beyond=0):
        return jnp.asarray(self.random.randint(-beyond, n + beyond, shape).astype(np.int32))

    def axis(self, x):
        return self.below(0, x.ndim - 1)

    def axes(self, x):
        order = [int(a) for a in self.random.permutation(x.ndim)]
        return tuple(order[: self.below(1, x.ndim)])


# ---- uses: a primitive's name, its types, and what draws a function and its arguments


def unary(fn, low=-3.0, high=3.0):
    return lambda d: (fn, [d.array(d.shape(0), low=low, high=high)])


def binary(fn, low=-3.0, high=3.0):
    def use(d):
        shape = d.shape(0)
        other = d.of(shape, shape, tuple(d.of(1, n) for n in shape), shape[1:])
        return lambda x, y: fn(*jnp.broadcast_arrays(x, y)), [d.array(shape, low=low, high=high), d.array(other, low=low, high=high)]

    return use


def shifted(fn):
    def use(d):
        shape, by = d.shape(0), d.below(0, 20)
        return lambda x: fn(x, jnp.full(x.shape, by, x.dtype)), [d.array(shape)]

    return use


def reduction(fn):
    def use(d):
        x = d.array(d.shape())
        axes = d.axes(x)
        return lambda x: fn(x, axes), [x]

    return use


def along(fn):
    def use(d):
        x = d.array(d.shape())
        axis, back = d.axis(x), bool(d.below(0, 1))
        return lambda x: fn(x, axis, back), [x]

    return use


def reshaped(d):
    x = d.array(d.shape())
    n = x.size
    to = d.of((n,), (1, n), (n, 1), (2, n // 2) if n % 2 == 0 else (n,), (n // 3, 3) if n % 3 == 0 else (n,), x.shape[::-1])
    return lambda x: lax.reshape(x, to), [x]


def sliced(d):
    x = d.array(d.shape())
    start = [d.below(0, n - 1) for n in x.shape]
    end = [d.below(a + 1, n) for a, n in zip(start, x.shape)]
    by = [d.of(1, 1, 2, 3) for _ in x.shape]
    return lambda x: lax.slice(x, start, end, by), [x]


def padded(d):
    x = d.array(d.shape())
    sides = [(d.below(-1, 2), d.below(0, 2), d.of(0, 0, 1, 2)) for _ in x.shape]
    return lambda x, v: lax.pad(x, v, sides), [x, d.array(())]


def joined(d):
    x = d.array(d.shape())
    axis = d.axis(x)
    other = tuple(d.below(1, 4) if a == axis else n for a, n in enumerate(x.shape))
    return lambda x, y: lax.concatenate([x, y, x], axis), [x, d.array(other)]


def parts(d):
    x = d.array(d.shape())
    axis = d.axis(x)
    at = d.below(0, x.shape[axis] - 1) or x.shape[axis]
    sizes = [at, x.shape[axis] - at] if at < x.shape[axis] else [at]
    return lambda x: lax.split(x, sizes, axis), [x]


def broadcast(d):
    x = d.array(d.shape(0))
    to = (*d.shape(0, 2), *(m if m != 1 else d.of(1, 3) for m in x.shape))
    return lambda x: jnp.broadcast_to(x, to), [x]


def product(d):
    batch, rows, columns, between = (d.shape(0, 1) for _ in range(4))
    x, y = d.array((*batch, *rows, *between)), d.array((*between, *columns, *batch))
    b, k = len(batch), len(between)
    over = ([*range(x.ndim - k, x.ndim)], [*range(k)])
    along = ([*range(b)], [*range(y.ndim - b, y.ndim)])
    return lambda x, y: lax.dot_general(x, y, (over, along)), [x, y]


def ragged(d):
    groups, rows, inside, out = d.below(1, 3), d.below(3, 8), d.below(1, 4), d.below(1, 4)
    sizes = d.random.multinomial(rows, np.ones(groups) / groups).astype(np.int32)
    return lambda x, w: lax.ragged_dot(x, w, jnp.asarray(sizes)), [d.array((rows, inside)), d.array((groups, inside, out))]


def gathered(d):
    x = d.array(d.shape())
    axis, mode = d.axis(x), d.of("clip", "fill", "wrap", None)
    ids = d.ids(d.shape(0, 2), x.shape[axis], 2 if mode in ("clip", "fill") else 0)
    how = d.below(0, 3)
    if how == 0:
        return lambda x, i: jnp.take(x, i, axis, mode=mode), [x, ids]
    if how == 1:
        along = d.ids([d.below(1, 3) if a == axis else n for a, n in enumerate(x.shape)], x.shape[axis])
        return lambda x, i: jnp.take_along_axis(x, i, axis, mode=mode), [x, along]
    if how == 2 and x.ndim > 1:
        first, second = d.ids(d.shape(1, 1), x.shape[0]), d.below(0, x.shape[1] - 1)
        return lambda x, i: x[i, second], [x, first]
    return lambda x, i: x.at[i].get(mode=mode or "promise_in_bounds"), [x, d.ids(d.shape(0, 2), x.shape[0], 2 if mode in ("clip", "fill") else 0)]


def scattered(method):
    def use(d):
        x = d.array(d.shape())
        mode = d.of("clip", "drop", None)
        n = x.shape[0]
        ids = jnp.asarray(d.random.permutation(n)[: d.below(1, n)].astype(np.int32)) if method == "set" else d.ids(d.shape(0, 2), n, 1 if mode else 0)
        rows = d.array((*ids.shape, *x.shape[1:]))
        return lambda x, i, v: getattr(x.at[i], method)(v, mode=mode), [x, ids, rows]

    return use


def part(d):
    x = d.array(d.shape())
    sizes = [d.below(1, n) for n in x.shape]
    starts = [d.ids((), n, 1) for n in x.shape]
    return lambda x, *at: lax.dynamic_slice(x, at, sizes), [x, *starts]


def part_set(d):
    x = d.array(d.shape())
    starts = [d.ids((), n, 1) for n in x.shape]
    return lambda x, y, *at: lax.dynamic_update_slice(x, y, at), [x, d.array([d.below(1, n) for n in x.shape]), *starts]


def most(d):
    x = d.array(d.shape())
    k = d.below(1, x.shape[-1])
    return lambda x: lax.top_k(x, k), [x]


def sorted_by(d):
    x, y = d.array(d.shape()), None
    axis, count, stable = d.axis(x), d.below(1, 2), bool(d.below(0, 1))
    y = d.array(x.shape, "float32")
    return (lambda x, y: lax.sort((x, y), axis, is_stable=True, num_keys=1)) if count == 2 else (lambda x, y: lax.sort(x, axis, is_stable=stable)), [x, y]


def place_of(fn):
    def use(d):
        x = d.array(d.shape())
        axis, kind = d.axis(x), d.of("int32", "int64")
        return lambda x: fn(x, axis, np.dtype(kind)), [x]

    return use


def convolution(d):
    space, groups, batches = d.below(1, 2), d.below(1, 2), d.of(1, 1, 2)
    groups = groups if batches == 1 else 1
    inside, letters = d.below(1, 2), "HW"[:space]
    x = d.array((2 * batches, inside * groups, *(d.below(4, 7) for _ in letters)))
    w = d.array((d.below(1, 2) * groups * batches, inside, *(d.below(1, 3) for _ in letters)))
    padding = d.of("SAME", "VALID", [(d.below(0, 2), d.below(0, 2)) for _ in letters])
    stride, dilation = ([d.of(1, 1, 2) for _ in letters] for _ in range(2))
    spread = [d.of(1, 1, 2) for _ in letters] if padding != "SAME" else [1] * space
    options = {"feature_group_count": groups, "batch_group_count": batches}
    return lambda x, w: lax.conv_general_dilated(x, w, stride, padding, spread, dilation, **options), [x, w]


def window(reducer, init):
    def use(d):
        x = d.array(d.shape(1, 3))
        sizes = [d.below(1, n) for n in x.shape]
        stride, padding = [d.of(1, 2) for _ in x.shape], d.of("SAME", "VALID")
        return lambda x: lax.reduce_window(x, init(x.dtype), reducer, sizes, stride, padding), [x]

    return use


def least_of(dtype):
    return np.array(-np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).min, dtype)


def most_of(dtype):
    return np.array(np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).max, dtype)


def positive(d):
    n, batch = d.below(1, 5), d.shape(0, 1)
    return lambda x: lax.linalg.cholesky(jnp.matmul(x, x.swapaxes(-1, -2)) + n * jnp.eye(n, dtype=x.dtype)), [d.array((*batch, n, n))]


def triangular(d):
    n, m, batch = d.below(1, 5), d.below(1, 3), d.shape(0, 1)
    left, lower, turned, unit = (bool(d.below(0, 1)) for _ in range(4))
    options = {"left_side": left, "lower": lower, "transpose_a": turned, "unit_diagonal": unit}
    b = d.array((*batch, n, m) if left else (*batch, m, n))
    return lambda a, b: lax.linalg.triangular_solve(a + 4 * jnp.eye(n, dtype=a.dtype), b, **options), [d.array((*batch, n, n)), b]


def regular(d):
    """Matrices whose rows are in any order, so that pivots are found, and of which each row has one element larger than the others together."""
    n, batch = d.below(1, 5), d.shape(0, 1)
    return (d.array((*batch, n, n), low=-1.0, high=1.0) + (n + 1) * jnp.eye(n)[d.random.permutation(n)]).astype(d.kind)


def factored(d):
    x = d.of(lambda: regular(d), lambda: d.array((*d.shape(0, 1), d.below(1, 5), d.below(1, 5))))()
    return lax.linalg.lu, [x]


def ordered(d):
    rows, batch = d.below(1, 6), d.shape(0, 1)
    k = d.below(1, rows)
    swaps = jnp.asarray(np.stack([d.random.randint(a, rows, batch) for a in range(k)], -1).astype(np.int32))
    return lambda x: lax.linalg.lu_pivots_to_permutation(x, rows), [swaps]


def orthogonal(d):
    """Factors of matrices that are wide, tall, or square."""
    x, full = d.array((*d.shape(0, 1), d.below(1, 5), d.below(1, 5))), bool(d.below(0, 1))
    return lambda x: lax.linalg.qr(x, full_matrices=full), [x]


def reflections(d):
    rows = d.below(1, 5)
    columns, batch = d.below(1, rows), d.shape(0, 1)
    return lax.linalg.householder_product, [d.array((*batch, rows, columns)), d.array((*batch, d.below(1, columns)), low=-0.3, high=0.3)]


def solved(d):
    a = regular(d)
    n, batch = a.shape[-1], a.shape[:-2]
    how = d.below(0, 3)
    if how == 0:
        return jnp.linalg.inv, [a]
    if how == 1:
        return jax.scipy.linalg.solve, [a.reshape(-1, n, n)[0], d.array((n,))]
    return jnp.linalg.solve, [a, d.array((*batch, n, d.below(1, 3)))]


def looped(d):
    """A loop that is no scan: of a computed number of turns, or while a counter of constants is below a number."""
    x, count = d.array(d.shape()), d.below(0, 4)
    turn = lambda i, v: v * jnp.asarray(0.5, v.dtype) + i.astype(v.dtype)
    if d.below(0, 1):
        return lambda x, n: lax.fori_loop(0, n, turn, x), [x, jnp.int32(count)]
    return lambda x: lax.while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, turn(c[0], c[1])), (jnp.int32(0), x))[1], [x]


def scanned(d):
    n, back = d.below(1, 4), bool(d.below(0, 1))
    xs = d.array((n, *d.shape(0, 2)))
    return lambda xs: lax.scan(lambda c, x: (c * jnp.asarray(0.5, c.dtype) + x, c - x), jnp.zeros(xs.shape[1:], xs.dtype), xs, reverse=back), [xs]


def branched(d):
    x = d.array(d.shape())
    k = d.ids((), 3, 1)
    return lambda k, x: lax.switch(k, [jnp.sin, lambda v: v * v, lambda v: -v], x), [k, x]


def chosen(d):
    x = d.array(d.shape(0))
    which = d.of(lambda: d.array(x.shape, "bool"), lambda: d.array((), "bool"), lambda: d.ids(x.shape, 3))()
    cases = [d.array(x.shape) for _ in range(2 if which.dtype == bool else 3)]
    return lambda w, *c: lax.select_n(w, *c), [which, *cases]


def threefry(d):
    words = (jnp.asarray(d.random.randint(0, 1 << 32, shape, np.uint32)) for shape in ((2,), d.shape(1, 2)))
    return threefry_2x32, [*words]


def random_of(fn):
    def use(d):
        shape, seed = d.shape(0), d.below(0, 1000)
        return lambda x: fn(jax.random.key(seed), shape, x), [d.array(shape, "float32", 0.5, 3.0)]

    return use


def converted(d):
    to = d.of(*FLOATS, *WHOLE, "bool")
    low = 0.0 if to == "uint32" else -3.0
    return lambda x: lax.convert_element_type(x, to), [d.array(d.shape(0), low=low)]


def axis_use(fn):
    """A function of an array and of one of its axes."""

    def use(d):
        x = d.array(d.shape())
        axis = d.axis(x)
        return lambda x: fn(x, axis), [x]

    return use


def fourier(d):
    """Transforms of each type over one to three last axes, of few and of many points."""
    shape = (*d.shape(0, 2), d.of(2, 5, 6, 9, 12, 144, 256))
    axes = d.below(1, min(3, len(shape)))
    kind, real = d.of(("FFT", False), ("IFFT", False), ("RFFT", True), ("IRFFT", False))
    if kind == "IRFFT":
        lengths = (*shape[len(shape) - axes : -1], d.of(2 * shape[-1] - 2, 2 * shape[-1] - 1))
    else:
        lengths = shape[len(shape) - axes :]
    x = d.array(shape)
    return lambda x: lax.fft(x.real if real else x, kind, lengths), [x]


def transposed(d):
    x = d.array(d.shape())
    order = [int(a) for a in d.random.permutation(x.ndim)]
    return lambda x: lax.transpose(x, order), [x]


def tiled(d):
    x = d.array(d.shape())
    times = [d.below(1, 3) for _ in x.shape]
    return lambda x: lax.tile(x, times), [x]


def counted(d):
    shape = d.shape()
    axis, kind = d.below(0, len(shape) - 1), d.kind
    return lambda x: lax.broadcasted_iota(kind, shape, axis) + x, [d.array(shape)]


def powered(d):
    n = d.of(-3, -2, -1, 0, 1, 2, 3, 4, 7) if d.kind in FLOATS else d.below(0, 7)
    return lambda x: lax.integer_pow(x, n), [d.array(d.shape(0))]


def rounded(d):
    how = d.of(*lax.RoundingMethod)
    return lambda x: lax.round(x, how), [jnp.round(d.array(d.shape(0)) * 4) / 4]


def clamped(d):
    x = d.array(d.shape(0))
    ends = d.of((), x.shape)
    return lax.clamp, [d.array(ends, high=1.0), x, d.array(ends, low=0.0)]


ALL, REAL, BITS = (*FLOATS, *WHOLE, "bool"), (*FLOATS, *WHOLE), (*WHOLE, "bool")
NARROW = ("float32", "float64")
UNARY = {
    **{n: (-3.0, 3.0) for n in ("neg", "exp", "exp2", "tanh", "sin", "cos", "tan", "expm1", "erf", "erfc", "logistic", "floor", "ceil", "square", "sinh", "cosh", "asinh", "atan", "is_finite")},
    **{n: (0.05, 5.0) for n in ("log", "sqrt", "rsqrt", "lgamma", "digamma")},
    **{n: (-0.9, 0.9) for n in ("erf_inv", "asin", "acos", "atanh", "log1p")},
    "acosh": (1.1, 5.0), "cbrt": (-3.0, 3.0),
}  # fmt: skip
USES = {
    **{n: (FLOATS, unary(getattr(lax, n), *ends)) for n, ends in UNARY.items() if hasattr(lax, n)},
    **{n: (REAL, unary(getattr(lax, n))) for n in ("abs", "sign", "neg", "square")},
    **{n: (FLOATS + WHOLE, binary(getattr(lax, n))) for n in ("add", "sub", "mul", "max", "min", "eq", "ne", "lt", "le", "gt", "ge")},
    "div": (REAL, binary(lax.div, 1.0, 5.0)), "rem": (REAL, binary(lax.rem, 1.0, 9.0)), "pow": (FLOATS, binary(lax.pow, 0.1, 3.0)),
    "atan2": (FLOATS, binary(lax.atan2)),
    **{n: (BITS, binary(getattr(lax, f"bitwise_{n}"))) for n in ("and", "or", "xor")},
    "not": (BITS, unary(lax.bitwise_not)),
    "shift_left": (("int32", "uint32"), shifted(lax.shift_left)), "shift_right_logical": (("int32", "uint32"), shifted(lax.shift_right_logical)),
    "shift_right_arithmetic": (("int32", "int64", "uint32"), shifted(lax.shift_right_arithmetic)),
    "polygamma": (NARROW, lambda d: (lambda x: lax.polygamma(jnp.ones_like(x), x), [d.array(d.shape(0), low=0.1, high=5.0)])),
    "lu": (NARROW, factored), "qr": (NARROW, orthogonal), "custom_linear_solve": (NARROW, solved), "householder_product": (NARROW, reflections),
    "lu_pivots_to_permutation": (("int32",), ordered),
    "cholesky": (NARROW, positive), "triangular_solve": (NARROW, triangular), "integer_pow": (REAL, powered), "round": (FLOATS, rounded),
    "clamp": (REAL, clamped), "select_n": (ALL, chosen), "convert_element_type": (ALL, converted),
    "reduce_precision": (NARROW, lambda d: (lambda x: lax.reduce_precision(x, *[(8, 7), (5, 10)][x.size % 2]), [d.array(d.shape(0))])),
    "stop_gradient": (FLOATS, unary(lambda x: x * lax.stop_gradient(x))), "copy": (ALL, unary(jnp.copy)),
    "optimization_barrier": (FLOATS, unary(lambda x: lax.optimization_barrier(x * 2))),
    "broadcast_in_dim": (ALL, broadcast), "tile": (ALL, tiled), "reshape": (ALL, reshaped), "transpose": (ALL, transposed),
    "squeeze": (ALL, axis_use(lambda x, a: jnp.squeeze(jnp.expand_dims(x, a), a) if x.shape[a] != 1 else lax.squeeze(x, [a]))),
    "iota": (REAL, counted), "slice": (ALL, sliced), "pad": (REAL, padded),
    "concatenate": (ALL, joined), "split": (ALL, parts), "stack": (ALL, axis_use(lambda x, a: jnp.stack([x, x], a))),
    "unstack": (ALL, axis_use(lambda x, a: jnp.unstack(x, axis=a))), "rev": (ALL, reduction(lax.rev)),
    "dot_general": (REAL, product), "ragged_dot_general": (FLOATS, ragged),
    **{f"reduce_{n}": (REAL, reduction(fn)) for n, fn in {"sum": jnp.sum, "max": jnp.max, "min": jnp.min, "prod": jnp.prod}.items()},
    "reduce_and": (("bool",), reduction(jnp.all)), "reduce_or": (("bool",), reduction(jnp.any)), "argmax": (REAL, place_of(lax.argmax)), "argmin": (REAL, place_of(lax.argmin)),
    **{n: (REAL if n != "cumlogsumexp" else FLOATS, along(getattr(lax, n))) for n in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    "gather": (ALL, gathered),
    **{f"scatter{n}": (REAL, scattered(m)) for n, m in {"": "set", "-add": "add", "-sub": "subtract", "-mul": "multiply", "-max": "max", "-min": "min"}.items()},
    "dynamic_slice": (ALL, part), "dynamic_update_slice": (ALL, part_set), "top_k": (REAL, most), "sort": (REAL, sorted_by),
    "conv_general_dilated": (NARROW, convolution), "reduce_window_max": (NARROW, window(lax.max, least_of)), "reduce_window_min": (NARROW, window(lax.min, most_of)),
    "reduce_window_sum": (NARROW, window(lax.add, lambda t: np.zeros((), t))), "select_and_scatter_add": (NARROW, window(lax.max, least_of)),
    "while": (FLOATS, looped), "scan": (FLOATS, scanned), "cond": (FLOATS, branched),
    "random_bits": (("float32",), random_of(lambda key, shape, x: jax.random.bits(key, shape, "uint32"))),
    "threefry2x32": (("uint32",), threefry),
    "random_split": (("float32",), random_of(lambda key, shape, x: jax.random.normal(jax.random.split(key)[1], shape, "float32") * x)),
    "random_fold_in": (("float32",), random_of(lambda key, shape, x: jax.random.bernoulli(jax.random.fold_in(key, 3), jnp.float32(0.4), shape))),
    "random_gamma": (("float32",), random_of(lambda key, shape, x: jax.random.gamma(key, x, dtype="float32"))),
    "bitcast_convert_type": (("float32", "int32", "uint32"), unary(lambda x: lax.bitcast_convert_type(x, "int32" if x.dtype == "float32" else "uint32"))),
    "jit": (FLOATS, unary(jax.jit(lambda x: jnp.sin(x) * x))), "remat2": (FLOATS, unary(jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))))),
    "custom_jvp_call": (FLOATS, unary(jax.nn.relu)),
    **{n: (COMPLEX, unary(getattr(lax, n))) for n in ("real", "imag", "conj")}, "fft": (COMPLEX, fourier),
    "complex": (NARROW, binary(lax.complex)),
}  # fmt: skip


USES = {name: (kinds + COMPLEX if name in jax_reader.COMPLEX and kinds[0] != "complex64" else kinds, draw) for name, (kinds, draw) in USES.items()}

# ---- judged


def with_gradients(fn, args):
    """The leaves of a function's results, with the gradients of a weighted sum of them by the floating-point arguments."""
    learned = [k for k, x in enumerate(args) if jnp.issubdtype(x.dtype, jnp.inexact)]

    def loss(some, *args):
        args = list(args)
        for k, x in zip(learned, some):
            args[k] = x
        made = [part for v in jax.tree.leaves(fn(*args)) for part in ((v.real, v.imag) if jnp.iscomplexobj(v) else (v,))]
        real = [v.astype("float64") * jnp.linspace(-1, 1.5, v.size).reshape(v.shape) for v in made if jnp.issubdtype(v.dtype, jnp.floating)]
        return sum((v.sum() for v in real), jnp.zeros(()))

    return lambda *args: (jax.tree.leaves(fn(*args)), jax.grad(loss)([args[k] for k in learned], *args) if learned else [])


def primitives(fn, args):
    """The names of a function's primitives, also of those inside."""

    def inside(jaxpr):
        for eqn in jaxpr.eqns:
            yield eqn.primitive.name
            for value in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "eqns")):
                yield from inside(value) if hasattr(value, "eqns") else ()

    return {*inside(jax.make_jaxpr(fn)(*args))}


def has(name, fn, step, args):
    """Whether a primitive is in a function, or in its gradients without those of the weighted sum."""
    return name in primitives(fn, args) or name in primitives(step, args) - primitives(with_gradients(lambda *args: args, args), args)


def off(got, want, exact, traced):
    """How a result differs, or None; `traced` is its type in the traced program, as a run returns bfloat16 in float32."""
    want, got = np.asarray(want), np.asarray(got)
    kind = str(want.dtype)
    if traced != kind or str(got.dtype) != RETURNED.get(kind, kind):
        return f"type {traced} in {got.dtype}, expected {kind}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if kind not in TOLERANCES:
        bad = got.astype(np.float64) != want.astype(np.float64)
        return f"{int(bad.sum())} of {bad.size} differ: {got[bad][0]}, expected {want[bad][0]}" if bad.any() else None
    relative, least = TOLERANCES[kind]
    got, want, exact = (np.asarray(v, np.complex128 if np.iscomplexobj(v) else np.float64) for v in (got, want, exact))
    finite = np.abs(want[np.isfinite(want)])
    allowed = relative * (np.abs(want) + least * max(finite.max() if finite.size else 0.0, 1.0 if kind in ("bfloat16", "float16") else 0.0)) + 1e-30
    with np.errstate(all="ignore"):
        good = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= allowed)
        good |= (np.abs(got - exact) <= 2 * np.abs(want - exact) + allowed / 10) if exact.shape == want.shape else False
    at = np.argwhere(~good)
    return f"{len(at)} of {good.size} off: {got[tuple(at[0])]:.7g}, expected {want[tuple(at[0])]:.7g}" if len(at) else None


def widened(x):
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return x.astype("complex128")
    return x.astype("float64") if jnp.issubdtype(x.dtype, jnp.floating) else x


def exact_of(step, args, otherwise):
    """The results in float64."""
    try:
        return jax.tree.leaves(jax.jit(step)(*map(widened, args)))
    except TypeError:
        return otherwise


def judged(name, fn, args):
    """The outcome of a use, and why."""
    for step in (with_gradients(fn, args), lambda *args: (jax.tree.leaves(fn(*args)), [])):
        try:
            wanted = jax.tree.leaves(jax.jit(step)(*args))
            break
        except (TypeError, NotImplementedError, ValueError):
            wanted = None
    if wanted is None or not has(name, fn, step, args):
        return "none", ""
    specs = []
    for x in args:
        at = next((a for a, n in enumerate(x.shape) if n % 2 == 0), None)
        specs.append(() if at is None else (*[None] * at, "dp"))
    at_run = False
    try:
        traced = from_jax(step, *args, mesh={"dp": 2}, in_specs=tuple(specs))
        at_run = True
        ran = traced.run()
    except shardsim.InputError as error:
        outcome = "crash" if CRASHES.search(str(error)) else "refused by the program" if at_run and ": error:" in str(error) else "refused by the tracer"
        return outcome, str(error)
    except Exception as error:
        return "crash", f"{type(error).__name__}: {str(error)[:300]}"
    faults = [] if ran.verify.ok else ["devices differ from one device"]
    made = jax.tree.leaves(ran.outputs)
    kinds = [NAMES[x.real.dtype] if isinstance(x, Complex) else x.dtype for x in traced._outputs]
    if any(off(got, want, want, kind) for got, want, kind in zip(made, wanted, kinds, strict=True)):
        exact = exact_of(step, args, wanted)
        for k, (got, want, wide, kind) in enumerate(zip(made, wanted, exact, kinds, strict=True)):
            fault = off(got, want, wide, kind)
            faults += [f"result {k}: {fault}"] if fault else []
    return ("wrong", "; ".join(faults)) if faults else ("right", "")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="")
    options.add_argument("--uses", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("-v", "--verbose", action="store_true")
    given = options.parse_args()
    warnings.filterwarnings("ignore")
    start, total, counted = time.process_time(), collections.Counter(), []
    for name, (kinds, draw) in USES.items():
        if not re.search(given.only, name):
            continue
        found = collections.Counter()
        for k in range(given.uses):
            d = Draw(zlib.crc32(f"{name}/{given.seed}/{k}".encode()))
            d.kind = kinds[k % len(kinds)]
            fn, args = draw(d)
            outcome, why = judged(name, fn, args)
            found[outcome] += 1
            if given.verbose and outcome not in ("right", "none"):
                print(f"{outcome}: {name} {k}: {', '.join(f'{x.dtype}{list(x.shape)}' for x in args)}: {why}", flush=True)
        del found["none"]
        total += found
        counted += [name] if found else []
        print(name, dict(found), file=sys.stderr, flush=True)
    known = {*jax_reader.HANDLERS, *jax_reader.INNER, *jax_reader.COMPLEX}
    print(f"jax {jax.__version__}, {time.process_time() - start:.0f} CPU seconds of this process\n")
    print("| outcome | uses |\n|---|--:|")
    for outcome in ("right", "refused by the tracer", "refused by the program", "wrong", "crash"):
        print(f"| {outcome} | {total[outcome]:,} |")
    print(f"\n{len(counted)} primitives have uses; none of the tables: {', '.join(sorted(set(counted) - known)) or '-'}")
    print(f"\nprimitives without uses here: {', '.join(sorted(known - set(counted)))}")


if __name__ == "__main__":
    main()
