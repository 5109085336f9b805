"""Lines of a scenario, and values whose dimensions the lines name, order or regroup."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .arrays import Array, Gap, is_float
from .dims import FACTORS_MOST, Axis
from .naming import Names, Naming, Value, flat, full_text
from .texts import bare, bracket, option_text, readable


class Lines(Naming):
    """The lines written so far, and the value of each array of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: List[str] = []
        self.places: Dict[str, str] = {}
        self._values: Dict[int, Value] = {}
        self._stored: Dict[str, Names] = {}
        self._renamed: Dict[Tuple[str, str, str], str] = {}

    def line(self, array: Array, names: Sequence[str], text: str, hint: str = "") -> str:
        """Add a line, named after the user's function and the op."""
        if len(names) > FACTORS_MOST:
            raise Gap(f"an array of {len(names)} dimensions, of {FACTORS_MOST} at most; merge some by reshape")
        parts = [readable(array.scope), hint or array.attrs.get("fn", array.op)]
        name = self.unique(".".join(p for p in parts if p != "x"))
        self.lines.append(f"{name}{bracket(names)} = {text}")
        self.places[name] = array.where
        self._stored[name] = tuple(names)
        return name

    def value(self, array: Array) -> Value:
        return self._values[array.number]

    def renamed(self, array: Array, value: Value, mapping: Dict[str, str]) -> Value:
        """A value with other names of dimensions; one that has such a name already gets another."""
        mapping = {old: new for old, new in mapping.items() if old != new and old in value.names()}
        for name in value.names():
            if name not in mapping and name in mapping.values():
                mapping[name] = self.variant(name, [*value.names(), *mapping.values()])
        if not mapping:
            return value
        dims = [tuple(mapping.get(n, n) for n in d) if d else d for d in value.dims]
        text, names = value.text, list(value.names())
        waiting = dict(mapping)
        while waiting:
            free = [old for old, new in waiting.items() if new not in names]
            old = free[0] if free else next(iter(waiting))
            new = waiting[old] if free else self.variant(old, [*names, *waiting.values()])
            key = (text, old, new)
            if key not in self._renamed:
                names = [new if n == old else n for n in names]
                self._renamed[key] = self.line(array, names, f"rename({text}, {old}, {new})", "as")
            else:
                names = [new if n == old else n for n in names]
            text = self._renamed[key]
            wanted = waiting.pop(old)
            if not free:
                waiting[new] = wanted
        return Value(text, dims)

    def materialised(self, array: Array, value: Value, axes: Sequence[Optional[Axis]]) -> Value:
        """A value with all axes, broadcast axes included."""
        if all(d is not None for d in value.dims) and not value.number:
            return value
        dims: List[Optional[Names]] = []
        used = list(value.names())
        for d, axis in zip(value.dims, axes):
            if d is None:
                d = self.apart_all(self.axis_names(axis), used)
                used += d
            dims.append(d)
        names = flat(dims)
        if value.number:
            text = full_text(array, value, names)
        else:
            missing = [n for n in names if n not in value.names()]
            zeros = f"full(0){bracket(missing)}"
            if array.carrier not in ("float32", "int32"):
                zeros = f"convert({zeros}, {array.carrier})"
            if not is_float(array.carrier):
                zeros = " + ".join(f"0 * iota({n})" for n in missing)
            text = f"{value.text} + {zeros}" if missing else bare(value.text)
        return Value(self.line(array, names, text, "spread"), dims)

    def ordered(self, array: Array, value: Value) -> Value:
        """A value with all its axes, stored in order."""
        value = self.materialised(array, value, array.axes)
        if self._stored.get(value.text) == value.names():
            return value
        return Value(self.line(array, value.names(), f"transpose({bare(value.text)})", "ordered"), value.dims)

    def aligned(self, array: Array, x: Value, dims: Sequence[Optional[Names]]) -> Value:
        """x with the given names of the same axes."""
        mapping: Dict[str, str] = {}
        for have, want in zip(x.dims, dims):
            if have and want:
                mapping.update(zip(have, want))
        return self.renamed(array, x, mapping)

    def lone(self, array: Array, place: int, used: Sequence[str], beside: Sequence[str] = ()) -> str:
        """One name for an axis; for an axis of several factors, a name not used in `beside`."""
        names = self.axis_names(array.axes[place])
        name = names[0] if len(names) == 1 else self.pooled(array.shape[place], [*used, *beside])
        return self.apart(name, used)

    def regrouped(self, array: Array, x: Value, place: int, names: Names, hint: str) -> Value:
        """x with an axis split into different factors."""
        dims = [*x.dims[:place], names, *x.dims[place + 1 :]]
        return Value(self.line(array, flat(dims), f"reshape({x.text}){bracket(flat(dims))}", hint), dims)

    def whole(self, array: Array, place: int) -> Tuple[Value, str]:
        """A value whose axis at `place` is one dimension with the given name."""
        x = self.value(array)
        if x.dims[place] is None or x.number:
            x = self.materialised(array, x, array.axes)
        names = x.dims[place]
        assert names is not None
        if len(names) == 1:
            return x, names[0]
        x = self.ordered(array, x)
        one = self.pooled(array.shape[place], x.names())
        return self.regrouped(array, x, place, (one,), "merged" if names else "as"), one

    def _split(self, array: Array, value: Value, place: int, names: Names) -> Value:
        """Split the axis that an op merged into its factors again."""
        if len(names) == 1 or not names and value.dims[place] == ():
            return value
        if names:
            return self.regrouped(array, value, place, self.apart_all(names, value.names()), "split")
        return self._only(array, value, place, "only")

    def _only(self, array: Array, value: Value, place: int, hint: str = "") -> Value:
        """A value without a dimension of one element."""
        dims = [*value.dims[:place], (), *value.dims[place + 1 :]]
        return Value(self.line(array, flat(dims), f"sum({value.text})", hint), dims)

    @staticmethod
    def _keys(options: Dict[str, Any]) -> str:
        """Options with non-default values."""
        default = {"stride": 1, "dilation": 1, "low": 0, "high": 0, "fill": 0.0}
        return "".join(f", {k}={option_text(v)}" for k, v in options.items() if v != default.get(k))
