"""Equations of JAX that take elements by ids, and put them."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from .arrays import Array, Gap, Program, uniform
from .jax_reader import Reader, Value, handles, operands


@handles("gather")
def _gather(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids = operands(reader, eqn, values)
    numbers, sizes, p = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], reader.program
    at = Indexed(
        p, x, ids, numbers.start_index_map, numbers.collapsed_slice_dims, sizes,
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, numbers.offset_dims,
    )  # fmt: skip
    return at.take(eqn.outvars[0].aval.shape)


@handles("scatter-add", "scatter_add", "scatter")
def _scatter(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids, updates = operands(reader, eqn, values)
    numbers, p = eqn.params["dimension_numbers"], reader.program
    sizes = [1] * x.rank
    rest = [a for a in range(x.rank) if a not in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)]
    for place, a in zip(numbers.update_window_dims, rest):
        sizes[a] = updates.shape[place]
    at = Indexed(
        p, x, ids, numbers.scatter_dims_to_operand_dims, numbers.inserted_window_dims, sizes,
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, numbers.update_window_dims,
    )  # fmt: skip
    added = at.add(updates)
    if eqn.primitive.name != "scatter":
        return added if uniform(x) == 0 else p.map("add", x, added)
    # Elements that are set: where several are, which one stays is not said, and the result is no number.
    one = p.broadcast(p.number(1.0, "float32"), updates.shape, [])
    count = p.convert(at.add(p.materialise(one)), x.dtype)
    once = p.select(p.compare("less", count, p.number(1.5, x.dtype)), added, p.number(math.nan, x.dtype))
    return p.select(p.compare("less", count, p.number(0.5, x.dtype)), x, once)


class Indexed:
    """x at ids, as JAX writes it: by one number for each of some axes of x.

    Axes of x that ids walk through in step with it (batching, or a column of ids that counts) are chosen along with
    `pick`; several indexed axes become one, with ids to match; and all others are whole.
    """

    def __init__(
        self, p: Program, x: Array, ids: Array, indexed: Sequence[int], gone: Sequence[int], sizes: Sequence[int],
        batching: Sequence[int], ids_batching: Sequence[int], offset: Sequence[int],
    ) -> None:  # fmt: skip
        self.p, self.x, self.offset = p, x, tuple(offset)
        self.shape = ids.shape[:-1]
        columns = _columns(p, ids)
        self.batch: List[Tuple[int, int]] = list(zip(batching, ids_batching))
        keys: List[Tuple[int, Array]] = []
        for axis, column in zip(indexed, columns):
            if sizes[axis] != 1 and sizes[axis] != x.shape[axis]:
                raise Gap("ids of parts of rows; jnp.take or jnp.take_along_axis along one axis is known")
            step = _counts_along(column, x.shape[axis]) if len(columns) > 1 else None
            if step is not None and all(step != a for _, a in self.batch):
                self.batch.append((axis, step))
            else:
                keys.append((axis, column))
        taken = [a for a, _ in self.batch] + [a for a, _ in keys]
        for axis in range(x.rank):
            if axis not in taken and sizes[axis] != x.shape[axis]:
                raise Gap("ids of parts of rows; jnp.take or jnp.take_along_axis along one axis is known")
        if not keys or (self.batch and len(taken) != x.rank):
            raise Gap("ids of rows of several axes at once; jnp.take or jnp.take_along_axis along one axis is known")
        self.keys = [axis for axis, _ in keys]
        self.rows = math.prod(x.shape[a] for a in self.keys)
        self.others = [a for a in range(x.rank) if a not in taken]
        self.slots = [a for a in range(x.rank) if a not in gone and a not in batching]
        self.ids = keys[0][1]
        for axis, column in keys[1:]:
            scaled = p.map("mul", self.ids, p.number(x.shape[axis], "int32"))
            self.ids = p.map("add", scaled, column)

    def _table(self) -> Array:
        """x with its indexed axes first, as one."""
        order = [*self.keys, *self.others]
        table = self.p.transpose(self.x, order)
        return self.p.reshape(table, [self.rows, *(self.x.shape[a] for a in self.others)])

    def _ids_order(self) -> List[int]:
        """Axes of ids: first those in step with x, in the order of x."""
        first = [at for _, at in sorted(self.batch)]
        return [*first, *(a for a in range(len(self.shape)) if a not in first)]

    def _places(self, rank: int) -> List[Optional[int]]:
        """For each axis of the result (or of updates) the axis of [ids, rows] that it is."""
        places: List[Optional[int]] = [None] * rank
        first = iter(range(len(self.shape)))
        for place in range(rank):
            if place not in self.offset:
                places[place] = next(first)
        for place, a in zip(self.offset, self.slots):
            places[place] = len(self.shape) + self.others.index(a) if a in self.others else None
        return places

    def take(self, shape: Sequence[int]) -> Array:
        p = self.p
        if self.batch:
            order = self._ids_order()
            (key,) = self.keys
            picked = p.pick(self.x, p.transpose(self.ids, order), key)
            rows = p.transpose(picked, [order.index(a) for a in range(len(order))])
        elif (row := uniform(self.ids)) is not None and 0 <= row < self.rows:
            one = p.slice(self._table(), 0, int(row), 1)
            places = [len(self.shape) + k for k in range(one.rank - 1)]
            one = p.view(one, list(range(1, one.rank)), one.shape[1:])
            rows = p.broadcast(one, [*self.shape, *one.shape], places)
        else:
            rows = p.embed(self._table(), self.ids)
        return p.view(rows, self._places(len(shape)), shape)

    def add(self, updates: Array) -> Array:
        """Zeros like x with updates added at the ids."""
        p, x = self.p, self.x
        places = self._places(updates.rank)
        source: List[int] = [0] * (len(self.shape) + len(self.others))
        for place, at in enumerate(places):
            if at is not None:
                source[at] = place
        rows = p.view(updates, source, [updates.shape[a] for a in source])
        if self.batch:
            order = self._ids_order()
            (key,) = self.keys
            choices = len(order) - len(self.batch)
            return p.pick_add(p.transpose(rows, order), p.transpose(self.ids, order), key, x.shape[key], choices)
        row = uniform(self.ids)
        if row is not None and 0 <= row < self.rows:
            one = p.reduce("sum", rows, list(range(len(self.shape))))
            one = p.view(one, [None, *range(one.rank)], [1, *one.shape])
            added = p.pad(one, 0, int(row), self.rows - int(row) - 1)
        else:
            added = p.embed_add(rows, self.ids, self.rows)
        order = [*self.keys, *self.others]
        added = p.reshape(added, [x.shape[a] for a in order])
        return p.transpose(added, [order.index(a) for a in range(x.rank)])


def _columns(p: Program, ids: Array) -> List[Array]:
    """The numbers of each index, without the last axis, along which they lie."""
    kept, shape = list(range(ids.rank - 1)), ids.shape[:-1]
    parts = [p.slice(ids, ids.rank - 1, k, 1) for k in range(ids.shape[-1])]
    if ids.op == "concat" and ids.attrs["axis"] == ids.rank - 1 and len(ids.inputs) == ids.shape[-1]:
        parts = list(ids.inputs)
    return [p.view(part, kept, shape) for part in parts]


def _counts_along(ids: Array, size: int) -> Optional[int]:
    """The axis along which constant ids are 0, 1, 2, ... up to `size`, and equal along all others."""
    value = _known(ids)
    if value is None or size == 1:
        return None
    for axis in range(ids.rank):
        if ids.shape[axis] == size:
            shape = [size if a == axis else 1 for a in range(ids.rank)]
            if (value == np.arange(size).reshape(shape)).all():
                return axis
    return None


def _known(x: Array) -> Optional[np.ndarray]:
    """The value of an array that is known here."""
    if x.op == "leaf" and x.attrs.get("constant"):
        return np.asarray(x.attrs["value"])
    if x.op == "number":
        return np.asarray(x.attrs["value"])
    if x.op == "iota":
        return np.arange(x.shape[0])
    if x.op not in ("view", "reshape"):
        return None
    value = _known(x.inputs[0])
    if value is None:
        return None
    if x.op == "reshape":
        return value.reshape(x.shape)
    kept = [at for at in x.attrs["source"] if at is not None]
    value = value.squeeze(tuple(a for a in range(value.ndim) if a not in kept)).transpose(np.argsort(np.argsort(kept)))
    sizes = [1 if at is None else x.inputs[0].shape[at] for at in x.attrs["source"]]
    return np.broadcast_to(value.reshape(sizes), x.shape)


@handles("dynamic_slice")
def _dynamic_slice(reader: Reader, eqn: Any, values: List[Value]) -> Array:
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
    """Places as JAX takes them: from 0 to the last one where all fits."""
    return p.map("min", p.map("max", p.convert(places, "int32"), p.number(0, "int32")), p.number(last, "int32"))


def _moved(p: Program, places: Array, start: Array, fn: str) -> Array:
    return p.map(fn, places, p.broadcast(start, places.shape, []))


@handles("dynamic_update_slice")
def _dynamic_update(reader: Reader, eqn: Any, values: List[Value]) -> Array:
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
        raise Gap("the largest along another axis than the last")
    ids = p.along("topk", x, axis, k, dtype="int32")
    return [p.pick(x, ids, axis), ids]


@handles("sort")
def _sort(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, axis, p = operands(reader, eqn, values), eqn.params["dimension"], reader.program
    if eqn.params["num_keys"] != 1:
        raise Gap("a sort by several keys")
    order = p.argsort(x[0], axis)
    sorts = [_counts_along(v, v.shape[axis]) == axis for v in x]
    return [order if same else p.take_along(v, order, axis) for v, same in zip(x, sorts)]
