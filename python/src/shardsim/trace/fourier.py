"""Discrete Fourier transforms, as matmuls with tables of cosines and sines.

The tables are computed in the program, from products of two positions modulo n, so that no angle is above a turn.  A
transform of n = n1 n2 points is n2 transforms of n1 points, products with n1 x n2 factors, and n1 transforms of n2
points (Cooley and Tukey, 1965): n (n1 + n2) multiplications, and tables of n elements.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, List, Optional, Sequence

from .array import Array, Gap
from .complex_arrays import Complex, complex_of, multiplied, of_parts, times

if TYPE_CHECKING:
    from .arrays import Program

#: Points of a transform that is one matmul.
DIRECT_MOST = 128

#: Elements of the table of a number of points without a divisor.
TABLE_MOST = 1 << 22


def fft(p: Program, z: Complex, axes: Sequence[int], inverse: bool = False) -> Complex:
    """Along axes, without a factor."""
    for axis in axes:
        z = _along(p, z, axis, z.shape[axis], z.shape[axis], inverse)
    return z


def rfft(p: Program, x: Array, axis: int) -> Complex:
    """Of real numbers, frequencies from 0 to n / 2, without a factor."""
    n = x.shape[axis]
    return _along(p, complex_of(p, x), axis, n, n // 2 + 1, False)


def irfft(p: Program, z: Complex, axis: int, n: int) -> Array:
    """n real numbers of frequencies from 0 to n / 2, without a factor.

    Other frequencies are conjugates of these, so their terms have equal real parts: each term but for those of
    frequencies 0 and n / 2, which have no other, counts twice.
    """
    count = n // 2 + 1
    z = of_parts(lambda x: p.pad(x, axis, 0, count - x.shape[axis]), z)
    ends = [0] if n % 2 else [0, n // 2]
    place = p.iota(count, "int32")
    alone = [p.compare("equal", place, p.number(k, "int32")) for k in ends]
    once = alone[0] if len(alone) == 1 else p.logic("or", *alone)
    terms = p.select(once, p.number(1.0, z.real.dtype), p.number(2.0, z.real.dtype))
    weights = p.broadcast(terms, [count if a == axis else 1 for a in range(z.rank)], [axis])
    z = of_parts(lambda x: p.map("mul", x, weights), z)
    return _along(p, z, axis, n, n, True).real


def _along(p: Program, z: Complex, axis: int, n: int, count: int, inverse: bool) -> Complex:
    """The first `count` of n results; z has the first of n points, and others are 0."""
    first = _divisor(n)
    if first == 1:
        if n * count > TABLE_MOST:
            raise Gap(f"a Fourier transform of {n} points, a number without divisors; pad with zeros to {1 << n.bit_length()} points")
        return _contracted(p, z, axis, _table(p, z.shape[axis], count, n, z.real.dtype, inverse))
    second = n // first
    before, after = z.shape[:axis], z.shape[axis + 1 :]
    z = of_parts(lambda x: p.reshape(p.pad(x, axis, 0, n - x.shape[axis]), [*before, first, second, *after]), z)
    z = _contracted(p, z, axis, _table(p, first, first, first, z.real.dtype, inverse))
    turns = _table(p, first, second, n, z.real.dtype, inverse)
    z = times(p, z, of_parts(lambda x: _placed(p, x, axis, z.rank), turns))
    z = _along(p, z, axis + 1, second, -(-count // first), inverse)
    order = [*range(axis), axis + 1, axis, *range(axis + 2, z.rank)]
    shape = [*before, z.shape[axis + 1] * first, *after]
    return of_parts(lambda x: p.slice(p.reshape(p.transpose(x, order), shape), axis, 0, count), z)  # type: ignore[no-any-return]


def _divisor(n: int) -> int:
    """The largest divisor of n up to its root, and to DIRECT_MOST; 1 of few points."""
    if n <= DIRECT_MOST:
        return 1
    return next(k for k in range(min(DIRECT_MOST, math.isqrt(n)), 0, -1) if n % k == 0)


def _table(p: Program, rows: int, columns: int, n: int, dtype: str, inverse: bool) -> Complex:
    """exp(-2 pi i j k / n), or its conjugate, of row j and column k."""
    row, column = (p.broadcast(p.iota(size, "int32"), [rows, columns], [a]) for a, size in enumerate((rows, columns)))
    turn = p.map("rem", p.map("mul", row, column), p.number(n, "int32"))
    turned = p.map("mul", p.convert(turn, dtype), p.number(2 * math.pi / n, dtype))
    sine = p.map("sin", turned)
    if n % 2 == 0:  # so that frequency n / 2 of real numbers is real
        sine = p.select(p.compare("equal", turn, p.number(n // 2, "int32")), p.number(0.0, dtype), sine)
    return Complex(p.map("cos", turned), sine if inverse else p.map("neg", sine))


def _contracted(p: Program, z: Complex, axis: int, table: Complex) -> Complex:
    """The axis summed with the table's rows, and its columns in the axis' place."""
    letters = "".join(chr(ord("a") + k) for k in range(z.rank))
    made = letters.replace(letters[axis], "z")
    return multiplied(p, z, table, lambda x, y: p.einsum(x, y, letters, letters[axis] + "z", made, x.dtype))


def _placed(p: Program, x: Array, axis: int, rank: int) -> Array:
    """A table along an axis and the next one of an array."""
    source: List[Optional[int]] = [None] * rank
    source[axis : axis + 2] = [0, 1]
    return p.view(x, source, [1 if at is None else x.shape[at] for at in source])


__all__ = ["fft", "irfft", "rfft"]
