"""JAX equations that gather and scatter elements by ids."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .array import known
from .arrays import Array, Gap, Program, is_float, uniform
from .jax_reader import Reader, Real, Value, handles, operands
from .ranges import Ranges, given, inside


@handles("gather")
def _gather(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids = operands(reader, eqn, values)
    numbers, sizes, p = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], reader.program
    at = Indexed(
        p, x, ids, numbers.start_index_map, numbers.collapsed_slice_dims, sizes,
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, numbers.offset_dims,
        _mode(eqn, "CLIP"),
    )  # fmt: skip
    return at.take(eqn.outvars[0].aval.shape, _fill(eqn, x))


class Mode(NamedTuple):
    """The effect of ids out of range."""

    clamps: bool  # they are taken for the nearest that is in range; otherwise they take and put nothing
    promised: bool  # that there are none


def _mode(eqn: Any, broken: str) -> Mode:
    """The equation's mode; `broken` is what XLA does with such ids despite a promise."""
    name = str(getattr(eqn.params["mode"], "name", eqn.params["mode"]))
    promised = name == "PROMISE_IN_BOUNDS"
    return Mode((broken if promised else name) == "CLIP", promised)


def _fill(eqn: Any, x: Array) -> float:
    """The value for ids out of range; by default NaN, or an unlikely integer."""
    value = eqn.params["fill_value"]
    if is_float(x.dtype):
        return math.nan if value is None else float(value)
    if value is not None and not math.isnan(value):
        return int(value)
    return {"bool": 1, "uint32": 2**32 - 1, "int64": -(2**63)}.get(x.dtype, -(2**31))


@handles("scatter-add", "scatter_add", "scatter-sub", "scatter-mul", "scatter", "scatter-max", "scatter-min")
def _scatter(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids, updates = operands(reader, eqn, values)
    numbers, p, name = eqn.params["dimension_numbers"], reader.program, eqn.primitive.name
    sizes = [1] * x.rank
    rest = [a for a in range(x.rank) if a not in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)]
    for place, a in zip(numbers.update_window_dims, rest):
        sizes[a] = updates.shape[place]
    at = Indexed(
        p, x, ids, numbers.scatter_dims_to_operand_dims, numbers.inserted_window_dims, sizes,
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, numbers.update_window_dims,
        _mode(eqn, "FILL_OR_DROP"),
    )  # fmt: skip
    if name == "scatter" and eqn.params["update_jaxpr"] is not None:
        raise Gap("a function of elements at ids (.at[].apply); .at[].set of its result is supported")
    if name == "scatter":
        return _set(p, at, x, updates)
    if name == "scatter-mul":
        return p.map("mul", x, _set(p, at, p.broadcast(p.number(1, x.dtype), x.shape, []), updates))
    if x.dtype == "bool":
        whole = p.convert(x, "int32")
        return p.convert(p.map(name[-3:], whole, at.extreme(p.convert(updates, "int32"), name[-3:])), "bool")
    if name in ("scatter-max", "scatter-min"):
        return p.map(name[-3:], x, at.extreme(updates, name[-3:]))
    added = at.add(p.map("neg", updates) if name == "scatter-sub" else updates)
    return added if uniform(x) == 0 else p.map("add", x, added)


def _set(p: Program, at: "Indexed", x: Array, updates: Array) -> Array:
    """x with elements replaced. Of several elements for one place, any may win."""
    value, flags = uniform(updates), x.dtype == "bool"
    count = at.add(p.materialise(p.broadcast(p.number(1.0, "float32"), updates.shape, [])))
    count = p.convert(count, x.dtype) if is_float(x.dtype) else count
    none = p.compare("less", count, p.number(0.5, count.dtype))
    if value is not None:  # all are the same, and so is the one that stays
        return p.select(none, x, p.number(value if is_float(x.dtype) else int(value), x.dtype))
    if at.differs(updates):
        raise Gap("several elements set at one place, any of which may win; distinct ids are supported")
    if flags:
        added = at.add(p.convert(updates, "float32"))
        return p.select(none, x, p.compare("greater", added, p.number(0.0, "float32")))
    # Of ids that are computed nobody knows before the run: what is set twice is no number.
    twice = p.number(math.nan if is_float(x.dtype) else -(2**31), x.dtype)
    once = p.select(p.compare("less", count, p.number(1.5, count.dtype)), at.add(updates), twice)
    return p.select(none, x, once)


class Indexed:
    """x at ids, as JAX writes it: from one number on for each of some axes of x.

    Axes of x that ids walk through in step with it (batching, or a column of ids that counts) are chosen along with
    `pick`, as are then all others; several indexed axes become one, with ids to match.  A part of an axis is an
    axis of ids more, which counts from the first on.  An id of one axis alone that is out of range takes zeros and
    puts nothing, as `embed` does; of several axes it is made so, lest as one it be that of another row.
    """

    def __init__(
        self, p: Program, x: Array, ids: Array, indexed: Sequence[int], gone: Sequence[int], sizes: Sequence[int],
        batching: Sequence[int], ids_batching: Sequence[int], offset: Sequence[int], mode: Mode,
    ) -> None:  # fmt: skip
        self.p, self.x, self.offset = p, x, tuple(offset)
        self.inner = ids.rank - 1  # axes of ids that are the program's own
        named = dict(zip(indexed, _columns(p, ids)))
        last = {a: x.shape[a] - sizes[a] for a in named}
        outside = [a for a in named if not _fits(named[a], last[a], mode.promised)]
        self.dropped = [] if mode.clamps else outside  # axes along which not all ids need be in range
        self.here = _between(p, [(named[a], last[a]) for a in self.dropped]) if self.dropped else None
        if mode.clamps:
            named.update((a, _clamped(p, named[a], last[a])) for a in outside if sizes[a] == 1)
        columns = {a: column for a, column in named.items() if sizes[a] == 1 or sizes[a] != x.shape[a]}
        self.parts = [a for a in range(x.rank) if a not in batching and sizes[a] not in (1, x.shape[a])]
        for axis in range(x.rank):
            if axis not in columns and axis not in batching and sizes[axis] != x.shape[axis]:
                columns[axis] = p.broadcast(p.number(0, "int32"), ids.shape[:-1], [])  # the first so many of it
        self.shape = (*ids.shape[:-1], *(sizes[a] for a in self.parts))
        self.batch: List[Tuple[int, int]] = list(zip(batching, ids_batching))
        keys: List[Tuple[int, Array]] = []
        for axis, column in columns.items():
            step = _counts_along(column, x.shape[axis]) if len(columns) > 1 else None
            if step is not None and sizes[axis] == 1 and all(step != a for _, a in self.batch):
                self.batch.append((axis, step))
            else:
                keys.append((axis, self._extended(axis, column)))
        if not columns:
            raise Gap("a gather without ids")
        if not keys:
            axis, _ = self.batch.pop()
            keys.append((axis, self._extended(axis, columns[axis])))
        taken = [a for a, _ in self.batch] + [a for a, _ in keys]
        self.keys = [axis for axis, _ in keys]
        self.rows = math.prod(x.shape[a] for a in self.keys)
        self.others = [a for a in range(x.rank) if a not in taken]
        self.slots = [a for a in range(x.rank) if a not in gone and a not in batching]
        self.ids = keys[0][1]
        for axis, column in keys[1:]:
            scaled = p.map("mul", self.ids, p.number(x.shape[axis], "int32"))
            self.ids = p.map("add", scaled, column)

    def _extended(self, axis: int, column: Array) -> Array:
        """The indices of an axis, with further axes, one for each part."""
        p, places = self.p, list(range(self.inner))
        if axis in self.parts and axis not in self.dropped:
            last = self.x.shape[axis] - self.shape[self.inner + self.parts.index(axis)]
            column = _within(p, column, last)
        column = p.broadcast(p.convert(column, "int32"), self.shape, places)
        if axis not in self.parts:
            return column
        at = self.inner + self.parts.index(axis)
        return p.map("add", column, p.broadcast(p.iota(self.shape[at], "int32"), self.shape, [at]))

    def differs(self, updates: Array) -> bool:
        """Whether repeated known ids have different updates, or unknown updates."""
        self._drop()
        value = given(self.ids)
        if value is None:
            return False
        there, apart = (value >= 0) & (value < self.rows), np.asarray(value, np.int64)
        for _, a in self.batch:  # each of a batch has places of its own
            apart = apart * self.shape[a] + np.arange(self.shape[a]).reshape([-1 if a == b else 1 for b in range(value.ndim)])
        _, first, which = np.unique(apart[there], return_index=True, return_inverse=True)
        if len(first) == which.size:
            return False
        rows = given(self._rows(updates)) if self.x.dtype == "bool" else None
        return rows is None or bool((rows[there] != rows[there][first][which.reshape(-1)]).any())

    def _table(self) -> Array:
        """x with its indexed axes merged in front."""
        order = [*self.keys, *self.others]
        table = self.p.transpose(self.x, order)
        return self.p.reshape(table, [self.rows, *(self.x.shape[a] for a in self.others)])

    def _in_step(self) -> List[int]:
        """Order of the axes of [ids, others] to pick single elements: axes of x that are no keys, then other axes of ids."""
        steps = dict(self.batch)
        steps.update((a, len(self.shape) + k) for k, a in enumerate(self.others))
        first = [steps[a] for a in sorted(steps)]
        return [*first, *(a for a in range(len(self.shape)) if a not in first)]

    def _every(self) -> Array:
        """One id per element."""
        others = [self.x.shape[a] for a in self.others]
        ids = self.p.broadcast(self.ids, [*self.shape, *others], list(range(len(self.shape))))
        return self.p.transpose(ids, self._in_step())

    def _places(self, rank: int) -> List[Optional[int]]:
        """For each axis of the result (or of updates) the matching axis of [ids, others]."""
        places: List[Optional[int]] = [None] * rank
        first = iter(range(self.inner))
        for place in range(rank):
            if place not in self.offset:
                places[place] = next(first)
        for place, a in zip(self.offset, self.slots):
            if a in self.parts:
                places[place] = self.inner + self.parts.index(a)
            elif a in self.others:
                places[place] = len(self.shape) + self.others.index(a)
        return places

    def _drop(self) -> None:
        """Replace ids out of range by -1 (no element)."""
        alone = len(self.keys) == 1 and self.keys == self.dropped and not self.parts
        if self.here is not None and not alone:
            here = self.p.broadcast(self.here, self.shape, list(range(self.inner)))
            self.ids = self.p.select(here, self.ids, self.p.number(-1, "int32"))
        self.here = None

    def take(self, shape: Sequence[int], fill: float) -> Array:
        """The elements, and `fill` for ids out of range."""
        p = self.p
        if fill == 0 or self.here is None:
            self._drop()
            return self._taken(shape)
        if self.x.dtype == "int64" and abs(fill) > 2**31:
            raise Gap("ids that may be out of range, of 64-bit integers; set fill_value")
        places = [at if at is not None and at < self.inner else None for at in self._places(len(shape))]
        return p.select(p.view(self.here, places, shape), self._taken(shape), p.number(fill, self.x.dtype))

    def _taken(self, shape: Sequence[int]) -> Array:
        p = self.p
        if self.batch:
            order = self._in_step()
            rest = [a for a in range(self.x.rank) if a not in self.keys]
            x = p.transpose(self.x, [*rest, *self.keys])
            x = p.reshape(x, [*(self.x.shape[a] for a in rest), self.rows])
            picked = p.pick(x, self._every(), x.rank - 1)
            rows = p.transpose(picked, [order.index(a) for a in range(len(order))])
        elif (row := uniform(self.ids)) is not None and 0 <= row < self.rows:
            one = p.slice(self._table(), 0, int(row), 1)
            places = [len(self.shape) + k for k in range(one.rank - 1)]
            one = p.view(one, list(range(1, one.rank)), one.shape[1:])
            rows = p.broadcast(one, [*self.shape, *one.shape], places)
        elif (by := _turned(self.ids, self.rows)) is not None:
            rows = p.along("shift", self._table(), 0, by=by) if by else self._table()
        else:
            rows = p.embed(self._table(), self.ids)
        return p.view(rows, self._places(len(shape)), shape)

    def _rows(self, updates: Array) -> Array:
        """Updates with the axes [ids, others]."""
        source: List[Optional[int]] = [None] * (len(self.shape) + len(self.others))
        for place, at in enumerate(self._places(updates.rank)):
            if at is not None:
                source[at] = place
        shape = [*self.shape, *(self.x.shape[a] for a in self.others)]
        return self.p.view(updates, source, shape)

    def _as_x(self, made: Array) -> Array:
        """The keys merged into one axis, then the other axes in x's order."""
        order = [*self.keys, *self.others]
        made = self.p.reshape(made, [self.x.shape[a] for a in order])
        return self.p.transpose(made, [order.index(a) for a in range(self.x.rank)])

    def add(self, updates: Array) -> Array:
        """Zeros like x with updates added at the ids."""
        p, x, rows = self.p, self.x, self._rows(updates)
        self._drop()
        if self.batch:
            order = self._in_step()
            rest = [a for a in range(x.rank) if a not in self.keys]
            made = p.pick_add(p.transpose(rows, order), self._every(), len(rest), self.rows, len(order) - len(rest))
            made = p.reshape(made, [*(x.shape[a] for a in rest), *(x.shape[a] for a in self.keys)])
            return p.transpose(made, [[*rest, *self.keys].index(a) for a in range(x.rank)])
        row = uniform(self.ids)
        if row is not None and 0 <= row < self.rows:
            one = p.reduce("sum", rows, list(range(len(self.shape))))
            one = p.view(one, [None, *range(one.rank)], [1, *one.shape])
            return self._as_x(p.pad(one, 0, int(row), self.rows - int(row) - 1))
        return self._as_x(p.embed_add(rows, self.ids, self.rows))

    def extreme(self, updates: Array, fn: str) -> Array:
        """The largest or smallest update at each place, and infinity without an update."""
        if self.batch:
            raise Gap(f"the {fn} at ids along a batch; for rows it is supported")
        self._drop()
        return self._as_x(self.p.extreme_at(self._rows(updates), self.ids, self.rows, fn))


def _fits(ids: Array, last: int, promised: bool) -> bool:
    """Whether ids are in range: a promise is trusted unless known ids break it."""
    return inside(ids, last) or (promised and given(ids) is None)


def _clamped(p: Program, ids: Array, last: int) -> Array:
    same = uniform(ids)
    if same is None:
        return _within(p, ids, last)
    return p.broadcast(p.number(min(max(int(same), 0), last), "int32"), ids.shape, [])


def _between(p: Program, columns: Sequence[Tuple[Array, int]]) -> Array:
    """Mask of rows whose numbers are in range in every column."""
    tests: List[Array] = []
    for ids, last in columns:
        low, high = Ranges(last).of(ids)
        if low < 0:
            tests.append(p.compare("greater_equal", ids, p.number(0, ids.dtype)))
        if high > last:
            tests.append(p.compare("less_equal", ids, p.number(last, ids.dtype)))
    made = tests[0]
    for test in tests[1:]:
        made = p.logic("and", made, test)
    return made


def _columns(p: Program, ids: Array) -> List[Array]:
    """The components of each index, split along the last axis."""
    kept, shape = list(range(ids.rank - 1)), ids.shape[:-1]
    parts = [p.slice(ids, ids.rank - 1, k, 1) for k in range(ids.shape[-1])]
    if ids.op == "concat" and ids.attrs["axis"] == ids.rank - 1 and len(ids.inputs) == ids.shape[-1]:
        parts = list(ids.inputs)
    return [p.view(part, kept, shape) for part in parts]


def _counts_along(ids: Array, size: int) -> Optional[int]:
    """The axis along which constant ids are 0, 1, 2, ... up to `size`, equal along the rest."""
    value = known(ids)
    if value is None or size == 1:
        return None
    for axis in range(ids.rank):
        if ids.shape[axis] == size:
            shape = [size if a == axis else 1 for a in range(ids.rank)]
            if (value == np.arange(size).reshape(shape)).all():
                return axis
    return None


def _turned(ids: Array, size: int) -> Optional[int]:
    """The shift if the ids are all rows, rotated."""
    value = known(ids)
    if value is None or value.shape != (size,) or not 0 <= value[0] < size:
        return None
    by = int(-value[0] % size)
    return by if (value == (np.arange(size) - by) % size).all() else None


@handles("dynamic_slice")
def _dynamic_slice(reader: Reader, eqn: Any, values: List[Real]) -> Array:
    x, p = reader.lift(values[0]), reader.program
    for axis, (start, size) in enumerate(zip(values[1:], eqn.params["slice_sizes"])):
        if size == x.shape[axis]:
            continue
        if not isinstance(start, Array):
            x = p.slice(x, axis, min(max(int(start), 0), x.shape[axis] - size), size)
            continue
        x = p.rows_at(x, _moved(p, p.iota(size, "int32"), _within(p, start, x.shape[axis] - size), "add"), axis)
    return x


def _within(p: Program, places: Array, last: int) -> Array:
    """Start indices clamped as in JAX: from 0 to the last index where the slice fits."""
    return p.map("min", p.map("max", p.convert(places, "int32"), p.number(0, "int32")), p.number(last, "int32"))


def _moved(p: Program, places: Array, start: Array, fn: str) -> Array:
    return p.map(fn, places, p.broadcast(start, places.shape, []))


@handles("dynamic_update_slice")
def _dynamic_update(reader: Reader, eqn: Any, values: List[Real]) -> Array:
    x, update = (reader.lift(v) for v in values[:2])
    p = reader.program
    cut = [a for a in range(x.rank) if update.shape[a] != x.shape[a]]
    inside: Optional[Array] = None
    for axis in cut:
        n, size, start = x.shape[axis], update.shape[axis], values[2 + axis]
        first = (
            _within(p, start, n - size) if isinstance(start, Array) else p.number(min(max(int(start), 0), n - size), "int32")
        )
        # Where the update lies, and which of its elements is there.
        at = _moved(p, p.iota(n, "int32"), first, "sub")
        here = p.logic("and", p.compare("greater_equal", at, p.number(0, "int32")), p.compare("less", at, p.number(size, "int32")))
        here = p.broadcast(here, x.shape, [axis])
        inside = here if inside is None else p.logic("and", inside, here)
        if size == 1:
            continue
        update = p.rows_at(update, _within(p, at, size - 1), axis)
    if inside is None:
        return update
    return p.select(inside, update, x)


@handles("top_k")
def _top_k(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, k, p = reader.lift(values[0]), eqn.params["k"], reader.program
    axis = eqn.params.get("axis", -1) % x.rank
    if axis != x.rank - 1:
        raise Gap("top-k along another axis than the last")
    ids = p.along("topk", x, axis, k, dtype="int32")
    return [p.pick(x, ids, axis), ids]


@handles("sort")
def _sort(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, axis, p = operands(reader, eqn, values), eqn.params["dimension"], reader.program
    order = p.argsort(x[eqn.params["num_keys"] - 1], axis)
    for key in reversed(x[: eqn.params["num_keys"] - 1]):  # the first key last: equals stay in the order of the others
        order = p.take_along(order, p.argsort(p.take_along(key, order, axis), axis), axis)
    sorts = [_counts_along(v, v.shape[axis]) == axis for v in x]
    return [order if same else p.take_along(v, order, axis) for v, same in zip(x, sorts)]
