"""Operations of ATen on matrices: Cholesky factors and triangular systems."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Tuple

import torch

from .arrays import Array
from .linear_algebra import cholesky, solve_triangular, turned
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


def _batched(c: Call, value: Any) -> Array:
    """Matrices with all batches of the result."""
    x, batch = c.array(value), c.shape[:-2]
    return c.reader.spread(widened(c.program, x, len(c.shape)), [*batch, *x.shape[-2:]])
