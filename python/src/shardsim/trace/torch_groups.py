"""Grouped matmuls, as of experts: the number of rows in each group, and each group's product with its own matrix.

Each matrix is multiplied with the rows of all groups, of which other groups' rows are 0.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Tuple

from .arrays import Array, Gap
from .torch_graph import Call, handles

#: Matmuls by the ranks of their operands: the axis along which the first or the second operand has groups, and labels.
GROUPED = {(2, 3): (0, None, "gsk,gkn->sn"), (2, 2): (1, None, "gms,sn->gmn"), (3, 2): (None, 1, "gmk,gks->ms")}


@handles("histc")
def _counts(c: Call) -> Array:
    """Numbers in equal intervals of a range; the last one has its end."""
    p, x = c.program, c.array(c.self, c.dtype)
    low, high, bins = float(c.min), float(c.max), int(c.bins)
    if low >= high:
        raise Gap("histc without a range; give min and max")
    at = p.map("mul", p.map("sub", x, p.number(low, x.dtype)), p.number(bins / (high - low), x.dtype))
    ids = p.map("min", p.convert(p.map("floor", at), "int32"), p.number(bins - 1, "int32"))
    inside = p.logic("and", p.compare("greater_equal", x, p.number(low, x.dtype)), p.compare("less_equal", x, p.number(high, x.dtype)))
    ids = p.select(inside, ids, p.number(-1, "int32"))
    return p.embed_add(p.materialise(p.broadcast(p.number(1.0, c.dtype), ids.shape, [])), ids, bins)


def _grouped(c: Call, a: Array, b: Array, labels: str) -> Array:
    left, right, out = labels.replace("->", ",").split(",")
    return c.program.einsum(a, b, left, right, out, a.dtype)


@handles("_grouped_mm")
def _grouped_matmul(c: Call) -> Array:
    p, a, b = c.program, c.array(c.self, c.dtype), c.array(c.mat2, c.dtype)
    if c.offs is None:
        return _grouped(c, a, b, "gij,gjk->gik")
    first, second, labels = GROUPED[a.rank, b.rank]
    a = a if first is None else p.by_groups(a, first, c.array(c.offs))
    b = b if second is None else p.by_groups(b, second, c.array(c.offs))
    return _grouped(c, a, b, labels)


@handles("grouped_mm_fallback")
def _fallback(c: Call) -> Array:
    """The grouped matmul of transformers for types other than bfloat16."""
    return _grouped(c, c.program.by_groups(c.array(c.input), 0, c.array(c.offs)), c.array(c.weight), "gsk,gkn->sn")


@handles("grouped_mm_fallback_backward")
def _fallback_backward(c: Call) -> Tuple[Array, Array]:
    p, x, grad, ends = c.program, c.array(c.input), c.array(c.grad_output), c.array(c.offs)
    of_rows = _grouped(c, p.by_groups(grad, 0, ends), c.array(c.weight), "gsn,gkn->sk")
    return of_rows, _grouped(c, p.by_groups(x, 0, ends), grad, "gsk,sn->gkn")
