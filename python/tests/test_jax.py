"""Functions in JAX: what they compute when traced, by the interpreter in numpy."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import unittest
from typing import Any, Callable, Dict, Iterator, List, Tuple
from unittest import mock

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P
except ImportError as error:
    raise unittest.SkipTest("JAX and numpy are not installed") from error

from interpret import evaluate, evaluate_all, needed_by

from shardsim.errors import InputError
from shardsim.trace.arrays import Program
from shardsim.trace.complex_arrays import PARTS, Complex
from shardsim.trace.jax import from_jax
from shardsim.trace.jax_reader import HANDLERS, Reader
from shardsim.trace.ranges import Ranges
from shardsim.trace.texts import number_of

Case = Tuple[Callable[..., Any], List[Any]]


def normal(*shape: int) -> Any:
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def ints(high: int, *shape: int) -> Any:
    return np.random.RandomState(sum(shape) + high).randint(0, high, shape).astype(np.int32)


X, T, B = normal(4, 6), normal(8, 6), normal(3, 5, 4)
AT = np.array([3, 0, 1], np.int32)
TWICE = np.array([2, 2, 0], np.int32)
FAR, ASIDE = np.array([0, 1, 3, 9, -12], np.int32), np.array([0, 7, 3, 1, 2], np.int32)  # not all of these are in range
FIVE = normal(5)
SIZES = np.array([2, 0, 5], np.int32)
UNKNOWN = np.array([[1, np.nan, np.inf, -np.inf, np.nan, 2, np.inf], [3, 1, -np.inf, 3, 1, np.inf, 0]], np.float32)


def grouped(x: Any, w: Any, sizes: Any) -> Any:
    return jax.grad(lambda x, w: jnp.sum(lax.ragged_dot(x, w, sizes) ** 2), (0, 1))(x, w)


def decayed(a: Any, b: Any) -> Any:
    """A recurrence in a batch, from the end."""
    scan = lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), reverse=True)  # noqa: E731
    return jax.vmap(scan)(a, b)[1]


def arithmetic(z: Any) -> Any:
    made = z * jnp.conj(z) + jnp.exp(z) / z + jnp.sqrt(z) + jnp.log(z) + z**3 + jnp.tanh(z) + jnp.sin(z) + z**-1 + jnp.sign(z) + z.real * 1j
    made += jnp.where(z.real > 0, z, 1j) + jnp.cumsum(z, 1) + jnp.roll(z, 1, 0) + z[::-1] + jnp.pad(z, ((0, 0), (1, 0)))[:, 1:] + z ** (0.5 + 1j)
    return jnp.concatenate([made, jnp.stack([z[0], z[1]]), z @ z.T.conj() @ z])


CASES: Dict[str, Case] = {
    "copies": (lambda x: jnp.tile(x, (2, 3)), [X]),
    "rows of a batch": (lambda x, i: jnp.take_along_axis(x, i[..., None], 1), [B, ints(5, 3, 2)]),
    "rows of a batch, flowing back": (
        lambda x, i: jax.grad(lambda x: jnp.sum(jnp.take_along_axis(x, i[..., None], 1) ** 2))(x), [B, ints(5, 3, 2)],
    ),
    "a row of each": (lambda x, i: x[jnp.arange(3), i], [B, AT]),
    "parts of rows": (lambda x, i: jax.vmap(lambda i: lax.dynamic_slice(x, (i, 1), (2, 3)))(i), [T, AT]),
    "parts of a batch": (lambda x, i: jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 4)))(x, i), [B, AT]),
    "parts, flowing back": (
        lambda x, i: jax.grad(lambda x: jnp.sum(jax.vmap(lambda i: lax.dynamic_slice(x, (i, 1), (2, 3)))(i) ** 2))(x), [T, AT],
    ),
    "a part past the end": (lambda x, i: jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (4,)))(i), [T[:, 0], AT + 3]),
    "two indexed axes": (lambda x, i: x[i, :, i], [B, np.array([1, 2], np.int32)]),
    "largest at ids": (lambda x, i: jax.ops.segment_max(x, i, 3), [T, ints(3, 8)]),
    "whole numbers set": (lambda x, i: jnp.asarray(x).at[i].set(7) + jnp.asarray(x).at[i].add(-2), [ints(9, 6), AT]),
    "windows of one element, and their smallest, flowing back": (
        lambda x: [jax.grad(lambda x: jnp.sum(jnp.sin(lax.reduce_window(x, -fill, fn, window, (1, 1), "VALID"))))(x)
                   for fn, fill, window in ((lax.max, np.inf, (1, 1)), (lax.min, -np.inf, (2, 2)))], [X],
    ),
    "the largest of many taps in 16 bits, flowing back": (
        lambda x: jax.grad(lambda x: jnp.sum(lax.reduce_window(x.astype(jnp.bfloat16), -np.inf, lax.max, (40, 40), (1, 1), "VALID").astype(x.dtype)))(x),
        [np.where(np.arange(1640).reshape(40, 41) == 1634, 1, 0).astype(np.float32)],
    ),
    "among three": (lambda x, i: lax.select_n(jnp.asarray(i), x, 2 * x, -x), [X, ints(3, *X.shape)]),
    "beyond three": (lambda x, i: lax.select_n(jnp.asarray(i), x, 2 * x, -x), [X, ints(8, *X.shape) - 3]),
    "halves away from zero": (lambda x: [lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.cbrt(x)], [np.arange(-9, 9, dtype=np.float32) / 4]),
    "padded with a computed value": (lambda x: [lax.pad(x, jnp.sum(x), [(1, 0, 1), (-1, 2, 0)]), lax.pad(x, x[0, 0], [(0, 0, 0), (0, 0, 0)])], [X]),
    "moved on": (lambda x: jnp.roll(x, 2, 1) + jnp.roll(x, -1, 1) + x[np.array([2, 3, 0, 1])], [X]),
    "multiplied at ids": (lambda x, i, y: jnp.asarray(x).at[i].multiply(y), [T, AT, T[:3]]),
    "places in order": (
        lambda x, u: [jnp.searchsorted(jnp.sort(u), x), jnp.searchsorted(jnp.sort(u), x, side="right"), jnp.histogram(x, 5, (-1.0, 1.0))[0]],
        [UNKNOWN, FIVE],
    ),
    "factors and triangular systems": (
        lambda x, y: jax.grad(lambda x: jnp.sum(jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(x @ x.T + 2 * jnp.eye(5)), True), y)))(x),
        [T[:5], normal(5, 2)],
    ),
    "LU and QR factors, systems, determinants": (
        lambda x, y: jax.grad(lambda x: jnp.sum(jnp.sin(jnp.linalg.solve(x[::-1], y))) + jnp.linalg.det(x) + jnp.sum(jnp.linalg.qr(x[:, :3])[0])
                              + jnp.sum(jax.scipy.linalg.lu(x)[1]) + jnp.sum(jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(x), y, trans=1)))(x),
        [T[:5, :5] + 3 * np.eye(5, dtype=np.float32)[::-1], normal(5, 2)],
    ),
    "Fourier transforms": (
        lambda x: [part for z in (jnp.fft.fft(x), jnp.fft.ifft2(x + 2j * x), jnp.fft.rfft(x, n=8), jnp.fft.rfftn(x, norm="ortho")) for part in (z.real, z.imag)]
        + [jnp.fft.irfft(x + 1j * x), jnp.fft.irfft2(1j * x, (3, 7))], [X],
    ),
    "a convolution by spectra, flowing back": (
        lambda x, k: jax.grad(lambda x, k: jnp.sum(jnp.sin(jnp.fft.irfft(jnp.fft.rfft(x, n=12) * jnp.fft.rfft(k, n=12), n=12)[:, :6])), (0, 1))(x, k),
        [X, T[:4]],
    ),
    "a transform of many points": (lambda x: [jnp.fft.rfft(x).imag, jnp.fft.fft(x, axis=0).real], [normal(2, 384)]),
    "complex arithmetic, flowing back": (
        lambda x, y: jax.grad(lambda x, y: jnp.sum(jnp.abs(arithmetic(lax.complex(x, y)))), (0, 1))(x, y), [X, T[:4]],
    ),
    "turned positions": (
        lambda x, a: [z.real for z in [lax.complex(x[:, ::2], x[:, 1::2]) * jnp.exp(1j * a)]] + [jnp.angle(jnp.exp(1j * a)), jnp.real(x), jnp.exp(1j * a) == 1], [X, T[0, :3]],
    ),
    "complex loops": (
        lambda x, a: [lax.scan(lambda h, u: ((h := jnp.exp(1j * a) * h + u), h.real), jnp.zeros(6, "complex64"), x)[1],
                      lax.cond(x[0, 0] > 0, lambda z: z * 1j, lambda z: z + 1, x + 2j).imag,
                      lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.exp(1j * x), x + 0j))[1].real], [X, T[0]],
    ),
    "more complex numbers": (
        lambda x, y: [f for z in [jnp.convolve(x[0] + 1j * y[0], y[1] + 1j * x[1]), jnp.convolve(x[0] + 1j * y[0], y[1]), jnp.expm1(x + 1j * y), jnp.exp2(x + 1j * y)]
                      for f in (z.real, z.imag)] + [jnp.angle(jnp.conj(lax.complex(x, jnp.zeros_like(x)))), (lax.complex(x, y) * (y > 0)).astype(bool)], [X, T[:4]],
    ),
    "complex numbers divided by zero and by infinity": (
        lambda x: [f for z in (lax.complex(x, 2 * x) / (lax.complex(x, x) * 0), 1 / lax.complex(x * np.inf, x), 1 / lax.complex(x * np.inf, -x * np.inf), jax.nn.sigmoid(lax.complex(-1000 * x, x)))
                   for f in (z.real, z.imag)], [np.array([1, 2, 3], np.float32)],
    ),
    "complex elements set": (lambda x, i: jnp.abs(jnp.zeros((8, 6), "complex64").at[:4].set(x * (1 + 1j)).at[i].add(2j)), [X, AT]),
    "gamma": (lambda x: [jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x), jax.scipy.special.polygamma(1, x)], [3 * T + 0.3]),
    "flags set": (lambda x, i: (jnp.asarray(x) > 0).at[i].set(True), [T, AT]),
    "flags cleared": (lambda x, i: (jnp.asarray(x) > 0).at[i].set(False), [T, TWICE]),
    "set in a batch": (
        lambda x, y: jax.vmap(lambda x, i, y: jnp.asarray(x).at[i].set(y))(x, np.array([[1, 2], [2, 1], [0, 1], [1, 0]]), y),
        [X, T[:4, :2]],
    ),
    "flags set one by one": (lambda x, y, i: (jnp.asarray(x) > 0).at[i].set(jnp.asarray(y) > 0), [T, T[:3], AT]),
    "the largest of flags": (lambda x, y, i: (jnp.asarray(x) > 0).at[i].max(jnp.asarray(y) > 0), [T, T[:3], TWICE]),
    "set twice": (lambda x, i: jnp.asarray(x).at[i].set(0.5), [T, TWICE]),
    "whole numbers set twice": (lambda x, i: jnp.asarray(x).at[i].set(7), [ints(9, 6), TWICE]),
    "added past the end": (lambda x, i, j, u: jnp.asarray(x).at[i, j].add(u, mode="drop"), [T, FAR, ASIDE, FIVE]),
    "set past the end": (lambda x, i, j, u: jnp.asarray(x).at[i, j].set(u), [T, FAR, ASIDE, FIVE]),
    "set at the nearest": (lambda x, i, u: jnp.asarray(x).at[i].set(u, mode="clip"), [ints(9, 6), FAR[1:4], ints(9, 3)]),
    "added at the nearest": (lambda x, i, j, u: jnp.asarray(x).at[i, j].add(u, mode="clip"), [T, FAR, ASIDE, FIVE]),
    "largest past the end": (lambda x, i, u: jnp.asarray(x).at[i].max(u[:, None]), [T, FAR, FIVE]),
    "windows past the end": (
        lambda x, i, u: lax.scatter_add(x, i, u, lax.ScatterDimensionNumbers((1,), (), (0,))),
        [T[:, 0], np.array([[7], [0], [-1]], np.int32), normal(3, 2)],
    ),
    "past the end of a batch": (
        lambda x, i, u: jax.vmap(lambda x, i, u: x.at[i].add(u))(x, i, u), [T[:5], FAR, FIVE],
    ),
    "rows past the end": (lambda x, i: jnp.take(x, i, axis=0), [T, FAR]),
    "whole numbers past the end": (lambda x, i: jnp.take(x, i), [ints(9, 6), FAR]),
    "flags past the end": (lambda x, i: jnp.take(jnp.asarray(x) > 0, i), [T[:, 0], FAR]),
    "two ids past the end": (lambda x, i, j: jnp.asarray(x).at[i, j].get(mode="fill"), [T, FAR, ASIDE]),
    "two ids past the end, nothing there": (
        lambda x, i, j: jnp.asarray(x).at[i, j].get(mode="fill", fill_value=0), [T, FAR, ASIDE],
    ),
    "nothing past the end": (lambda x, i: jnp.asarray(x).at[i].get(mode="fill", fill_value=0), [T, FAR]),
    "each past the end": (lambda x, i: jnp.take_along_axis(x, i[:, None], 1), [T[:5], FAR]),
    "the nearest": (lambda x, i: jnp.asarray(x).at[i].get(mode="clip") + jnp.take(x, i, axis=0, mode="clip"), [T, FAR]),
    "the nearest, flowing back": (
        lambda x, i: jax.grad(lambda x: jnp.sum(x.at[i].get(mode="clip") ** 2))(x), [jnp.asarray(T), FAR],
    ),
    "a promise that is broken": (lambda x, i, j: jnp.asarray(x)[i, j] + jnp.asarray(x)[i, 0], [T, FAR, ASIDE]),
    "places of experts": (
        lambda x, g: jnp.zeros((3, 2, 6)).at[(e := jnp.argmax(g, 1)), jnp.cumsum(jnp.eye(3, dtype=int)[e], 0)[jnp.arange(8), e] - 1]
        .add(x, mode="drop"), [T, normal(8, 3)[:, ::-1]],
    ),
    "ids by a rest": (lambda x, i: jnp.take(x, (i - 9) % 8, axis=0) + jnp.take(x, jnp.clip(i, 1, 7), axis=0), [T, FAR]),
    "sorted by two": (lambda x, y: lax.sort((jnp.round(x), jnp.round(y), x), num_keys=2), [T[:, 0], T[:, 1]]),
    "a loop that counts": (lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2 + 1), (0, x))[1], [X]),
    "a recurrence": (
        lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), axis=1)[1], [0.5 * X, T[:4]],
    ),
    "a recurrence, flowing back": (
        lambda a, b: jax.grad(lambda a, b: jnp.sum(decayed(a, b) ** 2), (0, 1))(a, b), [0.5 * X, T[:4]],
    ),
    "another scan of pairs": (
        lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[0] * q[1] + p[1]), (a, b)), [0.5 * X, T[:4]],
    ),
    "taken away": (lambda x, i: jnp.asarray(x).at[i].subtract(2.0), [T, AT]),
    "rows in groups": (lambda x, w, n: lax.ragged_dot(x, w, n), [normal(9, 4), normal(3, 4, 2), SIZES]),
    "groups, flowing back": (grouped, [normal(9, 4), normal(3, 4, 2), SIZES]),
    "taken in another order": (lambda x: lax.reshape(x, (24,), (1, 0)) + jnp.ravel(x.T) + jnp.prod(x, 1)[0], [X]),
    "the order of gradients": (lambda x: jax.grad(lambda x: jnp.sum(jnp.prod(x, 1) * x[:, 0]))(x), [X]),
    "gradients of groups": (
        lambda x, w: jax.grad(lambda x, w: jnp.sum(jnp.sin(lax.conv_general_dilated(
            x, w, (2, 1), "SAME", rhs_dilation=(1, 2), feature_group_count=2, dimension_numbers=("NHWC", "HWIO", "NHWC")))), (0, 1))(x, w),
        [normal(2, 5, 4, 4), normal(3, 2, 2, 6)],
    ),
    "bits moved down": (lambda i: (i >> 3, (i - 40) >> 2), [ints(90, 7)]),
    "fewer bits": (lambda x: lax.reduce_precision(x, 8, 7), [X]),
    "fewer bits and exponents": (
        lambda x: (lax.reduce_precision(x, 5, 7), lax.reduce_precision(x, 5, 10)), [np.array([1.0001, 1e10, -65519.0, 6.1e-5, 6e-5, 0], np.float32)],
    ),
    "places of what is no number": (
        lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 1), jnp.argmax(x, 0), jnp.max(x, 1)), [UNKNOWN],
    ),
    "order of what is no number": (
        lambda x: (jnp.argsort(x), jnp.sort(x, 0), jnp.argsort(x, descending=True), lax.top_k(x, 4)[1]), [UNKNOWN],
    ),
    "gradients of tanh and erf": (
        lambda x: (jax.grad(lambda x: jnp.sum(jax.nn.gelu(x) * jnp.tanh(x)))(x),
                   jax.grad(lambda x: jnp.sum(jax.nn.gelu(x, approximate=False)))(x)), [X],
    ),
    "gradients of these": (
        lambda x: jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(jnp.tanh(x) + lax.erf(x) + lax.erfc(x)))(x) ** 2))(x), [X],
    ),
    "a scan from the end, flowing back": (
        lambda x: jax.grad(lambda x: jnp.sum(lax.scan(
            lambda c, a: (0.5 * c + jnp.tanh(a), c * a), x[0], x, reverse=True)[1] ** 2))(x), [X],
    ),
    "a polynomial": (lambda x: jnp.polyval(jnp.array([0.5, -2.0, 3.0]), x), [X]),
    **({"a polynomial of JAX": (lambda x: lax.polynomial(x, [3.0, -2.0, 0.5]), [X])} if hasattr(lax, "polynomial") else {}),
    "inverse and hyperbolic functions": (
        lambda x: jnp.sinh(x) + jnp.cosh(x) + jnp.arcsinh(x) + jnp.arcsin(x / 4) + jnp.arccos(x / 4) + jnp.arctan(x) + jnp.arctanh(x / 4)
        + jnp.arccosh(jnp.abs(x) + 1.1), [X],
    ),
    "logarithms of sums so far": (lambda x: lax.cumlogsumexp(x, 1) + lax.cumlogsumexp(x, 0, reverse=True), [X]),
    "inverse error function": (lambda x: lax.erf_inv(jnp.tanh(x) * 0.99999), [X]),
}  # fmt: skip


#: Lookups by ids that are in range, as given or as they are made.
PLAIN: Dict[str, Case] = {
    "rows": (lambda x, i: jnp.asarray(x)[i], [T, ints(8, 3, 2)]),
    "rows taken": (lambda x, i: jnp.take(x, i, axis=0), [T, ints(8, 3, 2)]),
    "two ids": (lambda x, i: jnp.asarray(x).at[i, i % 6].get(mode="fill"), [T, ints(8, 3)]),
    "of the largest": (lambda x, y: jnp.take(x, jnp.argmax(y, 1), axis=0), [T, normal(3, 8)]),
    "of the first": (lambda x, y: jnp.take(x, lax.top_k(y, 2)[1], axis=0), [T, normal(3, 8)]),
    "of a rest": (lambda x, i: jnp.take(x, (i - 5) % 8, axis=0), [T, ints(20, 3)]),
}  # fmt: skip


def full(value: Any, dtype: Any = None) -> Any:
    """Too large for JAX's own folding of constants."""
    return jnp.full(WIDE.shape, value, dtype)


#: Sums of x and of numbers, with the number that is written.
WIDE, WHOLE = np.ones((600, 600), np.float32), np.ones((600, 600), np.int32)
NUMBERS: Dict[str, Tuple[Any, Callable[[], Any], str]] = {
    "a whole quotient": (WHOLE, lambda: lax.div(full(-7), 2), "(-3)"),
    "beyond 32 bits": (WHOLE, lambda: full(2**30) * 4 + 5, "5"),
    "words": (WHOLE, lambda: (full(2**31, jnp.uint32) + jnp.uint32(2**31 + 3)).astype(int), "3"),
    "a sum beyond 32 bits": (WHOLE, lambda: jnp.sum(full(2**20)), "(-469762048)"),
    "cut off": (WHOLE, lambda: full(-3.7).astype(int), "(-3)"),
    "rounded": (WIDE, lambda: (full(2.0**24) + 1) - 2.0**24 + 3, "3"),
    "in 16 bits": (WIDE, lambda: full(60000.0, jnp.float16) * 2, "inf"),
    "in bfloat16": (WIDE, lambda: full(256.0, jnp.bfloat16) + 1, "256"),
    "divided by zero": (WIDE, lambda: full(-1.0) / 0.0, "(-inf)"),
    "a logarithm of nothing": (WIDE, lambda: jnp.log(full(0.0)), "(-inf)"),
    "a root of less": (WIDE, lambda: jnp.sqrt(full(-1.0)), "(inf - inf)"),
    "too large": (WIDE, lambda: jnp.exp(full(1000.0)), "inf"),
    "rounded infinity": (WIDE, lambda: jnp.floor(full(jnp.inf)), "inf"),
    "the larger of no number": (WIDE, lambda: jnp.maximum(full(1.0), full(jnp.nan)), "(inf - inf)"),
    "products summed": (WIDE, lambda: jnp.sum(full(2.0) @ full(-0.5)) / 600**2, "(-600)"),
    "more products than the largest number in 16 bits": (
        WIDE, lambda: jnp.full((1, 2**17), 2.0**-10, jnp.float16) @ jnp.ones((2**17, 1), jnp.float16), "128",
    ),
    "chosen": (WIDE, lambda: jnp.where(full(2) > 1, full(3.0), full(4.0)), "3"),
}


def halved(y: Any, least: Any) -> Any:
    return lax.while_loop(lambda s: jnp.max(jnp.abs(s)) > least, lambda s: s * 0.5, y)


def root(x: Any) -> Any:
    start = jnp.abs(x) + 0.5
    return lax.while_loop(lambda s: jnp.any(jnp.abs(s * s - start) > 1e-2), lambda s: 0.5 * (s + start / s), start)


def nested(row: Any) -> Any:
    return lax.while_loop(lambda s: s[1] < row[1] * 2, lambda s: (s[0] + halved(s[0], 0.5), s[1] + 1), (row[0], row[2]))


#: Loops whose end depends on values, and the number of turns that is enough for them.
LOOPS: Dict[str, Tuple[Callable[..., Any], List[Any], int]] = {
    "of several arrays": (
        lambda x: lax.while_loop(
            lambda s: (jnp.max(jnp.abs(s[0])) > 0.5) & (s[1] < 20),
            lambda s: (s[0] * 0.6, s[1] + 1, s[2].at[s[1]].set(jnp.sum(s[0])), ~s[3]), (x, 0, jnp.zeros(8), True),
        ), [X], 6,
    ),
    "of no turn": (lambda x: halved(x, 9.0), [X], 1),
    "with a derivative": (lambda x: jax.jvp(root, (x,), (jnp.ones_like(x),)), [X], 6),
    "of a batch": (lambda x: jax.vmap(lambda r: halved(r, 0.1))(x), [X], 6),
    "of a batch with known numbers of turns": (
        lambda x: jax.vmap(lambda n, r: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, r)))(np.array([1, 3, 0, 2]), x),
        [X], 4,
    ),
    "in the turns of another": (jax.vmap(nested), [X], 8),
    "whose first turns are known": (
        lambda x: lax.while_loop(lambda s: (s[0] < 5) | (jnp.sum(s[1]) > 1e-3), lambda s: (s[0] + 1, s[1] * s[1] * 0.1), (0, x)), [X], 7,
    ),
    "without an end, in a branch that is not taken": (
        lambda x: lax.cond(x[0, 0] > 9, lambda y: halved(y, -1.0), lambda y: y * 2, x), [X], 2,
    ),
    "without an end, in turns after the end": (
        lambda x: lax.while_loop(
            lambda s: jnp.max(jnp.abs(s)) > 0.5, lambda s: halved(s, jnp.where(jnp.max(jnp.abs(s)) > 0.5, 0.3, -1.0)), x,
        ),
        [X], 4,
    ),
    "of random numbers": (
        lambda k: lax.while_loop(lambda s: s[1] < 0.7, lambda s: (jax.random.split(s[0])[0], jax.random.uniform(s[0])),
                                 (jax.random.wrap_key_data(k), jnp.float32(0)))[1],
        [np.array([0, 5], np.uint32)], 5,
    ),
}  # fmt: skip


#: What is refused, and what is said of it.
GAPS: Dict[str, Tuple[Callable[..., Any], List[Any], str]] = {
    "different elements at a single place": (lambda x, y: jnp.asarray(x).at[TWICE].set(y), [T, T[:3]], "test_jax.*at one place"),
    "a loop without a bound": (lambda x: halved(x, 0.1), [X], "test_jax.*turns=N"),
    "a matmul of booleans": (lambda x: (x > 0) @ (x > 0).T, [X], "test_jax.*booleans"),
    "any device's result": (
        lambda x: jax.shard_map(lambda x: (x, lax.psum(x, "a")), in_specs=P("a"), out_specs=(P(), P()), check_vma=False)(x), [X],
        "test_jax.*may differ among devices",
    ),
    "different elements at a single place of a batch": (
        lambda x, y: jax.vmap(lambda x, i, y: x.at[i].set(y))(x, np.array([[1, 2], [3, 3], [0, 1], [1, 0]]), y), [X, T[:4, :2]],
        "test_jax.*one place",
    ),
    "different elements at a single place of blocks": (
        lambda x: jax.shard_map(lambda x: lax.cumsum(x, 0).at[jnp.array([1, 1])].set(x), in_specs=P("a"), out_specs=P("a"),
                                check_vma=False)(x), [X], "test_jax.*one place",
    ),
}  # fmt: skip


CAPTURED = jnp.asarray(X[1])


#: Functions of blocks with their specs, and of whole arrays.
BLOCKS: Dict[str, Tuple[Any, Any, Any, Callable[..., Any], List[Any]]] = {
    "sums": (lambda x, w: lax.psum(x @ w, "a"), (P(None, "a"), P("a")), P(), lambda x, w: x @ w, [X, normal(6, 2)]),
    "gathered and scattered": (
        lambda x: lax.psum_scatter(jnp.exp(lax.all_gather(x, "a", tiled=True)), "a", tiled=True) + lax.axis_index("a"),
        P("a"), P("a"), lambda x: 2 * np.exp(x) + np.arange(4)[:, None] // 2, [X],
    ),
    "passed on": (lambda x: lax.ppermute(x, "a", [(0, 1), (1, 0)]), P("a"), P("a"), lambda x: np.roll(x, 2, 0), [X]),
    "turned": (lambda x: lax.all_to_all(x, "a", 1, 0, tiled=True), P("a"), P(None, "a"), lambda x: x, [X]),
    "with an array from outside": (lambda x: jax.jit(lambda x: x * CAPTURED)(x), P("a"), P("a"), lambda x: x * X[1], [X]),
    "one device along an axis": (lambda x: 2 * x, P("a", "b"), P("a"), lambda x: 2 * x, [X]),
    "the same on all": (lambda x: lax.pmax(x.max(), "a") + lax.psum(1.0, "a"), P("a"), P(), lambda x: x.max() + 2, [X]),
}  # fmt: skip


def equations(jaxpr: Any) -> Iterator[Any]:
    """All equations, and those of the functions inside."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "eqns")):
            yield from equations(inner) if hasattr(inner, "eqns") else ()


class Operations(unittest.TestCase):
    def test_parameters_that_are_not_known(self) -> None:
        """A parameter that no handler reads is refused, whatever the operation."""
        found: Dict[Any, Any] = {}
        for fn, args in CASES.values():
            found.update(((e.primitive.name, e.outvars[0].aval.dtype.kind == "c"), e) for e in equations(jax.make_jaxpr(fn)(*args).jaxpr) if e.invars)
        said = []
        for name, eqn in found.items():
            with self.subTest(name):
                reader = Reader(Program("one"))
                kinds = [str(v.aval.dtype) for v in eqn.invars]
                leaves = [reader.program.leaf(f"x/{k}", v.aval.shape, PARTS.get(kind, kind)) for k, (v, kind) in enumerate(zip(eqn.invars, kinds))]
                values = [Complex(x, x) if kind in PARTS else x for x, kind in zip(leaves, kinds)]
                reader._equation(eqn.replace(params={**eqn.params, "sideways": 3}), values)
                self.assertTrue(reader.gaps)
                said += [gap for gap in reader.gaps if "sideways=3" in gap]
        self.assertGreater(len(said), 40)

    def test_values(self) -> None:
        for name, (fn, args) in CASES.items():
            with self.subTest(name):
                traced = from_jax(fn, *args, mesh={"a": 2})
                wants = [np.asarray(v) for v in jax.tree.leaves(fn(*args))]
                for got, want in zip(evaluate(traced._arrays, {}), wants, strict=True):
                    self.assertEqual(got.shape, want.shape)
                    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

    def test_complex_arguments(self) -> None:
        """Also numbers of Python."""
        ran = from_jax(lambda x, z: x * z["w"], X, {"w": 1 + 2j}, mesh={"a": 2}, in_specs=[("x", ("a",))]).run()
        np.testing.assert_allclose(ran.outputs, X * (1 + 2j), rtol=1e-6)

    def test_loops_that_end_by_values(self) -> None:
        for name, (fn, args, turns) in LOOPS.items():
            with self.subTest(name):
                ran = from_jax(fn, *args, mesh={"a": 2}, in_specs=[("x", ("a",))], turns=turns).run()
                wants = jax.tree.leaves(fn(*args))
                for got, want in zip(jax.tree.leaves(ran.outputs), wants, strict=True):
                    np.testing.assert_allclose(got, np.asarray(want), rtol=2e-5, atol=2e-6)

    def test_gamma_samples(self) -> None:
        """Equal to JAX's samples and their gradients; known samples are drawn while tracing."""
        key, a = np.array([0, 5], np.uint32), np.random.RandomState(0).uniform(0.3, 5, (4, 4)).astype(np.float32)

        def drawn(key: Any, a: Any) -> Any:
            made, back = jax.vjp(lambda a: jax.random.gamma(jax.random.wrap_key_data(key), a), a)
            return made, back(jnp.ones_like(a))[0]

        def composed(key: Any, a: Any) -> Any:
            return jax.random.dirichlet(jax.random.wrap_key_data(key), a)

        with mock.patch.multiple("shardsim.trace.jax_random", DRAWS_MOST=3):
            for fn, turns in ((drawn, None), (composed, None), (drawn, 1)):  # turns of the program's own loops bound no series
                ran = from_jax(fn, key, a, mesh={"a": 2}, in_specs=[("a", ("a",))], turns=turns).run()
                for got, want in zip(jax.tree.leaves(ran.outputs), jax.tree.leaves(fn(key, a)), strict=True):
                    np.testing.assert_allclose(got, np.asarray(want), rtol=2e-5)
            with mock.patch.multiple("shardsim.trace.jax_inner", TERMS_MOST=2), self.assertRaisesRegex(InputError, "more than 2 terms"):
                from_jax(drawn, key, a, mesh={"a": 2}).run()
        with mock.patch.multiple("shardsim.trace.jax_random", DRAWS_MOST=1), self.assertRaisesRegex(InputError, "test_jax.py.* is rejected 1 times"):
            from_jax(lambda key, a: jax.random.gamma(jax.random.wrap_key_data(key), a), key, np.tile(a, (8, 8)), mesh={"a": 2}).run()
        with self.assertRaisesRegex(InputError, "1 unsupported operation.*\n.*test_jax.py.*: samples of gamma.* in bfloat16; samples in float32"):
            from_jax(lambda key, a: jax.random.gamma(jax.random.wrap_key_data(key), a, dtype=jnp.bfloat16), key, a, mesh={"a": 2})
        lines = from_jax(lambda a: a * jax.random.gamma(jax.random.key(3), 2.0, a.shape), a, mesh={"a": 2}).scenario()["graph"]["ops"]
        self.assertLess(len(lines), 20)

    def test_places_of_a_mask(self) -> None:
        """With a number of elements, as JAX demands it of traced functions."""

        def fn(x: Any) -> Any:
            i, j = jnp.nonzero(x > 0, size=9)
            return i, j, x[jnp.where(x > 0, size=20, fill_value=-1)].sum(), jnp.compress(x[:, 0] > 0, x, axis=0, size=3), jnp.sum(x, where=x > 0)

        for got, want in zip(from_jax(fn, X, mesh={"a": 2}, in_specs=[("x", ("a",))]).run().outputs, fn(jnp.asarray(X)), strict=True):
            np.testing.assert_allclose(got, np.asarray(want), rtol=1e-6)

    def test_loops_of_blocks(self) -> None:
        """Each device's loop ends by its own values."""
        x = X * np.array([[100], [100], [1], [1]], np.float32)
        blocks = lambda x: jax.shard_map(lambda x: halved(x, 0.1), in_specs=P("a"), out_specs=P("a"))(x)  # noqa: E731
        got = from_jax(blocks, x, mesh={"a": 2}, turns=12).run().outputs
        np.testing.assert_allclose(got, np.concatenate([halved(x[:2], 0.1), halved(x[2:], 0.1)]), rtol=1e-6)

    def test_loops_that_have_not_ended(self) -> None:
        """A run tells a loop of more turns, wherever it is."""
        loops: List[Callable[..., Any]] = [
            lambda x: halved(x, 0.1), lambda x: jax.vmap(lambda r: halved(r, 0.1))(x), jax.vmap(nested),
            lambda x: lax.cond(x[0, 0] < 9, lambda y: halved(y, -1.0), lambda y: y * 2, x),
            lambda x: lax.while_loop(lambda s: (s[0] < 5) | (x[0, 0] < 9), lambda s: (s[0] + 1, s[1]), (0, x))[0] * x,
            lambda x: jnp.maximum(lax.while_loop(lambda s: x[0, s] < 99, lambda s: s + 1, 0), 9) * x,
            lambda x: lax.while_loop(lambda s: s[0] < halved(x[0, 0], -1.0), lambda s: (s[0] + 9, s[1] * 2), (0, x))[1],
        ]  # fmt: skip
        for fn in loops:
            with self.assertRaisesRegex(InputError, "test_jax.py:[0-9]+: the while loop has not ended"):
                from_jax(fn, X, mesh={"a": 2}, turns=2).run()
        for turns in (0, 5000):
            with self.assertRaisesRegex(InputError, f"turns={turns} is not"):
                from_jax(lambda x: x, X, mesh={"a": 2}, turns=turns)

    def test_blocks_of_devices(self) -> None:
        """Per-device computation on blocks, compared with the same computation on whole arrays."""
        for name, (blocks, ins, outs, whole, args) in BLOCKS.items():
            with self.subTest(name):

                def fn(*arrays: Any, blocks: Any = blocks, ins: Any = ins, outs: Any = outs) -> Any:
                    return jax.shard_map(blocks, in_specs=ins, out_specs=outs, check_vma=False)(*arrays)

                traced = from_jax(fn, *args, mesh={"a": 2, "b": 1})
                for got, want in zip(evaluate(traced._arrays, {}), jax.tree.leaves(whole(*args)), strict=True):
                    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

    def test_padding_makes_one_op_an_axis(self) -> None:
        with mock.patch.object(Program, "along", autospec=True, side_effect=Program.along) as made:
            from_jax(lambda x: lax.pad(x, 2.0, [(1, 0, 0), (0, 2, 0)]), X, mesh={"a": 1})
        self.assertEqual([call.args[1] for call in made.call_args_list], ["pad", "pad"])

    def test_ranges(self) -> None:
        """No value of a program is outside its inferred range."""
        for name, (fn, args) in CASES.items():
            with self.subTest(name):
                needed = needed_by(from_jax(fn, *args, mesh={"a": 2})._arrays)
                for number, value in evaluate_all(needed, {}).items():
                    low, high = Ranges(0).of(needed[number])
                    self.assertTrue(np.isnan(value).any() or ((low <= value) & (value <= high)).all(), needed[number])

    def test_plain_lookups(self) -> None:
        """Ids in range are not changed: no clamp and no mask is computed."""
        for name, (fn, args) in PLAIN.items():
            for given in (args, [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in args]):
                with self.subTest(name):
                    lines = from_jax(fn, *given, mesh={"a": 2}).scenario()["graph"]["ops"]
                    embeds = [line for line in lines if "embed(" in line]
                    self.assertEqual(len(embeds), 1, lines)
                    self.assertFalse([line for line in lines if "min(" in line or "inf" in line or "less_equal" in line], lines)

    def test_numbers_alone(self) -> None:
        """Arithmetic on numbers follows their type."""
        for name, (x, number, text) in NUMBERS.items():
            with self.subTest(name):
                lines = from_jax(lambda x, number=number: x + number(), x, mesh={"a": 2}).scenario()["graph"]["ops"]
                self.assertTrue(lines[0].endswith(f"= x + {text}"), lines)
                np.testing.assert_allclose(float(number().reshape(-1)[0]), number_of(text), equal_nan=True)

    def test_a_choice_that_is_a_number(self) -> None:
        lines = from_jax(lambda x: jnp.where(full(2) > 1, x, 0.0) + 1, WIDE, mesh={"a": 2}).scenario()["graph"]["ops"]
        self.assertTrue(lines[0].endswith("= x + 1"), lines)

    def test_blocks_flowing_back(self) -> None:
        """A function with a custom derivative, where JAX tracks which values vary among devices."""

        def loss(x: Any, w: Any) -> Any:
            blocks = jax.shard_map(lambda x, w: lax.psum(jax.nn.relu(x @ w), "a"), in_specs=(P("a"), P()), out_specs=P())
            return jnp.sum(blocks(x, w) ** 2)

        def whole(x: Any, w: Any) -> Any:
            return jnp.sum(jnp.sum(jax.nn.relu(x @ w).reshape(2, 2, 6), 0) ** 2)

        args = [X, normal(6, 6)]
        traced = from_jax(jax.grad(loss, (0, 1)), *args, mesh={"a": 2})
        for got, want in zip(evaluate(traced._arrays, {}), jax.grad(whole, (0, 1))(*args), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

    def test_errors_inside_of_blocks(self) -> None:
        """An internal error while reading equations is not reported as an unsupported operation."""

        def mistaken(*_: Any) -> Any:
            raise KeyError("mistaken")

        blocks = jax.shard_map(lambda x: lax.cumsum(x, 0), in_specs=P("a"), out_specs=P("a"), check_vma=False)
        with mock.patch.dict(HANDLERS, {"cumsum": mistaken}), self.assertRaises(KeyError):
            from_jax(lambda x: blocks(x), X, mesh={"a": 2})

    def test_gaps(self) -> None:
        """An operation without a correct result is an error that names the source line."""
        for name, (fn, args, said) in GAPS.items():
            with self.subTest(name), self.assertRaisesRegex(InputError, said):
                from_jax(fn, *args, mesh={"a": 2})


if __name__ == "__main__":
    unittest.main()
