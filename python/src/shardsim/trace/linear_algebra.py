"""Triangular matrices: the Cholesky factor, and systems of equations, by halves.

An array's last two axes are its matrices; other axes are batches.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from .array import Array, Gap

if TYPE_CHECKING:
    from .arrays import Program

#: Rows of a matrix, at most: each is some ops of the program.
ROWS_MOST = 128


def cholesky(p: Program, x: Array) -> Array:
    """The lower factor of symmetric matrices, of which the lower half is read; NaN if one is not positive definite."""
    _demand_small(x.shape[-1])
    return _cholesky(p, x)


def _cholesky(p: Program, x: Array) -> Array:
    n = x.shape[-1]
    if n == 1:
        return p.map("sqrt", x)
    half = n // 2
    first = _cholesky(p, _block(p, x, 0, half, 0, half))
    below = turned(p, _lower(p, first, turned(p, _block(p, x, half, n, 0, half)), False))
    last = _cholesky(p, p.map("sub", _block(p, x, half, n, half, n), _product(p, below, turned(p, below))))
    return p.concat([p.pad(first, x.rank - 1, 0, n - half), p.concat([below, last], x.rank - 1)], x.rank - 2)


def solve_triangular(p: Program, a: Array, b: Array, upper: bool, unit: bool = False) -> Array:
    """x of a x = b, of which one half of a is read; `unit`: its diagonal is 1.  Batches of both are equal."""
    _demand_small(a.shape[-1])
    if not upper:
        return _lower(p, a, b, unit)
    return _backwards(p, _lower(p, _backwards(p, a, (1, 2)), _backwards(p, b, (2,)), unit), (2,))


def _lower(p: Program, a: Array, b: Array, unit: bool) -> Array:
    n = a.shape[-1]
    if n == 1:
        return b if unit else p.map("div", b, a)
    half = n // 2
    columns = b.shape[-1]
    first = _lower(p, _block(p, a, 0, half, 0, half), _block(p, b, 0, half, 0, columns), unit)
    known = _product(p, _block(p, a, half, n, 0, half), first)
    rest = p.map("sub", _block(p, b, half, n, 0, columns), known)
    return p.concat([first, _lower(p, _block(p, a, half, n, half, n), rest, unit)], b.rank - 2)


def turned(p: Program, x: Array) -> Array:
    """Each matrix transposed."""
    return p.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def _demand_small(rows: int) -> None:
    if rows > ROWS_MOST:
        raise Gap(f"a triangular matrix of {rows} rows; up to {ROWS_MOST} are supported")


def _backwards(p: Program, x: Array, from_end: "tuple[int, ...]") -> Array:
    for axis in (x.rank - a for a in from_end):
        x = p.along("reverse", x, axis) if x.shape[axis] != 1 else x
    return x


def _block(p: Program, x: Array, top: int, bottom: int, left: int, right: int) -> Array:
    return p.slice(p.slice(x, x.rank - 2, top, bottom - top), x.rank - 1, left, right - left)


def _product(p: Program, a: Array, b: Array) -> Array:
    batch = "".join(chr(ord("a") + k) for k in range(a.rank - 2))
    return p.einsum(a, b, batch + "xy", batch + "yz", batch + "xz", a.dtype)


__all__ = ["cholesky", "solve_triangular", "turned"]
