"""Between which numbers ids lie, as far as a traced program tells.

Ids that are in range wherever they come from need no clamp and no mask.  Whole numbers from outside are taken as they
were given; those of which only the shape was given are taken for ids of what reads them, as a plan alone can be made.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .array import Array, is_float, uniform
from .texts import FOLDED

#: A range with its ends.
Range = Tuple[float, float]

ANY: Range = (-math.inf, math.inf)

#: Ops between ids and what they are made of, at most: ranges of longer ways are not looked for.
DEPTH_MOST = 60

#: What types of 32 bits hold.
LIMITS: Dict[str, Range] = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}

#: Functions of fractions that round nothing up.
EXACT = ("max", "min", "floor", "ceil", "round", "convert", "select")

#: Functions of elements of which known ids are worked out.
WORKED_OUT = ("add", "sub", "mul", "max", "min", "neg", "rem", "less", "less_equal", "greater", "greater_equal", "equal",
              "not_equal", "and", "or", "not", "select")  # fmt: skip


def given(x: Array) -> Optional[np.ndarray]:
    """The value of integers that are computed from constants by simple functions."""
    return _given(x, {}, 0)


def _given(x: Array, found: Dict[int, Optional[np.ndarray]], depth: int) -> Optional[np.ndarray]:
    if depth > DEPTH_MOST or is_float(x.dtype) or (x.op == "map" and x.attrs["fn"] not in WORKED_OUT):
        return None
    if x.op in ("leaf", "number"):
        value = x.attrs.get("value")
        return None if value is None else np.asarray(value)
    if x.op == "iota":
        return np.arange(x.shape[0])
    if x.op not in ("view", "reshape", "map", "concat", "spread", "constraint"):
        return None
    if x.number not in found:
        parts = [_given(y, found, depth + 1) for y in x.inputs]
        known = [v for v in parts if v is not None]
        found[x.number] = _made(x, known) if len(known) == len(parts) else None
    return found[x.number]


def _made(x: Array, parts: List[np.ndarray]) -> Optional[np.ndarray]:
    if x.op == "map":
        with np.errstate(all="ignore"):
            made = FOLDED[x.attrs["fn"]](*(v.astype(np.int64) for v in parts))
        bound = 2**53 if x.dtype == "int64" else 2**31
        fits = made.size == 0 or (made.min() >= -bound and made.max() < bound)
        return np.broadcast_to(made, x.shape) if fits else None
    if x.op == "concat":
        return np.concatenate(parts, x.attrs["axis"])
    if x.op in ("reshape", "spread", "constraint"):
        return parts[0].reshape(x.shape)
    value, source = parts[0], x.attrs["source"]
    kept = [at for at in source if at is not None]
    value = value.squeeze(tuple(a for a in range(value.ndim) if a not in kept)).transpose(np.argsort(np.argsort(kept)))
    sizes = [1 if at is None else x.inputs[0].shape[at] for at in source]
    return np.broadcast_to(value.reshape(sizes), x.shape)


def inside(ids: Array, last: int) -> bool:
    """Whether all ids are in range."""
    value = given(ids)
    if value is not None:
        return bool(value.size == 0 or (value.min() >= 0 and value.max() <= last))
    low, high = Ranges(last).of(ids)
    return low >= 0 and high <= last


class Ranges:
    """Ranges of the arrays that ids are computed from."""

    def __init__(self, last: int) -> None:
        self.last = last
        self._found: Dict[int, Range] = {}

    def of(self, x: Array, depth: int = 0) -> Range:
        if x.number in self._found:
            return self._found[x.number]
        low, high = self._looked_up(x, depth + 1) if depth < DEPTH_MOST else ANY
        least, most = LIMITS.get(x.dtype, ANY)
        if math.isnan(low) or math.isnan(high) or low < least or high > most:
            low, high = ANY  # beyond 32 bits numbers begin anew
        self._found[x.number] = low, high
        return low, high

    def _looked_up(self, x: Array, depth: int) -> Range:
        if "range" in x.attrs:
            low, high = x.attrs["range"]
            return low, high
        if x.op == "number":
            return float(x.attrs["value"]), float(x.attrs["value"])
        if x.op == "leaf":
            return self._leaf(x)
        if x.op == "iota":
            return 0, x.shape[0] - 1
        if x.op == "view" and x.dtype != x.inputs[0].dtype:
            low, high = self.of(x.inputs[0], depth)  # words, of which the first bit is none of a sign
            return (low, high) if low >= 0 and high < 2**31 else ANY
        if x.op in ("view", "reshape", "spread", "constraint"):
            return self.of(x.inputs[0], depth)
        if x.op == "concat":
            return _hull([self.of(y, depth) for y in x.inputs])
        if x.op in ("embed", "pick"):
            return _hull([self.of(x.inputs[0], depth), (0, 0)])
        if x.op == "along":
            return self._along(x, depth)
        if x.op == "reduce":
            return self._reduced(x, depth)
        return self._mapped(x, depth) if x.op == "map" else ANY

    def _leaf(self, x: Array) -> Range:
        value = x.attrs.get("value")
        if value is None:
            return ANY if is_float(x.dtype) else (0, 1) if x.dtype == "bool" else (0, self.last)
        value = np.asarray(value)
        return (float(value.min()), float(value.max())) if value.size and value.dtype.kind in "biuf" else ANY

    def _along(self, x: Array, depth: int) -> Range:
        fn, size = x.attrs["fn"], x.inputs[0].shape[x.attrs["axis"]]
        if fn in ("topk", "argsort"):
            return 0, size - 1
        if fn not in ("slice", "reverse", "shift", "pad", "cumsum", "cummax", "cummin"):
            return ANY
        low, high = self.of(x.inputs[0], depth)
        if fn == "cumsum":
            return ANY if is_float(x.dtype) else (min(low, low * size), max(high, high * size))
        return _hull([(low, high), (x.attrs["options"]["fill"],) * 2]) if fn == "pad" else (low, high)

    def _reduced(self, x: Array, depth: int) -> Range:
        fn, source = x.attrs["fn"], x.inputs[0]
        count = math.prod(source.shape[a] for a in x.attrs["over"])
        if fn in ("argmax", "argmin"):
            return 0, count - 1
        low, high = self.of(source, depth)
        if fn == "sum":
            return ANY if is_float(x.dtype) else (low * count, high * count)
        return (low, high) if fn in ("max", "min") else ANY

    def _mapped(self, x: Array, depth: int) -> Range:
        fn = x.attrs["fn"]
        if fn == "select":
            return self._chosen(x, depth)
        first, *others = [self.of(y, depth) for y in x.inputs]
        if fn == "convert":
            return _converted(x, first)
        if x.dtype == "bool":
            known = fn in DECIDED and not any(is_float(y.dtype) for y in x.inputs)
            return DECIDED[fn](first, others[0]) if known else (0, 1)
        if fn not in ENDS or (is_float(x.dtype) and fn not in EXACT):
            return ANY
        return ENDS[fn](first, *others)

    def _chosen(self, x: Array, depth: int) -> Range:
        """The range of a select: of each operand where it can be chosen."""
        which, yes, no = x.inputs
        low, high = self.of(which, depth)
        cases = [(yes, True)] if low >= 1 else [(no, False)] if high <= 0 else [(yes, True), (no, False)]
        found = []
        for chosen, holds in cases:
            ends = _both(self.of(chosen, depth), self._where(chosen, which, holds, depth))
            found += [ends] if ends[0] <= ends[1] else []
        return _hull(found) if found else ANY

    def _where(self, x: Array, test: Array, holds: bool, depth: int) -> Range:
        """The range of x where a test holds, or where it fails."""
        fn = test.attrs.get("fn") if test.op == "map" else None
        if fn == "add" or depth > DEPTH_MOST or fn is None or test.dtype != "bool":
            return ANY
        if fn == "not":
            return self._where(x, test.inputs[0], not holds, depth + 1)
        if fn in ("and", "or"):
            ends = [self._where(x, y, holds, depth + 1) for y in test.inputs]
            return _both(*ends) if (fn == "and") == holds else _hull(ends)
        if fn == "not_equal" and test.inputs[0].dtype == "bool" and self.of(test.inputs[1], depth) == (0, 0):
            return self._where(x, test.inputs[0], holds, depth + 1)
        bound = uniform(test.inputs[1]) if len(test.inputs) == 2 else None
        if bound is None:
            return ANY
        low, high = ANY if is_float(test.inputs[0].dtype) else _beside(fn, bound, holds)
        if test.inputs[0] is x:
            return low, high
        if x.op == "map" and x.attrs["fn"] == "add" and x.inputs[0] is test.inputs[0]:
            more = self.of(x.inputs[1], depth)
            return low + more[0], high + more[1]
        return ANY


def _hull(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _both(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), min(a[1], b[1])


def _converted(x: Array, ends: Range) -> Range:
    """The bounds converted to another type."""
    if is_float(x.dtype):
        most = {"float32": 2**24, "float64": 2**53}.get(x.carrier, 0)
        return ends if -most <= ends[0] and ends[1] <= most else ANY
    if is_float(x.inputs[0].dtype) and math.inf not in (-ends[0], ends[1]):
        return math.trunc(ends[0]), math.trunc(ends[1])
    return ends if not is_float(x.inputs[0].dtype) else ANY


def _beside(fn: str, bound: float, holds: bool) -> Range:
    """The integers for which a comparison holds, or fails."""
    if not holds:
        fn = {"less": "greater_equal", "greater_equal": "less", "greater": "less_equal", "less_equal": "greater",
              "not_equal": "equal", "equal": "not_equal"}.get(fn, fn)  # fmt: skip
    return {
        "less": (-math.inf, bound - 1), "less_equal": (-math.inf, bound), "equal": (bound, bound),
        "greater": (bound + 1, math.inf), "greater_equal": (bound, math.inf),
    }.get(fn, ANY)  # fmt: skip


def _times(a: Range, b: Range) -> Range:
    ends = [0.0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)


def _rest(a: Range, b: Range) -> Range:
    """The remainder of a division, with the sign of the dividend."""
    most = max(abs(b[0]), abs(b[1])) - 1
    if b[0] <= 0 <= b[1]:
        return ANY
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _divided(a: Range, b: Range) -> Range:
    if b[0] != b[1] or b[0] <= 0 or math.inf in (-a[0], a[1]):
        return ANY
    return math.floor(a[0] / b[0]), math.ceil(a[1] / b[0])


def _each(fn: Callable[[float], int], ends: Range) -> Range:
    low, high = (x if math.isinf(x) else fn(x) for x in ends)
    return low, high


#: The ends of what a function of elements gives.
ENDS: Dict[str, Callable[..., Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "neg": lambda a: (-a[1], -a[0]),
    "mul": _times,
    "abs": lambda a: (max(0, a[0], -a[1]), max(-a[0], a[1])),
    "sign": lambda a: (-1, 1),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "rem": _rest,
    "div": _divided,
    "floor": lambda a: _each(math.floor, a),
    "ceil": lambda a: _each(math.ceil, a),
    "round": lambda a: _each(round, a),
}

#: Comparisons: 0 or 1 where the ranges alone tell.
DECIDED: Dict[str, Callable[[Range, Range], Range]] = {
    "less": lambda a, b: (1, 1) if a[1] < b[0] else (0, 0) if a[0] >= b[1] else (0, 1),
    "greater_equal": lambda a, b: (0, 0) if a[1] < b[0] else (1, 1) if a[0] >= b[1] else (0, 1),
    "greater": lambda a, b: (1, 1) if a[0] > b[1] else (0, 0) if a[1] <= b[0] else (0, 1),
    "less_equal": lambda a, b: (0, 0) if a[0] > b[1] else (1, 1) if a[1] <= b[0] else (0, 1),
    "not_equal": lambda a, b: (0, 0) if a[0] == a[1] == b[0] == b[1] else (0, 1) if _meet(a, b) else (1, 1),
    "equal": lambda a, b: (1, 1) if a[0] == a[1] == b[0] == b[1] else (0, 1) if _meet(a, b) else (0, 0),
    "and": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "or": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def _meet(a: Range, b: Range) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]
