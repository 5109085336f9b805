"""The dimensions behind sizes: which axes of a traced program are one, and of which factors they consist.

Axes that meet in an op are joined.  A reshape says that the product of some axes is that of others, which cuts them
into common factors: [B, S, D] as [B, S, H, K] makes D = H x K wherever D is.  Then a reshape only regroups
factors, and nothing is left to do.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import List, Sequence


class Axis:
    """A class of axes, by union and find; `parts` are its factors, major first, once it was cut."""

    __slots__ = ("size", "_up", "_parts", "name")

    def __init__(self, size: int) -> None:
        self.size = int(size)
        self.name = ""
        self._up: "Axis | None" = None
        self._parts: "List[Axis] | None" = None

    def root(self) -> "Axis":
        at = self
        while at._up is not None:
            if at._up._up is not None:
                at._up = at._up._up
            at = at._up
        return at

    def factors(self) -> "List[Axis]":
        """The axes without parts that this one consists of."""
        root = self.root()
        if root._parts is None:
            return [root]
        return [f for part in root._parts for f in part.factors()]

    def join(self, other: "Axis") -> None:
        """Both are one dimension."""
        a, b = self.root(), other.root()
        if a is b:
            return
        assert a.size == b.size
        if a._parts is None:
            a, b = b, a  # b has no parts now, if one of them has none
        if b._parts is not None:
            match(a.factors(), b.factors())
        b._up = a

    def _cut(self, first: "Axis") -> "Axis":
        """Cut a factor into `first` and the rest, which is returned."""
        rest = Axis(self.size // first.size)
        self._parts = [first, rest]
        return rest


def match(one: "Sequence[Axis]", two: "Sequence[Axis]") -> bool:
    """Cut two lists of axes, of which the products are equal, into common factors.

    False where a common factor would begin inside of a factor of both: [6, 4] and [4, 6].
    """
    a: List[Axis] = [f for x in reversed(one) for f in reversed(x.factors())]
    b: List[Axis] = [f for x in reversed(two) for f in reversed(x.factors())]
    while a and b:
        x, y = a.pop(), b.pop()
        if x.root() is not x or x._parts is not None:
            a.extend(reversed(x.factors()))
            b.append(y)
        elif y.root() is not y or y._parts is not None:
            b.extend(reversed(y.factors()))
            a.append(x)
        elif x is y:
            continue
        elif x.size == y.size:
            x.join(y)
        elif x.size < y.size and y.size % x.size == 0:
            b.append(y._cut(x))
        elif y.size < x.size and x.size % y.size == 0:
            a.append(x._cut(y))
        else:
            return False
    return True
