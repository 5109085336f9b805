"""JAX equations: elementwise, data movement, matmul, reductions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import jax
import numpy as np

from .arrays import Array, Gap, Program, is_float, uniform
from .complex_arrays import Complex, complex_of, of_parts
from .gamma import GAMMA
from .jax_reader import NOTES, Reader, Value, handles, operands, shape_of, spec_of, spread
from .linear_algebra import cholesky, householder, householder_product, lu, order_of, qr, solve_triangular, turned
from .special import ELEMENTWISE
from .whole import shifted_down

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


@handles(*SAME)
def _same(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = operands(reader, eqn, values)
    p, name, dtype = reader.program, eqn.primitive.name, str(eqn.outvars[0].aval.dtype)
    if dtype == "bool":
        return p.logic({"max": "or", "min": "and", "add": "or", "mul": "and"}[name], *x)
    if name == "mul":
        return _times(p, x[0], x[1], dtype)
    if name == "pow":
        x = [p.convert(v, dtype) for v in x]
    return p.map(SAME[name], *x, dtype=dtype)


def _times(p: Program, a: Array, b: Array, dtype: str) -> Array:
    """A product; Multiplication by a converted boolean is a select, as in XLA: 0 times infinity is then 0."""
    for flag, other in ((a, b), (b, a)):
        if flag.op == "map" and flag.attrs["fn"] == "convert" and flag.inputs[0].dtype == "bool":
            shape = [max(n, m) for n, m in zip(flag.shape, other.shape)] if other.rank else flag.shape
            if tuple(shape) == flag.shape:
                return p.select(flag.inputs[0], other, p.number(0.0, dtype))
    return p.map("mul", a, b, dtype=dtype)


@handles("shift_right_arithmetic")
def _shift_right(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, by = operands(reader, eqn, values)
    return reader.program.map("shift_right", x, by) if x.dtype == "uint32" else shifted_down(reader.program, x, by)


@handles(*COMPARISONS)
def _compare(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.compare(COMPARISONS[eqn.primitive.name], *operands(reader, eqn, values))


@handles("lt_to", "le_to", "eq_to")
def _compare_in_order(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """As a sort orders numbers: NaN is equal to itself, and above all others."""
    p, name, (x, y) = reader.program, eqn.primitive.name, operands(reader, eqn, values)
    made = p.compare(COMPARISONS[name[:2]], x, y)
    if not is_float(x.dtype):
        return made
    none = p.compare("not_equal", y, y)
    if name == "eq_to":
        none = p.logic("and", p.compare("not_equal", x, x), none)
    if name == "lt_to":
        none = p.logic("and", p.compare("equal", x, x), none)
    return p.logic("or", made, none)


@handles("and", "or", "not", "xor")
def _logic(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x = operands(reader, eqn, values)
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


@handles("one_minus_square")
def _one_minus_square(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """(1 + x)(1 - x), exact where x is close to 1 (from JAX 0.12 on in gradients of tanh)."""
    x, p = reader.lift(values[0]), reader.program
    one = p.number(1.0, x.dtype)
    return p.map("mul", p.map("add", one, x), p.map("sub", one, x))


@handles("polynomial")
def _polynomial(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """Of its coefficients, the lowest first, by Horner's rule."""
    x, *coefficients = operands(reader, eqn, values)
    p, made = reader.program, coefficients[-1]
    for c in reversed(coefficients[:-1]):
        made = p.map("add", p.map("mul", made, x), c)
    return spread(reader, made, x) if made.rank < x.rank else made


@handles(*ELEMENTWISE)
def _derived(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return ELEMENTWISE[eqn.primitive.name](reader.program, reader.lift(values[0]))


@handles("lgamma", "digamma", "polygamma")
def _gamma(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, name = reader.lift(values[-1]), eqn.primitive.name
    if name == "polygamma":
        order = uniform(reader.lift(values[0]))
        if order not in (0.0, 1.0):
            raise Gap("polygamma of an order that is not known, or above 1")
        name = "trigamma" if order else "digamma"
    return GAMMA[name](reader.program, x)


@handles("cholesky")
def _cholesky(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return cholesky(reader.program, reader.lift(values[0]))


@handles("lu")
def _lu(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    p, x = reader.program, reader.lift(values[0])
    made, swaps = lu(p, x)
    return [made, swaps, order_of(p, swaps, x.shape[-2])]


@handles("lu_pivots_to_permutation")
def _lu_pivots(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return order_of(reader.program, reader.lift(values[0]), eqn.params["permutation_size"])


@handles("geqrf")
def _geqrf(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    return list(householder(reader.program, reader.lift(values[0])))


@handles("householder_product")
def _householder_product(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return householder_product(reader.program, reader.lift(values[0]), reader.lift(values[1]))


@handles("qr")
def _qr(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    if eqn.params.get("pivoting"):
        raise Gap("a QR factor with pivoting")
    return list(qr(reader.program, reader.lift(values[0]), eqn.params["full_matrices"]))


@handles("triangular_solve")
def _triangular_solve(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """The other side by transposes: x a = b is a' x' = b'."""
    p, a, b, given = reader.program, reader.lift(values[0]), reader.lift(values[1]), eqn.params
    upper, side = not given["lower"], given["left_side"]
    if given["transpose_a"] == side:  # a' on the left, or a on the right
        a, upper = turned(p, a), not upper
    made = solve_triangular(p, a, b if side else turned(p, b), upper, given["unit_diagonal"])
    return made if side else turned(p, made)


@handles("integer_pow")
def _integer_pow(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, y, p = reader.lift(values[0]), eqn.params["y"], reader.program
    if y == 0:
        return p.broadcast(p.number(1.0, x.dtype), x.shape, [])
    made = p.power(x, abs(y))
    return p.map("div", p.number(1.0, x.dtype), made) if y < 0 else made


@handles("round")
def _round(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, p = reader.lift(values[0]), reader.program
    if eqn.params["rounding_method"].name == "TO_NEAREST_EVEN":
        return p.map("round", x)
    size = p.map("abs", x)  # halves are rounded away from 0
    whole = p.map("floor", size)
    up = p.compare("less_equal", p.number(0.5, x.dtype), p.map("sub", size, whole))
    return p.map("mul", p.map("sign", x), p.select(up, p.map("add", whole, p.number(1.0, x.dtype)), whole))


@handles("clamp")
def _clamp(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    low, x, high = operands(reader, eqn, values)
    p = reader.program
    return p.map("min", p.map("max", x, low, dtype=x.dtype), high, dtype=x.dtype)


@handles("select_n")
def _select(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """Beyond the cases the nearest one, as XLA chooses."""
    which, *cases = operands(reader, eqn, values)
    p = reader.program
    which, made = spread(reader, which, cases[0]), cases[0]
    for k, case in enumerate(cases[1:], 1):
        chosen = which if which.dtype == "bool" else p.compare("greater_equal", which, p.number(k, which.dtype))
        made = p.select(chosen, case, made)
    return made


@handles("convert_element_type")
def _convert(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.convert(reader.lift(values[0]), str(eqn.outvars[0].aval.dtype))


@handles("reduce_precision")
def _reduce_precision(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """Round to a 16-bit type with fewer exponents: infinity above, 0 below the least normal number."""
    p, x = reader.program, reader.lift(values[0])
    exponent, fraction = int(eqn.params["exponent_bits"]), int(eqn.params["mantissa_bits"])
    own = jax.numpy.finfo(x.dtype)
    if exponent >= own.nexp and fraction >= own.nmant:
        return x
    half = {7: "bfloat16", 10: "float16"}.get(fraction)
    if half is None or exponent > jax.numpy.finfo(half).nexp or x.dtype not in ("float32", half):
        raise Gap(f"reduce_precision of {x.dtype} to {exponent} bits of exponent and {fraction} of the fraction; "
                  "mantissas of bfloat16 and float16 are supported")  # fmt: skip
    made = p.convert(p.convert(x, half), x.dtype)
    if exponent >= own.nexp:
        return made
    bias = 2 ** (exponent - 1) - 1
    least = 2.0 ** (1 - bias) - 2.0 ** (-bias - fraction - 1)  # rounds to the least normal number
    made = p.select(p.compare("less", p.map("abs", made), p.number(2.0 ** (bias + 1), x.dtype)), made,
                    p.map("mul", made, p.number(math.inf, x.dtype)))  # fmt: skip
    return p.select(p.compare("less", p.map("abs", x), p.number(least, x.dtype)), p.map("mul", x, p.number(0.0, x.dtype)), made)


@handles("stop_gradient", "copy", "copy_p", "device_put", "optimization_barrier", "name", *NOTES)
def _as_it_is(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    return list(values)


# ---- arrangement


@handles("broadcast_in_dim")
def _broadcast(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.broadcast(reader.lift(values[0]), shape_of(eqn.outvars[0]), eqn.params["broadcast_dimensions"])


@handles("tile")
def _tile(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.repeat(reader.lift(values[0]), eqn.params["reps"])


@handles("reshape")
def _reshape(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """`dimensions` is the order in which the elements are taken, which is not the array's own in gradients of groups."""
    x, order = reader.lift(values[0]), eqn.params["dimensions"]
    if order is not None:
        x = reader.program.transpose(x, [*order, *range(len(order), x.rank)])
    return reader.program.reshape(x, shape_of(eqn.outvars[0]))


@handles("squeeze", "expand_dims")
def _squeeze(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.reshape(reader.lift(values[0]), shape_of(eqn.outvars[0]))


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
        x = p.strided(x, axis, start, -(-(limit - start) // stride), stride)
    return x


def between(p: Program, x: Array, axis: int, count: int, value: float) -> Array:
    """`count` elements between each two."""
    if not count or x.shape[axis] <= 1:
        return x
    x = p.spaced(x, axis, count + 1, value)
    return p.slice(x, axis, 0, x.shape[axis] - count)


@handles("pad")
def _pad(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    x, p = reader.lift(values[0]), reader.program

    def padded(y: Array, value: float) -> Array:
        for axis, (low, high, interior) in enumerate(eqn.params["padding_config"]):
            y = p.pad(between(p, y, axis, interior, value), axis, low, high, value)
        return y

    if not isinstance(values[1], Array):
        return padded(x, float(np.asarray(values[1])))
    there = p.compare("greater", padded(p.materialise(p.broadcast(p.number(1, "int32"), x.shape, [])), 0.0), p.number(0, "int32"))
    made = padded(x, 0.0)
    return p.select(there, made, p.broadcast(reader.lift(values[1]), made.shape, []))


@handles("concatenate")
def _concatenate(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return reader.program.concat(operands(reader, eqn, values), eqn.params["dimension"])


@handles("split")
def _split(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    x, axis, at, parts = reader.lift(values[0]), eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        parts.append(reader.program.slice(x, axis, at, size))
        at += size
    return parts


def stack(reader: Reader, parts: Sequence[Value], axis: int) -> Value:
    if all(isinstance(v, np.ndarray) for v in parts):
        return np.stack([np.asarray(v) for v in parts], axis)
    p = reader.program
    lifted = [reader.numbers(value) for value in parts]
    if any(isinstance(x, Complex) for x in lifted):
        return of_parts(lambda *each: stack(reader, each, axis), *(complex_of(p, x) for x in lifted))
    rows = []
    for x in lifted:
        assert isinstance(x, Array)
        shape = [*x.shape[:axis], 1, *x.shape[axis:]]
        rows.append(p.view(x, [*range(axis), None, *range(axis, x.rank)], shape))
    return p.concat(rows, axis)


@handles("stack")
def _stack_equation(reader: Reader, eqn: Any, values: List[Value]) -> Value:
    return stack(reader, values, eqn.params["axis"])


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


Places = Tuple[Sequence[int], Sequence[int]]


def dot(p: Program, a: Array, b: Array, summed: Places, batch: Places, dtype: str, first: Sequence[int] = ()) -> Array:
    """A contraction over axes of both operands; `first` are axes of a that come first in the result."""
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    a_labels, b_labels = [""] * a.rank, [""] * b.rank
    for i, j in [*zip(*batch), *zip(*summed)]:
        a_labels[i] = b_labels[j] = next(letters)
    for labels in (a_labels, b_labels):
        for i, label in enumerate(labels):
            labels[i] = label or next(letters)
    out = [a_labels[i] for i in (*first, *batch[0])]
    out += [c for i, c in enumerate(a_labels) if i not in batch[0] and i not in summed[0] and i not in first]
    out += [c for i, c in enumerate(b_labels) if i not in batch[1] and i not in summed[1]]
    a, b = p.convert(a, dtype), p.convert(b, dtype)
    return p.einsum(a, b, "".join(a_labels), "".join(b_labels), "".join(out), dtype)


def demand_plain(eqn: Any) -> None:
    """A matmul in its type's precision or higher, not by an algorithm of fewer bits."""
    wanted = eqn.params["precision"]
    if any(p is not None and not isinstance(p, jax.lax.Precision) for p in (wanted if isinstance(wanted, tuple) else (wanted,))):
        raise Gap(f"'{eqn.primitive.name}' by the algorithm {wanted}; jax.lax.Precision is supported")


@handles("dot_general")
def _dot(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    a, b = operands(reader, eqn, values)
    summed, batch = eqn.params["dimension_numbers"]
    demand_plain(eqn)
    return dot(reader.program, a, b, summed, batch, str(eqn.outvars[0].aval.dtype))


@handles("ragged_dot_general", "ragged_dot")
def _ragged_dot(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    """Rows of groups, each with its own matrix; or the products of the rows of each group.

    The axis of the groups is summed with the columns, or it is the first of the result's axes.
    """
    a, b, sizes = operands(reader, eqn, values)
    demand_plain(eqn)
    p, numbers = reader.program, eqn.params["ragged_dot_dimension_numbers"]
    (a_sum, b_sum), (a_batch, b_batch) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in a_batch or sizes.rank != 1:
        raise Gap("groups along a batch of matmuls; jax.lax.ragged_dot of rows is supported")
    ends = p.along("cumsum", sizes, 0)
    masked = p.by_groups(a, ragged, ends, p.map("sub", ends, sizes))
    a_sum, a_batch = [d + 1 for d in a_sum], [d + 1 for d in a_batch]
    if ragged + 1 in a_sum:
        return dot(p, masked, b, (a_sum, b_sum), (a_batch, b_batch), str(eqn.outvars[0].aval.dtype), first=[0])
    (group,) = numbers.rhs_group_dimensions
    return dot(p, masked, b, ([*a_sum, 0], [*b_sum, group]), (a_batch, b_batch), str(eqn.outvars[0].aval.dtype))


@handles("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
def _reduce(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    fn, dtype = eqn.primitive.name.split("_")[1], str(eqn.outvars[0].aval.dtype)
    if fn in ("and", "or") and dtype != "bool":
        raise Gap(f"the bits of many {dtype} by {fn}; booleans are supported")
    return reader.program.reduce({"and": "min", "or": "max"}.get(fn, fn), reader.lift(values[0]), eqn.params["axes"])


@handles("argmax", "argmin")
def _argmax(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    made = reader.program.reduce(eqn.primitive.name, reader.lift(values[0]), eqn.params["axes"])
    made.dtype, made.carrier = str(eqn.params["index_dtype"]), "int32"
    return made


@handles("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _cumulative(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    p, x, axis = reader.program, reader.lift(values[0]), eqn.params["axis"]
    if eqn.params["reverse"]:
        return p.along(eqn.primitive.name, x, axis, reverse=True)
    return p.along(eqn.primitive.name, x, axis)


@handles("sharding_constraint", "reshard")
def _constraint(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    sharding = eqn.params["sharding"] if "sharding" in eqn.params else eqn.params["dst_sharding"]
    x, spec = reader.lift(values[0]), spec_of(tuple(sharding.spec))
    if eqn.primitive.name == "reshard" and not any(spec):
        return x  # a mesh of which no axis is explicit: JAX notes its types, and asks for nothing
    return reader.program.constraint(x, spec)
