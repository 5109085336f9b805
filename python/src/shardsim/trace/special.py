"""Functions computed from other functions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Sequence

from .arrays import Array, Program

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
    """For float32: used for normally distributed random numbers."""
    w = p.map("neg", p.map("log1p", p.map("neg", p.map("mul", x, x))))
    near = polynomial(p, p.map("sub", w, p.number(2.5, x.dtype)), ERF_INV_NEAR)
    far = polynomial(p, p.map("sub", p.map("sqrt", w), p.number(3.0, x.dtype)), ERF_INV_FAR)
    made = p.map("mul", p.select(p.compare("less", w, p.number(5.0, x.dtype)), near, far), x)
    end = p.compare("equal", p.map("abs", x), p.number(1.0, x.dtype))
    return p.select(end, p.map("mul", x, p.number(math.inf, x.dtype)), made)
