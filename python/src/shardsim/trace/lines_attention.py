"""Lines of fused attention (operands of four dimensions in a fixed order) and of its gradient."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from .arrays import Array
from .lines_along import LinesAlong
from .naming import Value
from .texts import number_text


class LinesAttention(LinesAlong):
    """Writes the lines of attention ops."""

    def __init__(self) -> None:
        super().__init__()
        self._attentions: Dict[int, Tuple[Value, List[Value]]] = {}  # the lines, and their operands
        self._back: Dict[Tuple[int, int], Value] = {}  # gradients of results, one for all three operands

    def _attention(self, array: Array) -> Value:
        q, k, _ = array.inputs
        first = self._four(array, q, [None] * 4)
        batch, queries, heads, width = first.names()
        second = self._four(array, k, [batch, None, heads if q.shape[2] == k.shape[2] else None, width])
        third = self._four(array, array.inputs[2], [*second.names()[:3], None], [queries, heads])
        options = f"scale={number_text(array.attrs['scale'])}" + (", causal=true" if array.attrs["causal"] else "")
        names = [batch, queries, heads, third.names()[3]]
        name = self.line(array, names, f"attention({first.text}, {second.text}, {third.text}, {options})")
        made = Value(name, [(n,) for n in names])
        self._attentions[array.number] = made, [first, second, third]
        return self._in_factors(array, made)

    def _attention_grad(self, array: Array) -> Value:
        y, grad = array.inputs
        made, operands = self._attentions[y.number]
        if (y.number, grad.number) not in self._back:
            self._back[y.number, grad.number] = self._four(array, grad, made.names())
        dy = self._back[y.number, grad.number]
        like = operands["qkv".index(array.attrs["of"])]
        name = self.line(array, like.names(), f"attention_grad({made.text}, {dy.text}, of={array.attrs['of']})")
        return self._in_factors(array, Value(name, like.dims))

    def _four(self, array: Array, source: Array, wanted: Sequence[Optional[str]], beside: Sequence[str] = ()) -> Value:
        """An operand with one dimension per axis, with the wanted names or its own, none of them in `beside`."""
        before = self._values[source.number]
        for place in range(source.rank):
            self._values[source.number], _ = self.whole(source, place)
        x, self._values[source.number] = self._values[source.number], before
        used = [*beside, *(n for n in wanted if n)]
        names: List[str] = []
        for own, want in zip(x.names(), wanted):
            names.append(want or self.apart(own, used))
            used.append(names[-1])
        return self.ordered(source, self.aligned(array, x, [(n,) for n in names]))

    def _in_factors(self, array: Array, value: Value) -> Value:
        for place, axis in enumerate(array.axes):
            value = self._split(array, value, place, self.axis_names(axis))
        return value
