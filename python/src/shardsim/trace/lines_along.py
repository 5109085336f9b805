"""Lines of ops along an axis: pieces, windows, and elements by ids."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import List, Optional, Tuple

from .arrays import Array
from .naming import Names, Value, flat
from .written import Lines


class LinesAlong(Lines):
    """Writes the lines of ops along an axis."""

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
        """embed_add (the first `gone` axes belong to ids) or pick_add (the last axes are choices)."""
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
