"""What a traced program computes: arrays with sizes, and the ops between them.

The narrow waist between frameworks and the program: a front (from_jax, from_torch) writes a traced function down
by the methods of `Program`; `dims` finds the dimensions behind the sizes, `lines` prints the scenario.  Arrays
have no names of dimensions here: axes are places, and axes of size 1 have no meaning.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np

from . import special, whole
from .array import TYPES, Array, Gap, carrier_of, is_float, uniform
from .dims import Axis
from .ranges import Range, Ranges

__all__ = ["TYPES", "Array", "Gap", "Program", "carrier_of", "is_float", "uniform"]


#: Ids of which only the shape is given are taken to be below it.
IDS_MOST = 1 << 20

#: Ops that add elements of their operands.
SUMS = ("einsum", "embed_add", "pick_add")

#: Elements of the largest array that a maximum at ids makes.
EXTREME_MOST = 1 << 24


class Program:
    """A traced function as a list of ops."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: List[Array] = []
        self._fixed: Dict[Any, Array] = {}
        self._fixed_numbers: Set[int] = set()
        self.where = ""  # the place in the user's source, and the function that it is in
        self.scope = ""
        self.ranges = Ranges(IDS_MOST)
        self.checks: List[Array] = []  # whole numbers that are exact only up to 2^53: a run looks at them
        self.bounds: List[Tuple[Array, str]] = []  # scalars, above 0 if a bound does not hold, and what is wrong then: a run looks at them

    def _add(
        self,
        op: str,
        shape: Sequence[int],
        dtype: str,
        inputs: Sequence[Array] = (),
        carrier: Optional[str] = None,
        axes: Optional[Sequence[Optional[Axis]]] = None,
        **attrs: Any,
    ) -> Array:
        shape = tuple(int(n) for n in shape)
        if dtype not in TYPES:
            raise Gap(f"numbers of the type {dtype}; known are {', '.join(TYPES)}")
        sums = op in SUMS or attrs.get("fn") == "sum"
        if (0 in shape and op not in ("leaf", "view")) or (sums and any(0 in x.shape for x in inputs)):
            return self.broadcast(self.number(0, dtype), shape, [])  # no elements, or sums of none
        key = self._fixed_key(op, shape, dtype, carrier, inputs, attrs)
        if key is not None and key in self._fixed:
            return self._fixed[key]
        if axes is None:
            axes = [Axis(n) if n != 1 else None for n in shape]
        array = Array(
            len(self.arrays), op, shape, dtype, carrier or carrier_of(dtype), tuple(inputs), attrs, tuple(axes), self.where,
            self.scope,
        )
        self.arrays.append(array)
        if key is not None:
            self._fixed[key] = array
            self._fixed_numbers.add(array.number)
        return array

    def _fixed_key(self, op: str, shape: Any, dtype: str, carrier: Any, inputs: Sequence[Array], attrs: Any) -> Any:
        """What is the same wherever a line of the user's source makes it: masks and positions depend on no argument,
        and layers share them.  None: a leaf, or what depends on one."""
        if op != "iota" and not (inputs and all(x.number in self._fixed_numbers or x.op == "number" for x in inputs)):
            return None
        numbers = tuple(repr(x.attrs["value"]) if x.op == "number" else x.number for x in inputs)
        return op, shape, dtype, carrier, numbers, repr(sorted(attrs.items())), self.where

    # ---- leaves

    def leaf(
        self, path: str, shape: Sequence[int], dtype: str, value: Any = None, spec: Sequence[Any] = (), data: bool = False
    ) -> Array:
        """An input array: an argument of the function (data or parameter), or a constant of its code."""
        carrier = carrier_of(dtype)
        if dtype not in TYPES:
            raise Gap(f"'{path}' is an array of {dtype}; known are {', '.join(TYPES)}")
        if dtype == "int64" and value is not None and np.size(value) and not whole.fits((np.min(value), np.max(value))):
            carrier = "float64"
        return self._add("leaf", shape, dtype, carrier=carrier, path=path, value=value, spec=tuple(spec), data=data)

    def number(self, value: float, dtype: str) -> Array:
        carrier = "float64" if dtype == "int64" and not whole.fits((value, value)) else carrier_of(dtype)
        return self._add("number", (), dtype, carrier=carrier, value=value)

    def iota(self, size: int, dtype: str) -> Array:
        """0, 1, 2, ..."""
        if size == 1:
            return self.broadcast(self.number(0, dtype), (1,), [])
        return self.convert(self._add("iota", (size,), "int32"), dtype)

    # ---- arrangement: nothing is computed, and no op is left of these

    def view(self, x: Array, source: Sequence[Optional[int]], shape: Sequence[int]) -> Array:
        """Axes in another order, without axes of size 1, or with new ones along which all is equal.

        `source` has for each axis of the result the axis of x that it is, or None.
        """
        axes: List[Optional[Axis]] = []
        for at, size in zip(source, shape):
            if size == 1:
                axes.append(None)
            elif at is None or x.shape[at] == 1:
                axes.append(Axis(size))
            else:
                axes.append(x.axes[at])
        return self._add("view", shape, x.dtype, [x], x.carrier, axes, source=tuple(source))

    def transpose(self, x: Array, order: Sequence[int]) -> Array:
        return self.view(x, order, [x.shape[i] for i in order])

    def broadcast(self, x: Array, shape: Sequence[int], places: Sequence[int]) -> Array:
        """x's axis i becomes axis places[i] of the result."""
        source: List[Optional[int]] = [None] * len(shape)
        for i, at in enumerate(places):
            source[at] = i
        return self.view(x, source, shape)

    def materialise(self, x: Array) -> Array:
        """An array with its own elements along all axes (not broadcast)."""
        return self._add("spread", x.shape, x.dtype, [x], x.carrier, x.axes)

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        if math.prod(shape) != math.prod(x.shape):
            raise Gap(f"a reshape of {list(x.shape)} to {list(shape)}")
        # Axes that stay as they are keep their identity, so that one Axis is not two.
        old, new = [n for n in x.shape if n != 1], [n for n in shape if n != 1]
        if old == new:
            kept = iter([a for a in range(x.rank) if x.shape[a] != 1])
            return self.view(x, [None if n == 1 else next(kept) for n in shape], shape)
        return self._add("reshape", shape, x.dtype, [x], x.carrier)

    def repeat(self, x: Array, times: Sequence[int]) -> Array:
        """Copies along each axis: broadcast over a new axis, then merge the two."""
        source: List[Optional[int]] = []
        shape: List[int] = []
        for axis, count in enumerate(times):
            source += [None, axis]
            shape += [count, x.shape[axis]]
        return self.reshape(self.view(x, source, shape), [n * m for n, m in zip(times, x.shape)])

    # ---- elementwise

    def map(self, fn: str, *operands: Array, dtype: Optional[str] = None, carrier: Optional[str] = None) -> Array:
        """fn of each element.  Operands have the result's rank, or 0; axes of size 1 are repeated."""
        same = _unchanged(fn, operands)
        if same is not None and (dtype or same.dtype) == same.dtype:
            return same
        kind = dtype or operands[0].dtype
        divisor = uniform(operands[1]) if fn == "div" and is_float(kind) else None
        if divisor == 0:  # which expressions refuse
            return self.map("mul", operands[0], self.number(math.copysign(math.inf, divisor), kind))
        other = whole.mapped(self, fn, operands, kind) if not is_float(kind) and kind != "bool" else None
        return other or self.plain(fn, operands, kind, carrier)

    def plain(self, fn: str, operands: Sequence[Array], dtype: str, carrier: Optional[str] = None) -> Array:
        """fn of each element, in the storage type of the result."""
        rank = max(x.rank for x in operands)
        shape = [1] * rank
        axes: List[Optional[Axis]] = [None] * rank
        for x in operands:
            if x.rank == 0:
                continue
            if x.rank != rank:
                raise Gap(f"{fn} of arrays of rank {x.rank} and {rank}")
            for a in range(rank):
                if x.shape[a] == 1:
                    continue
                if shape[a] not in (1, x.shape[a]):
                    raise Gap(f"{fn} of arrays of extent {shape[a]} and {x.shape[a]}")
                axis = x.axes[a]
                assert axis is not None
                shape[a] = x.shape[a]
                first = axes[a]
                if first is None:
                    axes[a] = axis
                else:
                    first.join(axis)
        return self._add("map", shape, dtype, operands, carrier or carrier_of(dtype), axes, fn=fn)

    def compare(self, fn: str, a: Array, b: Array) -> Array:
        """0 or 1."""
        if "uint32" in (a.dtype, b.dtype) and fn not in ("equal", "not_equal"):
            a, b = (whole.ordered(self, x) for x in (a, b))
        a, b = self._alike(a, b)
        return self.map(fn, a, b, dtype="bool", carrier=a.carrier)

    def logic(self, fn: str, *operands: Array) -> Array:
        operands = self._alike(*operands)
        return self.map(fn, *operands, dtype="bool", carrier=operands[0].carrier)

    def select(self, which: Array, yes: Array, no: Array) -> Array:
        known = uniform(which)
        if known is not None:
            chosen = yes if known else no
            rank = max(x.rank for x in (which, yes, no))
            shape = [max(x.shape[a] for x in (which, yes, no) if x.rank) for a in range(rank)]
            return self.view(chosen, list(range(rank)) if chosen.rank else [None] * rank, shape)
        if which.dtype == yes.dtype == "bool" and (uniform(yes), uniform(no)) == (1.0, 0.0):
            return which
        carriers = [x.carrier for x in (yes, no) if x.op != "number" or x.carrier == "float64"] or [yes.carrier, no.carrier]
        carrier = "float64" if "float64" in carriers else carriers[0]
        which = self._carried(which, carrier)
        yes, no = self._carried(yes, carrier), self._carried(no, carrier)
        return self.map("select", which, yes, no, dtype=yes.dtype, carrier=carrier)

    def _alike(self, *operands: Array) -> Tuple[Array, ...]:
        """The operands in one storage type, floating point if any operand is."""
        carriers = [x.carrier for x in operands if x.op != "number"] or [operands[0].carrier]
        chosen = next((c for c in carriers if is_float(c)), carriers[0])
        return tuple(self._carried(x, chosen) for x in operands)

    def _carried(self, x: Array, carrier: str) -> Array:
        if x.carrier == carrier:
            return x
        if x.op == "number":
            return self._add("number", (), x.dtype, carrier=carrier, value=x.attrs["value"])
        if x.op == "leaf" and x.attrs.get("constant"):
            return self._add("leaf", x.shape, x.dtype, carrier=carrier, axes=x.axes, **x.attrs)
        if x.op == "view" and x.dtype == x.inputs[0].dtype and "range" not in x.attrs:
            return self.view(self._carried(x.inputs[0], carrier), x.attrs["source"], x.shape)
        return self.map("convert", x, dtype=x.dtype, carrier=carrier)

    def convert(self, x: Array, dtype: str) -> Array:
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return self.compare("not_equal", x, self.number(0, x.dtype))
        if x.op != "number" and ({"int64", "uint32"} & {x.dtype, dtype}) and not (x.dtype == "int64" and is_float(dtype)):
            return whole.converted(self, x, dtype)
        if x.op == "number":
            value = float(x.attrs["value"]) if is_float(dtype) else int(x.attrs["value"])
            return self.number(value, dtype)
        return self.map("convert", x, dtype=dtype, carrier=dtype)

    def retyped(self, x: Array, dtype: str, ends: Optional[Range] = None) -> Array:
        """Reinterpret numbers or bits as another type with the same storage; within `range`, if given."""
        if x.dtype == dtype and ends is None:
            return x
        known = {} if ends is None else {"range": ends}
        return self._add("view", x.shape, dtype, [x], x.carrier, x.axes, source=tuple(range(x.rank)), **known)

    def narrowed(self, x: Array, dtype: str, ends: Range) -> Array:
        """Numbers within the range of int32, as int32."""
        if x.op == "number":
            return self.number(int(x.attrs["value"]), dtype)
        return self._add("map", x.shape, dtype, [x], "int32", x.axes, fn="convert", range=ends)

    def power(self, x: Array, n: int) -> Array:
        """x to the power of a whole number above 0, by squares."""
        made: Optional[Array] = None
        while n:
            if n & 1:
                made = x if made is None else self.map("mul", made, x)
            n >>= 1
            if n:
                x = self.map("mul", x, x)
        assert made is not None
        return made

    # ---- products and sums

    def einsum(self, a: Array, b: Array, a_labels: str, b_labels: str, out: str, dtype: Optional[str] = None) -> Array:
        """Labels are one letter per axis, as in numpy; no array has a label twice."""
        axes: Dict[str, Optional[Axis]] = {}
        sizes: Dict[str, int] = {}
        for x, labels in ((a, a_labels), (b, b_labels)):
            for i, label in enumerate(labels):
                axis = x.axes[i]
                if sizes.get(label, 1) == 1:
                    sizes[label], axes[label] = x.shape[i], axis
                elif axis is not None:
                    if sizes[label] != x.shape[i]:
                        raise Gap(f"a matmul of extents {sizes[label]} and {x.shape[i]}")
                    axes[label].join(axis)  # type: ignore[union-attr]
        kind = dtype or a.dtype
        if kind == "bool":
            raise Gap("a matmul of booleans; convert them to a number type first")
        if not is_float(kind):
            ends = whole.products(self, a, b, math.prod(n for c, n in sizes.items() if c not in out))
            wide = self.einsum(whole.fractions(self, a), whole.fractions(self, b), a_labels, b_labels, out, "float64")
            return whole.wrapped(self, wide, kind, ends)
        return self._add(
            "einsum", [sizes[c] for c in out], kind, [a, b],
            axes=[axes[c] for c in out], labels=(a_labels, b_labels, out),
        )  # fmt: skip

    def reduce(self, fn: str, x: Array, over: Sequence[int]) -> Array:
        """sum, max, min or prod over axes, which the result lacks."""
        gone = {a % x.rank for a in over} if x.rank else set()
        kept = [a for a in range(x.rank) if a not in gone]
        if fn == "prod":
            return self._product(x, kept, sorted(gone))
        other = whole.reduced(self, fn, x, sorted(gone)) if not is_float(x.dtype) else None
        return other or self._add(
            "reduce", [x.shape[a] for a in kept], x.dtype, [x], x.carrier, [x.axes[a] for a in kept],
            fn=fn, over=tuple(sorted(gone)),
        )  # fmt: skip

    def _product(self, x: Array, kept: Sequence[int], gone: Sequence[int]) -> Array:
        """The product over axes, by halving: multiply the two halves until one element is left."""
        shape = [x.shape[a] for a in kept]
        x = self.reshape(self.transpose(x, [*kept, *gone]), [*shape, math.prod(x.shape[a] for a in gone)])
        at = len(shape)
        while x.shape[at] > 1:
            x = self.pad(x, at, 0, x.shape[at] % 2, 1.0)
            half = x.shape[at] // 2
            x = self.map("mul", self.slice(x, at, 0, half), self.slice(x, at, half, half))
        return self.reshape(x, shape) if x.shape[at] else self.broadcast(self.number(1, x.dtype), shape, [])

    def by_groups(self, x: Array, axis: int, ends: Array, starts: Optional[Array] = None) -> Array:
        """x for each group of elements along an axis, one behind the other: a new first axis, with 0 outside the group.

        A group goes up to `ends`, from `starts` on, or else from the end of the group before.
        """
        groups, n = ends.shape[0], x.shape[axis]
        if starts is None:
            starts = self.pad(self.slice(ends, 0, 0, groups - 1), 0, 1, 0)
        place = self.broadcast(self.iota(n, ends.dtype), (groups, n), [1])
        begun = self.compare("greater_equal", place, self.broadcast(starts, place.shape, [0]))
        inside = self.logic("and", begun, self.compare("less", place, self.broadcast(ends, place.shape, [0])))
        wide = (groups, *x.shape)
        each = self.broadcast(x, wide, list(range(1, len(wide))))
        return self.select(self.broadcast(inside, wide, [0, 1 + axis]), each, self.number(0.0, x.dtype))

    # ---- along an axis

    def along(
        self,
        fn: str,
        x: Array,
        axis: int,
        size: Optional[int] = None,
        dtype: Optional[str] = None,
        **options: Any,
    ) -> Array:
        """A function along an axis, possibly changing the axis size: slice, pad, cumsum, reverse, ..."""
        axis %= x.rank
        if x.shape[axis] == 1 and (fn.startswith("cum") or fn in ("reverse", "shift")):
            return x
        if fn == "cumlogsumexp":
            return special.cumulative_logsumexp(self, x, axis, **options)
        other = whole.along(self, fn, x, axis, size=size, dtype=dtype, **options) if not is_float(x.dtype) else None
        if other is not None:
            return other
        shape = list(x.shape)
        axes = list(x.axes)
        if size is not None and (size != shape[axis] or fn == "topk"):
            shape[axis] = size
            axes[axis] = Axis(size) if size != 1 else None
        return self._add("along", shape, dtype or x.dtype, [x], dtype or x.carrier, axes,
                         fn=fn, axis=axis, options=options)  # fmt: skip

    def recurrence(self, a: Array, b: Array, axis: int, reverse: bool = False) -> Array:
        """h = a * h + b along an axis, starting from h = 0."""
        self._join(a, b)
        options = {"reverse": True} if reverse else {}
        return self._add("recurrence", b.shape, b.dtype, [a, b], b.carrier, b.axes, axis=axis, options=options)

    def slice(self, x: Array, axis: int, start: int, size: int) -> Array:
        """A part of what was put together is that part: of a concatenation, or of what was padded."""
        if size == x.shape[axis]:
            return x
        if x.op == "concat" and x.attrs["axis"] == axis:
            ends = [*itertools.accumulate(part.shape[axis] for part in x.inputs)]
            found = [part for part, end in zip(x.inputs, ends) if (end - part.shape[axis], part.shape[axis]) == (start, size)]
            if found:
                return found[0]
        if x.op == "along" and x.attrs["fn"] == "pad" and x.attrs["axis"] == axis:
            first, inside = start - x.attrs["options"]["start"], x.inputs[0]
            if 0 <= first <= inside.shape[axis] - size:
                return self.slice(inside, axis, first, size)
            if first + size <= 0 or first >= inside.shape[axis]:
                fill = x.attrs["options"]["fill"]
                shape = [size if a == axis else n for a, n in enumerate(x.shape)]
                return self.broadcast(self.number(fill if is_float(x.dtype) else int(fill), x.dtype), shape, [])
        return self.along("slice", x, axis, size, start=start)

    def strided(self, x: Array, axis: int, start: int, count: int, stride: int) -> Array:
        """Every stride-th element: the first of each group of `stride`."""
        if stride == 1 or count <= 1:
            return self.slice(x, axis, start, count)
        x = self.slice(x, axis, start, min(x.shape[axis] - start, count * stride))
        x = self.pad(x, axis, 0, count * stride - x.shape[axis])
        shape = list(x.shape)
        groups = self.reshape(x, [*shape[:axis], count, stride, *shape[axis + 1 :]])
        shape[axis] = count
        return self.reshape(self.slice(groups, axis + 1, 0, 1), shape)

    def spaced(self, x: Array, axis: int, stride: int, value: float = 0.0) -> Array:
        """Dilate: each element of x becomes the first of a group, followed by fill elements."""
        shape = list(x.shape)
        x = self.reshape(x, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        x = self.pad(x, axis + 1, 0, stride - 1, value)
        shape[axis] *= stride
        return self.reshape(x, shape)

    def pad(self, x: Array, axis: int, low: int, high: int, value: float = 0.0) -> Array:
        """Pad at the ends; a negative number removes elements."""
        if low < 0 or high < 0:
            first, last = max(0, -low), x.shape[axis] - max(0, -high)
            x = self.slice(x, axis, first, last - first)
            low, high = max(0, low), max(0, high)
        if low == 0 and high == 0:
            return x
        if x.shape[axis] == 0:
            shape = [low + high if a == axis else n for a, n in enumerate(x.shape)]
            return self.broadcast(self.number(value if is_float(x.carrier) else int(value), x.dtype), shape, [])
        return self.along("pad", x, axis, x.shape[axis] + low + high, start=low, fill=value)

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        axis %= parts[0].rank
        parts = [p for p in parts if p.shape[axis]] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        if len({x.carrier for x in parts}) > 1:
            parts = self._alike(*parts)
        if (by := _rolled(parts, axis)) is not None:
            return self.along("shift", parts[0].inputs[0], axis, by=by)
        first = parts[0]
        for other in parts[1:]:
            self._join(first, other, axis)
        shape, axes = list(first.shape), list(first.axes)
        shape[axis] = sum(p.shape[axis] for p in parts)
        axes[axis] = Axis(shape[axis])
        for a in range(first.rank):
            if axes[a] is None and a != axis and shape[a] != 1:
                axes[a] = Axis(shape[a])
        return self._add("concat", shape, first.dtype, parts, first.carrier, axes, axis=axis)

    def _join(self, x: Array, other: Array, but: int = -1) -> None:
        for a in range(x.rank):
            if a != but:
                one, two = x.axes[a], other.axes[a]
                if one is not None and two is not None:
                    one.join(two)

    # ---- attention

    def attention(self, q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
        """softmax(scale * q k) v, without scores that are kept: q is [batch, tokens, heads, width]; k and v may have
        fewer heads, of which each is read by several of q's, one behind the other."""
        joined = [(q, 0, k, 0), (q, 3, k, 3), *((k, a, v, a) for a in range(3))]
        for x, a, y, b in [*joined, *([(q, 2, k, 2)] if q.shape[2] == k.shape[2] else [])]:
            one, two = x.axes[a], y.axes[b]
            if one is not None and two is not None:
                one.join(two)
        shape, axes = [*q.shape[:3], v.shape[3]], [*q.axes[:3], v.axes[3]]
        return self._add("attention", shape, q.dtype, [q, k, v], axes=axes, scale=scale, causal=causal)

    def attention_grad(self, made: Array, grad: Array, of: str) -> Array:
        """Gradient of attention with respect to q, k or v, given `grad` of its result."""
        self._join(made, grad)
        x = made.inputs["qkv".index(of)]
        return self._add("attention_grad", x.shape, x.dtype, [made, grad], axes=x.axes, of=of)

    # ---- windows: of a convolution, of pooling

    def windows(
        self, x: Array, axis: int, taps: int, stride: int = 1, dilation: int = 1, low: int = 0, high: int = 0, fill: float = 0.0
    ) -> Array:
        """The windows of an axis: it becomes two, the windows and the taps of each.

        Tap t of window w is the element at w * stride + t * dilation - low, or `fill` outside.
        """
        count = (x.shape[axis] + low + high - (taps - 1) * dilation - 1) // stride + 1
        shape, axes = list(x.shape), list(x.axes)
        shape[axis : axis + 1] = [count, taps]
        same = count == x.shape[axis] and stride == 1
        to = x.axes[axis] if same else Axis(count) if count != 1 else None
        axes[axis : axis + 1] = [to, Axis(taps) if taps != 1 else None]
        options = {"stride": stride, "dilation": dilation, "low": low, "high": high, "fill": fill}
        return self._add("windows", shape, x.dtype, [x], x.carrier, axes, axis=axis, options=options)

    def windows_add(self, grad: Array, axis: int, size: int, stride: int = 1, dilation: int = 1, low: int = 0) -> Array:
        """The gradient of `windows`: zeros with the taps of each window added."""
        if not is_float(grad.dtype):
            ends = tuple(end * grad.shape[axis + 1] for end in self.ranges.of(grad))
            wide = self.windows_add(whole.fractions(self, grad), axis, size, stride, dilation, low)
            return whole.wrapped(self, wide, grad.dtype, (min(0.0, ends[0]), max(0.0, ends[1])))
        shape, axes = list(grad.shape), list(grad.axes)
        same = size == shape[axis] and stride == 1
        to = axes[axis] if same else Axis(size) if size != 1 else None
        shape[axis : axis + 2], axes[axis : axis + 2] = [size], [to]
        options = {"stride": stride, "dilation": dilation, "low": low}
        return self._add("windows_add", shape, grad.dtype, [grad], axes=axes, axis=axis, options=options)

    # ---- by ids

    def _fractions(self, x: Array) -> Array:
        """Integers in a type that holds all of them, for gathering by ids."""
        return self.map("convert", x, dtype="float64", carrier="float64")

    def _whole(self, x: Array, like: Array) -> Array:
        return self.map("convert", x, dtype=like.dtype, carrier=like.carrier)

    def _ids(self, ids: Array, count: int) -> Array:
        """Ids as int32; values outside that type are out of range anyway."""
        if ids.carrier == "int32":
            return ids
        wide = whole.fractions(self, ids)
        wide = self.map("max", self.map("min", wide, self.number(float(count), "float64")), self.number(-1.0, "float64"))
        return self.narrowed(wide, "int32", (-1.0, float(count)))

    def _summed(self, x: Array, count: int) -> Optional[Tuple[Array, Range]]:
        """x as float64 for sums of `count` terms, and the range of the sums; None if x is float or int32 holds the sums."""
        if is_float(x.dtype):
            return None
        low, high = whole.span(self, x)
        ends = min(low * count, 0.0), max(high * count, 0.0)
        return None if x.carrier == "int32" and whole.fits(ends) else (whole.fractions(self, x), ends)

    def embed(self, table: Array, ids: Array) -> Array:
        """table[ids]: the axes of ids, then the table's axes except the first."""
        if _in_order(ids, table.shape[0]):
            return table
        ids = self._ids(ids, table.shape[0])
        if table.carrier == "int32":
            return self._whole(self.embed(self._fractions(table), ids), table)
        axes = [*ids.axes, *table.axes[1:]]
        return self._add("embed", [*ids.shape, *table.shape[1:]], table.dtype, [table, ids], table.carrier, axes)

    def embed_add(self, grad: Array, ids: Array, rows: int) -> Array:
        """The gradient of `embed`: zeros with rows of grad added at ids."""
        if _in_order(ids, rows):
            return grad
        ids = self._ids(ids, rows)
        if (wide := self._summed(grad, math.prod(ids.shape))) is not None:
            return whole.wrapped(self, self.embed_add(wide[0], ids, rows), grad.dtype, wide[1])
        if grad.carrier == "int32":
            return self._whole(self.embed_add(self._fractions(grad), ids, rows), grad)
        for a in range(ids.rank):
            one, two = ids.axes[a], grad.axes[a]
            if one is not None and two is not None:
                one.join(two)
        shape = [rows, *grad.shape[ids.rank :]]
        axes = [Axis(rows) if rows != 1 else None, *grad.axes[ids.rank :]]
        return self._add("embed_add", shape, grad.dtype, [grad, ids], grad.carrier, axes)

    def pick(self, x: Array, ids: Array, axis: int) -> Array:
        """x at ids along an axis that the result drops; ids have the remaining axes, and may have further ones."""
        axis %= x.rank
        ids = self._ids(ids, x.shape[axis])
        if x.carrier == "int32":
            return self._whole(self.pick(self._fractions(x), ids, axis), x)
        rest = [a for a in range(x.rank) if a != axis]
        for i, a in enumerate(rest):
            one, two = ids.axes[i], x.axes[a]
            if one is not None and two is not None:
                one.join(two)
        axes = [*(x.axes[a] for a in rest), *ids.axes[len(rest) :]]
        return self._add("pick", ids.shape, x.dtype, [x, ids], x.carrier, axes, axis=axis)

    def rows_at(self, x: Array, ids: Array, axis: int) -> Array:
        """x at ids along one axis, replacing that axis."""
        order = [axis, *(a for a in range(x.rank) if a != axis)]
        return self.transpose(self.embed(self.transpose(x, order), ids), [order.index(a) for a in range(x.rank)])

    def argsort(self, x: Array, axis: int, descending: bool = False) -> Array:
        """Stable sort order of elements along an axis; NaN is largest."""
        axis %= x.rank
        keys = x if is_float(x.carrier) else self._fractions(whole.ordered(self, x) if x.dtype == "uint32" else x)
        options = {} if descending else {"smallest": True}
        return self.along("topk", keys, axis, x.shape[axis], dtype="int32", **options)

    def take_along(self, x: Array, ids: Array, axis: int) -> Array:
        """x at ids along an axis of both x and ids."""
        axis %= x.rank
        order = [*(a for a in range(x.rank) if a != axis), axis]
        return self.transpose(self.pick(x, self.transpose(ids, order), axis), [order.index(a) for a in range(x.rank)])

    def pick_add(self, grad: Array, ids: Array, axis: int, size: int, choices: int = 0) -> Array:
        """Zeros with grad added at the ids along a new axis: what flows back through `pick`.

        The last `choices` axes are several elements of one place, and not of the result.
        """
        ids = self._ids(ids, size)
        if (wide := self._summed(grad, math.prod(grad.shape[grad.rank - choices :]))) is not None:
            return whole.wrapped(self, self.pick_add(wide[0], ids, axis, size, choices), grad.dtype, wide[1])
        if grad.carrier == "int32":
            return self._whole(self.pick_add(self._fractions(grad), ids, axis, size, choices), grad)
        self._join(grad, ids)
        kept = grad.rank - choices
        shape, axes = list(grad.shape[:kept]), list(grad.axes[:kept])
        shape.insert(axis, size)
        axes.insert(axis, Axis(size) if size != 1 else None)
        return self._add("pick_add", shape, grad.dtype, [grad, ids], grad.carrier, axes, axis=axis, choices=choices)

    def extreme_at(self, rows: Array, ids: Array, count: int, fn: str) -> Array:
        """Of the rows at each of so many ids the largest or smallest element, and infinity where there is none.

        Every row is looked at for every id.
        """
        kept = list(range(ids.rank, rows.rank))
        wide = [*ids.shape, count, *(rows.shape[a] for a in kept)]
        if math.prod(wide) > EXTREME_MOST:
            raise Gap(f"the {fn} of {math.prod(ids.shape)} rows at {count} ids is too large; a sum at ids is supported")
        first = list(range(ids.rank))
        places = [*first, *range(ids.rank + 1, len(wide))]
        here = self.compare(
            "equal", self.broadcast(ids, wide, first), self.broadcast(self.iota(count, "int32"), wide, [ids.rank])
        )
        none = -math.inf if fn == "max" else math.inf
        if not is_float(rows.dtype):
            low, high = (0, 2**32 - 1) if rows.dtype == "uint32" else (-(2**31), 2**31 - 1)
            none = low if fn == "max" else high
        chosen = self.select(here, self.broadcast(rows, wide, places), self.number(none, rows.dtype))
        return self.reduce(fn, chosen, first)

    # ---- placement

    def constraint(self, x: Array, spec: Sequence[Any]) -> Array:
        return self._add("constraint", x.shape, x.dtype, [x], x.carrier, x.axes, spec=tuple(spec))


#: Numbers that change nothing as the first, or the second operand.
NEUTRAL = {
    "max": (-math.inf, -math.inf), "min": (math.inf, math.inf), "add": (0.0, 0.0), "sub": (None, 0.0),
    "mul": (1.0, 1.0), "div": (None, 1.0),
}  # fmt: skip


def _unchanged(fn: str, operands: Sequence[Array]) -> Optional[Array]:
    """The operand that leaves a function's result unchanged."""
    if len(operands) != 2 or fn not in NEUTRAL:
        return None
    for one, other, neutral in ((0, 1, NEUTRAL[fn][0]), (1, 0, NEUTRAL[fn][1])):
        if neutral is not None and uniform(operands[one]) == neutral:
            ranks = operands[one].rank in (0, operands[other].rank)
            if ranks and all(n in (1, m) for n, m in zip(operands[one].shape, operands[other].shape)):
                return operands[other]
    return None


def _in_order(ids: Array, count: int) -> bool:
    """Whether ids are known to be 0, 1, 2, ... up to a number."""
    if ids.shape != (count,):
        return False
    while ids.op in ("view", "reshape"):
        ids = ids.inputs[0]
    return ids.op == "iota" and ids.shape == (count,)


def _rolled(parts: Sequence[Array], axis: int) -> Optional[int]:
    """The shift of a roll: the last part of the array is put in front of the first."""
    if len(parts) != 2 or any(x.op != "along" or x.attrs["fn"] != "slice" or x.attrs["axis"] != axis for x in parts):
        return None
    last, first = parts
    size = last.shape[axis] + first.shape[axis]
    starts = [x.attrs["options"]["start"] for x in parts]
    whole = last.inputs[0] is first.inputs[0] and last.inputs[0].shape[axis] == size
    return last.shape[axis] if whole and starts == [first.shape[axis], 0] else None
