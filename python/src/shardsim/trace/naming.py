"""Arrays of a scenario, and the names of their dimensions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from .arrays import Array, Gap
from .dims import Axis
from .texts import bare, bracket, number_of

Names = Tuple[str, ...]


@dataclass
class Value:
    """An array in the scenario: a name or a number, and the dimensions of each of its axes.

    None: the array is the same all along the axis, and lacks it.
    """

    text: str
    dims: List[Optional[Names]]
    number: bool = False

    def names(self) -> Names:
        return flat(self.dims)


def flat(dims: Sequence[Optional[Names]]) -> Names:
    """The dimensions of axes, in order."""
    return tuple(n for d in dims if d for n in d)


@dataclass
class Leaf:
    """An input array in the scenario's form."""

    name: str
    array: Array
    dims: Names


def full_text(array: Array, value: Value, names: Sequence[str]) -> str:
    """An array of one number; `full` makes float32; numbers beyond float32 multiply an array of ones."""
    text = f"full({bare(value.text)}){bracket(names)}"
    if array.carrier == "float32":
        return text
    number = number_of(value.text)
    if array.carrier in ("float64", "int32") and math.isfinite(number) and float(np.float32(number)) != number:
        return f"{value.text} * convert(full(1){bracket(names)}, {array.carrier})"
    return f"convert({text}, {array.carrier})"


class Naming:
    """Dimensions with their sizes and unique names."""

    def __init__(self) -> None:
        self.dims: Dict[str, int] = {}
        self._taken: Dict[str, int] = {}

    def unique(self, wish: str) -> str:
        """An unused name."""
        if wish not in self._taken:
            self._taken[wish] = 0
            return wish
        while True:
            self._taken[wish] += 1
            name = f"{wish}_{self._taken[wish]}"
            if name not in self._taken:
                self._taken[name] = 0
                return name

    def factor_name(self, factor: Axis) -> str:
        if not factor.name:
            factor.name = self.dim(f"n{factor.size}", factor.size)
        return factor.name

    def dim(self, wish: str, size: int) -> str:
        name = self.unique(wish)
        self.dims[name] = size
        return name

    def pooled(self, size: int, used: Sequence[str]) -> str:
        """A dimension of this size without a meaning of its own, and not yet in the array."""
        base = "one" if size == 1 else f"of{size}"
        if base not in self.dims:
            self._taken.setdefault(base, 0)
            self.dims[base] = size
        return self.apart(base, used)

    def variant(self, name: str, used: Sequence[str]) -> str:
        """Another, unused name of a dimension."""
        base = re.sub(r"__\d+$", "", name)
        for k in range(1, 100):
            other = f"{base}__{k}"
            if other not in used:
                if other not in self.dims:
                    self._taken.setdefault(other, 0)
                    self.dims[other] = self.dims[name]
                return other
        raise Gap("an array with a dimension a hundred times")

    def axis_names(self, axis: Optional[Axis]) -> Names:
        return tuple(self.factor_name(f) for f in axis.factors()) if axis is not None else ()

    def apart(self, name: str, used: Sequence[str]) -> str:
        return self.variant(name, used) if name in used else name

    def apart_all(self, names: Sequence[str], used: Sequence[str]) -> Names:
        """Names that are neither used nor equal to each other."""
        made: List[str] = []
        for name in names:
            made.append(self.apart(name, [*used, *made]))
        return tuple(made)
