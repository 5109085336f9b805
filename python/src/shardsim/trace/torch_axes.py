"""ATen operations: data movement, matmul, and functions along axes."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import torch

from .arrays import Array, Gap, Program, is_float
from .torch_graph import Call, handles
from .torch_ops import mapped, widened

# ---- arrangement


@handles("copy", "copy_")
def _copy_into(c: Call) -> Array:
    """The new value of a tensor."""
    return c.reader.spread(c.array(c.src, c.dtype), c.shape)


@handles("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "view_copy", "_reshape_alias")
def _reshape(c: Call) -> Array:
    before, after = c.node.args[0].meta["val"].dtype, c.values[0].dtype
    if before != after:
        raise Gap(f"the bits of {before} as {after}; to() converts values")
    return c.program.reshape(c.array(c.self), c.shape)


@handles("permute")
def _permute(c: Call) -> Array:
    x = c.array(c.self)
    return c.program.transpose(x, [d % x.rank for d in c.dims])


@handles("transpose")
def _transpose(c: Call) -> Array:
    x = c.array(c.self)
    order = list(range(x.rank))
    if order:
        order[c.dim0], order[c.dim1] = order[c.dim1], order[c.dim0]
    return c.program.transpose(x, order)


@handles("t")
def _t(c: Call) -> Array:
    x = c.array(c.self)
    return c.program.transpose(x, list(range(x.rank))[::-1])


@handles("expand")
def _expand(c: Call) -> Array:
    return c.reader.spread(c.array(c.self), c.shape)


@handles("full", "full_like", "new_full", "fill", "ones", "zeros", "ones_like", "zeros_like", "new_zeros", "new_ones",
         "scalar_tensor", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided")  # fmt: skip
def _full(c: Call) -> Any:
    """A constant, possibly of an input's size. Uninitialized arrays are 0."""
    name = c.name
    value: Any = 1 if "ones" in name else 0
    for argument in ("fill_value", "value", "s"):
        value = getattr(c.arguments, argument, value)
    if isinstance(value, (Array, torch.Tensor)):
        return c.reader.spread(c.array(value, c.dtype), c.shape)
    return torch.full((), value, dtype=c.values[0].dtype).expand(c.shape)


@handles("arange")
def _arange(c: Call) -> Array:
    start, step = getattr(c.arguments, "start", 0) or 0, getattr(c.arguments, "step", 1) or 1
    numbers = c.program.iota(c.shape[0], c.dtype)
    for fn, value, neutral in (("mul", step, 1), ("add", start, 0)):
        numbers = numbers if value == neutral else c.program.map(fn, numbers, c.array(value, c.dtype))
    return numbers


@handles("linspace")
def _linspace(c: Call) -> Array:
    """From both ends to the middle, as PyTorch rounds; known numbers are worked out by PyTorch."""
    p, n = c.program, int(c.steps)
    if not is_float(c.dtype):
        raise Gap("steps of whole numbers between computed ends; steps of fractions are supported")
    kind = "float64" if c.dtype == "float64" else "float32"  # 16 bits lack numbers of steps
    first, last = (p.reshape(c.array(v, kind), (1,)) for v in (c.start, c.end))
    if n == 1:
        return p.convert(first, c.dtype)
    step = p.map("div", p.map("sub", last, first), p.number(n - 1.0, kind))
    place = p.iota(n, kind)
    up = p.map("add", first, p.map("mul", step, place))
    down = p.map("sub", last, p.map("mul", step, p.map("sub", p.number(n - 1.0, kind), place)))
    return p.convert(p.select(p.compare("less", place, p.number(float(n // 2), kind)), up, down), c.dtype)


@handles("select")
def _select(c: Call) -> Array:
    x = c.array(c.self)
    axis, n = c.dim % x.rank, x.shape[c.dim % x.rank]
    return c.program.reshape(c.program.slice(x, axis, c.index % n, 1), c.shape)


@handles("slice")
def _slice(c: Call) -> Array:
    x = c.array(c.self)
    axis = c.dim % x.rank
    start, _ = _bounds(c.start, c.end, x.shape[axis])
    return c.program.strided(x, axis, start, c.shape[axis], c.step or 1)


def _bounds(start: Optional[int], end: Optional[int], n: int) -> Tuple[int, int]:
    first, last, _ = slice(start, end).indices(n)
    return first, last


@handles("slice_backward")
def _slice_backward(c: Call) -> Array:
    axis = c.dim % len(c.shape)
    start, _ = _bounds(c.start, c.end, c.input_sizes[axis])
    return spaced(c.program, c.array(c.grad_output), axis, c.shape[axis], start, c.step)


def spaced(p: Program, x: Array, axis: int, size: int, start: int, stride: int) -> Array:
    """Zeros of a size with x at every stride-th place: the adjoint of `strided`."""
    if stride > 1 and x.shape[axis] > 1:
        x = p.spaced(x, axis, stride)
    return p.pad(x, axis, start, size - start - x.shape[axis])


@handles("select_backward")
def _select_backward(c: Call) -> Array:
    axis = c.dim % len(c.shape)
    shape = [*c.shape[:axis], 1, *c.shape[axis + 1 :]]
    grad = c.program.reshape(c.array(c.grad_output), shape)
    return spaced(c.program, grad, axis, c.shape[axis], c.index % c.shape[axis], 1)


@handles("slice_scatter", "select_scatter")
def _slice_scatter(c: Call) -> Array:
    """Replace a part of an array."""
    p, x = c.program, c.array(c.self)
    axis, n, step = c.dim % x.rank, x.shape[c.dim % x.rank], getattr(c.arguments, "step", 1)
    if c.name == "select_scatter":
        start = c.index % n
        part = p.reshape(c.array(c.src, c.dtype), [*x.shape[:axis], 1, *x.shape[axis + 1 :]])
    else:
        start, part = _bounds(c.start, c.end, n)[0], c.array(c.src, c.dtype)
    if step != 1:
        there = torch.zeros(n, dtype=torch.bool)
        there[start::step][: part.shape[axis]] = True
        mask = p.broadcast(c.array(there), x.shape, [axis])
        return p.select(mask, spaced(p, part, axis, n, start, step), x)
    end = start + part.shape[axis]
    pieces = [p.slice(x, axis, 0, start)] if start else []
    pieces += [part]
    pieces += [p.slice(x, axis, end, x.shape[axis] - end)] if end < x.shape[axis] else []
    return p.concat(pieces, axis)


@handles("split_with_sizes", "split", "unbind", "unsafe_split", "unsafe_chunk", "chunk")
def _split(c: Call) -> List[Array]:
    x, at, parts = c.array(c.self), 0, []
    axis = c.dim % x.rank
    for made in c.values:
        size = 1 if c.name == "unbind" else int(made.shape[axis])
        parts.append(c.program.reshape(c.program.slice(x, axis, at, size), tuple(made.shape)))
        at += size
    return parts


@handles("cat")
def _cat(c: Call) -> Array:
    tensors = [c.array(x, c.dtype) for x in c.tensors]
    whole = [x for x in tensors if x.shape != (0,)]
    return c.program.concat(whole, c.dim)


@handles("stack")
def _stack(c: Call) -> Array:
    axis = c.dim % len(c.shape)
    shape = [*c.shape[:axis], 1, *c.shape[axis + 1 :]]
    return c.program.concat([c.program.reshape(c.array(x, c.dtype), shape) for x in c.tensors], axis)


@handles("flip")
def _flip(c: Call) -> Array:
    x = c.array(c.self)
    for axis in c.dims:
        if x.rank and x.shape[axis] != 1:
            x = c.program.along("reverse", x, axis)
    return x


@handles("repeat")
def _repeat(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    return p.repeat(widened(p, x, len(c.repeats)) if x.rank else p.reshape(x, [1] * len(c.repeats)), c.repeats)


@handles("constant_pad_nd")
def _pad(c: Call) -> Array:
    x = c.array(c.self)
    for k in range(len(c.pad) // 2):
        x = c.program.pad(x, x.rank - 1 - k, c.pad[2 * k], c.pad[2 * k + 1], float(c.value))
    return x


# ---- products


def product(c: Call, a: Any, b: Any, labels: str) -> Array:
    left, right, out = labels.replace("->", ",").split(",")
    x, y = c.array(a, c.dtype), c.array(b, c.dtype)
    return c.program.einsum(x, y, left, right, out, c.dtype)


PRODUCTS = {"mm": "ij,jk->ik", "bmm": "bij,bjk->bik", "mv": "ij,j->i", "dot": "i,i->", "vdot": "i,i->"}


@handles(*PRODUCTS)
def _product(c: Call) -> Array:
    a, b = (getattr(c, argument.name) for argument in c.node.target._schema.arguments[:2])
    return product(c, a, b, PRODUCTS[c.name])


SUMMED = {"addmm": PRODUCTS["mm"], "baddbmm": PRODUCTS["bmm"], "addmv": PRODUCTS["mv"], "addbmm": "bij,bjk->ik"}


@handles(*SUMMED)
def _product_and_sum(c: Call) -> Array:
    added, a, b = (getattr(c, argument.name) for argument in c.node.target._schema.arguments[:3])
    made = product(c, a, b, SUMMED[c.name])
    if c.alpha != 1:
        made = mapped(c, "mul", made, c.alpha)
    if c.beta == 0:
        return made
    return mapped(c, "add", made, added if c.beta == 1 else mapped(c, "mul", added, c.beta))


# ---- sums along axes


def axes_of(dim: Any, rank: int) -> List[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(rank))
    return sorted({d % rank for d in (dim if isinstance(dim, (list, tuple)) else [dim])}) if rank else []


def reduced(c: Call, fn: str, x: Array, axes: Sequence[int], keep: bool) -> Array:
    """Reduced axes stay with one element if keepdim."""
    made = c.program.reduce(fn, x, axes) if axes else x
    return kept(c.program, made, x.shape, axes) if keep else made


def kept(p: Program, x: Array, before: Sequence[int], axes: Sequence[int]) -> Array:
    return p.reshape(x, [1 if a in axes else n for a, n in enumerate(before)])


REDUCTIONS = {"sum": "sum", "amax": "max", "amin": "min", "prod": "prod", "any": "max", "all": "min"}


def dims_of(c: Call, rank: int) -> List[int]:
    given = [getattr(c.arguments, n) for n in ("dim", "dims") if hasattr(c.arguments, n)]
    return axes_of(given[0] if given else None, rank)


@handles(*REDUCTIONS)
def _reduction(c: Call) -> Array:
    x = c.array(c.self, c.dtype)
    return reduced(c, REDUCTIONS[c.name], x, dims_of(c, x.rank), getattr(c.arguments, "keepdim", False))


@handles("mean")
def _mean(c: Call) -> Array:
    x = c.array(c.self, c.dtype)
    axes = dims_of(c, x.rank)
    return _divided(c, reduced(c, "sum", x, axes, getattr(c.arguments, "keepdim", False)), x, axes)


def _divided(c: Call, total: Array, x: Array, axes: Sequence[int], less: float = 0) -> Array:
    """A sum along axes of x by the number of their elements, which is smaller by some."""
    selected = c.reader.masks.elements(c.node.args[0], axes)
    if selected is not None:
        rest = c.program.map("max", c.program.map("sub", selected, c.program.number(less, "float64")), c.program.number(0.0, "float64"))
        return mapped(c, "div", total, rest)
    count = math.prod(x.shape[a] for a in axes)
    return mapped(c, "mul", total, 1 / (count - less) if count > less else math.inf)


@handles("var", "var_mean")
def _variance(c: Call) -> Any:
    x = c.array(c.self, c.dtype)
    axes = dims_of(c, x.rank)
    correction = getattr(c.arguments, "correction", None)
    correction = int(getattr(c.arguments, "unbiased", True)) if correction is None else correction
    mean = _divided(c, reduced(c, "sum", x, axes, True), x, axes)
    off = c.reader.masks.filled(c.node.args[0], mapped(c, "sub", x, mean), 0.0)
    keep = getattr(c.arguments, "keepdim", False)
    total = reduced(c, "sum", mapped(c, "mul", off, off), axes, keep)
    variance = _divided(c, total, x, axes, correction)
    if c.name == "var":
        return variance
    return variance, mean if keep else c.program.reshape(mean, variance.shape)


@handles("_softmax", "_safe_softmax", "_log_softmax")
def _softmax(c: Call) -> Array:
    p, x = c.program, c.array(c.self, c.dtype)
    axes = axes_of(c.dim, x.rank)
    most = reduced(c, "max", x, axes, True)
    none = p.compare("equal", most, p.number(-math.inf, x.dtype)) if c.name == "_safe_softmax" else None
    if none is not None:  # a row that a mask leaves empty is 0 throughout
        most = p.select(none, p.number(0.0, x.dtype), most)
    off = mapped(c, "sub", x, most)
    power = p.map("exp", off)
    total = reduced(c, "sum", power, axes, True)
    if none is not None:
        total = p.select(none, p.number(1.0, x.dtype), total)
    if c.name == "_log_softmax":
        return mapped(c, "sub", off, p.map("log", total))
    return mapped(c, "div", power, total)


@handles("native_group_norm")
def _group_norm(c: Call) -> Tuple[Array, Array, Array]:
    p, x = c.program, c.array(c.input, c.dtype)
    batch, channels, groups = x.shape[0], x.shape[1], int(c.group)
    grouped = p.reshape(x, [batch, groups, channels // groups, *x.shape[2:]])
    axes = list(range(2, grouped.rank))
    each = 1 / math.prod(grouped.shape[a] for a in axes)
    mean = mapped(c, "mul", reduced(c, "sum", grouped, axes, True), each)
    off = mapped(c, "sub", grouped, mean)
    variance = mapped(c, "mul", reduced(c, "sum", mapped(c, "mul", off, off), axes, True), each)
    spread = p.map("rsqrt", mapped(c, "add", variance, c.eps))
    made = p.reshape(mapped(c, "mul", off, spread), x.shape)
    beside = [1, channels, *[1] * (x.rank - 2)]
    for fn, operand in (("mul", c.weight), ("add", c.bias)):
        made = made if operand is None else mapped(c, fn, made, p.reshape(c.array(operand), beside))
    return made, p.reshape(mean, [batch, groups]), p.reshape(spread, [batch, groups])


@handles("cumsum", "cumprod", "logcumsumexp")
def _cumulative(c: Call) -> Array:
    x = c.array(c.self, c.dtype)
    if not x.rank:
        return x
    return c.program.along({"logcumsumexp": "cumlogsumexp"}.get(c.name, c.name), x, c.dim)


@handles("cummax", "cummin")
def _extreme_so_far(c: Call) -> Tuple[Array, Array]:
    """Values, and the last places at which they are."""
    p, x = c.program, c.array(c.self)
    if not x.rank:
        return x, p.number(0, "int64")
    axis = c.dim % x.rank
    values = p.along(c.name, x, axis)
    worse = p.compare("less" if c.name == "cummax" else "greater", x, values)
    place = p.broadcast(p.iota(x.shape[axis], "int32"), x.shape, [axis])
    return values, p.convert(p.along("cummax", p.select(worse, p.number(-1, "int32"), place), axis), "int64")


@handles("max", "min")
def _extreme(c: Call) -> Any:
    """Over all elements, of two arrays, or along an axis with indices."""
    name = c.name
    if hasattr(c.arguments, "other"):
        return mapped(c, name, c.self, c.other)
    x = c.array(c.self)
    if not hasattr(c.arguments, "dim"):
        return reduced(c, name, x, list(range(x.rank)), False)
    axes = axes_of(c.dim, x.rank)
    values = reduced(c, name, x, axes, c.keepdim)
    return values, _places(c, "arg" + name, x, axes, c.keepdim)


def _places(c: Call, fn: str, x: Array, axes: Sequence[int], keep: bool) -> Array:
    made = c.program.reduce(fn, x, axes)
    made.dtype, made.carrier = "int64", "int32"
    return kept(c.program, made, x.shape, axes) if keep else made


@handles("argmax", "argmin")
def _argmax(c: Call) -> Array:
    x = c.array(c.self)
    if c.dim is None:
        x = c.program.reshape(x, [math.prod(x.shape)])
    return c.program.reshape(_places(c, c.name, x, axes_of(c.dim or 0, x.rank), False), c.shape)
