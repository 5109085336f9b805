"""Operations of ATen by ids: embedding, index, gather, scatter, top-k, sort."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import torch

from . import whole
from .array import known, unrepeated
from .arrays import Array, Gap, Program, is_float, uniform
from .torch_graph import Call, handles
from .torch_masks import first_places, is_mask
from .torch_ops import arguments_first, mapped, ranked, whole_floor


@handles("embedding")
def _embedding(c: Call) -> Array:
    return c.program.embed(c.array(c.weight), c.array(c.indices))


@handles("embedding_dense_backward")
def _embedding_backward(c: Call) -> Array:
    p, grad, ids = c.program, c.array(c.grad_output), c.array(c.indices)
    if c.scale_grad_by_freq:
        raise Gap("embedding gradients scaled by id frequency (scale_grad_by_freq)")
    if c.padding_idx is not None and c.padding_idx >= 0:
        there = p.compare("not_equal", ids, p.number(c.padding_idx, ids.dtype))
        grad = p.select(p.view(there, [*range(ids.rank), None], [*ids.shape, 1]), grad, p.number(0.0, grad.dtype))
    return p.embed_add(grad, ids, int(c.num_weights))


# ---- x[i, j]


def _counted(ids: Any, n: int) -> Any:
    """Known ids, none of which is negative."""
    if isinstance(ids, torch.Tensor) and not ids.dtype.is_floating_point and ids.dtype != torch.bool:
        return torch.where(ids < 0, ids + n, ids)
    return ids


def _from_end(p: Program, ids: Array, n: int) -> Array:
    """Ids that may be negative count from the end."""
    value = known(ids)
    if value is not None and value.size and unrepeated(value).min() >= 0:
        return ids
    negative = p.compare("less", ids, p.number(0, ids.dtype))
    return p.select(negative, p.map("add", ids, p.number(n, ids.dtype)), ids)


def _joined(c: Call, indices: Sequence[Any], shape: Sequence[int]) -> Tuple[List[int], Array]:
    """The indexed axes, and their ids merged into one axis."""
    p = c.program
    axes = [a for a, i in enumerate(indices) if i is not None]
    arrays = [c.array(_counted(indices[a], shape[a])) for a in axes]
    total: Optional[Array] = None
    for axis, ids in zip(axes, ranked(p, arrays)):
        ids = _from_end(p, ids, shape[axis])
        if total is None:
            total = ids
        else:
            total = p.map("add", p.map("mul", total, p.number(shape[axis], ids.dtype)), ids)
    assert total is not None
    return axes, total


def _first(p: Program, x: Array, axes: Sequence[int]) -> Array:
    """The axes merged into one, in front."""
    rest = [a for a in range(x.rank) if a not in axes]
    moved = p.transpose(x, [*axes, *rest])
    return p.reshape(moved, [math.prod(x.shape[a] for a in axes), *(x.shape[a] for a in rest)])


def _order(axes: Sequence[int], nids: int, rank: int) -> List[int]:
    """Positions of the ids' axes, then the other axes, in PyTorch's result: ids in front if not adjacent."""
    together = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    before = axes[0] if together else 0
    rest = rank - len(axes)
    return [*range(nids, nids + before), *range(nids), *range(nids + before, nids + rest)]


@handles("index")
def _index(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    at, index = next((a, i) for a, i in enumerate(c.node.args[1]) if i is not None)
    if c.reader.masks.of(index) is not None:
        return _selected(c, x, at, index)
    axes, ids = _joined(c, c.indices, x.shape)
    rows = p.embed(_first(p, x, axes), ids)
    return p.transpose(rows, _order(axes, ids.rank, x.rank))


# ---- x[mask], of which a mask's values decide the size


def _merged(p: Program, x: Array, at: int, rank: int) -> Array:
    """Join the axes of a mask into one axis."""
    return p.reshape(x, [*x.shape[:at], math.prod(x.shape[at : at + rank]), *x.shape[at + rank :]])


def _selected(c: Call, x: Array, at: int, mask: Any) -> Array:
    """The elements that a mask selects, which is a node: where they are, or moved to the front."""
    selection = c.reader.masks.of(mask)
    assert selection is not None
    merged = _merged(c.program, x, at, mask.meta["val"].dim())
    return merged if selection.places is None else c.program.rows_at(merged, selection.places, at)


@handles("nonzero")
def _nonzero(c: Call) -> Array:
    """The place of each element in each of the axes."""
    p, masks, mask = c.program, c.reader.masks, c.node.args[0]
    shape, selection = mask.meta["val"].shape, masks.of(mask)
    assert selection is not None
    columns = []
    for axis, n in enumerate(shape):
        if selection.places is None:
            column = p.reshape(p.broadcast(p.iota(n, "int32"), shape, [axis]), [selection.size])
        else:
            column = p.map("div", selection.places, p.number(math.prod(shape[axis + 1 :]), "int32"))
            column = column if axis == 0 else p.map("rem", column, p.number(n, "int32"))
        column = masks.rank(mask, axis, column)
        columns.append(p.reshape(p.convert(column, "int64"), [selection.size, 1]))
    return p.concat(columns, 1) if columns else p.broadcast(p.number(0, "int64"), (selection.size, 0), [])


def _at_places(c: Call, value: Array, source: Any, at: int, mask: Array, of: Any) -> Array:
    """One row of a value for each element that a mask selects, at the places of these; source and `of` are the nodes of both."""
    p, shape = c.program, [*value.shape[:at], *mask.shape, *value.shape[at + 1 :]]
    own, masks = c.reader.masks.along(source, at), c.reader.masks
    if own is not None and own.places is None and own.counts is not None:
        if own is not masks.of(of):
            raise Gap("elements that one mask selects at the places of another; compute the mask once")
        return p.reshape(value, shape)
    flat = p.convert(p.reshape(mask, [math.prod(mask.shape)]), "int32")
    if own is None:
        masks.demand(p.reduce("sum", flat, [0]), value.shape[at], c.name != "masked_scatter")
    order = p.map("sub", p.along("cumsum", flat, 0), p.number(1, "int32"))
    return p.reshape(p.rows_at(value, order, at), shape)


@handles("masked_scatter")
def _masked_scatter(c: Call) -> Array:
    """Elements of a source, in their order, at the places of a mask."""
    p, source = c.program, c.array(c.source, c.dtype)
    x, mask = (c.reader.spread(c.array(v), c.shape) for v in (c.self, c.mask))
    rows = _at_places(c, p.reshape(source, [math.prod(source.shape)]), c.node.args[2], 0, mask, c.node.args[1])
    return p.select(mask, rows, x)


@handles("masked_scatter_backward")
def _masked_scatter_backward(c: Call) -> Array:
    """The elements of a gradient that a mask selects, and zeros behind them."""
    p, grad = c.program, c.array(c.grad_output)
    total, size = math.prod(grad.shape), math.prod(c.shape)
    mask = c.reader.spread(c.array(c.mask), grad.shape)
    selected = p.reshape(p.select(mask, grad, p.number(0.0, grad.dtype)), [total])
    rows = p.embed(selected, first_places(p, p.reshape(mask, [total]), min(total, size)))
    return p.reshape(p.pad(rows, 0, 0, size - rows.shape[0]), c.shape)


@handles("index_put", "_unsafe_index_put")
def _index_put(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    if (made := _put_by_mask(c, x)) is not None:
        return made
    axes, ids = _joined(c, c.indices, x.shape)
    order = _order(axes, ids.rank, x.rank)
    rest = [a for a in range(x.rank) if a not in axes]
    natural = [*ids.shape, *(x.shape[a] for a in rest)]
    shape = [natural[a] for a in order]
    values = c.reader.spread(c.array(c.arguments.values, c.dtype), shape)

    def put(rows: Array) -> Array:
        added = p.embed_add(rows, ids, math.prod(x.shape[a] for a in axes))
        added = p.reshape(added, [*(x.shape[a] for a in axes), *(x.shape[a] for a in rest)])
        return p.transpose(added, list(np.argsort([*axes, *rest])))

    if not c.accumulate:
        return _set(c, put, x, p.transpose(values, list(np.argsort(order))), ids)
    added = put(p.transpose(values, list(np.argsort(order))))
    return added if is_zero(x) else mapped(c, "add", x, added)


def _put_by_mask(c: Call, x: Array) -> Optional[Array]:
    """x with values wherever a mask is set; None without a mask.

    The value's axes are x's from the last one on, with one axis in place of the mask's: of a value for each place, or of
    size 1.
    """
    p, value = c.program, c.array(c.arguments.values, c.dtype)
    axis = next(a for a, i in enumerate(c.indices) if i is not None)
    if not is_mask(c.node.args[1][axis]):
        return None
    mask = p.convert(c.array(c.indices[axis]), "bool")
    rest = x.rank - axis - mask.rank  # axes of x behind those of the mask
    before = value.rank - rest - 1  # axes of the value in front of the one that counts places
    if before >= 0:
        if value.shape[before] != 1:
            value = _at_places(c, value, c.node.args[2], before, mask, c.node.args[1][axis])
        else:
            value = p.reshape(value, [*value.shape[:before], *[1] * mask.rank, *value.shape[before + 1 :]])
    if c.accumulate and not is_zero(x):
        value = mapped(c, "add", x, value)
    return p.select(p.broadcast(mask, x.shape, [axis + a for a in range(mask.rank)]), c.reader.spread(value, x.shape), x)


def _distinct(ids: Array, axis: int) -> bool:
    """Whether no row of ids along an axis is known to have one twice: constants, and places in an order."""
    value = known(ids)
    if value is not None:
        rows = unrepeated(value)
        return rows.shape[axis] == value.shape[axis] and bool((np.diff(np.sort(rows, axis), axis=axis) != 0).all())
    at = axis
    while ids.op == "view" or (ids.op == "along" and ids.attrs["fn"] == "slice"):
        source = ids.attrs["source"][at] if ids.op == "view" else at
        if source is None or (ids.op == "view" and ids.inputs[0].shape[source] != ids.shape[at]):
            return False  # broadcast along the axis
        at, ids = source, ids.inputs[0]
    return ids.op == "along" and ids.attrs["fn"] == "topk" and ids.attrs["axis"] == at


def _one_each(c: Call, put: Callable[[Array], Array], rows: Array, hits: Array) -> Array:
    """The mean of the elements for one place, which is the element if they are equal: PyTorch leaves open which of others wins.

    Their sum is float64, so that it neither overflows nor is rounded.
    """
    p = c.program
    times = p.map("max", p.convert(hits, "float64"), p.number(1.0, "float64"))
    mean = p.map("div", put(p.convert(rows, "float64")), times)
    if is_float(c.dtype) or c.dtype == "bool":
        return p.convert(mean, c.dtype)
    low, high = whole.span(p, rows)
    return whole.wrapped(p, p.map("round", mean), c.dtype, (min(low, 0.0), max(high, 0.0)))


def _set(c: Call, put: Callable[[Array], Array], x: Array, rows: Array, ids: Array) -> Array:
    """x with elements replaced."""
    p, value = c.program, uniform(rows)
    hits = put(p.broadcast(p.number(1.0, "float32"), rows.shape, []))
    there = p.compare("greater", hits, p.number(0.0, "float32"))
    if value is not None:
        return p.select(there, p.number(value if is_float(c.dtype) else int(value), c.dtype), x)
    places = known(ids)
    apart = places is not None and len(np.unique(unrepeated(places))) == places.size
    return p.select(there, put(rows) if apart else _one_each(c, put, rows, hits), x)


def is_zero(x: Array) -> bool:
    while x.op == "view":
        x = x.inputs[0]
    return x.op == "number" and x.attrs["value"] == 0


@handles("index_select")
def _index_select(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    axis = c.dim % x.rank
    rows = p.embed(_first(p, x, [axis]), c.array(c.index))
    return p.transpose(rows, _order([axis], 1, x.rank))


@handles("index_add")
def _index_add(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    axis = c.dim % x.rank
    rest = [a for a in range(x.rank) if a != axis]
    source = p.transpose(c.array(c.source, c.dtype), [axis, *rest])
    added = p.transpose(p.embed_add(source, c.array(c.index), x.shape[axis]), list(np.argsort([axis, *rest])))
    if c.alpha != 1:
        added = mapped(c, "mul", added, c.alpha)
    return added if is_zero(x) else mapped(c, "add", x, added)


# ---- along one axis, an id for each element


def _last(p: Program, x: Array, axis: int) -> Array:
    return p.transpose(x, [*(a for a in range(x.rank) if a != axis), axis])


def _back(p: Program, x: Array, axis: int) -> Array:
    """The last axis back in its place."""
    order = list(range(x.rank - 1))
    order.insert(axis, x.rank - 1)
    return p.transpose(x, order)


@handles("gather")
def _gather(c: Call) -> Array:
    p, x, ids = c.program, c.array(c.self), c.array(c.index)
    axis = c.dim % x.rank
    for a in range(x.rank):
        if a != axis:
            x = p.slice(x, a, 0, ids.shape[a])
    if ids.shape[axis] == 1:
        rest = [n for a, n in enumerate(ids.shape) if a != axis]
        return p.reshape(p.pick(x, p.reshape(ids, rest), axis), c.shape)
    return _back(p, p.pick(x, _last(p, ids, axis), axis), axis)


def _added(c: Call, src: Array, ids: Array, axis: int) -> Array:
    """Zeros of the result's shape with src added at the ids."""
    p, size = c.program, c.shape[axis]
    if ids.shape[axis] == 1:
        rest = [n for a, n in enumerate(ids.shape) if a != axis]
        made = p.pick_add(p.reshape(src, rest), p.reshape(ids, rest), axis, size)
    else:
        made = p.pick_add(_last(p, src, axis), _last(p, ids, axis), axis, size, choices=1)
    for a in range(made.rank):
        made = p.pad(made, a, 0, c.shape[a] - made.shape[a]) if a != axis else made
    return made


@handles("scatter", "scatter_add")
def _scatter(c: Call) -> Array:
    """Added, or set."""
    p, x, ids = c.program, c.array(c.self), c.array(c.index)
    axis = c.dim % x.rank
    if getattr(c.arguments, "reduce", None) is not None:
        raise Gap("scatter with a reduction; scatter_add is supported")
    value = c.array(c.src if hasattr(c.arguments, "src") else c.value, c.dtype)
    if value.rank != ids.rank:
        value = p.broadcast(value, ids.shape, [])
    for a in range(ids.rank):
        value = p.slice(value, a, 0, ids.shape[a])
    apart = ids.shape[axis] == 1 or _distinct(ids, axis)
    if c.name == "scatter_add" or (is_zero(x) and apart):
        added = _added(c, value, ids, axis)
        return added if is_zero(x) else mapped(c, "add", x, added)
    hits = _added(c, p.broadcast(p.number(1.0, "float32"), ids.shape, []), ids, axis)
    there = p.compare("greater", hits, p.number(0.0, "float32"))
    if hasattr(c.arguments, "src"):
        put = partial(_added, c, ids=ids, axis=axis)
        return p.select(there, put(value) if apart else _one_each(c, put, value, hits), x)
    return p.select(there, c.array(c.value, c.dtype), x)


@handles("scatter_reduce")
def _scatter_reduce(c: Call) -> Array:
    """Sums, means, minima and maxima at ids along one axis; all rows must have the same ids."""
    p, x, ids = c.program, c.array(c.self), c.array(c.index)
    axis, reduce = c.dim % x.rank, c.reduce
    if reduce in ("amax", "amin"):
        return _extreme_at(c, x, ids, axis, reduce[1:])
    if reduce not in ("sum", "mean"):
        raise Gap(f"scatter_reduce by {reduce}; sum, mean, amax and amin are supported")
    added = _added(c, _cut(p, c.array(c.src, c.dtype), ids), ids, axis)
    count = _added(c, p.broadcast(p.number(1.0, c.dtype), ids.shape, []), ids, axis) if reduce == "mean" or not c.include_self else None
    none = p.number(0.0, c.dtype)
    if count is not None and not c.include_self:
        x = p.select(p.compare("greater", count, none), p.broadcast(none, x.shape, []), x)
    made = mapped(c, "add", x, added)
    if reduce == "sum":
        return made
    assert count is not None
    total = mapped(c, "add", count, 1.0) if c.include_self else mapped(c, "max", count, 1.0)
    return mapped(c, "div", made, total) if is_float(c.dtype) else whole_floor(p, made, total)


def _cut(p: Program, x: Array, ids: Array) -> Array:
    for a in range(ids.rank):
        x = p.slice(x, a, 0, ids.shape[a])
    return x


def _repeated(x: Array, axis: int) -> bool:
    """Whether an array is a view broadcast along an axis."""
    at = x.attrs["source"][axis] if x.op == "view" else axis
    return at is None or (x.op == "view" and x.inputs[0].shape[at] == 1)


def _extreme_at(c: Call, x: Array, ids: Array, axis: int, fn: str) -> Array:
    """For rows with equal ids, as `expand` makes them."""
    p, src = c.program, _cut(c.program, c.array(c.src, c.dtype), ids)
    if any(n != m for a, (n, m) in enumerate(zip(ids.shape, x.shape)) if a != axis):
        raise Gap("a minimum or maximum at ids of a part of an array")
    if any(a != axis and n != 1 and not _repeated(ids, a) for a, n in enumerate(ids.shape)):
        raise Gap("a minimum or maximum at separate ids per element; for rows it is supported")
    first = ids
    for a in range(ids.rank):
        first = p.slice(first, a, 0, 1) if a != axis else first
    first = p.reshape(first, [ids.shape[axis]])
    order = [axis, *(a for a in range(x.rank) if a != axis)]
    found = p.transpose(p.extreme_at(p.transpose(src, order), first, c.shape[axis], fn), list(np.argsort(order)))
    if c.include_self:
        return mapped(c, fn, x, found)
    # Which rows there are is counted: what was found may be infinite itself.
    count = p.embed_add(p.materialise(p.broadcast(p.number(1.0, "float32"), first.shape, [])), first, c.shape[axis])
    there = p.compare("greater", count, p.number(0.0, "float32"))
    return p.select(p.broadcast(there, x.shape, [axis]), found, x)


# ---- diagonals


def _diagonal_ids(c: Call, sizes: Sequence[int], count: int) -> Tuple[int, int, int, Array]:
    """The two axes, the first row, and the column in each of the rows."""
    first, second = c.dim1 % len(sizes), c.dim2 % len(sizes)
    ids = c.program.iota(count, "int32")
    ids = c.program.map("add", ids, c.program.number(max(0, c.offset), "int32"))
    return first, second, max(0, -c.offset), ids


@handles("diagonal")
def _diagonal(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    first, second, start, ids = _diagonal_ids(c, x.shape, c.shape[-1])
    moved = p.transpose(x, [*(a for a in range(x.rank) if a not in (first, second)), first, second])
    moved = p.slice(moved, x.rank - 2, start, c.shape[-1])
    return p.pick(moved, c.reader.spread(ids, c.shape), x.rank - 1)


def _on_diagonal(c: Call, x: Array) -> Array:
    """Zeros with x on the diagonal."""
    p = c.program
    first, second, start, ids = _diagonal_ids(c, c.shape, x.shape[-1])
    made = p.pick_add(x, c.reader.spread(ids, x.shape), x.rank, c.shape[second])
    made = p.pad(made, made.rank - 2, start, c.shape[first] - start - x.shape[-1])
    order = [a for a in range(made.rank) if a not in (first, second)] + [first, second]
    return p.transpose(made, list(np.argsort(order)))


@handles("diagonal_backward")
def _diagonal_backward(c: Call) -> Array:
    return _on_diagonal(c, c.array(c.grad_output))


@handles("diagonal_scatter")
def _diagonal_scatter(c: Call) -> Array:
    """Replace the elements of a diagonal."""
    p, x = c.program, c.array(c.self)
    row, column = (_places_along(p, x, axis % x.rank) for axis in (c.dim1, c.dim2))
    there = p.compare("equal", p.map("add", row, p.number(c.offset, "int32")), column)
    return p.select(there, _on_diagonal(c, c.array(c.src, c.dtype)), x)


def _places_along(p: Program, x: Array, axis: int) -> Array:
    """0, 1, 2, ... along an axis of x; other axes have size 1."""
    places = p.iota(x.shape[axis], "int32")
    return p.view(places, [0 if a == axis else None for a in range(x.rank)], [n if a == axis else 1 for a, n in enumerate(x.shape)])


# ---- by places in the storage


def _storage_ids(c: Call) -> torch.Tensor:
    """The elements of the first argument, in their own order, that a view by places in its storage has."""
    of = c.node.args[0].meta["val"]
    first, count = of.storage_offset(), of.numel()
    wanted = _places(c.size, c.stride, first if c.storage_offset is None else c.storage_offset) - first
    if of.is_contiguous():  # in the order of the storage, without a look at all elements
        ids = torch.where(wanted < count, wanted, -1)
    else:
        places = _places(of.shape, of.stride(), 0)
        element = torch.full((int(max(places.max(), wanted.max())) + 2,), -1)  # the last one for places before the array
        if len(places.unique()) == count:
            element[places.flatten()] = torch.arange(count)
        ids = element[wanted.clamp(min=-1)]
    if ids.min() < 0:
        raise Gap(f"'{c.node.target}' of an array that is broadcast, or outside it; a view by slices and transposes is supported")
    return ids


def _places(sizes: Sequence[int], strides: Sequence[int], offset: int) -> torch.Tensor:
    places = torch.tensor(offset)
    for size, step in zip(sizes, strides):
        places = places.unsqueeze(-1) + torch.arange(size) * step
    return places


@handles("as_strided")
def _as_strided(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    ids = _storage_ids(c)
    if ids.numel() == math.prod(x.shape) and torch.equal(ids.flatten(), torch.arange(ids.numel())):
        return p.reshape(x, c.shape)
    return p.embed(p.reshape(x, [math.prod(x.shape)]), c.array(ids))


@handles("as_strided_scatter")
def _as_strided_scatter(c: Call) -> Array:
    """Replace the elements of a view."""
    p, x = c.program, c.array(arguments_first(c))
    ids, count = _storage_ids(c), math.prod(x.shape)
    outside = torch.ones(count, dtype=torch.bool)
    outside[ids.flatten()] = False
    added = p.reshape(p.embed_add(c.array(c.src, c.dtype), c.array(ids), count), x.shape)
    return p.select(c.array(outside.reshape(x.shape)), x, added)


# ---- order


@handles("topk")
def _topk(c: Call) -> Tuple[Array, Array]:
    p, x = c.program, c.array(c.self)
    axis = c.dim % x.rank
    options = {} if c.largest else {"smallest": True}
    ids = p.along("topk", _last(p, x, axis), x.rank - 1, c.k, dtype="int32", **options)
    values = p.pick(_last(p, x, axis), ids, x.rank - 1)
    return _back(p, values, axis), p.convert(_back(p, ids, axis), "int64")


@handles("kthvalue", "median")
def _order_statistic(c: Call) -> Any:
    """The k-th smallest element; the median is the lower one of two."""
    p, x = c.program, c.array(c.self)
    along = hasattr(c.arguments, "dim") and x.rank > 0
    x = x if along else p.reshape(x, [math.prod(x.shape)])
    axis = c.dim % x.rank if along else 0
    k = int(c.k) if c.name == "kthvalue" else (x.shape[axis] + 1) // 2
    last = _last(p, x, axis)
    order = p.along("topk", last, x.rank - 1, k, dtype="int32", smallest=True)
    ids = p.reshape(p.slice(order, x.rank - 1, k - 1, 1), last.shape[:-1])
    if c.name == "median":  # of which one element is no number: that one, which is behind all others
        worst = p.reduce("argmax", last, [x.rank - 1])
        worst.dtype = worst.carrier = "int32"
        most = p.pick(last, worst, x.rank - 1)
        ids = p.select(p.compare("not_equal", most, most), worst, ids)
    values = p.pick(last, ids, x.rank - 1)
    if not along:
        return p.reshape(values, c.shape)
    return p.reshape(values, c.shape), p.reshape(p.convert(ids, "int64"), c.shape)


@handles("searchsorted")
def _searchsorted(c: Call) -> Array:
    """How many elements of a sorted row are below each value, or at most it."""
    p, row = c.program, c.array(c.sorted_sequence)
    x = c.array(c.self, row.dtype)
    right = c.right or c.side == "right"
    before = 0 if row.rank == 1 else x.rank - 1  # axes that the values have as well
    shape = [*x.shape[:before], *[1] * (x.rank - before), row.shape[-1]]
    rows = p.view(row, [*range(before), *[None] * (x.rank - before), row.rank - 1], shape)
    found = p.compare("less_equal" if right else "less", rows, p.view(x, [*range(x.rank), None], [*x.shape, 1]))
    return p.convert(p.reduce("sum", p.convert(found, "int32"), [x.rank]), c.dtype)


@handles("sort")
def _sort(c: Call) -> Tuple[Array, Array]:
    """Stable: equal elements stay in their order."""
    p, x = c.program, c.array(c.self)
    axis = c.dim % x.rank
    order = p.argsort(x, axis, descending=bool(c.descending))
    return p.take_along(x, order, axis), p.convert(order, "int64")
