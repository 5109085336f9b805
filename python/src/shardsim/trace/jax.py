"""A function in JAX as a traced program: its jaxpr, equation by equation."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import math
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import jax
import numpy as np
from jax.extend import core

from .arrays import Array, Gap, Program, is_float, uniform
from .traced import Traced

#: Elements of a constant that is worked out here; larger ones are ops of the program.
CONSTANT_MOST = 1 << 18

#: What an equation reads: an array of the program, or a constant.
Value = Union[Array, np.ndarray]

Spec = Tuple[Any, ...]


def from_jax(
    fn: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    in_specs: Any = (),
    out_specs: Any = None,
    name: Optional[str] = None,
) -> Traced:
    """A function of arrays, as JAX traces it, laid out over a mesh.

    `args` are arrays, or shapes alone (jax.ShapeDtypeStruct).  `in_specs` is a tree of specs like `args`, or rules
    [(pattern, spec), ...] over the paths of arguments, of which the first found wins; others are whole on each
    device.  `out_specs`: a tree of specs like the results; without it they stay where they are made.
    """
    shape = {axis: int(size) for axis, size in mesh.items()}
    axis_types = (jax.sharding.AxisType.Auto,) * len(shape)
    ambient = jax.sharding.AbstractMesh(tuple(shape.values()), tuple(shape), axis_types=axis_types)
    with jax.sharding.use_abstract_mesh(ambient):
        closed, out_shape = jax.make_jaxpr(fn, return_shape=True)(*args)
    program = Program(name or getattr(fn, "__name__", "step"))
    reader = Reader(program)
    leaves = _paths(fn, args)
    specs = _specs(leaves, args, in_specs)
    inputs: List[Value] = []
    for (path, value), spec in zip(leaves, specs):
        known = value if isinstance(value, (np.ndarray, np.generic, jax.Array, int, float, bool)) else None
        array = None if known is None else np.asarray(known)
        aval = jax.typeof(value) if not isinstance(value, jax.ShapeDtypeStruct) else value
        inputs.append(program.leaf(path, aval.shape, str(aval.dtype), array, spec))
    results = reader.read(closed.jaxpr, closed.consts, inputs)
    flat, tree = jax.tree.flatten(out_shape)
    wanted: List[Optional[Spec]] = [None] * len(flat)
    if out_specs is not None:
        wanted = [_spec(s) for s in tree.flatten_up_to(out_specs)]
    outputs = []
    for k, (value, spec) in enumerate(zip(results, wanted)):
        array = reader.lift(value)
        outputs.append(array if spec is None else program.constraint(array, spec))
    return Traced(program, shape, outputs, lambda arrays: jax.tree.unflatten(tree, arrays), gaps=reader.gaps)


def _paths(fn: Callable[..., Any], args: Sequence[Any]) -> List[Tuple[str, Any]]:
    """Leaves of the arguments with their paths: the argument's name, then keys, indices and fields."""
    try:
        names = [p.name for p in inspect.signature(fn).parameters.values()]
    except (TypeError, ValueError):
        names = []
    found = []
    for k, arg in enumerate(args):
        first = names[k] if k < len(names) else f"arg{k}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(arg):
            found.append(("/".join([first, *(_key(p) for p in path)]), leaf))
    return found


def _key(entry: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _spec(spec: Any) -> Spec:
    """A spec as a tuple: None is an array that is whole everywhere."""
    if spec is None:
        return ()
    return tuple(tuple(e) if isinstance(e, list) else e for e in spec)


def _are_rules(specs: Any) -> bool:
    return isinstance(specs, (list, tuple)) and all(
        isinstance(r, (list, tuple)) and len(r) == 2 and isinstance(r[0], str) and not isinstance(r[1], str) for r in specs
    )


def _specs(leaves: Sequence[Tuple[str, Any]], args: Sequence[Any], specs: Any) -> List[Spec]:
    if _are_rules(specs):
        return [next((_spec(s) for pattern, s in specs if re.search(pattern, path)), ()) for path, _ in leaves]
    tree = jax.tree.structure(tuple(args))
    return [_spec(s) for s in tree.flatten_up_to(tuple(specs))]


class Reader:
    """Reads equations into a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.gaps: List[str] = []
        self._lifted: Dict[int, Tuple[np.ndarray, Array]] = {}
        self._constants = 0

    # ---- values

    def lift(self, value: Value, dtype: Optional[str] = None) -> Array:
        """A constant as an array of the program: a number if all its elements are equal."""
        if isinstance(value, Array):
            return value
        known = self._lifted.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        array = np.asarray(value)
        name = dtype or str(array.dtype)
        first = array.reshape(-1)[:1]
        if array.size and ((array == first).all() or (array != array).all()):
            item = first[0]
            number = float(item) if is_float(name) else int(item)
            lifted = self.program.broadcast(self.program.number(number, name), array.shape, [])
            if not array.shape:
                lifted = self.program.number(number, name)
        else:
            self._constants += 1
            lifted = self.program.leaf(f"constants/{self._constants}", array.shape, name, array)
            lifted.attrs["constant"] = True
        self._lifted[id(value)] = (value, lifted)
        return lifted

    def read(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Value]) -> List[Value]:
        env: Dict[Any, Value] = {}

        def get(atom: Any) -> Value:
            return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, core.Literal) else env[atom]

        for var, const in zip(jaxpr.constvars, consts):
            env[var] = const if isinstance(const, Array) else np.asarray(const)
        env.update(zip(jaxpr.invars, inputs))
        for eqn in jaxpr.eqns:
            self._place(eqn)
            values = [get(a) for a in eqn.invars]
            results = self._equation(eqn, values)
            env.update(zip(eqn.outvars, results))
        return [get(a) for a in jaxpr.outvars]

    def _place(self, eqn: Any) -> None:
        frame = None
        try:
            from jax._src import source_info_util

            frame = source_info_util.user_frame(eqn.source_info.traceback)
        except Exception:  # a place is a help, and no more
            frame = None
        if frame is not None:
            self.program.where = f"{frame.file_name}:{frame.start_line}"
            self.program.scope = frame.function_name.split(".")[-1]

    def _equation(self, eqn: Any, values: List[Value]) -> List[Value]:
        name = eqn.primitive.name
        inner = INNER.get(name)
        if inner is not None:
            return inner(self, eqn, values)
        if self._is_constant(eqn, values):
            results = eqn.primitive.bind(*values, **eqn.params)
            results = results if eqn.primitive.multiple_results else [results]
            return [np.asarray(r) for r in results]
        handler = HANDLERS.get(name)
        try:
            if handler is None:
                raise Gap(f"the operation '{name}' is not known")
            made = handler(self, eqn, values)
        except Gap as gap:
            self.gaps.append(f"{self.program.where}: {gap}")
            made = [self.program.leaf(f"gap/{len(self.gaps)}", v.aval.shape, str(v.aval.dtype)) for v in eqn.outvars]
        return list(made) if isinstance(made, (list, tuple)) else [made]

    @staticmethod
    def _is_constant(eqn: Any, values: Sequence[Value]) -> bool:
        """Whether an equation is worked out here: of constants, small, and not a mere repetition."""
        if any(isinstance(v, Array) for v in values) or eqn.effects:
            return False
        size = sum(math.prod(v.aval.shape) for v in eqn.outvars)
        if eqn.primitive.name == "broadcast_in_dim":
            return size <= max(64, values[0].size)  # type: ignore[union-attr]
        return size <= CONSTANT_MOST and not any(
            jax.dtypes.issubdtype(v.aval.dtype, jax.dtypes.extended) for v in eqn.outvars
        )


Handler = Callable[[Reader, Any, List[Any]], Any]
HANDLERS: Dict[str, Handler] = {}
INNER: Dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        HANDLERS.update((name, handler) for name in names)
        return handler

    return add


def goes_into(*names: str) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        INNER.update((name, handler) for name in names)
        return handler

    return add


# ---- equations with a program inside


@goes_into("jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call",
           "custom_vjp_call_jaxpr", "custom_lin")  # fmt: skip
def _call(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None:
            break
    else:
        raise Gap(f"'{eqn.primitive.name}' without a program inside")
    if hasattr(inner, "jaxpr"):
        return reader.read(inner.jaxpr, inner.consts, values)
    return reader.read(inner, (), values)


@goes_into("cond")
def _cond(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    which, operands = values[0], values[1:]
    branches = eqn.params["branches"]
    if not isinstance(which, Array):
        branch = branches[min(max(int(which), 0), len(branches) - 1)]
        return reader.read(branch.jaxpr, branch.consts, operands)
    # Both are computed, and one is chosen.
    results = [reader.read(b.jaxpr, b.consts, operands) for b in branches]
    p = reader.program
    chosen: List[Value] = list(results[0])
    for k, other in enumerate(results[1:], 1):
        test = p.compare("greater_equal", p.convert(which, "int32"), p.number(k, "int32"))
        chosen = [p.select(_spread(reader, test, reader.lift(a)), reader.lift(b), reader.lift(a)) for a, b in zip(chosen, other)]
    return chosen


def _spread(reader: Reader, scalar: Array, like: Array) -> Array:
    return scalar if scalar.rank else reader.program.broadcast(scalar, like.shape, [])


@goes_into("scan")
def _scan(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    """Unrolled: layers are as if they were written one after the other."""
    p, params = reader.program, eqn.params
    inner, length = params["jaxpr"], params["length"]
    nconsts, ncarry = params["num_consts"], params["num_carry"]
    consts, carry, xs = values[:nconsts], list(values[nconsts : nconsts + ncarry]), values[nconsts + ncarry :]
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    rows: List[List[Value]] = [[] for _ in range(len(eqn.outvars) - ncarry)]
    for i in order:
        parts = [x[i] if not isinstance(x, Array) else _element(p, x, i) for x in xs]
        out = reader.read(inner.jaxpr, inner.consts, [*consts, *carry, *parts])
        carry = out[:ncarry]
        for row, value in zip(rows, out[ncarry:]):
            row.append(value)
    stacked = []
    for row in rows:
        parts = row[::-1] if params["reverse"] else row
        stacked.append(_stack(reader, parts, 0))
    return [*carry, *stacked]


def _element(p: Program, x: Array, i: int) -> Array:
    """x[i]."""
    row = p.slice(x, 0, i, 1)
    return p.view(row, list(range(1, x.rank)), x.shape[1:])


def _stack(reader: Reader, parts: Sequence[Value], axis: int) -> Value:
    if all(not isinstance(v, Array) for v in parts):
        return np.stack([np.asarray(v) for v in parts], axis)
    p = reader.program
    rows = []
    for value in parts:
        x = reader.lift(value)
        shape = [*x.shape[:axis], 1, *x.shape[axis:]]
        rows.append(p.view(x, [*range(axis), None, *range(axis, x.rank)], shape))
    return p.concat(rows, axis)


# ---- elementwise

SAME = {
    "neg": "neg", "exp": "exp", "exp2": "exp2", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh",
    "sin": "sin", "cos": "cos", "tan": "tan", "log1p": "log1p", "expm1": "expm1", "erf": "erf", "erfc": "erfc",
    "logistic": "sigmoid", "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil",
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max", "min": "min",
    "pow": "pow", "rem": "rem", "atan2": "atan2",
    "shift_left": "shift_left", "shift_right_logical": "shift_right",
}  # fmt: skip
COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip


def _operands(reader: Reader, eqn: Any, values: Sequence[Value]) -> List[Array]:
    return [reader.lift(v) for v in values]


@handles(*SAME)
def _same(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = _operands(reader, eqn, values)
    p, name, dtype = reader.program, eqn.primitive.name, str(eqn.outvars[0].aval.dtype)
    if dtype == "bool":
        return p.logic({"max": "or", "min": "and", "add": "or", "mul": "and"}[name], *x)
    if name == "pow":
        x = [p.convert(v, dtype) for v in x]
    return p.map(SAME[name], *x, dtype=dtype)


@handles(*COMPARISONS)
def _compare(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.compare(COMPARISONS[eqn.primitive.name], *_operands(reader, eqn, values))


@handles("and", "or", "not", "xor")
def _logic(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = _operands(reader, eqn, values)
    if str(eqn.outvars[0].aval.dtype) == "bool":
        return reader.program.logic(eqn.primitive.name, *x)
    return reader.program.map("bit_" + eqn.primitive.name, *x)


@handles("is_finite")
def _finite(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = reader.lift(values[0])
    return reader.program.map("finite", x, dtype="bool", carrier=x.carrier)


@handles("square")
def _square(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = reader.lift(values[0])
    return reader.program.map("mul", x, x)


@handles("integer_pow")
def _integer_pow(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, y, p = reader.lift(values[0]), eqn.params["y"], reader.program
    power, result, left = x, None, abs(y)
    while left:
        if left & 1:
            result = power if result is None else p.map("mul", result, power)
        left >>= 1
        if left:
            power = p.map("mul", power, power)
    if result is None:
        return p.broadcast(p.number(1.0, x.dtype), x.shape, [])
    return p.map("div", p.number(1.0, x.dtype), result) if y < 0 else result


@handles("round")
def _round(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    if eqn.params["rounding_method"].name != "TO_NEAREST_EVEN":
        raise Gap("rounding of halves away from zero; jnp.round rounds them to the even number")
    return reader.program.map("round", reader.lift(values[0]))


@handles("clamp")
def _clamp(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    low, x, high = _operands(reader, eqn, values)
    p = reader.program
    return p.map("min", p.map("max", x, low, dtype=x.dtype), high, dtype=x.dtype)


@handles("select_n")
def _select(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    which, *cases = _operands(reader, eqn, values)
    p = reader.program
    if len(cases) != 2 or which.dtype != "bool":
        raise Gap("a choice among more than two cases")
    return p.select(_spread(reader, which, cases[0]), cases[1], cases[0])


@handles("convert_element_type", "reduce_precision")
def _convert(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.convert(reader.lift(values[0]), str(eqn.outvars[0].aval.dtype))


@handles("stop_gradient", "copy", "copy_p", "device_put", "optimization_barrier", "pvary", "name")
def _as_it_is(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    return list(values)


# ---- arrangement


@handles("broadcast_in_dim")
def _broadcast(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.broadcast(reader.lift(values[0]), eqn.params["shape"], eqn.params["broadcast_dimensions"])


@handles("reshape")
def _reshape(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.reshape(reader.lift(values[0]), eqn.params["new_sizes"])


@handles("squeeze", "expand_dims")
def _squeeze(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.reshape(reader.lift(values[0]), eqn.outvars[0].aval.shape)


@handles("transpose")
def _transpose(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.transpose(reader.lift(values[0]), eqn.params["permutation"])


@handles("iota")
def _iota(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    p, shape, at = reader.program, eqn.params["shape"], eqn.params["dimension"]
    return p.broadcast(p.iota(shape[at], str(eqn.params["dtype"])), shape, [at])


@handles("slice")
def _slice(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, p = reader.lift(values[0]), reader.program
    strides = eqn.params["strides"] or (1,) * x.rank
    for axis, (start, limit, stride) in enumerate(zip(eqn.params["start_indices"], eqn.params["limit_indices"], strides)):
        x = _strided(p, x, axis, start, limit, stride)
    return x


def _strided(p: Program, x: Array, axis: int, start: int, limit: int, stride: int) -> Array:
    """Every stride-th element, as the first of each group of so many."""
    count = -(-(limit - start) // stride)
    if stride == 1 or count <= 1:
        return p.slice(x, axis, start, count)
    extent = x.shape[axis]
    x = p.slice(x, axis, start, min(extent - start, count * stride))
    x = p.pad(x, axis, 0, count * stride - x.shape[axis])
    shape = list(x.shape)
    grouped = p.reshape(x, [*shape[:axis], count, stride, *shape[axis + 1 :]])
    first = p.slice(grouped, axis + 1, 0, 1)
    shape[axis] = count
    return p.reshape(first, shape)


@handles("pad")
def _pad(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, p = reader.lift(values[0]), reader.program
    if isinstance(values[1], Array) or np.asarray(values[1]).ndim:
        raise Gap("padding with a value that is computed")
    value = float(np.asarray(values[1]))
    for axis, (low, high, interior) in enumerate(eqn.params["padding_config"]):
        if interior and x.shape[axis] > 1:
            x = _interior(p, x, axis, interior, value)
        x = p.pad(x, axis, low, high, value)
    return x


def _interior(p: Program, x: Array, axis: int, interior: int, value: float) -> Array:
    """`interior` elements between each two."""
    n, shape = x.shape[axis], list(x.shape)
    x = p.reshape(x, [*shape[:axis], n, 1, *shape[axis + 1 :]])
    x = p.pad(x, axis + 1, 0, interior, value)
    shape[axis] = n * (interior + 1)
    return p.slice(p.reshape(x, shape), axis, 0, n * (interior + 1) - interior)


@handles("concatenate")
def _concatenate(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.concat(_operands(reader, eqn, values), eqn.params["dimension"])


@handles("split")
def _split(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, axis, at, parts = reader.lift(values[0]), eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        parts.append(reader.program.slice(x, axis, at, size))
        at += size
    return parts


@handles("stack")
def _stack_equation(reader: Reader, eqn: Any, values: List[Value]) -> Value:
    return _stack(reader, values, eqn.params["axis"])


@handles("unstack")
def _unstack(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, axis, p = reader.lift(values[0]), eqn.params["axis"], reader.program
    rest = [a for a in range(x.rank) if a != axis]
    return [p.view(p.slice(x, axis, i, 1), rest, [x.shape[a] for a in rest]) for i in range(x.shape[axis])]


@handles("rev")
def _reverse(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = reader.lift(values[0])
    for axis in eqn.params["dimensions"]:
        if x.shape[axis] != 1:
            x = reader.program.along("reverse", x, axis)
    return x


# ---- products and sums


@handles("dot_general")
def _dot(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    a, b = _operands(reader, eqn, values)
    (a_sum, b_sum), (a_batch, b_batch) = eqn.params["dimension_numbers"]
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    a_labels, b_labels = [""] * a.rank, [""] * b.rank
    for i, j in [*zip(a_batch, b_batch), *zip(a_sum, b_sum)]:
        a_labels[i] = b_labels[j] = next(letters)
    for labels in (a_labels, b_labels):
        for i, label in enumerate(labels):
            labels[i] = label or next(letters)
    out = [a_labels[i] for i in a_batch]
    out += [c for i, c in enumerate(a_labels) if i not in a_batch and i not in a_sum]
    out += [c for i, c in enumerate(b_labels) if i not in b_batch and i not in b_sum]
    dtype = str(eqn.outvars[0].aval.dtype)
    p = reader.program
    a, b = p.convert(a, dtype), p.convert(b, dtype)
    return p.einsum(a, b, "".join(a_labels), "".join(b_labels), "".join(out), dtype)


@handles("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
def _reduce(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    fn = eqn.primitive.name.split("_")[1]
    return reader.program.reduce({"and": "min", "or": "max"}.get(fn, fn), reader.lift(values[0]), eqn.params["axes"])


@handles("argmax", "argmin")
def _argmax(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    made = reader.program.reduce(eqn.primitive.name, reader.lift(values[0]), eqn.params["axes"])
    made.dtype = made.carrier = "int32"
    return made


@handles("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _cumulative(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    options = {"reverse": True} if eqn.params["reverse"] else {}
    return reader.program.along(eqn.primitive.name, reader.lift(values[0]), eqn.params["axis"], **options)


@handles("sharding_constraint")
def _constraint(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.constraint(reader.lift(values[0]), _spec(tuple(eqn.params["sharding"].spec)))


# ---- by ids


@handles("gather")
def _gather(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids = _operands(reader, eqn, values)
    numbers, sizes, p = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], reader.program
    at = Indexed(
        p, x, ids, numbers.start_index_map, numbers.collapsed_slice_dims, sizes,
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, numbers.offset_dims,
    )  # fmt: skip
    return at.take(eqn.outvars[0].aval.shape)


@handles("scatter-add", "scatter_add", "scatter")
def _scatter(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, ids, updates = _operands(reader, eqn, values)
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
        others = [a for a in range(x.rank) if a != axis]
        ids = _moved(p, p.iota(size, "int32"), _within(p, start, x.shape[axis] - size), "add")
        rows = p.embed(p.transpose(x, [axis, *others]), ids)
        back = [0] * x.rank
        for i, a in enumerate([axis, *others]):
            back[a] = i
        x = p.transpose(rows, back)
    return x


def _within(p: Program, start: Array, last: int) -> Array:
    """A start as JAX takes it: between 0 and the last place where all fits."""
    return p.map("min", p.map("max", p.convert(start, "int32"), p.number(0, "int32")), p.number(last, "int32"))


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
        others = [a for a in range(x.rank) if a != axis]
        ids = p.map("min", p.map("max", at, p.number(0, "int32")), p.number(size - 1, "int32"))
        rows = p.embed(p.transpose(update, [axis, *others]), ids)
        back = [0] * x.rank
        for i, a in enumerate([axis, *others]):
            back[a] = i
        update = p.transpose(rows, back)
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
    x, axis, p = _operands(reader, eqn, values), eqn.params["dimension"], reader.program
    if eqn.params["num_keys"] != 1:
        raise Gap("a sort by several keys")
    order = p.along("argsort", x[0], axis, dtype="int32")
    rest = [a for a in range(order.rank) if a != axis]
    ids = p.transpose(order, [*rest, axis])
    back = [(rest + [axis]).index(a) for a in range(order.rank)]
    return [p.transpose(p.pick(v, ids, axis), back) for v in x]


# ---- convolution and pooling


@handles("conv_general_dilated")
def _convolution(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """A product of the windows of each axis in space with the kernel."""
    x, kernel = _operands(reader, eqn, values)
    params, p = eqn.params, reader.program
    numbers = params["dimension_numbers"]
    x = p.transpose(x, numbers.lhs_spec)  # batch, channels, space
    kernel = p.transpose(kernel, numbers.rhs_spec)  # channels out, channels in, taps
    space = x.rank - 2
    dtype = str(eqn.outvars[0].aval.dtype)
    x, kernel = p.convert(x, dtype), p.convert(kernel, dtype)
    for d in range(space):
        between = params["lhs_dilation"][d] - 1
        if between and x.shape[2 + d] > 1:
            x = _interior(p, x, 2 + d, between, 0.0)
    taken = x
    for d in range(space):
        low, high = params["padding"][d]
        at = 2 + 2 * d
        if low < 0 or high < 0:
            taken = p.pad(taken, at, min(low, 0), min(high, 0))
        taken = p.windows(
            taken, at, kernel.shape[2 + d], params["window_strides"][d], params["rhs_dilation"][d], max(low, 0), max(high, 0)
        )
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    windows, taps = "pqrs"[:space], "ijkl"[:space]
    inside = "".join(w + t for w, t in zip(windows, taps))
    shape = list(taken.shape)
    if groups == 1 and batch_groups == 1:
        made = p.einsum(taken, kernel, "nc" + inside, "oc" + taps, "no" + windows, dtype)
    elif batch_groups == 1:
        taken = p.reshape(taken, [shape[0], groups, shape[1] // groups, *shape[2:]])
        kernel = p.reshape(kernel, [groups, kernel.shape[0] // groups, *kernel.shape[1:]])
        made = p.einsum(taken, kernel, "ngc" + inside, "goc" + taps, "ngo" + windows, dtype)
        made = p.reshape(made, [made.shape[0], made.shape[1] * made.shape[2], *made.shape[3:]])
    else:
        taken = p.reshape(taken, [batch_groups, shape[0] // batch_groups, *shape[1:]])
        kernel = p.reshape(kernel, [batch_groups, kernel.shape[0] // batch_groups, *kernel.shape[1:]])
        made = p.einsum(taken, kernel, "gnc" + inside, "goc" + taps, "ngo" + windows, dtype)
        made = p.reshape(made, [made.shape[0], made.shape[1] * made.shape[2], *made.shape[3:]])
    return p.transpose(made, [numbers.out_spec.index(a) for a in range(made.rank)])


def _pooled(p: Program, x: Array, params: Any, fill: float) -> Tuple[Array, List[int]]:
    """x with each axis that has windows as two, and the places of the taps."""
    at, taps = 0, []
    dilation = params.get("window_dilation") or (1,) * x.rank
    for d, size in enumerate(params["window_dimensions"]):
        stride, (low, high) = params["window_strides"][d], params["padding"][d]
        if size == 1 and stride == 1 and low == high == 0:
            at += 1
            continue
        x = p.windows(x, at, size, stride, dilation[d], low, high, fill)
        taps.append(at + 1)
        at += 2
    return x, taps


@handles("reduce_window_max", "reduce_window_min", "reduce_window_sum")
def _pool(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    if any(d != 1 for d in eqn.params["base_dilation"]):
        raise Gap("windows of a dilated array")
    fn = eqn.primitive.name.rsplit("_", 1)[1]
    fill = {"max": -math.inf, "min": math.inf, "sum": 0.0}[fn]
    taken, taps = _pooled(reader.program, reader.lift(values[0]), eqn.params, fill)
    return reader.program.reduce(fn, taken, taps)


@handles("select_and_scatter_add")
def _pool_back(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """The gradient of a maximum over windows goes to the first tap that has it."""
    source, x = _operands(reader, eqn, values)
    p, params = reader.program, eqn.params
    if params["select_prim"].name != "ge":
        raise Gap("a choice in windows that is not the largest")
    taken, taps = _pooled(p, x, params, -math.inf)
    others = [a for a in range(taken.rank) if a not in taps]
    wide = taken.shape

    def spread(value: Array) -> Array:
        return p.broadcast(value, wide, others)

    count = math.prod(wide[t] for t in taps)
    number: Optional[Array] = None
    for t in taps:
        here = p.broadcast(p.iota(wide[t], "float32"), wide, [t])
        if number is None:
            number = here
        else:
            number = p.map("add", p.map("mul", number, p.number(float(wide[t]), "float32")), here)
    assert number is not None
    number = p.convert(number, taken.dtype)
    largest = p.compare("equal", taken, spread(p.reduce("max", taken, taps)))
    first = p.reduce("min", p.select(largest, number, p.number(float(count), taken.dtype)), taps)
    chosen = p.compare("equal", number, spread(first))
    grad = p.select(chosen, spread(source), p.number(0.0, source.dtype))
    for t, d in reversed([(t, d) for t, d in zip(taps, _windowed(params))]):
        low = params["padding"][d][0]
        grad = p.windows_add(grad, t - 1, x.shape[d], params["window_strides"][d], 1, low)
    return grad


def _windowed(params: Any) -> List[int]:
    """Axes of x that have windows."""
    return [
        d
        for d, size in enumerate(params["window_dimensions"])
        if not (size == 1 and params["window_strides"][d] == 1 and tuple(params["padding"][d]) == (0, 0))
    ]
