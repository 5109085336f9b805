"""The logarithm of the gamma function, and its derivatives.

Numbers below 8 are moved up by Gamma(x + 1) = x Gamma(x); from there on the series in 1 / x of Stirling is exact to 1e-15
(M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 1964: 6.1.40, 6.3.18, 6.4.12).  Below 1/2 the values are
those of 1 - x by reflection (6.1.17, 6.3.7, 6.4.7).
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Sequence

from .array import Array
from .special import in_float32

if TYPE_CHECKING:
    from .arrays import Program

#: Bernoulli numbers B_2, B_4, ...
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)

#: By how many a number is moved up.
STEPS = 8


def _series(p: Program, z: Array, factors: Sequence[float]) -> Array:
    """The sum of factors[k] / z^(2 k), of B_2 (k = 0) and so on."""
    square = p.map("div", p.number(1.0, z.dtype), p.map("mul", z, z))
    made = p.map("mul", square, p.number(factors[-1], z.dtype))
    for factor in factors[-2::-1]:
        made = p.map("add", made, p.number(factor, z.dtype))
        made = p.map("mul", made, square) if factor is not factors[0] else made
    return made


def _moved(p: Program, x: Array) -> "tuple[Array, list[Array]]":
    """x + 8, and x, x + 1, ... x + 7."""
    steps = [p.map("add", x, p.number(float(k), x.dtype)) if k else x for k in range(STEPS + 1)]
    return steps[-1], steps[:-1]


def _log_gamma(p: Program, x: Array) -> Array:
    z, steps = _moved(p, x)
    product = steps[0]
    for step in steps[1:]:
        product = p.map("mul", product, step)
    big = p.compare("less", p.number(float(STEPS), x.dtype), x)  # its product would be infinite
    one = p.number(1.0, x.dtype)
    z, product = p.select(big, x, z), p.select(big, one, product)
    half, log = p.number(0.5, x.dtype), p.map("log", z)
    made = p.map("sub", p.map("mul", p.map("sub", log, one), p.map("sub", z, half)), half)
    factors = [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI)]
    rest = p.map("div", _series(p, z, factors), z)
    made = p.map("add", p.map("add", made, p.number(0.5 * math.log(2 * math.pi), x.dtype)), rest)
    return p.map("sub", made, p.map("log", product))


def _digamma(p: Program, x: Array) -> Array:
    z, steps = _moved(p, x)
    inverse = p.map("div", p.number(1.0, x.dtype), z)
    factors = [b / (2 * k + 2) for k, b in enumerate(BERNOULLI)]
    square = p.map("mul", inverse, inverse)
    made = p.map("sub", p.map("log", z), p.map("mul", inverse, p.number(0.5, x.dtype)))
    made = p.map("sub", made, p.map("mul", _series(p, z, factors), square))
    for step in steps:
        made = p.map("sub", made, p.map("div", p.number(1.0, x.dtype), step))
    return made


def _trigamma(p: Program, x: Array) -> Array:
    z, steps = _moved(p, x)
    one = p.number(1.0, x.dtype)
    inverse = p.map("div", one, z)
    square = p.map("mul", inverse, inverse)
    rest = p.map("mul", p.map("mul", _series(p, z, BERNOULLI), square), inverse)
    made = p.map("add", p.map("add", inverse, p.map("mul", square, p.number(0.5, x.dtype))), rest)
    for step in steps:
        made = p.map("add", made, p.map("div", one, p.map("mul", step, step)))
    return made


def _sine(p: Program, x: Array, fn: str) -> Array:
    """sin or tan of pi x, by the distance to the whole number that is nearest: 0 where x is whole."""
    rest = p.map("sub", x, p.map("round", x))
    return p.map(fn, p.map("mul", rest, p.number(math.pi, x.dtype)))


def _reflected(of_large: Callable[[Program, Array], Array], reflect: Callable[[Program, Array, Array], Array]) -> Callable[[Program, Array], Array]:
    def made(p: Program, x: Array) -> Array:
        low = p.compare("less", x, p.number(0.5, x.dtype))
        large = of_large(p, p.select(low, p.map("sub", p.number(1.0, x.dtype), x), x))
        return p.select(low, reflect(p, x, large), large)

    return made


def _log_gamma_below(p: Program, x: Array, other: Array) -> Array:
    """Infinite at whole numbers."""
    sine = p.map("abs", _sine(p, x, "sin"))
    return p.map("sub", p.map("sub", p.number(math.log(math.pi), x.dtype), p.map("log", sine)), other)


def _digamma_below(p: Program, x: Array, other: Array) -> Array:
    """None at whole numbers, and at 0 infinite, with the sign that 1 / -x has."""
    made = p.map("sub", other, p.map("div", p.number(math.pi, x.dtype), _sine(p, x, "tan")))
    zero = p.number(0.0, x.dtype)
    whole = p.logic("and", p.compare("equal", p.map("round", x), x), p.compare("less", x, zero))
    at_zero = p.map("neg", p.map("div", p.number(1.0, x.dtype), x))
    return p.select(whole, p.number(math.nan, x.dtype), p.select(p.compare("equal", x, zero), at_zero, made))


def _trigamma_below(p: Program, x: Array, other: Array) -> Array:
    quotient = p.map("div", p.number(math.pi, x.dtype), _sine(p, x, "sin"))
    return p.map("sub", p.map("mul", quotient, quotient), other)


#: Functions of each element.
GAMMA = in_float32({
    "lgamma": _reflected(_log_gamma, _log_gamma_below),
    "digamma": _reflected(_digamma, _digamma_below),
    "trigamma": _reflected(_trigamma, _trigamma_below),
})
