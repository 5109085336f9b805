"""Specs by axes of arrays as specs by their dimensions.

An axis of several factors is cut at the first ones.  A mesh axis that is larger than a factor is divided into several
axes, of which each cuts one: devices are numbered as before.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .arrays import Gap


@dataclass
class Asked:
    """A spec of the user for an array, by its axes."""

    name: str
    shape: Sequence[int]
    dims: Sequence[Optional[Tuple[str, ...]]]
    spec: Sequence[Any]
    what: str


class Shardings:
    """The requested shardings of arrays, and a mesh that can express them."""

    def __init__(self, mesh: Mapping[str, int], sizes: Mapping[str, int]) -> None:
        """`sizes` of dimensions may grow until all requests are known."""
        self._sizes = sizes
        self._asked: List[Asked] = []
        self._parts: Dict[str, List[int]] = {axis: [size] for axis, size in mesh.items()}
        self.specs: Dict[str, List[Any]] = {}

    def ask(
        self,
        name: str,
        shape: Sequence[int],
        dims: Sequence[Optional[Tuple[str, ...]]],
        spec: Sequence[Any],
        what: str,
    ) -> None:
        self._asked.append(Asked(name, shape, dims, spec, what))

    @property
    def mesh(self) -> Dict[str, int]:
        """The mesh with divided axes."""
        return {name: size for axis in self._parts for name, size in self._named(axis)}

    def _named(self, axis: str) -> List[Tuple[str, int]]:
        parts = self._parts[axis]
        return [(axis if len(parts) == 1 else f"{axis}_{k}", size) for k, size in enumerate(parts)]

    def pieces(self, entry: Any) -> List[int]:
        """The cumulative number of pieces of a spec entry: by the first axis, the first two axes, ..."""
        sizes = [math.prod(self._parts.get(axis, [1])) for axis in axes_of(entry)]
        return [n for n in itertools.accumulate(sizes, operator.mul) if n > 1]

    def resolve(self) -> List[str]:
        """Set `specs` of sharded arrays; return the requests that cannot be met."""
        gaps: List[str] = []
        settled = False
        while not settled:
            settled, gaps = True, []
            for asked in self._asked:
                try:
                    spec = self._by_dims(asked)
                except Gap as gap:
                    gaps.append(str(gap))
                    continue
                if spec is None:
                    settled = False
                else:
                    self.specs[asked.name] = spec
        return gaps

    def _by_dims(self, asked: Asked) -> Optional[List[Any]]:
        """The spec of an array, by factors of its dimensions. None if a mesh axis had to be divided: the caller starts again."""
        if len(asked.spec) > len(asked.shape):
            raise Gap(f"{asked.what}: a spec of {len(asked.spec)} entries for an array of rank {len(asked.shape)}")
        out: List[Any] = []
        for place, names in enumerate(asked.dims):
            entry = asked.spec[place] if place < len(asked.spec) else None
            cuts = self._cuts(asked, place, names or (), axes_of(entry))
            if cuts is None:
                return None
            out += [None if not c else c[0] if len(c) == 1 else c for c in cuts]
        return out

    def _cuts(self, asked: Asked, place: int, names: Sequence[str], axes: Sequence[str]) -> Optional[List[List[str]]]:
        """The mesh axes of each factor of an axis."""
        cuts: List[List[str]] = [[] for _ in names]
        at, left = 0, self._sizes[names[0]] if names else 1
        rest = math.prod(self._sizes[n] for n in names)
        for axis in axes:
            if axis not in self._parts:
                raise Gap(f"{asked.what}: the mesh has no axis '{axis}'")
            if rest % math.prod(self._parts[axis]):
                raise self._uneven(asked, place, names, axis)
            rest //= math.prod(self._parts[axis])
            for k, (name, size) in enumerate(self._named(axis)):
                if size == 1:
                    continue
                while left == 1 and at + 1 < len(names):
                    at += 1
                    left = self._sizes[names[at]]
                if left > 1 and left % size and size % left == 0:
                    self._parts[axis][k : k + 1] = [left, size // left]
                    return None
                if left % size:
                    raise self._uneven(asked, place, names, axis)
                left //= size
                cuts[at].append(name)
        return cuts


    def _uneven(self, asked: Asked, place: int, names: Sequence[str], axis: str) -> Gap:
        factors = _factors([self._sizes[n] for n in names])
        return Gap(
            f"{asked.what}: axis {place}, of {asked.shape[place]} elements{factors}, is not sharded evenly by '{axis}' of "
            f"{math.prod(self._parts[axis])}"
        )


def axes_of(entry: Any) -> List[str]:
    """The mesh axes of a spec entry."""
    return [] if entry is None else [entry] if isinstance(entry, str) else list(entry)


def _factors(sizes: Sequence[int]) -> str:
    return f" ({' x '.join(str(n) for n in sizes)})" if len(sizes) > 1 else ""
