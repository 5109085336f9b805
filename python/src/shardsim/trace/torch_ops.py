"""Elementwise ATen operations."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence

import torch

from .arrays import Array, Gap, Program, is_float
from .gamma import GAMMA
from .torch_graph import Call, handles, type_name
from .special import ELEMENTWISE
from .whole import shifted_down

# ---- elementwise

SAME = {
    "neg": "neg", "exp": "exp", "exp2": "exp2", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh",
    "sin": "sin", "cos": "cos", "tan": "tan", "log1p": "log1p", "expm1": "expm1", "erf": "erf", "erfc": "erfc",
    "sigmoid": "sigmoid", "abs": "abs", "floor": "floor", "ceil": "ceil",
    "relu": "relu", "silu": "silu", "mul": "mul", "maximum": "max", "minimum": "min", "fmod": "rem", "atan2": "atan2",
    "bitwise_left_shift": "shift_left", "__lshift__": "shift_left",
}  # fmt: skip
COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
LOGIC = {
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "bitwise_not": "not",
    "logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not",
    "__and__": "and", "__or__": "or", "__xor__": "xor",
}  # fmt: skip


def mapped(c: Call, fn: str, *operands: Any, dtype: Optional[str] = None) -> Array:
    """fn of each element; operands have the result's type and are broadcast as in PyTorch."""
    kind = dtype or c.dtype
    return c.program.map(fn, *ranked(c.program, [c.array(x, kind) for x in operands]), dtype=kind)


def ranked(p: Program, operands: Sequence[Array]) -> List[Array]:
    """Operands with leading axes of size 1, so that all ranks are equal; numbers have none."""
    rank = max(x.rank for x in operands)
    return [widened(p, x, rank) if x.rank else x for x in operands]


def widened(p: Program, x: Array, rank: int) -> Array:
    first = rank - x.rank
    if not first:
        return x
    return p.view(x, [None] * first + list(range(x.rank)), [1] * first + list(x.shape))


def operands_of(c: Call) -> List[Any]:
    """The operands of an elementwise operation, by position."""
    return [getattr(c, argument.name) for argument in c.node.target._schema.arguments if argument.name in OPERANDS]


OPERANDS = ("self", "other", "input", "a", "b")


@handles(*SAME)
def _same(c: Call) -> Array:
    if c.dtype == "bool":
        operands = logical(c)
        return c.program.logic({"mul": "and", "maximum": "or", "minimum": "and"}[c.name], *operands)
    return mapped(c, SAME[c.name], *operands_of(c))


@handles("sign", "sgn")
def _sign(c: Call) -> Array:
    """The sign of NaN is 0 in PyTorch, and so are gradients of `abs` and of norms there."""
    p, x = c.program, c.array(arguments_first(c), c.dtype)
    if c.dtype == "bool":
        return x
    made = p.map("sign", x)
    return p.select(p.compare("equal", x, x), made, p.number(0.0, x.dtype)) if is_float(x.dtype) else made


@handles(*ELEMENTWISE, "erfinv")
def _derived(c: Call) -> Array:
    return ELEMENTWISE["erf_inv" if c.name == "erfinv" else c.name](c.program, c.array(arguments_first(c), c.dtype))


@handles("lgamma", "digamma", "polygamma")
def _gamma(c: Call) -> Array:
    x, order = (c.self, c.n) if c.name == "polygamma" else (arguments_first(c), int(c.name == "digamma") - 1)
    if order > 1:
        raise Gap(f"the derivative of order {order} of digamma; orders 0 and 1 are supported")
    return GAMMA[("digamma", "trigamma", "lgamma")[order]](c.program, c.array(x, c.dtype))


@handles("hypot")
def _hypotenuse(c: Call) -> Array:
    """By the quotient of the two, which does not overflow; of equal ones, also 0, it is 1.  Infinite if one is, beside NaN too."""
    p, (a, b) = c.program, (mapped(c, "abs", x) for x in operands_of(c))
    most, least = mapped(c, "max", a, b), mapped(c, "min", a, b)
    one = p.number(1.0, c.dtype)
    quotient = p.select(p.compare("equal", least, most), one, p.map("div", least, most))
    made = p.map("mul", most, p.map("sqrt", p.map("add", p.map("mul", quotient, quotient), one)))
    endless = p.number(math.inf, c.dtype)
    return p.select(p.logic("or", *(p.compare("equal", x, endless) for x in (a, b))), endless, made)


@handles("fmax", "fmin")
def _without_nan(c: Call) -> Array:
    p, (a, b) = c.program, ranked(c.program, [c.array(x, c.dtype) for x in operands_of(c)])
    unknown = [p.compare("not_equal", x, x) for x in (a, b)]
    return p.select(unknown[0], b, p.select(unknown[1], a, p.map(c.name[1:], a, b)))


@handles("signbit")
def _sign_bit(c: Call) -> Array:
    """Also of -0, whose inverse is -infinity."""
    p, x = c.program, c.array(arguments_first(c))
    zero = p.number(0.0 if is_float(x.dtype) else 0, x.dtype)
    below = p.compare("less", x, zero)
    return p.logic("or", below, p.compare("less", p.map("div", p.number(1.0, x.dtype), x), zero)) if is_float(x.dtype) else below


@handles("hardshrink_backward", "softshrink_backward")
def _shrink_backward(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    return chosen(c, p.compare("greater", p.map("abs", x), p.number(c.lambd, x.dtype)), arguments_first(c), 0.0)


def logical(c: Call) -> List[Array]:
    return ranked(c.program, [c.program.convert(c.array(x), "bool") for x in operands_of(c)])


@handles("bitwise_right_shift", "__rshift__")
def _right_shift(c: Call) -> Array:
    x, by = ranked(c.program, [c.array(x, c.dtype) for x in operands_of(c)])
    return shifted_down(c.program, x, by)


@handles("add", "sub", "rsub")
def _add(c: Call) -> Array:
    a, b = c.self, c.other
    if c.dtype == "bool":
        return c.program.logic("or", *logical(c)) if getattr(c.arguments, "alpha", 1) else c.array(a, "bool")
    if c.name == "rsub":
        a, b = b, a  # what is subtracted is the operand with a factor
    if getattr(c.arguments, "alpha", 1) != 1:
        b = mapped(c, "mul", b, c.alpha)
    return mapped(c, "sub" if c.name != "add" else "add", a, b)


@handles("div")
def _div(c: Call) -> Array:
    mode = getattr(c.arguments, "rounding_mode", None)
    if mode is None:
        return mapped(c, "div", c.self, c.other)
    if not is_float(c.dtype):
        return _whole_division(c, mode)
    return _float_floor(c) if mode == "floor" else truncated(c.program, mapped(c, "div", c.self, c.other))


def _apart(p: Program, a: Array, b: Array) -> Array:
    """Whether two numbers have different signs (their product may overflow)."""
    zero = p.number(0.0 if is_float(a.dtype) else 0, a.dtype)
    return p.logic("or", *(p.logic("and", p.compare("less", x, zero), p.compare("less", zero, y)) for x, y in ((a, b), (b, a))))


def _float_floor(c: Call) -> Array:
    """As in PyTorch, divide the dividend minus the remainder: 1 // 0.1 is 9, and an infinite dividend gives NaN."""
    p, kind = c.program, c.dtype
    a, b = ranked(p, [c.array(x, kind) for x in (c.self, c.other)])
    zero, one = p.number(0.0, kind), p.number(1.0, kind)
    rest = p.map("rem", a, b)
    quotient = p.map("div", p.map("sub", a, rest), b)
    quotient = p.select(_apart(p, rest, b), p.map("sub", quotient, one), quotient)
    floor = p.map("floor", quotient)  # of a number that is whole but for its rounding
    above = p.compare("less", p.number(0.5, kind), p.map("sub", quotient, floor))
    whole = p.select(above, p.map("add", floor, one), floor)
    return p.select(p.compare("equal", b, zero), p.map("div", a, b), whole)


def truncated(p: Program, x: Array) -> Array:
    zero = p.number(0.0, x.dtype)
    return p.select(p.compare("less", x, zero), p.map("ceil", x), p.map("floor", x))


def _whole_division(c: Call, mode: str) -> Array:
    p, (a, b) = c.program, ranked(c.program, [c.array(x, c.dtype) for x in (c.self, c.other)])
    return p.map("div", a, b) if mode == "trunc" else whole_floor(p, a, b)


def whole_floor(p: Program, a: Array, b: Array) -> Array:
    """The quotient of whole numbers, rounded towards 0, minus 1 where the remainder's sign differs."""
    quotient = p.map("div", a, b)
    rest = p.map("sub", a, p.map("mul", quotient, b))
    return p.select(_apart(p, rest, b), p.map("sub", quotient, p.number(1, a.dtype)), quotient)


@handles("floor_divide")
def _floor_divide(c: Call) -> Array:
    if is_float(c.dtype):
        return _float_floor(c)
    return _whole_division(c, "floor")


@handles("remainder")
def _remainder(c: Call) -> Array:
    """The remainder, with the sign of the divisor."""
    p, (a, b) = c.program, ranked(c.program, [c.array(x, c.dtype) for x in (c.self, c.other)])
    rest = p.map("rem", a, b)
    return p.select(_apart(p, rest, b), p.map("add", rest, b), rest)


@handles("trunc")
def _trunc(c: Call) -> Array:
    return truncated(c.program, c.array(c.self))


@handles("round")
def _round(c: Call) -> Array:
    """To decimals, 16 bits as float32: numbers times a power that float32 lacks, which is infinite, are NaN, as in PyTorch."""
    decimals = int(getattr(c.arguments, "decimals", 0))
    if not decimals:
        return mapped(c, "round", c.self)
    kind = "float64" if c.dtype == "float64" else "float32"
    digits = math.floor(math.log10(torch.finfo(getattr(torch, kind)).max))
    power = 10.0 ** abs(decimals) if abs(decimals) <= digits else math.inf
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    scaled = mapped(c, there, c.program.convert(c.array(c.self), kind), power, dtype=kind)
    return c.program.convert(mapped(c, back, mapped(c, "round", scaled, dtype=kind), power, dtype=kind), c.dtype)


@handles("reciprocal")
def _reciprocal(c: Call) -> Array:
    return mapped(c, "div", 1.0, c.self)


@handles("log2", "log10")
def _log(c: Call) -> Array:
    return mapped(c, "mul", mapped(c, "log", c.self), 1 / math.log(2 if c.name == "log2" else 10))


@handles("square")
def _square(c: Call) -> Array:
    return mapped(c, "mul", c.self, c.self)


@handles("pow")
def _pow(c: Call) -> Array:
    p, exponent = c.program, c.exponent
    if isinstance(exponent, (int, float)) and is_float(c.dtype) and not isinstance(exponent, bool):
        if exponent == 0.5:
            return mapped(c, "sqrt", c.self)
        if exponent == -0.5:
            return mapped(c, "rsqrt", c.self)
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and 0 < abs(exponent) <= 64:
        made = p.power(c.array(c.self, c.dtype), abs(int(exponent)))
        return p.map("div", p.number(1.0, c.dtype), made) if exponent < 0 else made
    return mapped(c, "pow", c.self, exponent)


@handles("clamp", "clamp_min", "clamp_max")
def _clamp(c: Call) -> Array:
    low, high = getattr(c.arguments, "min", None), getattr(c.arguments, "max", None)
    x = c.array(c.self, c.dtype)
    if low is not None:
        x = mapped(c, "max", x, low)
    return x if high is None else mapped(c, "min", x, high)


@handles("gelu")
def _gelu(c: Call) -> Array:
    return mapped(c, "gelu" if c.approximate == "tanh" else "gelu_exact", c.self)


@handles("gelu_backward")
def _gelu_backward(c: Call) -> Array:
    return mapped(c, "mul", c.grad_output, mapped(c, "gelu_grad" if c.approximate == "tanh" else "gelu_exact_grad", c.self))


@handles("silu_backward")
def _silu_backward(c: Call) -> Array:
    return mapped(c, "mul", c.grad_output, mapped(c, "silu_grad", c.self))


@handles("threshold_backward")
def _threshold_backward(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    return chosen(c, p.compare("greater", x, p.number(c.threshold, x.dtype)), c.grad_output, 0.0)


def chosen(c: Call, which: Array, yes: Any, no: Any) -> Array:
    operands = ranked(c.program, [which, c.array(yes, c.dtype), c.array(no, c.dtype)])
    return c.program.select(*operands)


@handles("where")
def _where(c: Call) -> Array:
    which, yes, no = (getattr(c, argument.name) for argument in c.node.target._schema.arguments[:3])
    return chosen(c, c.array(which), yes, no)


@handles("masked_fill")
def _masked_fill(c: Call) -> Array:
    return chosen(c, c.array(c.mask), c.value, c.self)


@handles(*COMPARISONS)
def _compare(c: Call) -> Array:
    kind = type_name(torch.result_type(*(_kind(x) for x in (c.self, c.other))))
    kind = "int32" if kind == "bool" else kind
    return c.program.compare(COMPARISONS[c.name], *ranked(c.program, [c.array(x, kind) for x in (c.self, c.other)]))


def _kind(x: Any) -> Any:
    """A stand-in with an operand's type, for PyTorch's promotion rules."""
    if isinstance(x, Array):
        return torch.empty([1] * x.rank, dtype=getattr(torch, x.dtype), device="meta")
    return torch.empty_like(x, device="meta") if isinstance(x, torch.Tensor) else x


@handles(*LOGIC)
def _logic(c: Call) -> Array:
    if c.dtype == "bool":
        return c.program.logic(LOGIC[c.name], *logical(c))
    return mapped(c, "bit_" + LOGIC[c.name], *operands_of(c))


@handles("_local_scalar_dense")
def _item(c: Call) -> Any:
    raise Gap("reading a tensor's value while tracing (item, int, float, if); keep it a tensor")


@handles("isnan")
def _isnan(c: Call) -> Array:
    x = c.array(c.self)
    return c.program.compare("not_equal", x, x)


@handles("isfinite")
def _isfinite(c: Call) -> Array:
    x = c.array(c.self)
    return c.program.map("finite", x, dtype="bool", carrier=x.carrier)


@handles("_to_copy", "convert_element_type")
def _to_copy(c: Call) -> Array:
    x = c.array(arguments_first(c))
    if is_float(x.dtype) and c.dtype == "int32":
        x = truncated(c.program, x)
    return c.program.convert(x, c.dtype)


def arguments_first(c: Call) -> Any:
    return getattr(c, c.node.target._schema.arguments[0].name)


@handles("clone", "detach", "alias", "contiguous", "lift_fresh_copy", "lift_fresh", "_assert_tensor_metadata")
def _as_it_is(c: Call) -> Any:
    return arguments_first(c)
