"""The dimensions behind sizes: which axes of a traced program are one, and of which factors they consist.

Axes that meet in an op are joined.  A reshape says that the product of some axes is that of others, which cuts them
into common factors: [B, S, D] as [B, S, H, K] makes D = H x K wherever D is.  Then a reshape only regroups
factors, and nothing is left to do.  An axis that is asked to be sharded is only cut where its pieces are: 3 x 32
columns of queries, keys and values over 4 devices stay 96, and the reshape stays an op.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Sequence, Set, Tuple

#: Factors of one array: the program has no more dimensions (GRAPH_RANK_MAX).
FACTORS_MOST = 12


class Axis:
    """A class of axes, by union and find; `parts` are its factors, major first, once it was cut.

    `pieces`: into how many it is asked to be sharded, by one mesh axis, by two, ...
    """

    __slots__ = ("size", "_up", "_parts", "name", "pieces")

    def __init__(self, size: int) -> None:
        self.size = int(size)
        self.name = ""
        self._up: "Axis | None" = None
        self._parts: "List[Axis] | None" = None
        self.pieces: Set[int] = set()

    def root(self) -> "Axis":
        at = self
        while at._up is not None:
            if at._up._up is not None:
                at._up = at._up._up
            at = at._up
        return at

    def factors(self) -> "List[Axis]":
        """The undivided axes that make up this axis."""
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
        a.pieces |= b.pieces
        b._up = a

    def _cut(self, first: "Axis") -> "Axis":
        """Split a factor into `first` and the rest; return the rest."""
        rest = Axis(self.size // first.size)
        inner, rest.pieces = divided(self.pieces, first.size)
        first.root().pieces |= inner
        self._parts = [first, rest]
        return rest


def divided(pieces: Set[int], size: int) -> "Tuple[Set[int], Set[int]]":
    """Split the pieces of an axis between its first factor, of this size, and the rest."""
    return {n for n in pieces if n <= size}, {n // size for n in pieces if n > size}


def agree(one: "Sequence[Axis]", two: "Sequence[Axis]") -> bool:
    """Whether two lists of factors have a common refinement that the pieces allow and that is short enough."""
    a = [(f.size, f.root().pieces) for f in reversed(one)]
    b = [(f.size, f.root().pieces) for f in reversed(two)]
    count = 0
    while a and b:
        x, y = a.pop(), b.pop()
        large, small, rest = (x, y[0], a) if x[0] > y[0] else (y, x[0], b)
        if large[0] % small or any(n % small and small % n for n in large[1]):
            return False
        if large[0] != small:
            rest.append((large[0] // small, divided(large[1], small)[1]))
        count += 1
    return count <= FACTORS_MOST


class Uncut:
    """A snapshot of axes, restored before they are cut anew."""

    def __init__(self, axes: "Iterable[Axis | None]") -> None:
        self._all: "Dict[int, Tuple[Axis, Axis | None, List[Axis] | None, Set[int]]]" = {}
        for axis in axes:
            while axis is not None and id(axis) not in self._all:
                self._all[id(axis)] = axis, axis._up, axis._parts, set(axis.pieces)
                axis = axis._up

    def restore(self) -> None:
        for axis, up, parts, pieces in self._all.values():
            axis._up, axis._parts, axis.pieces = up, parts, set(pieces)


#: A range of axes of one array, and the range of another's that are the same elements.
Block = Tuple[range, range]


def blocks(one: Sequence[int], two: Sequence[int]) -> Iterator[Block]:
    """The shortest ranges of two lists of sizes (without 1s) with equal products."""
    i = j = 0
    while i < len(one) and j < len(two):
        first, second = i, j
        a, b = one[i], two[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a, i = a * one[i], i + 1
            else:
                b, j = b * two[j], j + 1
        yield range(first, i), range(second, j)


def match(one: "Sequence[Axis]", two: "Sequence[Axis]") -> bool:
    """Cut two lists of axes, of which the products are equal, into common factors.

    False where a common factor would begin inside of a factor of both: [6, 4] and [4, 6].
    """
    if not agree([f for x in one for f in x.factors()], [f for x in two for f in x.factors()]):
        return False
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
