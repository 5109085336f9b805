"""Operations of ATen on matrices: factors and systems of equations."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Tuple

import torch

from .arrays import Array, Gap
from .linear_algebra import cholesky, householder, householder_product, lower_of, lu, lu_solve, order_of, qr, solve_triangular, turned, upper_of
from .torch_graph import Call, handles
from .torch_ops import widened


@handles("linalg_cholesky_ex")
def _cholesky(c: Call) -> Tuple[Array, Any]:
    """The factor, and as info the order of the first leading minor that is not positive, from whose column on the factor is NaN."""
    p, x = c.program, c.array(c.self)
    made = cholesky(p, turned(p, x) if c.upper else x)
    n = made.shape[-1]
    none = p.compare("not_equal", made, made)  # also the columns behind
    last = p.reshape(p.slice(none, made.rank - 2, n - 1, 1), [*made.shape[:-2], n])
    count = p.reduce("sum", p.convert(last, "int32"), [last.rank - 1])
    failed = p.compare("greater", count, p.number(0, "int32"))
    zero, order = p.number(0, "int32"), p.map("sub", p.number(n + 1, "int32"), count)
    return turned(p, made) if c.upper else made, p.select(failed, order, zero)


@handles("linalg_solve_triangular")
def _solve_triangular(c: Call) -> Array:
    """The other side by transposes: x a = b is a' x' = b'."""
    p, a, b = c.program, _batched(c, c.self), _batched(c, c.B)
    if c.left:
        return solve_triangular(p, a, b, c.upper, c.unitriangular)
    return turned(p, solve_triangular(p, turned(p, a), turned(p, b), not c.upper, c.unitriangular))


@handles("cholesky_solve", "cholesky_inverse")
def _cholesky_solve(c: Call) -> Array:
    """x of l l' x = b; of the inverse, b is 1 along the diagonal."""
    p, inverse = c.program, c.name == "cholesky_inverse"
    factor, b = (_batched(c, c.self), c.array(torch.eye(c.shape[-1]), c.dtype)) if inverse else (_batched(c, c.input2), _batched(c, c.self))
    lower = turned(p, factor) if c.upper else factor
    b = c.reader.spread(widened(p, b, len(c.shape)), c.shape)
    return solve_triangular(p, turned(p, lower), solve_triangular(p, lower, b, False), True)


@handles("linalg_lu_factor_ex")
def _lu_factor(c: Call) -> Tuple[Array, Array, Any]:
    """L and U, swaps counted from 1, and the order of the first pivot that is 0."""
    if not c.pivot:
        raise Gap("an LU factor without pivoting, which PyTorch computes on GPUs alone")
    p = c.program
    made, swaps = lu(p, c.array(c.A))
    none = p.compare("equal", _diagonal(c, made), p.number(0.0, made.dtype))
    at = p.convert(p.reduce("argmax", p.convert(none, "int32"), [none.rank - 1]), "int32")
    one, zero = p.number(1, "int32"), p.number(0, "int32")
    info = p.select(p.compare("greater", p.reduce("sum", p.convert(none, "int32"), [none.rank - 1]), zero), p.map("add", at, one), zero)
    return made, p.map("add", swaps, one), info


@handles("lu_unpack")
def _lu_unpack(c: Call) -> Tuple[Any, Any, Any]:
    """P, L and U."""
    p, x = c.program, c.array(c.LU_data)
    rows, columns = x.shape[-2:]
    k, batch = min(rows, columns), x.shape[:-2]
    order = order_of(p, _swaps(c, c.LU_pivots), rows)
    across = p.view(order, [*range(len(batch)), None, len(batch)], [*batch, rows, rows])
    numbers = p.broadcast(p.iota(rows, "int32"), [*batch, rows, rows], [len(batch)])
    lower, upper = lower_of(p, p.slice(x, x.rank - 1, 0, k)), upper_of(p, p.slice(x, x.rank - 2, 0, k))
    return p.convert(p.compare("equal", numbers, across), x.dtype), lower, upper


@handles("linalg_lu_solve")
def _lu_solve(c: Call) -> Array:
    """The other side by transposes: x a = b is a' x' = b'."""
    p, factors, b = c.program, _batched(c, c.LU), _batched(c, c.B)
    swaps = _swaps(c, c.pivots)
    order = order_of(p, c.reader.spread(widened(p, swaps, b.rank - 1), [*c.shape[:-2], swaps.shape[-1]]), factors.shape[-1])
    if c.left:
        return lu_solve(p, factors, order, b, c.adjoint)
    return turned(p, lu_solve(p, factors, order, turned(p, b), not c.adjoint))


@handles("geqrf")
def _geqrf(c: Call) -> Tuple[Array, Array]:
    return householder(c.program, c.array(c.self))


@handles("linalg_householder_product")
def _householder_product(c: Call) -> Array:
    return householder_product(c.program, c.array(c.input), c.array(c.tau))


@handles("linalg_qr")
def _qr(c: Call) -> Tuple[Any, Array]:
    q, r = qr(c.program, c.array(c.A), c.mode == "complete")
    return q if c.mode != "r" else c.array(torch.empty(0), r.dtype), r


def _swaps(c: Call, pivots: Any) -> Array:
    """Swaps counted from 0."""
    return c.program.map("sub", c.program.convert(c.array(pivots), "int32"), c.program.number(1, "int32"))


def _diagonal(c: Call, x: Array) -> Array:
    p, n = c.program, min(x.shape[-2:])
    down, along = (p.broadcast(p.iota(x.shape[a], "int32"), x.shape, [a]) for a in (x.rank - 2, x.rank - 1))
    alone = p.select(p.compare("equal", down, along), x, p.number(0.0, x.dtype))
    return p.slice(p.reduce("sum", alone, [x.rank - 2]), x.rank - 2, 0, n)


def _batched(c: Call, value: Any) -> Array:
    """Matrices with all batches of the result."""
    x, batch = c.array(value), c.shape[:-2]
    return c.reader.spread(widened(c.program, x, len(c.shape)), [*batch, *x.shape[-2:]])
