"""A traced program as the `graph:` section of a scenario.

Every axis is the names of its factors; an axis of size 1, or along which all is equal, has none.  Where an op asks for
one name twice (scores of queries and keys of the same tokens), or two operands name one axis differently, a
dimension is renamed.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from .arrays import Array, Gap, is_float
from .dims import FACTORS_MOST, Axis, Uncut, blocks, match
from .lines_attention import LinesAttention
from .naming import Leaf, Names, Value, flat, full_text
from .shardings import Shardings
from .texts import FOLDED, OPERATORS, bare, bracket, folded, number_of, number_text, readable

#: Readers that are looked at for the names of a product's dimensions.
FATE_MOST = 12

#: How often axes are cut anew, at most, each time with fewer reshapes.
CUTS_MOST = 8

#: Letters of an expression that is written into another.
EXPRESSION_MOST = 120


class Writer(LinesAttention):
    """Writes the lines of a program."""

    def __init__(self, mesh: Mapping[str, int]) -> None:
        super().__init__()
        self.shardings = Shardings(mesh, self.dims)
        self.leaves: List[Leaf] = []
        self.gaps: List[str] = []
        self._read_once: Dict[int, bool] = {}
        self._readers: Dict[int, List[Array]] = {}

    def write(self, outputs: Sequence[Array], names: Sequence[str]) -> List[Value]:
        """Write the ops that outputs need, then the outputs by name, with all axes in order."""
        needed = self.needed(outputs)
        self._note_pieces(needed)
        self._match(needed)
        self._count_readers(needed, outputs)
        self._name_leaves(needed)
        for array in needed:
            try:
                self._values[array.number] = getattr(self, "_" + array.op)(array)
            except Gap as gap:
                self._note_gap(array, str(gap))
                self._values[array.number] = Value("?", [self.axis_names(a) for a in array.axes])
        for array, name in zip(outputs, names):
            if 0 in array.shape and array.op != "leaf":
                self._note_gap(array, f"{name} is an array without elements, of {list(array.shape)}")
        values = [self._output(x, readable(name)) for x, name in zip(outputs, names)]
        self.gaps += self.shardings.resolve()
        return values

    def _note_gap(self, array: Array, gap: str) -> None:
        """At the user's line of the array, or of its first reader."""
        where = next((x.where for x in [array, *self._readers.get(array.number, ())] if x.where), "")
        self.gaps.append(f"{where}: {gap}" if where else gap)

    def needed(self, outputs: Sequence[Array]) -> List[Array]:
        """All arrays that the outputs depend on, in program order."""
        seen: Dict[int, Array] = {}
        waiting = list(outputs)
        while waiting:
            array = waiting.pop()
            if array.number not in seen:
                seen[array.number] = array
                waiting.extend(array.inputs)
        return [seen[n] for n in sorted(seen)]

    def _count_readers(self, needed: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Find arrays with a single reader: they are written inline."""
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
        """Set the number of pieces of each axis."""
        for array in needed:
            for axis, entry in zip(array.axes, array.attrs.get("spec", ())):
                for count in self.shardings.pieces(entry):
                    if axis is not None and axis.size % count == 0:
                        axis.root().pieces.add(count)

    def _match(self, needed: Sequence[Array]) -> None:
        """Split axes into factors until every possible reshape only regroups them.

        Where an array would have more dimensions than the program allows, the axis with most factors stays whole, and its
        reshapes move elements.
        """
        uncut = Uncut(a for array in needed for a in array.axes)
        moving: Set[int] = set()
        for left in reversed(range(CUTS_MOST)):
            self._match_but(needed, moving)
            wide = [x for x in needed if x.op not in ("view", "reshape") and _factors(x) > FACTORS_MOST]
            whole = {id(f) for x in wide for f in max((a.factors() for a in x.axes if a is not None), key=len)}
            found = {x.number for x in needed if x.op == "reshape" and _has_factor(x, whole)} - moving
            if not found or not left:
                break
            moving |= found
            uncut.restore()

    def _match_but(self, needed: Sequence[Array], moving: Set[int]) -> None:
        for array in needed:
            if array.op == "reshape":
                array.attrs["blocks"] = [
                    (x, y, self._matched([source.axes[p] for p in x], [array.axes[p] for p in y], array.number in moving))
                    for source in array.inputs
                    for x, y in self._blocks(source.shape, array.shape)
                ]

    @staticmethod
    def _matched(one: Sequence[Optional[Axis]], two: Sequence[Optional[Axis]], moves: bool) -> bool:
        a, b = [x for x in one if x], [x for x in two if x]
        return match(a, b) if not moves or len(a) == len(b) == 1 else False

    @staticmethod
    def _blocks(one: Sequence[int], two: Sequence[int]) -> Iterator[Tuple[List[int], List[int]]]:
        """Ranges of two shapes that hold the same elements."""
        first, second = ([place for place, n in enumerate(shape) if n != 1] for shape in (one, two))
        for x, y in blocks([one[p] for p in first], [two[p] for p in second]):
            yield first[x.start : x.stop], second[y.start : y.stop]

    def _name_leaves(self, needed: Sequence[Array]) -> None:
        """Name each dimension after an argument that has this dimension; the shortest path wins."""
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
        """A line of the output's name; but what other ops read, too, is the output itself: sums over devices are made once."""
        value = self._values[array.number]
        if array.rank == 0 and value.number:
            text = full_text(array, value, ())
        else:
            value = self.materialised(array, value, array.axes)
            text = bare(value.text)
        if text in self.places and self._stored[text] == value.names() and array.number in self._readers:
            return Value(text, value.dims)
        own = self.unique(name)
        self.lines.append(f"{own}{bracket(value.names())} = {text}")
        return Value(own, value.dims)

    def _leaf(self, array: Array) -> Value:
        if 0 in array.shape and not array.attrs["path"].startswith("gap/"):
            raise Gap(f"{array.attrs['path']} is an array without elements, of {list(array.shape)}")
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
        """Along an axis of several factors: each factor's number times the elements of its steps."""
        names = self.apart_all(self.axis_names(array.axes[0]), [])
        terms: List[str] = []
        step = 1
        for name in reversed(names):
            terms.insert(0, f"iota({name})" if step == 1 else f"{step} * iota({name})")
            step *= self.dims[name]
        return Value(self.line(array, names, " + ".join(terms), "iota"), [names])

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
        """Regroup factors; where that is impossible, move elements in an op that keeps the other dimensions."""
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
        """The names of an array's factors; None where the array is broadcast."""
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
        if fn == "select" and operands[0].number:
            chosen = 1 if number_of(texts[0]) else 2
            own: List[Optional[Names]] = operands[chosen].dims if array.inputs[chosen].rank else [() if n == 1 else None for n in array.shape]
            return Value(operands[chosen].text, own, operands[chosen].number)
        text = map_text(fn, texts, array)
        if self._read_once.get(array.number) and len(text) < EXPRESSION_MOST:
            return Value(f"({text})" if fn in OPERATORS else text, dims)
        return Value(self.line(array, flat(dims), text), dims)

    def _folded(self, array: Array, texts: Sequence[str]) -> Value:
        """A function of numbers alone."""
        fn = array.attrs["fn"]
        if fn not in FOLDED:
            raise Gap(f"{fn} of numbers alone")
        number = folded(fn, [number_of(t) for t in texts], [x.carrier for x in array.inputs], array.carrier)
        shape: List[Optional[Names]] = [() if n == 1 else None for n in array.shape]
        return Value(number_text(number), shape, number=True)

    def _einsum(self, array: Array) -> Value:
        a_labels, b_labels, out = array.attrs["labels"]
        a, b = (self.value(x) for x in array.inputs)
        if a.number and b.number:
            return self._summed(array, a, b)
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

    def _summed(self, array: Array, a: Value, b: Value) -> Value:
        """A contraction of two arrays that are a number each: the products that are summed are equal."""
        sizes: Dict[str, int] = {}
        for source, labels in zip(array.inputs, array.attrs["labels"]):
            for label, n in zip(labels, source.shape):
                sizes[label] = max(sizes.get(label, 1), n)
        count = math.prod(n for c, n in sizes.items() if c not in array.attrs["labels"][2])
        wide = "float64" if is_float(array.dtype) else array.carrier  # rounded once: in 16 bits the count may be beyond the largest number
        product = folded("mul", [number_of(a.text), number_of(b.text)], [wide, wide], wide)
        total = folded("mul", [product, count], [wide, wide], array.carrier)
        return Value(number_text(total), [() if n == 1 else None for n in array.shape], number=True)

    def _by_need(self, array: Array, labels: List[str], first: Dict[str, Names]) -> List[str]:
        """Labels of a contraction in the order in which they get their names, each name once.

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
        """A multiplication by an array of one number."""
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
        if text == x.text:
            return Value(text, dims, x.number)
        if x.number:
            total = folded("mul", [times, number_of(x.text)], [array.carrier] * 2, array.carrier)
            return Value(number_text(total), dims, number=True)
        return Value(self.line(array, names, text), dims)

    def _place_of(self, array: Array, fn: str) -> Value:
        (over,) = array.attrs["over"]
        x, name = self.whole(array.inputs[0], over)
        dims = [d for a, d in enumerate(x.dims) if a != over]
        names = flat(dims)
        return Value(self.line(array, names, f"{fn}({x.text}, {name})"), dims)

    def _constraint(self, array: Array) -> Value:
        x = self.materialised(array.inputs[0], self.value(array.inputs[0]), array.inputs[0].axes)
        names = list(x.names())
        name = self.line(array, names, bare(x.text), array.attrs.get("name", "constraint"))
        self.shardings.ask(name, array.shape, x.dims, array.attrs["spec"], f"the constraint at {array.where}")
        return Value(name, x.dims)


def _factors(array: Array) -> int:
    return sum(len(axis.factors()) for axis in array.axes if axis is not None)


def _has_factor(reshape: Array, factors: Set[int]) -> bool:
    """Whether a factor is one of an axis before or after."""
    axes = [a for x in (reshape, *reshape.inputs) for a in x.axes if a is not None]
    return bool(factors) and any(id(f) in factors for a in axes for f in a.factors())


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
    return "params" if is_float(array.dtype) and not array.attrs["data"] else "inputs"
