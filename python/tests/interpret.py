"""A traced program in numpy, op by op: compute its arrays, independently of the program."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from shardsim.trace.arrays import Array, is_float

def evaluate(outputs: Sequence[Array], values: Mapping[str, np.ndarray]) -> List[np.ndarray]:
    """The outputs for given input values, by path; other inputs have the traced value."""
    made = evaluate_all(needed_by(outputs), values)
    return [made[x.number] for x in outputs]


def needed_by(outputs: Sequence[Array]) -> Dict[int, Array]:
    """All arrays that outputs depend on, by id."""
    needed: Dict[int, Array] = {}
    waiting = list(outputs)
    while waiting:
        array = waiting.pop()
        if array.number not in needed:
            needed[array.number] = array
            waiting.extend(array.inputs)
    return needed


def evaluate_all(needed: Mapping[int, Array], values: Mapping[str, np.ndarray]) -> Dict[int, np.ndarray]:
    made: Dict[int, np.ndarray] = {}
    for number in sorted(needed):
        array = needed[number]
        if array.op == "leaf":
            path = array.attrs["path"]
            result = np.asarray(values[path] if path in values else array.attrs["value"])
        elif array.op == "attention_grad":
            (made_of, grad) = array.inputs
            result = attention_grad(array, *(made[x.number] for x in (*made_of.inputs, grad)))
        else:
            result = OPS[array.op](array, *(made[x.number] for x in array.inputs))
        made[number] = carried(np.asarray(result), array)
        assert made[number].shape == array.shape, (array.op, array.attrs, made[number].shape, array.shape)
    return made


def carried(value: np.ndarray, array: Array) -> np.ndarray:
    """In float64 rounded to 16-bit types, or in integers of the program's width."""
    if array.carrier in ("bfloat16", "float16"):
        return rounded(value, array.carrier)
    if is_float(array.carrier):
        return value.astype(np.float64)
    wide = value.astype(np.int64)
    if array.carrier == "uint32":
        return wide & 0xFFFFFFFF
    return ((wide + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def rounded(value: np.ndarray, kind: str) -> np.ndarray:
    """Round to 16 bits; bfloat16 is the upper half of float32, rounded to nearest even."""
    with np.errstate(all="ignore"):
        single = value.astype(np.float32)
        if kind == "float16":
            return value.astype(np.float16).astype(np.float64)
    bits = single.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isfinite(single), bits.astype(np.uint32).view(np.float32), single).astype(np.float64)


# ---- arrangement


def number(array: Array) -> np.ndarray:
    return np.asarray(array.attrs["value"])


def iota(array: Array) -> np.ndarray:
    return np.arange(array.shape[0])


def view(array: Array, x: np.ndarray) -> np.ndarray:
    source = array.attrs["source"]
    kept = [at for at in source if at is not None]
    gone = [a for a in range(x.ndim) if a not in kept]
    x = x.squeeze(tuple(gone)).transpose(np.argsort(np.argsort(kept)))
    for place, at in enumerate(source):
        if at is None:
            x = np.expand_dims(x, place)
    return np.broadcast_to(x, array.shape)


def reshape(array: Array, x: np.ndarray) -> np.ndarray:
    return x.reshape(array.shape)


def concat(array: Array, *parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, array.attrs["axis"])


def constraint(array: Array, x: np.ndarray) -> np.ndarray:
    return x


# ---- elementwise


def convert(array: Array, x: np.ndarray) -> np.ndarray:
    return x if is_float(array.carrier) else np.trunc(x)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a / b if a.dtype.kind == "f" or b.dtype.kind == "f" else np.trunc(a / b)


def each(fn: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.vectorize(fn, otypes=[np.float64])(x)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def normal(x: np.ndarray) -> np.ndarray:
    """The distribution function of the normal distribution."""
    return 0.5 * (1 + each(math.erf)(x / math.sqrt(2)))


def gelu(x: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """By a hyperbolic tangent, and its derivative."""
    scale = math.sqrt(2 / math.pi)
    t = np.tanh(scale * (x + 0.044715 * x**3))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x)


MAPS: Dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "pow": np.power, "rem": np.fmod, "atan2": np.arctan2,
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "erf": each(math.erf), "erfc": each(math.erfc), "abs": np.abs, "sign": np.sign, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * sigmoid(x), "silu_grad": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "gelu": lambda x: gelu(x)[0], "gelu_grad": lambda x: gelu(x)[1],
    "gelu_exact": lambda x: x * normal(x), "gelu_exact_grad": lambda x: normal(x) + x * np.exp(-x * x / 2) / math.tau**0.5,
    "sigmoid": sigmoid, "finite": np.isfinite,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "xor": np.logical_xor,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "bit_not": np.invert,
    "shift_left": np.left_shift, "shift_right": lambda a, b: (a & 0xFFFFFFFF) >> b,
    "select": lambda which, yes, no: np.where(which != 0, yes, no),
}  # fmt: skip


def mapped(array: Array, *operands: np.ndarray) -> np.ndarray:
    fn = array.attrs["fn"]
    with np.errstate(all="ignore"):
        result = convert(array, operands[0]) if fn == "convert" else MAPS[fn](*operands)
    return np.broadcast_to(result, array.shape)


# ---- products and sums


def einsum(array: Array, a: np.ndarray, b: np.ndarray) -> np.ndarray:
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
    "sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "argmax": np.argmax, "argmin": np.argmin,
}  # fmt: skip


def reduce(array: Array, x: np.ndarray) -> np.ndarray:
    fn, over = array.attrs["fn"], array.attrs["over"]
    return np.asarray(REDUCTIONS[fn](x, axis=over[0] if fn in ("argmax", "argmin") else over))


# ---- along an axis


def cumulative(fn: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def run(x: np.ndarray, size: int, reverse: bool = False) -> np.ndarray:
        return fn(x[::-1], axis=0)[::-1] if reverse else fn(x, axis=0)

    return run


def sliced(x: np.ndarray, size: int, start: int = 0, stride: int = 1) -> np.ndarray:
    return x[start : start + (size - 1) * stride + 1 : stride]


def padded(x: np.ndarray, size: int, start: int = 0, fill: float = 0.0) -> np.ndarray:
    made = np.full((size, *x.shape[1:]), fill, np.result_type(x, type(fill)))
    made[start : start + len(x)] = x
    return made


def largest(x: np.ndarray, size: int, smallest: bool = False) -> np.ndarray:
    """NaN is above all numbers, and numpy sorts NaN last."""
    order = np.argsort(x if smallest else -x, axis=0, kind="stable")
    if not smallest:
        known = ~np.isnan(np.take_along_axis(x, order, 0))
        order = np.take_along_axis(order, np.argsort(known, axis=0, kind="stable"), 0)
    return order[:size]


def ordered(x: np.ndarray, *others: Any, **options: Any) -> np.ndarray:
    *operands, size = others
    order = np.argsort(x, axis=0, kind="stable")
    return np.take_along_axis(operands[-1] if operands else x, order, 0)


ALONG: Dict[str, Callable[..., np.ndarray]] = {
    "slice": sliced, "pad": padded, "reverse": lambda x, size: x[::-1], "topk": largest, "sort": ordered,
    "shift": lambda x, size, by: np.roll(x, by, axis=0), "argsort": lambda x, size: np.argsort(x, axis=0, kind="stable"),
    "cumsum": cumulative(np.cumsum), "cumprod": cumulative(np.cumprod),
    "cummax": cumulative(np.maximum.accumulate), "cummin": cumulative(np.minimum.accumulate),
}  # fmt: skip


def along(array: Array, *operands: np.ndarray) -> np.ndarray:
    axis = array.attrs["axis"]
    first = [np.moveaxis(x, axis, 0) for x in operands]
    made = ALONG[array.attrs["fn"]](*first, array.shape[axis], **array.attrs["options"])
    return np.moveaxis(made, 0, axis)


def recurrence(array: Array, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    axis, back = array.attrs["axis"], slice(None, None, -1 if array.attrs["options"] else 1)
    made, h = [], np.zeros_like(np.take(b, 0, axis))
    for x, y in zip(np.moveaxis(a, axis, 0)[back], np.moveaxis(b, axis, 0)[back]):
        h = x * h + y
        made.append(h)
    return np.stack(made[back], axis)


def scores(array: Array, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The attention weights of queries and keys, and keys and values per query head."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    made = np.einsum("bqhd,bkhd->bhqk", q, k) * array.attrs["scale"]
    if array.attrs["causal"]:
        made = np.where(np.tri(*made.shape[2:], dtype=bool), made, -np.inf)
    made = np.exp(made - made.max(-1, keepdims=True))
    return made / made.sum(-1, keepdims=True), k, v


def attention(array: Array, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    p, _, v = scores(array, q, k, v)
    return np.asarray(np.einsum("bhqk,bkhd->bqhd", p, v))


def attention_grad(array: Array, q: np.ndarray, k: np.ndarray, v: np.ndarray, dy: np.ndarray) -> np.ndarray:
    groups = k.shape[2]
    p, k, v = scores(array.inputs[0], q, k, v)
    dp = np.einsum("bqhd,bkhd->bhqk", dy, v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * array.inputs[0].attrs["scale"]
    of = array.attrs["of"]
    if of == "q":
        return np.asarray(np.einsum("bhqk,bkhd->bqhd", ds, k))
    made = np.einsum("bhqk,bqhd->bkhd", *((ds, q) if of == "k" else (p, dy)))
    return made.reshape(*made.shape[:2], groups, -1, made.shape[3]).sum(3)


def places(count: int, taps: int, stride: int, dilation: int, low: int) -> np.ndarray:
    """The position of each tap of each window."""
    return np.arange(count)[:, None] * stride + np.arange(taps) * dilation - low


def windows(array: Array, x: np.ndarray) -> np.ndarray:
    axis, o = array.attrs["axis"], array.attrs["options"]
    count, taps = array.shape[axis : axis + 2]
    at = places(count, taps, o["stride"], o["dilation"], o["low"])
    inside = (at >= 0) & (at < x.shape[axis])
    made = np.moveaxis(x, axis, 0)[np.clip(at, 0, x.shape[axis] - 1)]
    made = np.where(inside.reshape(*at.shape, *[1] * (x.ndim - 1)), made, o["fill"])
    return np.moveaxis(made, (0, 1), (axis, axis + 1))


def windows_add(array: Array, x: np.ndarray) -> np.ndarray:
    axis, o = array.attrs["axis"], array.attrs["options"]
    at = places(x.shape[axis], x.shape[axis + 1], o["stride"], o["dilation"], o["low"])
    inside = (at >= 0) & (at < array.shape[axis])
    first = np.moveaxis(x, (axis, axis + 1), (0, 1))
    made = np.zeros((array.shape[axis], *first.shape[2:]), x.dtype)
    np.add.at(made, at[inside], first[inside])
    return np.moveaxis(made, 0, axis)


# ---- by ids


def embed(array: Array, table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    inside = (ids >= 0) & (ids < table.shape[0])
    rows = table[np.where(inside, ids, 0)]
    return np.where(inside.reshape(*ids.shape, *[1] * (table.ndim - 1)), rows, 0)


def embed_add(array: Array, grad: np.ndarray, ids: np.ndarray) -> np.ndarray:
    made = np.zeros(array.shape, grad.dtype)
    rows = np.broadcast_to(grad, (*ids.shape, *grad.shape[ids.ndim :]))
    inside = (ids >= 0) & (ids < array.shape[0])
    np.add.at(made, ids[inside], rows[inside])
    return made


def pick(array: Array, x: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """ids have the other axes of x, and optionally further axes after them."""
    last = np.moveaxis(x, array.attrs["axis"], -1)
    rest = last.ndim - 1
    flat = np.broadcast_to(ids, (*last.shape[:-1], *ids.shape[rest:])).reshape(*last.shape[:-1], -1)
    inside = (flat >= 0) & (flat < last.shape[-1])
    picked = np.where(inside, np.take_along_axis(last, np.where(inside, flat, 0), -1), 0)
    return picked.reshape((*last.shape[:-1], *ids.shape[rest:]))


def pick_add(array: Array, grad: np.ndarray, ids: np.ndarray) -> np.ndarray:
    axis, choices = array.attrs["axis"], array.attrs["choices"]
    kept = grad.ndim - choices
    # An axis of one-hot numbers in front of the choices, which are summed.
    counted = np.arange(array.shape[axis]).reshape(-1, *[1] * choices)
    hot = np.expand_dims(np.broadcast_to(ids, grad.shape), kept) == counted
    summed = np.sum(np.where(hot, np.expand_dims(grad, kept), 0), axis=tuple(range(kept + 1, grad.ndim + 1)))
    return np.asarray(np.moveaxis(summed, -1, axis))


OPS: Dict[str, Callable[..., np.ndarray]] = {
    "number": number, "iota": iota, "view": view, "reshape": reshape, "concat": concat, "constraint": constraint,
    "spread": constraint, "map": mapped, "einsum": einsum, "reduce": reduce, "along": along, "recurrence": recurrence, "windows": windows,
    "attention": attention,
    "windows_add": windows_add,
    "embed": embed, "embed_add": embed_add, "pick": pick, "pick_add": pick_add,
}  # fmt: skip
