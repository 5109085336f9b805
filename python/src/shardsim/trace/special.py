"""Functions computed from other functions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Dict, Sequence

from .array import Array

if TYPE_CHECKING:
    from .arrays import Program

#: The inverse of the error function by x, as polynomials of w = -log(1 - x^2): of w - 2.5 below 5, of sqrt(w) - 3 from
#: there on; the highest power is the first (M. Giles, "Approximating the erfinv function", 2010, single precision).
ERF_INV_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
ERF_INV_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def polynomial(p: Program, x: Array, powers: Sequence[float]) -> Array:
    made = p.map("mul", x, p.number(powers[0], x.dtype))
    for k, number in enumerate(powers[1:], 1):
        made = p.map("add", made, p.number(number, x.dtype))
        made = p.map("mul", made, x) if k < len(powers) - 1 else made
    return made


def erf_inv(p: Program, x: Array) -> Array:
    """By a polynomial to the precision of float32, and for float64 by two steps of Newton's from there."""
    w = p.map("neg", p.map("log1p", p.map("neg", p.map("mul", x, x))))
    near = polynomial(p, p.map("sub", w, p.number(2.5, x.dtype)), ERF_INV_NEAR)
    far = polynomial(p, p.map("sub", p.map("sqrt", w), p.number(3.0, x.dtype)), ERF_INV_FAR)
    made = p.map("mul", p.select(p.compare("less", w, p.number(5.0, x.dtype)), near, far), x)
    for _ in range(2 if x.dtype == "float64" else 0):
        slope = p.map("mul", p.map("exp", p.map("mul", made, made)), p.number(math.sqrt(math.pi) / 2, x.dtype))
        made = p.map("sub", made, p.map("mul", p.map("sub", p.map("erf", made), x), slope))
    end = p.compare("equal", p.map("abs", x), p.number(1.0, x.dtype))
    return p.select(end, p.map("mul", x, p.number(math.inf, x.dtype)), made)


def _root(p: Program, x: Array) -> Array:
    """The square root of 1 - x^2, exact where x is close to 1."""
    one = p.number(1.0, x.dtype)
    return p.map("sqrt", p.map("mul", p.map("sub", one, x), p.map("add", one, x)))


def _odd(of_size: Callable[[Program, Array], Array]) -> Callable[[Program, Array], Array]:
    """sign(x) f(|x|): for an f that is exact from 0 up."""
    return lambda p, x: p.map("mul", p.map("sign", x), of_size(p, p.map("abs", x)))


def _sinh(p: Program, x: Array) -> Array:
    """e (e / 2 + 1) (1 + exp(-x)) of e = exp(x / 2) - 1: infinite only where the result is."""
    one, half = p.number(1.0, x.dtype), p.number(0.5, x.dtype)
    e = p.map("expm1", p.map("mul", x, half))
    made = p.map("mul", e, p.map("add", p.map("mul", e, half), one))
    return p.map("mul", made, p.map("add", one, p.map("exp", p.map("neg", x))))


def _cosh(p: Program, x: Array) -> Array:
    """e * e / 2 + 1 / (2 e) / e of e = exp(|x| / 2): infinite only where the result is."""
    half = p.number(0.5, x.dtype)
    e = p.map("exp", p.map("mul", p.map("abs", x), half))
    return p.map("add", p.map("mul", p.map("mul", e, half), e), p.map("div", p.map("div", half, e), e))


def _asinh(p: Program, x: Array) -> Array:
    """log1p(x) + log1p(1 / ((i + sqrt(1 + i^2)) (1 + i))) of i = 1 / x, as x^2 may be infinite."""
    one = p.number(1.0, x.dtype)
    i = p.map("div", one, x)
    root = p.map("sqrt", p.map("add", one, p.map("mul", i, i)))
    rest = p.map("div", one, p.map("mul", p.map("add", i, root), p.map("add", one, i)))
    return p.map("add", p.map("log1p", x), p.map("log1p", rest))


def _acosh(p: Program, x: Array) -> Array:
    one = p.number(1.0, x.dtype)
    roots = (p.map("sqrt", p.map(fn, x, one)) for fn in ("sub", "add"))
    return p.map("log", p.map("add", x, p.map("mul", *roots)))


def _atanh(p: Program, x: Array) -> Array:
    quotient = p.map("div", p.map("add", x, x), p.map("sub", p.number(1.0, x.dtype), x))
    return p.map("mul", p.map("log1p", quotient), p.number(0.5, x.dtype))


def in_float32(table: Dict[str, Callable[["Program", Array], Array]]) -> Dict[str, Callable[["Program", Array], Array]]:
    """Functions that compute 16-bit numbers in float32: terms of 16 bits would overflow, and lose the digits that cancel."""

    def wide(of: Callable[["Program", Array], Array]) -> Callable[["Program", Array], Array]:
        return lambda p, x: p.convert(of(p, p.convert(x, "float32")), x.dtype) if x.dtype in ("bfloat16", "float16") else of(p, x)

    return {name: wide(of) for name, of in table.items()}


#: Functions of each element.
ELEMENTWISE = in_float32({
    "sinh": _odd(_sinh), "cosh": _cosh, "asinh": _odd(_asinh), "acosh": _acosh, "atanh": _odd(_atanh), "erf_inv": erf_inv,
    "cbrt": _odd(lambda p, x: p.map("pow", x, p.number(1 / 3, x.dtype))),
    "asin": lambda p, x: p.map("atan2", x, _root(p, x)), "acos": lambda p, x: p.map("atan2", _root(p, x), x),
    "atan": lambda p, x: p.map("atan2", x, p.number(1.0, x.dtype)),
})  # fmt: skip


def cumulative_logsumexp(p: Program, x: Array, axis: int, reverse: bool = False) -> Array:
    """Doubling the span in each step: of two logarithms the larger, and the log of 1 + exp(-their distance)."""
    count, by, zero = x.shape[axis], 1, p.number(0.0, x.dtype)
    while by < count:
        before = p.slice(x, axis, by if reverse else 0, count - by)
        before = p.pad(before, axis, 0 if reverse else by, by if reverse else 0, -math.inf)
        most, least = p.map("max", x, before), p.map("min", x, before)
        apart = p.select(p.compare("equal", most, least), zero, p.map("sub", least, most))  # infinite ones are not
        x = p.map("add", most, p.map("log1p", p.map("exp", apart)))
        by *= 2
    return x
