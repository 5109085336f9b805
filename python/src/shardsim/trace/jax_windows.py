"""Equations of JAX over windows: convolution and pooling."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from .arrays import Array, Gap, Program
from .jax_ops import between, demand_plain
from .jax_reader import Reader, Value, handles, operands


@handles("conv_general_dilated")
def _convolution(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """A contraction of the windows of each spatial axis with the kernel."""
    x, kernel = operands(reader, eqn, values)
    params, p = eqn.params, reader.program
    numbers = params["dimension_numbers"]
    demand_plain(eqn)
    x = p.transpose(x, numbers.lhs_spec)  # batch, channels, space
    kernel = p.transpose(kernel, numbers.rhs_spec)  # channels out, channels in, taps
    space = x.rank - 2
    dtype = str(eqn.outvars[0].aval.dtype)
    x, kernel = p.convert(x, dtype), p.convert(kernel, dtype)
    for d in range(space):
        x = between(p, x, 2 + d, params["lhs_dilation"][d] - 1, 0.0)
    taken = x
    for d in range(space):
        low, high = params["padding"][d]
        at = 2 + 2 * d
        if low < 0 or high < 0:
            taken = p.pad(taken, at, min(low, 0), min(high, 0))
        taken = p.windows(
            taken, at, kernel.shape[2 + d], params["window_strides"][d], params["rhs_dilation"][d], max(low, 0), max(high, 0)
        )
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    windows, taps = "pqrs"[:space], "ijkl"[:space]
    inside = "".join(w + t for w, t in zip(windows, taps))
    shape = list(taken.shape)
    if groups == 1 and batch_groups == 1:
        made = p.einsum(taken, kernel, "nc" + inside, "oc" + taps, "no" + windows, dtype)
    elif batch_groups == 1:
        taken = p.reshape(taken, [shape[0], groups, shape[1] // groups, *shape[2:]])
        kernel = p.reshape(kernel, [groups, kernel.shape[0] // groups, *kernel.shape[1:]])
        made = p.einsum(taken, kernel, "ngc" + inside, "goc" + taps, "ngo" + windows, dtype)
        made = p.reshape(made, [made.shape[0], made.shape[1] * made.shape[2], *made.shape[3:]])
    else:
        taken = p.reshape(taken, [batch_groups, shape[0] // batch_groups, *shape[1:]])
        kernel = p.reshape(kernel, [batch_groups, kernel.shape[0] // batch_groups, *kernel.shape[1:]])
        made = p.einsum(taken, kernel, "gnc" + inside, "goc" + taps, "ngo" + windows, dtype)
        made = p.reshape(made, [made.shape[0], made.shape[1] * made.shape[2], *made.shape[3:]])
    return p.transpose(made, [numbers.out_spec.index(a) for a in range(made.rank)])


def _pooled(p: Program, x: Array, params: Any, fill: float) -> Tuple[Array, List[int]]:
    """x with each windowed axis split in two, and the positions of the taps."""
    at, taps = 0, []
    dilation = params.get("window_dilation") or (1,) * x.rank
    for d, size in enumerate(params["window_dimensions"]):
        stride, (low, high) = params["window_strides"][d], params["padding"][d]
        if size == 1 and stride == 1 and low == high == 0:
            at += 1
            continue
        x = p.windows(x, at, size, stride, dilation[d], low, high, fill)
        taps.append(at + 1)
        at += 2
    return x, taps


@handles("reduce_window_max", "reduce_window_min", "reduce_window_sum")
def _pool(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    if any(d != 1 for d in eqn.params["base_dilation"]):
        raise Gap("windows of a dilated array")
    fn = eqn.primitive.name.rsplit("_", 1)[1]
    fill = {"max": -math.inf, "min": math.inf, "sum": 0.0}[fn]
    taken, taps = _pooled(reader.program, reader.lift(values[0]), eqn.params, fill)
    return reader.program.reduce(fn, taken, taps)


@handles("select_and_scatter_add")
def _pool_back(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """The gradient of a maximum or minimum over windows goes to the first tap that has it."""
    source, x = operands(reader, eqn, values)
    p, params = reader.program, eqn.params
    if params["select_prim"].name not in ("ge", "le"):
        raise Gap("select_and_scatter_add by a function other than the maximum and the minimum")
    fn, fill = ("max", -math.inf) if params["select_prim"].name == "ge" else ("min", math.inf)
    taken, taps = _pooled(p, x, params, fill)
    if not taps:  # windows of one element each
        return source
    others = [a for a in range(taken.rank) if a not in taps]
    wide = taken.shape

    def spread(value: Array) -> Array:
        return p.broadcast(value, wide, others)

    count = math.prod(wide[t] for t in taps)
    number: Optional[Array] = None
    for t in taps:
        here = p.broadcast(p.iota(wide[t], "float32"), wide, [t])
        if number is None:
            number = here
        else:
            number = p.map("add", p.map("mul", number, p.number(float(wide[t]), "float32")), here)
    assert number is not None
    found = p.compare("equal", taken, spread(p.reduce(fn, taken, taps)))
    first = p.reduce("min", p.select(found, number, p.number(float(count), "float32")), taps)
    chosen = p.compare("equal", number, spread(first))
    grad = p.select(chosen, spread(source), p.number(0.0, source.dtype))
    for t, d in reversed([(t, d) for t, d in zip(taps, _windowed(params))]):
        low = params["padding"][d][0]
        grad = p.windows_add(grad, t - 1, x.shape[d], params["window_strides"][d], 1, low)
    return grad


def _windowed(params: Any) -> List[int]:
    """Axes of x that have windows."""
    return [
        d
        for d, size in enumerate(params["window_dimensions"])
        if not (size == 1 and params["window_strides"][d] == 1 and tuple(params["padding"][d]) == (0, 0))
    ]
