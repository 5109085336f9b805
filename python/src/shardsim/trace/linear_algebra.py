"""Factors of matrices and systems of equations: triangular ones by halves, LU and QR column by column.

An array's last two axes are its matrices; other axes are batches.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Optional, Tuple

from .array import Array, Gap

if TYPE_CHECKING:
    from typing import Sequence

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
        positive = p.compare("greater", x, p.number(0.0, x.dtype))
        return p.select(positive, p.map("sqrt", x), p.number(math.nan, x.dtype))
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


def lu(p: Program, x: Array) -> Tuple[Array, Array]:
    """U and below it L without its diagonal of ones, and for each column the number of the row that its row is swapped with, along a last axis.

    The row is that of the largest element at or below the diagonal; a column of zeros is left as it is.
    """
    rows, columns = x.shape[-2:]
    _demand_small(max(rows, columns))
    swaps = []
    for k in range(min(rows, columns)):
        below = p.map("abs", _block(p, x, k, rows, k, k + 1))
        first = p.convert(p.reduce("argmax", below, [x.rank - 2]), "int32")
        swaps.append(p.map("add", first, p.number(k, "int32")))
        x = taken(p, x, _swapped(p, swaps[-1], k, rows))
        if k + 1 < rows:
            pivot = _block(p, x, k, k + 1, k, k + 1)
            none = p.compare("equal", pivot, p.number(0.0, x.dtype))
            divisor = p.select(none, p.number(1.0, x.dtype), pivot)
            factors = p.map("div", _block(p, x, k + 1, rows, k, k + 1), _spread(p, divisor, [*x.shape[:-2], rows - k - 1, 1]))
            right = None
            if k + 1 < columns:
                known = _product(p, factors, _block(p, x, k, k + 1, k + 1, columns))
                right = p.map("sub", _block(p, x, k + 1, rows, k + 1, columns), known)
            x = _with_column(p, x, k, factors, right)
    return x, p.concat(swaps, x.rank - 2)


def order_of(p: Program, swaps: Array, rows: int) -> Array:
    """The rows in the order that swaps one after the other make."""
    order = _numbers(p, [*swaps.shape[:-1], rows])
    for k in range(swaps.shape[-1]):
        order = p.take_along(order, _swapped(p, p.slice(swaps, swaps.rank - 1, k, 1), k, rows), order.rank - 1)
    return order


def lu_solve(p: Program, factors: Array, order: Array, b: Array, turn: bool) -> Array:
    """x of a x = b, or of a' x = b, where rows of a in an order are L U."""
    if not turn:
        return solve_triangular(p, factors, solve_triangular(p, factors, taken(p, b, order), False, True), True)
    across = turned(p, factors)
    made = solve_triangular(p, across, solve_triangular(p, across, b, False), True, True)
    return taken(p, made, p.argsort(order, order.rank - 1))


def householder(p: Program, x: Array) -> Tuple[Array, Array]:
    """R and below it the vectors v of reflections 1 - tau v v' without their first elements, which are 1; and the taus."""
    rows, columns = x.shape[-2:]
    _demand_small(max(rows, columns))
    taus = []
    for k in range(min(rows, columns)):
        first, below = _block(p, x, k, k + 1, k, k + 1), _block(p, x, min(k + 1, rows - 1), rows, k, k + 1)
        if k + 1 == rows:
            taus.append(_filled(p, first, 0.0))
            break
        zero, one = (p.number(n, x.dtype) for n in (0.0, 1.0))
        rest = _sum(p, p.map("mul", below, below))
        none = p.compare("equal", rest, zero)
        size = p.map("sqrt", p.map("add", p.map("mul", first, first), rest))
        beta = p.select(none, first, p.select(p.compare("less", first, zero), size, p.map("neg", size)))
        tau = p.select(none, zero, p.map("div", p.map("sub", beta, first), p.select(none, one, beta)))
        divisor = p.select(none, one, p.map("sub", first, beta))
        taus.append(tau)
        rest = p.map("div", below, _spread(p, divisor, below.shape))
        right = None
        if k + 1 < columns:
            v = p.concat([_filled(p, first, 1.0), rest], x.rank - 2)
            right = _reflected(p, _block(p, x, k, rows, k + 1, columns), v, tau)
        x = _with_column(p, x, k, p.concat([beta, rest], x.rank - 2), right)
    return x, p.reshape(p.concat(taus, x.rank - 2), [*x.shape[:-2], len(taus)])


def householder_product(p: Program, x: Array, taus: Array) -> Array:
    """The first columns, as many as x has, of the product of its reflections."""
    rows, vectors = x.shape[-2], lower_of(p, x)
    made = p.convert(p.compare("equal", _numbers(p, x.shape, -2), _numbers(p, x.shape, -1)), x.dtype)
    for k in reversed(range(taus.shape[-1])):
        tau = p.reshape(p.slice(taus, taus.rank - 1, k, 1), [*taus.shape[:-1], 1, 1])
        made = _reflected(p, made, _block(p, vectors, 0, rows, k, k + 1), tau)
    return made


def qr(p: Program, x: Array, complete: bool) -> Tuple[Array, Array]:
    """Q with as many columns as R has rows: all of them if complete."""
    rows, columns = x.shape[-2:]
    made, taus = householder(p, x)
    k = rows if complete else min(rows, columns)
    wide = p.pad(made, x.rank - 1, 0, k - columns) if k > columns else p.slice(made, x.rank - 1, 0, k)
    return householder_product(p, wide, taus), upper_of(p, p.slice(made, x.rank - 2, 0, k))


def upper_of(p: Program, x: Array) -> Array:
    """Zeros below the diagonal."""
    below = p.compare("greater", _numbers(p, x.shape, -2), _numbers(p, x.shape, -1))
    return p.select(below, p.number(0.0, x.dtype), x)


def lower_of(p: Program, x: Array) -> Array:
    """Ones along the diagonal, and zeros above it."""
    row, column = _numbers(p, x.shape, -2), _numbers(p, x.shape, -1)
    rest = p.convert(p.compare("equal", row, column), x.dtype)
    return p.select(p.compare("greater", row, column), x, rest)


def taken(p: Program, x: Array, order: Array) -> Array:
    """The rows of each matrix in an order."""
    ids = p.view(order, [*range(order.rank), None], [*order.shape, x.shape[-1]])
    return p.take_along(x, p.materialise(ids), x.rank - 2)


def turned(p: Program, x: Array) -> Array:
    """Each matrix transposed."""
    return p.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def _demand_small(rows: int) -> None:
    if rows > ROWS_MOST:
        raise Gap(f"factors of a matrix of {rows} rows; up to {ROWS_MOST} are supported")


def _numbers(p: Program, shape: "Sequence[int]", axis: int = -1) -> Array:
    """Of each element its place along an axis."""
    return p.broadcast(p.iota(shape[axis], "int32"), shape, [axis % len(shape)])


def _swapped(p: Program, row: Array, k: int, rows: int) -> Array:
    """The numbers of rows with row k and another, whose numbers are along a last axis of one, swapped."""
    shape = [*row.shape[:-1], rows]
    numbers, other, this = _numbers(p, shape), _spread(p, row, shape), p.number(k, "int32")
    return p.select(p.compare("equal", numbers, this), other, p.select(p.compare("equal", numbers, other), this, numbers))


def _spread(p: Program, x: Array, shape: "Sequence[int]") -> Array:
    return p.view(x, [a if x.shape[a] == n else None for a, n in enumerate(shape)], shape)


def _filled(p: Program, x: Array, value: float) -> Array:
    """A number in place of each element."""
    return p.materialise(p.broadcast(p.number(value, x.dtype), x.shape, []))


def _sum(p: Program, x: Array) -> Array:
    """Of a column."""
    return p.reshape(p.reduce("sum", x, [x.rank - 2]), [*x.shape[:-2], 1, 1])


def _reflected(p: Program, x: Array, v: Array, tau: Array) -> Array:
    """x - tau v v' x."""
    by = _product(p, turned(p, v), x)
    return p.map("sub", x, _product(p, p.map("mul", v, _spread(p, tau, v.shape)), by))


def _with_column(p: Program, x: Array, at: int, column: Array, right: Optional[Array]) -> Array:
    """Matrices with the last elements of a column, and what is right of these, replaced."""
    (rows, columns), top = x.shape[-2:], x.shape[-2] - column.shape[-2]
    parts = [_block(p, x, top, rows, 0, at)] if at > 0 else []
    made = p.concat([*parts, column, *([right] if right is not None else [])], x.rank - 1)
    return p.concat([_block(p, x, 0, top, 0, columns), made], x.rank - 2) if top > 0 else made


def _backwards(p: Program, x: Array, from_end: "tuple[int, ...]") -> Array:
    for axis in (x.rank - a for a in from_end):
        x = p.along("reverse", x, axis) if x.shape[axis] != 1 else x
    return x


def _block(p: Program, x: Array, top: int, bottom: int, left: int, right: int) -> Array:
    return p.slice(p.slice(x, x.rank - 2, top, bottom - top), x.rank - 1, left, right - left)


def _product(p: Program, a: Array, b: Array) -> Array:
    batch = "".join(chr(ord("a") + k) for k in range(a.rank - 2))
    return p.einsum(a, b, batch + "xy", batch + "yz", batch + "xz", a.dtype)


__all__ = ["cholesky", "householder", "householder_product", "lower_of", "lu", "lu_solve", "order_of", "qr", "solve_triangular", "taken", "turned", "upper_of"]
