"""A traced program in numpy, op by op: what its arrays are, without the program that lays it out."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, Sequence

import numpy as np

from shardsim.trace.arrays import Array, is_float

Numbers = np.ndarray[Any, Any]


def evaluate(outputs: Sequence[Array], values: Mapping[str, Numbers]) -> List[Numbers]:
    """The outputs, with leaves of the values by their paths; others have the value that was traced."""
    needed: Dict[int, Array] = {}
    waiting = list(outputs)
    while waiting:
        array = waiting.pop()
        if array.number not in needed:
            needed[array.number] = array
            waiting.extend(array.inputs)
    made: Dict[int, Numbers] = {}
    for number in sorted(needed):
        array = needed[number]
        if array.op == "leaf":
            path = array.attrs["path"]
            result = np.asarray(values[path] if path in values else array.attrs["value"])
        else:
            result = OPS[array.op](array, *(made[x.number] for x in array.inputs))
        made[number] = carried(np.asarray(result), array)
        assert made[number].shape == array.shape, (array.op, array.attrs, made[number].shape, array.shape)
    return [made[x.number] for x in outputs]


def carried(value: Numbers, array: Array) -> Numbers:
    """In float64, or in whole numbers of the width that the program has."""
    if is_float(array.carrier):
        return value.astype(np.float64)
    wide = value.astype(np.int64)
    if array.carrier == "uint32":
        return wide & 0xFFFFFFFF
    return ((wide + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


# ---- arrangement


def number(array: Array) -> Numbers:
    return np.asarray(array.attrs["value"])


def iota(array: Array) -> Numbers:
    return np.arange(array.shape[0])


def view(array: Array, x: Numbers) -> Numbers:
    source = array.attrs["source"]
    kept = [at for at in source if at is not None]
    gone = [a for a in range(x.ndim) if a not in kept]
    x = x.squeeze(tuple(gone)).transpose(np.argsort(np.argsort(kept)))
    for place, at in enumerate(source):
        if at is None:
            x = np.expand_dims(x, place)
    return np.broadcast_to(x, array.shape)


def reshape(array: Array, x: Numbers) -> Numbers:
    return x.reshape(array.shape)


def concat(array: Array, *parts: Numbers) -> Numbers:
    return np.concatenate(parts, array.attrs["axis"])


def constraint(array: Array, x: Numbers) -> Numbers:
    return x


# ---- elementwise


def convert(array: Array, x: Numbers) -> Numbers:
    return x if is_float(array.carrier) else np.trunc(x)


def divide(a: Numbers, b: Numbers) -> Numbers:
    return a / b if a.dtype.kind == "f" or b.dtype.kind == "f" else np.trunc(a / b)


def each(fn: Callable[[float], float]) -> Callable[[Numbers], Numbers]:
    return lambda x: np.vectorize(fn, otypes=[np.float64])(x)


MAPS: Dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "pow": np.power, "rem": np.fmod, "atan2": np.arctan2,
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "erf": each(math.erf), "erfc": each(math.erfc), "abs": np.abs, "sign": np.sign, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 0.5 * (1 + np.tanh(x / 2)), "finite": np.isfinite,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "xor": np.logical_xor,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "bit_not": np.invert,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
    "select": lambda which, yes, no: np.where(which != 0, yes, no),
}  # fmt: skip


def mapped(array: Array, *operands: Numbers) -> Numbers:
    fn = array.attrs["fn"]
    with np.errstate(all="ignore"):
        result = convert(array, operands[0]) if fn == "convert" else MAPS[fn](*operands)
    return np.broadcast_to(result, array.shape)


# ---- products and sums


def einsum(array: Array, a: Numbers, b: Numbers) -> Numbers:
    a_labels, b_labels, out = array.attrs["labels"]
    sizes: Dict[str, int] = {}
    for x, labels in ((a, a_labels), (b, b_labels)):
        for label, size in zip(labels, x.shape):
            sizes[label] = max(sizes.get(label, 1), size)
    a, b = (
        np.broadcast_to(x, [sizes[c] for c in labels]) for x, labels in ((a, a_labels), (b, b_labels))
    )  # an axis of size 1 is the same all along
    return np.asarray(np.einsum(f"{a_labels},{b_labels}->{out}", a, b))


REDUCTIONS: Dict[str, Callable[..., Any]] = {
    "sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod,
}  # fmt: skip


def reduce(array: Array, x: Numbers) -> Numbers:
    fn, over = array.attrs["fn"], array.attrs["over"]
    if fn in ("argmax", "argmin"):
        (axis,) = over
        return np.asarray(np.argmax(x, axis) if fn == "argmax" else np.argmin(x, axis))
    return np.asarray(REDUCTIONS[fn](x, axis=over))


# ---- along an axis


def cumulative(fn: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def run(x: Numbers, size: int, reverse: bool = False) -> Numbers:
        return fn(x[::-1], axis=0)[::-1] if reverse else fn(x, axis=0)

    return run


def sliced(x: Numbers, size: int, start: int = 0, stride: int = 1) -> Numbers:
    return x[start : start + (size - 1) * stride + 1 : stride]


def padded(x: Numbers, size: int, low: int = 0, value: float = 0.0) -> Numbers:
    made = np.full((size, *x.shape[1:]), value, np.result_type(x, type(value)))
    made[low : low + len(x)] = x
    return made


def largest(x: Numbers, size: int) -> Numbers:
    return np.argsort(-x, axis=0, kind="stable")[:size]


def ordered(x: Numbers, *others: Any, **options: Any) -> Numbers:
    *operands, size = others
    order = np.argsort(x, axis=0, kind="stable")
    return np.take_along_axis(operands[-1] if operands else x, order, 0)


ALONG: Dict[str, Callable[..., Numbers]] = {
    "slice": sliced, "pad": padded, "reverse": lambda x, size: x[::-1], "topk": largest, "sort": ordered,
    "cumsum": cumulative(np.cumsum), "cumprod": cumulative(np.cumprod),
    "cummax": cumulative(np.maximum.accumulate), "cummin": cumulative(np.minimum.accumulate),
    "cumlogsumexp": cumulative(np.logaddexp.accumulate),
}  # fmt: skip


def along(array: Array, *operands: Numbers) -> Numbers:
    axis = array.attrs["axis"]
    first = [np.moveaxis(x, axis, 0) for x in operands]
    made = ALONG[array.attrs["fn"]](*first, array.shape[axis], **array.attrs["options"])
    return np.moveaxis(made, 0, axis)


def places(count: int, taps: int, stride: int, dilation: int, low: int) -> Numbers:
    """Where each tap of each window is."""
    return np.arange(count)[:, None] * stride + np.arange(taps) * dilation - low


def windows(array: Array, x: Numbers) -> Numbers:
    axis, o = array.attrs["axis"], array.attrs["options"]
    count, taps = array.shape[axis : axis + 2]
    at = places(count, taps, o["stride"], o["dilation"], o["low"])
    inside = (at >= 0) & (at < x.shape[axis])
    made = np.moveaxis(x, axis, 0)[np.clip(at, 0, x.shape[axis] - 1)]
    made = np.where(inside.reshape(*at.shape, *[1] * (x.ndim - 1)), made, o["fill"])
    return np.moveaxis(made, (0, 1), (axis, axis + 1))


def windows_add(array: Array, x: Numbers) -> Numbers:
    axis, o = array.attrs["axis"], array.attrs["options"]
    at = places(*x.shape[axis : axis + 2], o["stride"], o["dilation"], o["low"])
    inside = (at >= 0) & (at < array.shape[axis])
    first = np.moveaxis(x, (axis, axis + 1), (0, 1))
    made = np.zeros((array.shape[axis], *first.shape[2:]), x.dtype)
    np.add.at(made, at[inside], first[inside])
    return np.moveaxis(made, 0, axis)


# ---- by ids


def embed(array: Array, table: Numbers, ids: Numbers) -> Numbers:
    return table[ids]


def embed_add(array: Array, grad: Numbers, ids: Numbers) -> Numbers:
    made = np.zeros(array.shape, grad.dtype)
    rows = np.broadcast_to(grad, (*ids.shape, *grad.shape[ids.ndim :]))
    np.add.at(made, ids, rows)
    return made


def pick(array: Array, x: Numbers, ids: Numbers) -> Numbers:
    """ids have the other axes of x, and may have more behind them."""
    last = np.moveaxis(x, array.attrs["axis"], -1)
    rest = last.ndim - 1
    flat = np.broadcast_to(ids, (*last.shape[:-1], *ids.shape[rest:])).reshape(*last.shape[:-1], -1)
    return np.take_along_axis(last, flat, -1).reshape(*last.shape[:-1], *ids.shape[rest:])


def pick_add(array: Array, grad: Numbers, ids: Numbers) -> Numbers:
    axis = array.attrs["axis"]
    each_id = np.expand_dims(np.broadcast_to(ids, grad.shape), axis)
    counted = np.arange(array.shape[axis]).reshape([-1 if a == axis else 1 for a in range(array.rank)])
    return np.where(each_id == counted, np.expand_dims(grad, axis), 0)


OPS: Dict[str, Callable[..., Numbers]] = {
    "number": number, "iota": iota, "view": view, "reshape": reshape, "concat": concat, "constraint": constraint,
    "map": mapped, "einsum": einsum, "reduce": reduce, "along": along, "windows": windows, "windows_add": windows_add,
    "embed": embed, "embed_add": embed_add, "pick": pick, "pick_add": pick_add,
}  # fmt: skip
