"""Complex arrays of a traced program: a real and an imaginary Array.

A program has real numbers only, so a complex array exists while tracing alone.  Functions that are linear with real
factors (sums, slices, transposes) are applied to both parts.  Matmuls and products are four real ones, or two if one
factor is real, as the part that is 0 is left out.  Functions of a complex number are written with real functions of
both parts.  An imaginary part of 0 is a broadcast number, of which no line is left.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple, Union

import numpy as np

from .array import Array, uniform
from .special import ELEMENTWISE

if TYPE_CHECKING:
    from .arrays import Program

#: Types of complex arrays, and the type of their parts.
PARTS = {"complex64": "float32", "complex128": "float64"}


@dataclass(eq=False)
class Complex:
    """A complex array: two arrays of one shape and type."""

    real: Array
    imag: Array

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.real.shape

    @property
    def rank(self) -> int:
        return self.real.rank

    @property
    def where(self) -> str:
        return self.real.where

    @property
    def parts(self) -> Tuple[Array, Array]:
        return self.real, self.imag


#: What a traced function computes.
Numbers = Union[Array, Complex]


def parts_of(value: Numbers) -> Tuple[Array, ...]:
    return value.parts if isinstance(value, Complex) else (value,)


def assembled(value: Numbers, arrays: "List[np.ndarray]") -> np.ndarray:
    """The array in numpy of the values of its parts."""
    if not isinstance(value, Complex):
        return arrays[0]
    made = np.empty(arrays[0].shape, np.result_type(arrays[0], np.complex64))
    made.real, made.imag = arrays
    return made


def of_parts(fn: Callable[..., Any], *values: Any) -> Any:
    """fn of each part, for a linear function; fn returns an array, or a list of arrays."""
    real, imag = (fn(*(v.parts[k] if isinstance(v, Complex) else v for v in values)) for k in (0, 1))
    if isinstance(real, (list, tuple)):
        return [Complex(a, b) for a, b in zip(real, imag)]
    return Complex(real, imag)


def alike(p: Program, like: Array, value: float = 0.0) -> Array:
    """An array of one number."""
    return p.broadcast(p.number(value, like.dtype), like.shape, []) if like.rank else p.number(value, like.dtype)


def complex_of(p: Program, x: Numbers) -> Complex:
    return x if isinstance(x, Complex) else Complex(x, alike(p, x))


def conjugate(p: Program, z: Complex) -> Complex:
    """An imaginary part of 0 is then -0, whose sign decides an angle."""
    number = uniform(z.imag)
    return Complex(z.real, p.map("neg", z.imag) if number is None else alike(p, z.imag, -number))


def truth(p: Program, value: Numbers) -> Array:
    """Which elements are other than 0."""
    some = [p.convert(x, "bool") for x in parts_of(value)]
    return some[0] if len(some) == 1 else p.logic("or", *some)


def is_zero(x: Array) -> bool:
    return uniform(x) == 0


def multiplied(p: Program, a: Complex, b: Complex, times: Callable[[Array, Array], Array]) -> Complex:
    """A product by a real one that is linear in both factors.

    A part that is 0 is left out, but for one of two: 0 times infinity is no number.
    """

    def kept(z: Complex) -> Tuple[List[Array], List[Array]]:
        if is_zero(z.imag):
            return [z.real], []
        return [] if is_zero(z.real) else [z.real], [z.imag]

    def of(some: List[Array], others: List[Array]) -> List[Array]:
        return [times(x, y) for x in some for y in others]

    def total(fn: str, first: List[Array], second: List[Array]) -> List[Array]:
        if first and second:
            return [p.map(fn, first[0], second[0])]
        return [p.map("neg", x) for x in second] if second and fn == "sub" else first or second

    (a_real, a_imag), (b_real, b_imag) = kept(a), kept(b)
    real = total("sub", of(a_real, b_real), of(a_imag, b_imag))
    imag = total("add", of(a_real, b_imag), of(a_imag, b_real))
    return Complex(real[0] if real else alike(p, imag[0]), imag[0] if imag else alike(p, real[0]))


def times(p: Program, a: Complex, b: Complex) -> Complex:
    return multiplied(p, a, b, lambda x, y: p.map("mul", x, y))


def scaled(p: Program, z: Complex, factor: float) -> Complex:
    return of_parts(lambda x: x if factor == 1 else p.map("mul", x, p.number(factor, x.dtype)), z)  # type: ignore[no-any-return]


def squared_size(p: Program, z: Complex) -> Array:
    return p.map("add", *(p.map("mul", x, x) for x in z.parts))


def size(p: Program, z: Complex) -> Array:
    """The absolute value, by the quotient of the smaller part and the larger, whose square does not overflow."""
    if is_zero(z.imag):
        return p.map("abs", z.real)
    a, b = (p.map("abs", x) for x in z.parts)
    most, least = p.map("max", a, b), p.map("min", a, b)
    one = p.number(1.0, a.dtype)
    quotient = p.select(p.compare("equal", least, most), one, p.map("div", least, most))
    return p.map("mul", most, p.map("sqrt", p.map("add", p.map("mul", quotient, quotient), one)))


def angle(p: Program, z: Complex) -> Array:
    return p.map("atan2", z.imag, z.real)


def polar(p: Program, radius: Array, turn: Array) -> Complex:
    return Complex(p.map("mul", radius, p.map("cos", turn)), p.map("mul", radius, p.map("sin", turn)))


def quotient(p: Program, a: Complex, b: Complex) -> Complex:
    """a times the conjugate of b, by b's squared size; b and a are divided by b's largest part before.

    By 0, it is infinite; by an infinite part, of which others are no part, it is 0.
    """
    if is_zero(b.imag):
        return of_parts(lambda x: p.map("div", x, b.real), a)  # type: ignore[no-any-return]
    most = p.map("max", *(p.map("abs", x) for x in b.parts))
    near = of_parts(lambda x: p.select(p.compare("equal", p.map("abs", x), most), p.map("sign", x), p.map("div", x, most)), b)
    below = squared_size(p, near)
    none = p.compare("equal", most, p.number(0.0, most.dtype))
    made = of_parts(lambda x: p.map("div", x, below), times(p, a, conjugate(p, near)))
    return of_parts(lambda x, whole: p.map("div", p.select(none, whole, x), most), made, a)  # type: ignore[no-any-return]


def direction(p: Program, z: Complex) -> Complex:
    """z divided by its absolute value; 0 of 0."""
    most = size(p, z)
    none = p.compare("equal", most, p.number(0.0, most.dtype))
    divisor = p.select(none, p.number(1.0, most.dtype), most)
    return of_parts(lambda x: p.map("div", x, divisor), z)  # type: ignore[no-any-return]


def exp(p: Program, z: Complex) -> Complex:
    return polar(p, p.map("exp", z.real), z.imag)


def log(p: Program, z: Complex) -> Complex:
    return Complex(p.map("log", size(p, z)), angle(p, z))


def sqrt(p: Program, z: Complex) -> Complex:
    """Of the two square roots the one whose real part is not below 0: the larger part is computed by a sum without
    cancellation, and the other by a quotient."""
    half, zero = p.number(0.5, z.real.dtype), p.number(0.0, z.real.dtype)
    large = p.map("sqrt", p.map("mul", p.map("add", size(p, z), p.map("abs", z.real)), half))
    none = p.compare("equal", large, zero)
    divisor = p.select(none, p.number(1.0, z.real.dtype), large)
    small = p.map("mul", p.map("div", p.map("abs", z.imag), divisor), half)
    right = p.compare("less_equal", zero, z.real)
    up = p.compare("less_equal", zero, angle(p, z))  # which is below 0 for -0 beside a number below 0
    imag = p.select(right, small, large)
    return Complex(p.select(right, large, small), p.select(up, imag, p.map("neg", imag)))


def power(p: Program, z: Complex, n: int) -> Complex:
    """z to the power of a whole number, by squares."""
    made = Complex(p.broadcast(p.number(1.0, z.real.dtype), z.shape, []), alike(p, z.real))
    for bit in bin(abs(n))[2:]:
        made = times(p, made, made)
        made = times(p, made, z) if bit == "1" else made
    return quotient(p, complex_of(p, p.broadcast(p.number(1.0, z.real.dtype), z.shape, [])), made) if n < 0 else made


def raised(p: Program, z: Complex, to: Complex) -> Complex:
    """exp(to log z); of 0 it is 0 if the real part of the power is above 0, and 1 to the power of 0."""
    made = exp(p, times(p, log(p, z), to))
    one, zero = p.number(1.0, z.real.dtype), p.number(0.0, z.real.dtype)
    none = p.logic("and", p.compare("equal", size(p, z), zero), p.compare("less", zero, to.real))
    still = p.compare("equal", size(p, to), zero)
    return Complex(p.select(still, one, p.select(none, zero, made.real)), p.select(p.logic("or", none, still), zero, made.imag))


def _sinh(p: Program, z: Complex) -> Complex:
    sinh, cosh = (ELEMENTWISE[fn](p, z.real) for fn in ("sinh", "cosh"))
    return Complex(p.map("mul", sinh, p.map("cos", z.imag)), p.map("mul", cosh, p.map("sin", z.imag)))


def _cosh(p: Program, z: Complex) -> Complex:
    sinh, cosh = (ELEMENTWISE[fn](p, z.real) for fn in ("sinh", "cosh"))
    return Complex(p.map("mul", cosh, p.map("cos", z.imag)), p.map("mul", sinh, p.map("sin", z.imag)))


def _tanh(p: Program, z: Complex) -> Complex:
    """(t + i s) / (1 + i t s) of t = tanh of the real part, and s = tan of the imaginary one, without infinite terms."""
    t, s = p.map("tanh", z.real), p.map("tan", z.imag)
    one = p.broadcast(p.number(1.0, t.dtype), z.shape, [])
    return quotient(p, Complex(t, s), Complex(one, p.map("mul", t, s)))


def _turned(fn: Callable[["Program", Complex], Complex], back: float) -> Callable[["Program", Complex], Complex]:
    """A circular function by a hyperbolic one of i z: cos z = cosh i z, sin z = -i sinh i z."""

    def made(p: Program, z: Complex) -> Complex:
        of = fn(p, Complex(p.map("neg", z.imag), z.real))
        return of if not back else Complex(of.imag, p.map("neg", of.real))

    return made


def _logistic(p: Program, z: Complex) -> Complex:
    one = complex_of(p, p.broadcast(p.number(1.0, z.real.dtype), z.shape, []))
    away = exp(p, of_parts(lambda x: p.map("neg", x), z))
    return quotient(p, one, of_parts(lambda x, y: p.map("add", x, y), away, one))


def _log1p(p: Program, z: Complex) -> Complex:
    """Half of log1p(2 x + x^2 + y^2), for numbers close to 0."""
    x, one = z.real, p.number(1.0, z.real.dtype)
    off = p.map("add", p.map("add", x, x), squared_size(p, z))
    return Complex(p.map("mul", p.map("log1p", off), p.number(0.5, x.dtype)), p.map("atan2", z.imag, p.map("add", x, one)))


def _expm1(p: Program, z: Complex) -> Complex:
    """The real part exp(x) cos y - 1 is expm1(x) cos y - 2 sin^2(y / 2), for numbers close to 0."""
    sine = p.map("sin", p.map("mul", z.imag, p.number(0.5, z.imag.dtype)))
    less = p.map("mul", p.map("mul", sine, sine), p.number(2.0, sine.dtype))
    real = p.map("sub", p.map("mul", p.map("expm1", z.real), p.map("cos", z.imag)), less)
    return Complex(real, p.map("mul", p.map("exp", z.real), p.map("sin", z.imag)))


def _inverse(p: Program, z: Complex) -> Complex:
    return power(p, z, -1)


#: Functions of each element.
FUNCTIONS: Dict[str, Callable[["Program", Complex], Complex]] = {
    "exp": exp, "log": log, "sqrt": sqrt, "sinh": _sinh, "cosh": _cosh, "tanh": _tanh, "sigmoid": _logistic,
    "sin": _turned(_sinh, 1.0), "cos": _turned(_cosh, 0.0), "tan": _turned(_tanh, 1.0), "sign": direction,
    "reciprocal": _inverse, "rsqrt": lambda p, z: _inverse(p, sqrt(p, z)), "square": lambda p, z: times(p, z, z),
    "log2": lambda p, z: scaled(p, log(p, z), 1 / math.log(2)), "log10": lambda p, z: scaled(p, log(p, z), 1 / math.log(10)),
    "conjugate": conjugate, "log1p": _log1p, "expm1": _expm1, "exp2": lambda p, z: exp(p, scaled(p, z, math.log(2))),
}  # fmt: skip


def is_complex(dtype: Any) -> bool:
    return str(dtype).rpartition(".")[2] in PARTS
