"""A traced program as the `graph:` section of a scenario.

Every axis is the names of its factors; an axis of size 1, or along which all is equal, has none.  Where an op asks for
one name twice (scores of queries and keys of the same tokens), or two operands name one axis differently, a
dimension is renamed.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .arrays import Array, Gap, is_float
from .dims import Axis, blocks, match
from .shardings import Shardings
from .texts import FOLDED, OPERATORS, bare, bracket, number_of, number_text, option_text, readable

Names = Tuple[str, ...]

#: Readers that are looked at for the names of a product's dimensions.
FATE_MOST = 12

#: Letters of an expression that is written into another.
EXPRESSION_MOST = 120


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
    """An array from outside, as the scenario has it."""

    name: str
    array: Array
    dims: Names


def full_text(array: Array, value: Value, names: Sequence[str]) -> str:
    """An array of one number."""
    text = f"full({bare(value.text)}){bracket(names)}"
    return text if is_float(array.carrier) else f"convert({text}, {array.carrier})"


class Writer:
    """Writes the lines of a program."""

    def __init__(self, mesh: Mapping[str, int]) -> None:
        self.dims: Dict[str, int] = {}
        self.shardings = Shardings(mesh, self.dims)
        self.lines: List[str] = []
        self.leaves: List[Leaf] = []
        self.places: Dict[str, str] = {}
        self.gaps: List[str] = []
        self._values: Dict[int, Value] = {}
        self._read_once: Dict[int, bool] = {}
        self._readers: Dict[int, List[Array]] = {}
        self._stored: Dict[str, Names] = {}
        self._taken: Dict[str, int] = {}
        self._renamed: Dict[Tuple[str, str, str], str] = {}

    # ---- names

    def unique(self, wish: str) -> str:
        """A name that nothing has yet."""
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
        """A dimension of this size that has no meaning of its own, and that an array does not have yet."""
        base = "one" if size == 1 else f"of{size}"
        if base not in self.dims:
            self._taken.setdefault(base, 0)
            self.dims[base] = size
        return self.apart(base, used)

    def variant(self, name: str, used: Sequence[str]) -> str:
        """Another name of a dimension, which is not used yet."""
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

    # ---- lines

    def line(self, array: Array, names: Sequence[str], text: str, hint: str = "") -> str:
        """Add a line, which is called after the function of the user's source and the op."""
        parts = [readable(array.scope), hint or array.attrs.get("fn", array.op)]
        name = self.unique(".".join(p for p in parts if p != "x"))
        self.lines.append(f"{name}{bracket(names)} = {text}")
        self.places[name] = array.where
        self._stored[name] = tuple(names)
        return name

    def renamed(self, array: Array, value: Value, mapping: Dict[str, str]) -> Value:
        """A value with other names of dimensions."""
        mapping = {old: new for old, new in mapping.items() if old != new and old in value.names()}
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
        """A value that has all axes, also those along which it is the same."""
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
            if not is_float(array.carrier):
                zeros = " + ".join(f"0 * iota({n})" for n in missing)
            text = f"{value.text} + {zeros}" if missing else bare(value.text)
        return Value(self.line(array, names, text, "spread"), dims)

    def ordered(self, array: Array, value: Value) -> Value:
        """A value that has all its axes, stored in their order."""
        value = self.materialised(array, value, array.axes)
        if self._stored.get(value.text) == value.names():
            return value
        return Value(self.line(array, value.names(), f"transpose({bare(value.text)})", "ordered"), value.dims)

    def apart_all(self, names: Sequence[str], used: Sequence[str]) -> Names:
        """Names that are neither used nor equal to each other."""
        made: List[str] = []
        for name in names:
            made.append(self.apart(name, [*used, *made]))
        return tuple(made)

    def apart(self, name: str, used: Sequence[str]) -> str:
        return self.variant(name, used) if name in used else name

    # ---- the program

    def write(self, outputs: Sequence[Array], names: Sequence[str]) -> List[Value]:
        """Write down what the outputs need, and the outputs by their names, with all their axes in order."""
        needed = self._needed(outputs)
        self._note_pieces(needed)
        self._match(needed)
        self._count_readers(needed, outputs)
        self._name_leaves(needed)
        for array in needed:
            try:
                self._values[array.number] = getattr(self, "_" + array.op)(array)
            except Gap as gap:
                self.gaps.append(f"{array.where}: {gap}" if array.where else str(gap))
                self._values[array.number] = Value("?", [self.axis_names(a) for a in array.axes])
        values = [self._output(x, readable(name)) for x, name in zip(outputs, names)]
        self.gaps += self.shardings.resolve()
        return values

    def _needed(self, outputs: Sequence[Array]) -> List[Array]:
        seen: Dict[int, Array] = {}
        waiting = list(outputs)
        while waiting:
            array = waiting.pop()
            if array.number not in seen:
                seen[array.number] = array
                waiting.extend(array.inputs)
        return [seen[n] for n in sorted(seen)]

    def _count_readers(self, needed: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Note what one op alone reads: it is written where it is read."""
        for array in needed:
            for x in dict.fromkeys(array.inputs):
                self._readers.setdefault(x.number, []).append(array)
        times = {x.number: 0 for x in needed}
        for x in outputs:
            times[x.number] += 2
        for array in reversed(needed):
            passes = array.op in ("view", "reshape")
            simple = passes or array.op in ("map", "reduce", "einsum")
            for x in array.inputs:
                times[x.number] += times[array.number] if passes else 1 if simple else 2
        self._read_once = {number: count == 1 for number, count in times.items()}

    def _note_pieces(self, needed: Sequence[Array]) -> None:
        """Tell axes into how many pieces they are to be cut."""
        for array in needed:
            for axis, entry in zip(array.axes, array.attrs.get("spec", ())):
                for count in self.shardings.pieces(entry):
                    if axis is not None and axis.size % count == 0:
                        axis.root().pieces.add(count)

    def _match(self, needed: Sequence[Array]) -> None:
        """Cut axes into factors, until every reshape that can regroups them."""
        for array in needed:
            if array.op == "reshape":
                array.attrs["blocks"] = [
                    (x, y, match([a for p in x if (a := source.axes[p])], [a for p in y if (a := array.axes[p])]))
                    for source in array.inputs
                    for x, y in self._blocks(source.shape, array.shape)
                ]

    @staticmethod
    def _blocks(one: Sequence[int], two: Sequence[int]) -> Iterator[Tuple[List[int], List[int]]]:
        """Places of two shapes that are the same elements."""
        first, second = ([place for place, n in enumerate(shape) if n != 1] for shape in (one, two))
        for x, y in blocks([one[p] for p in first], [two[p] for p in second]):
            yield first[x.start : x.stop], second[y.start : y.stop]

    def _name_leaves(self, needed: Sequence[Array]) -> None:
        """Dimensions are named after the arguments that have them, of which the shortest path."""
        leaves = [x for x in needed if x.op == "leaf"]
        for leaf in sorted(leaves, key=lambda x: (x.attrs.get("constant", False), len(x.attrs["path"]))):
            parts = leaf.attrs["path"].split("/")
            first = max((i for i, part in enumerate(parts) if not part[:1].isdigit()), default=0)
            last = readable("/".join(parts[first:]))
            for place, axis in enumerate(leaf.axes):
                if axis is None:
                    continue
                factors = axis.factors()
                for k, factor in enumerate(factors):
                    if not factor.name:
                        wish = f"{last}.{place}" if leaf.rank > 1 else last
                        factor.name = self.dim(wish + (chr(ord("a") + k) if len(factors) > 1 else ""), factor.size)

    def _output(self, array: Array, name: str) -> Value:
        value = self._values[array.number]
        if array.rank == 0 and value.number:
            text = full_text(array, value, ())
        else:
            value = self.materialised(array, value, array.axes)
            text = bare(value.text)
        own = self.unique(name)
        self.lines.append(f"{own}{bracket(value.names())} = {text}")
        return Value(own, value.dims)

    def value(self, array: Array) -> Value:
        return self._values[array.number]

    # ---- ops

    def _leaf(self, array: Array) -> Value:
        name = self.unique(readable(array.attrs["path"]))
        dims: List[Optional[Names]] = []
        used: List[str] = []
        for axis in array.axes:
            names = self.apart_all(self.axis_names(axis), [*used])
            used += names
            dims.append(names)
        leaf = Leaf(name, array, tuple(used))
        self.leaves.append(leaf)
        self._stored[name] = leaf.dims
        self.shardings.ask(name, array.shape, dims, array.attrs["spec"], f"argument {array.attrs['path']}")
        return Value(name, dims)

    def _number(self, array: Array) -> Value:
        value = array.attrs["value"]
        if array.dtype == "uint32" and value >= 2**31:
            value = int(value) - 2**32  # as int32, in which words are kept
        return Value(number_text(value), [], number=True)

    def _iota(self, array: Array) -> Value:
        names = self.axis_names(array.axes[0])
        if len(names) > 1:
            raise Gap("numbers along an axis of several factors")
        return Value(self.line(array, names, f"iota({names[0]})", "iota"), [names])

    def _view(self, array: Array) -> Value:
        x = self.value(array.inputs[0])
        dims: List[Optional[Names]] = []
        for place, at in enumerate(array.attrs["source"]):
            if array.shape[place] == 1:
                dims.append(())
            elif at is None or array.inputs[0].shape[at] == 1:
                dims.append(None)
            else:
                dims.append(x.dims[at])
        return Value(x.text, dims, x.number)

    def _spread(self, array: Array) -> Value:
        return self.materialised(array, self.value(array.inputs[0]), array.axes)

    def _reshape(self, array: Array) -> Value:
        """Factors are only regrouped; where that cannot be, elements move, in an op that keeps all other dimensions."""
        source, blocks = array.inputs[0], array.attrs["blocks"]
        x = self.value(source)
        moves = not all(matched for _, _, matched in blocks)
        if moves:
            x = self.ordered(source, x)
        dims: List[Optional[Names]] = [() for _ in array.shape]
        for before, after, matched in blocks:
            names = self._factor_names(source, x, before)
            if matched and None in names and any(names):
                self._values[source.number] = self.materialised(source, x, source.axes)
                return self._reshape(array)
            for place in after if matched else ():
                count = len(self.axis_names(array.axes[place]))
                taken, names = names[:count], names[count:]
                dims[place] = None if None in taken else tuple(n or "" for n in taken)
        if not moves:
            return Value(x.text, dims, x.number)
        used = [*x.names(), *flat(dims)]
        for _, after, matched in blocks:
            for place in () if matched else after:
                dims[place] = self.apart_all(self.axis_names(array.axes[place]), used)
                used += dims[place] or ()
        return Value(self.line(array, flat(dims), f"reshape({x.text}){bracket(flat(dims))}"), dims)

    @staticmethod
    def _factor_names(array: Array, value: Value, places: Sequence[int]) -> List[Optional[str]]:
        """The names of an array's factors; None where it is the same along them."""
        found: List[Optional[str]] = []
        for place in places:
            axis, names = array.axes[place], value.dims[place]
            found += names if names else [None] * len(axis.factors() if axis is not None else ())
        return found

    def _map(self, array: Array) -> Value:
        operands = [self.value(x) for x in array.inputs]
        fn = array.attrs["fn"]
        dims: List[Optional[Names]] = [() if n == 1 else None for n in array.shape]
        used: List[str] = []
        # The names of an axis are those of the first operand that has it.
        for place in range(array.rank):
            for x, source in zip(operands, array.inputs):
                if source.rank and x.dims[place]:
                    names = x.dims[place]
                    assert names is not None
                    if any(n in used for n in names):
                        names = self.apart_all(names, used)
                    used += names
                    dims[place] = names
                    break
        texts = [self.aligned(array, x, dims).text for x in operands]
        if all(x.number for x in operands):
            return self._folded(array, texts)
        text = map_text(fn, texts, array)
        if self._read_once.get(array.number) and len(text) < EXPRESSION_MOST:
            return Value(f"({text})" if fn in OPERATORS else text, dims)
        return Value(self.line(array, flat(dims), text), dims)

    def _folded(self, array: Array, texts: Sequence[str]) -> Value:
        """A function of numbers alone."""
        values = [number_of(t) for t in texts]
        folded = FOLDED.get(array.attrs["fn"])
        if folded is None:
            raise Gap(f"{array.attrs['fn']} of numbers alone")
        shape: List[Optional[Names]] = [() if n == 1 else None for n in array.shape]
        return Value(number_text(folded(*values)), shape, number=True)

    def _einsum(self, array: Array) -> Value:
        a_labels, b_labels, out = array.attrs["labels"]
        a, b = (self.value(x) for x in array.inputs)
        first: Dict[str, Names] = {}
        sizes: Dict[str, int] = {}
        missing: List[str] = []
        for x, source, labels in ((a, array.inputs[0], a_labels), (b, array.inputs[1], b_labels)):
            for place, label in enumerate(labels):
                sizes[label] = max(sizes.get(label, 1), source.shape[place])
                if label not in first and x.dims[place]:
                    first[label] = x.dims[place]  # type: ignore[assignment]
        for label, size in sizes.items():
            if size != 1 and label not in first:
                missing.append(label)
        used: List[str] = []
        for label in self._by_need(array, [c for c in dict.fromkeys(a_labels + b_labels) if c in first], first):
            first[label] = self.apart_all(first[label], used)
            used += first[label]
        texts = []
        for x, labels in ((a, a_labels), (b, b_labels)):
            mapping: Dict[str, str] = {}
            for place, label in enumerate(labels):
                if x.dims[place]:
                    mapping.update(zip(x.dims[place], first[label]))  # type: ignore[arg-type]
            texts.append(self.renamed(array, x, mapping).text)
        dims: List[Optional[Names]] = [() if sizes[c] == 1 else first.get(c) for c in out]
        names = flat(dims)
        factor = math.prod(sizes[c] for c in missing if c not in out)
        if a.number or b.number:
            text = self._scaled(array, a, b, texts, first, out)
        elif a.dims == b.dims == [] or not (a.names() or b.names()):
            text = f"{texts[0]} * {texts[1]}"
        else:
            text = f"einsum({bare(texts[0])}, {bare(texts[1])})"
        if factor != 1:
            text = f"{factor} * {text}"
        return Value(self.line(array, names, text, "product"), dims)

    def _by_need(self, array: Array, labels: List[str], first: Dict[str, Names]) -> List[str]:
        """Labels of a product in the order in which they get their names, each name once.

        Where what reads the product has names for its axes already, those are taken; an axis that is soon summed
        is the first to give way, as keys do for queries.
        """
        out = array.attrs["labels"][2]
        wanted, gone = self._fate(array)
        for place, names in wanted.items():
            label = out[place]
            if label in labels and [self.dims[n] for n in names] == [self.dims[n] for n in first[label]]:
                first[label] = names
        ranks = {out[place]: 0 for place in wanted}
        ranks.update({out[place]: 2 for place in gone})
        return sorted(labels, key=lambda c: ranks.get(c, 1 if c in out else 3))

    def _fate(self, array: Array) -> Tuple[Dict[int, Names], List[int]]:
        """What becomes of an array's axes: the names that another operand of a reader has for them, and which of them
        are summed next."""
        waiting: List[Tuple[Array, List[Optional[int]]]] = [(array, list(range(array.rank)))]
        for _ in range(FATE_MOST):
            if not waiting:
                break
            at, origin = waiting.pop(0)
            for reader in self._readers.get(at.number, ()):
                if reader.op == "map" and reader.rank == at.rank:
                    for other in reader.inputs:
                        value = self._values.get(other.number)
                        if value is not None and other.rank == reader.rank and len(value.names()) > 1:
                            found = {o: value.dims[i] for i, o in enumerate(origin) if o is not None and value.dims[i]}
                            return {o: names for o, names in found.items() if names}, []
                    waiting.append((reader, origin))
                elif reader.op == "view":
                    waiting.append((reader, [None if i is None else origin[i] for i in reader.attrs["source"]]))
                elif reader.op == "reduce":
                    return {}, [o for i, o in enumerate(origin) if i in reader.attrs["over"] and o is not None]
        return {}, []

    def _scaled(self, array: Array, a: Value, b: Value, texts: List[str], first: Dict[str, Names], out: str) -> str:
        """A product with an array of one number."""
        if a.number and b.number:
            raise Gap("a product of two numbers")
        x, number = (b, texts[0]) if a.number else (a, texts[1])
        text = texts[1] if a.number else texts[0]
        kept = [n for c in out for n in first.get(c, ())]
        summed = f"sum({text}){bracket(kept)}" if set(x.names()) - set(kept) else text
        return f"{number} * {summed}"

    def _reduce(self, array: Array) -> Value:
        source = array.inputs[0]
        x = self.value(source)
        fn, over = array.attrs["fn"], array.attrs["over"]
        times = math.prod(source.shape[a] for a in over if x.dims[a] is None)
        dims = [d for a, d in enumerate(x.dims) if a not in over]
        gone = [n for a in over for n in x.dims[a] or ()]
        text = x.text
        names = flat(dims)
        if gone:
            text = f"{fn}({bare(text)})"
        if fn in ("argmax", "argmin"):
            return self._place_of(array, fn)
        if fn == "sum" and times != 1:
            text = f"{times} * {text}"
        elif fn == "prod" and times != 1:
            raise Gap("a product of equal elements")
        if text == x.text:
            return Value(text, dims, x.number)
        if x.number:
            return Value(number_text(times * number_of(x.text)), dims, number=True)
        return Value(self.line(array, names, text), dims)

    def _place_of(self, array: Array, fn: str) -> Value:
        (over,) = array.attrs["over"]
        x, name = self.whole(array.inputs[0], over)
        dims = [d for a, d in enumerate(x.dims) if a != over]
        names = flat(dims)
        return Value(self.line(array, names, f"{fn}({x.text}, {name})"), dims)

    def aligned(self, array: Array, x: Value, dims: Sequence[Optional[Names]]) -> Value:
        """x with the names that the same axes have elsewhere."""
        mapping: Dict[str, str] = {}
        for have, want in zip(x.dims, dims):
            if have and want:
                mapping.update(zip(have, want))
        return self.renamed(array, x, mapping)

    def lone(self, array: Array, place: int, used: Sequence[str], beside: Sequence[str] = ()) -> str:
        """One name for an axis; where it consists of factors, not one of those `beside` it either."""
        names = self.axis_names(array.axes[place])
        name = names[0] if len(names) == 1 else self.pooled(array.shape[place], [*used, *beside])
        return self.apart(name, used)

    def regrouped(self, array: Array, x: Value, place: int, names: Names, hint: str) -> Value:
        """x with other factors of one axis."""
        dims = [*x.dims[:place], names, *x.dims[place + 1 :]]
        return Value(self.line(array, flat(dims), f"reshape({x.text}){bracket(flat(dims))}", hint), dims)

    def whole(self, array: Array, place: int) -> Tuple[Value, str]:
        """A value whose axis at `place` is one dimension, of the given name."""
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
        """The axis that an op left as one dimension, in its factors again."""
        if len(names) == 1 or not names and value.dims[place] == ():
            return value
        if names:
            return self.regrouped(array, value, place, self.apart_all(names, value.names()), "split")
        return self._only(array, value, place, "only")

    def _only(self, array: Array, value: Value, place: int, hint: str = "") -> Value:
        """A value without a dimension of one element."""
        dims = [*value.dims[:place], (), *value.dims[place + 1 :]]
        return Value(self.line(array, flat(dims), f"sum({value.text})", hint), dims)

    def _along(self, array: Array) -> Value:
        (source,), place = array.inputs, array.attrs["axis"]
        x, old = self.whole(source, place)
        fn, options = array.attrs["fn"], array.attrs["options"]
        used = [n for n in x.names() if n != old]
        axis = array.axes[place]
        same = axis is source.axes[place] and axis is not None
        new = old if same else self.lone(array, place, used, [old])
        arguments = f"{x.text}, {old}" + ("" if same else f", {new}")
        numbers = [k for k in ("start", "by") if k in options]
        arguments += "".join(f", {options[k]}" for k in numbers)
        keys = self._keys({k: v for k, v in options.items() if k not in numbers})
        dims = [*x.dims[:place], (new,), *x.dims[place + 1 :]]
        made = Value(self.line(array, flat(dims), f"{fn}({arguments}{keys})"), dims)
        if fn == "slice" and array.shape[place] == 1:
            return self._only(array, made, place)
        return self._split(array, made, place, self.axis_names(axis))

    def _recurrence(self, array: Array) -> Value:
        place = array.attrs["axis"]
        (a, _), (b, name) = (self.whole(x, place) for x in array.inputs)
        a, b = (self.materialised(x, v, x.axes) for x, v in zip(array.inputs, (a, b)))
        a = self.aligned(array, a, b.dims)
        keys = self._keys(array.attrs["options"])
        made = Value(self.line(array, b.names(), f"recurrence({a.text}, {b.text}, {name}{keys})"), b.dims)
        return self._split(array, made, place, self.axis_names(array.axes[place]))

    def _concat(self, array: Array) -> Value:
        place = array.attrs["axis"]
        pieces = [self.whole(x, place)[0] for x in array.inputs]
        shared = [d if at != place else None for at, d in enumerate(pieces[0].dims)]
        parts: List[Tuple[Value, str, int]] = []
        for x, source in zip(pieces, array.inputs):
            x = self.ordered(source, self.aligned(array, self.materialised(source, x, source.axes), shared))
            parts.append((x, (x.dims[place] or ("",))[0], source.shape[place]))
        final = self.axis_names(array.axes[place])
        while len(parts) > 1:  # in pairs, so that each element is copied a few times only
            joined = []
            for (x, x_name, x_size), (y, y_name, y_size) in zip(parts[::2], parts[1::2]):
                used = [n for at, d in enumerate(x.dims) if d and at != place for n in d]
                name = self.lone(array, place, used) if len(parts) == 2 else self.pooled(x_size + y_size, used)
                dims = [*x.dims[:place], (name,), *x.dims[place + 1 :]]
                text = self.line(array, flat(dims), f"concat({x.text}, {x_name}, {y.text}, {y_name}, {name})")
                joined.append((Value(text, dims), name, x_size + y_size))
            parts = joined + parts[len(parts) - len(parts) % 2 :]
        return self._split(array, parts[0][0], place, final)

    def _embed(self, array: Array) -> Value:
        table, ids = array.inputs
        t, rows = self.whole(table, 0)
        i = self.ordered(ids, self.value(ids))
        used = list(i.names())
        mapping = {n: self.apart(n, used) for d in t.dims[1:] for n in d or ()}
        if rows in used:
            mapping[rows] = self.variant(rows, [*used, *t.names()])
        t = self.renamed(array, self.ordered(table, t), mapping)
        dims = [*i.dims, *t.dims[1:]]
        return Value(self.line(array, flat(dims), f"embed({t.text}, {i.text})"), dims)

    def _embed_add(self, array: Array) -> Value:
        return self._added(array, 0, array.inputs[1].rank)

    def _pick_add(self, array: Array) -> Value:
        return self._added(array, array.attrs["axis"], array.attrs["choices"])

    def _added(self, array: Array, place: int, gone: int) -> Value:
        """embed_add, whose first `gone` axes are those of ids; or pick_add, whose last ones are choices."""
        grad, ids = array.inputs
        g = self.ordered(grad, self.value(grad))
        i = self.aligned(array, self.ordered(ids, self.value(ids)), g.dims)
        new = self.lone(array, place, g.names())
        dims = g.dims[gone:] if array.op == "embed_add" else g.dims[: grad.rank - gone]
        dims = [*dims[:place], (new,), *dims[place:]]
        made = Value(self.line(array, flat(dims), f"{array.op}({g.text}, {i.text}, {new})"), dims)
        return self._split(array, made, place, self.axis_names(array.axes[place]))

    def _pick(self, array: Array) -> Value:
        source, ids = array.inputs
        place = array.attrs["axis"]
        x, name = self.whole(source, place)
        x = self.ordered(source, x)
        i = self.ordered(ids, self.value(ids))
        rest = [*x.dims[:place], *x.dims[place + 1 :]]
        used = [*flat(rest), name]
        choices: List[Optional[Names]] = []
        for have in i.dims[len(rest) :]:
            choices.append(self.apart_all(have or (), used))
            used += choices[-1] or ()
        dims = [*rest, *choices]
        i = self.aligned(array, i, dims)
        return Value(self.line(array, flat(dims), f"pick({x.text}, {i.text}, {name})"), dims)

    def _windows(self, array: Array) -> Value:
        (source,), place = array.inputs, array.attrs["axis"]
        x, old = self.whole(source, place)
        x = self.materialised(source, x, source.axes)
        rest = [n for n in x.names() if n != old]
        to = self.lone(array, place, rest, [old])
        taps = self.lone(array, place + 1, [*rest, to, old])
        dims = [*x.dims[:place], (to,), (taps,), *x.dims[place + 1 :]]
        keys = self._keys(array.attrs["options"])
        made = Value(self.line(array, flat(dims), f"windows({x.text}, {old}, {to}, {taps}{keys})"), dims)
        for at in (place + 1, place):
            made = self._split(array, made, at, self.axis_names(array.axes[at]))
        return made

    def _windows_add(self, array: Array) -> Value:
        (source,), place = array.inputs, array.attrs["axis"]
        self._values[source.number], taps = self.whole(source, place + 1)
        g, windows = self.whole(source, place)
        g = self.materialised(source, g, source.axes)
        new = self.lone(array, place, [n for n in g.names() if n != windows])
        dims = [*g.dims[:place], (new,), *g.dims[place + 2 :]]
        keys = self._keys(array.attrs["options"])
        made = Value(self.line(array, flat(dims), f"windows_add({g.text}, {windows}, {taps}, {new}{keys})"), dims)
        return self._split(array, made, place, self.axis_names(array.axes[place]))

    @staticmethod
    def _keys(options: Dict[str, Any]) -> str:
        """Options that are not what they are by default."""
        default = {"stride": 1, "dilation": 1, "low": 0, "high": 0, "fill": 0.0}
        return "".join(f", {k}={option_text(v)}" for k, v in options.items() if v != default.get(k))

    def _constraint(self, array: Array) -> Value:
        x = self.materialised(array.inputs[0], self.value(array.inputs[0]), array.inputs[0].axes)
        names = list(x.names())
        name = self.line(array, names, bare(x.text), array.attrs.get("name", "constraint"))
        self.shardings.ask(name, array.shape, x.dims, array.attrs["spec"], f"the constraint at {array.where}")
        return Value(name, x.dims)


def map_text(fn: str, texts: Sequence[str], array: Array) -> str:
    if fn in OPERATORS and len(texts) == 2:
        return f"{texts[0]} {OPERATORS[fn]} {texts[1]}"
    if fn == "convert":
        if array.carrier == array.inputs[0].carrier:
            return f"copy({bare(texts[0])})"
        return f"convert({bare(texts[0])}, {array.carrier})"
    return f"{fn}({', '.join(bare(t) for t in texts)})"


def kind_of(array: Array) -> str:
    """params, or inputs: data, and all whole numbers."""
    return "params" if is_float(array.carrier) and not array.attrs["data"] else "inputs"
