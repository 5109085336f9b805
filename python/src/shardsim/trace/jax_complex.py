"""JAX equations of complex numbers, and Fourier transforms."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List

import jax
import numpy as np

from . import complex_arrays, fourier
from .arrays import Array, Gap
from .complex_arrays import PARTS, Complex, Numbers, complex_of, is_complex, multiplied, of_parts, scaled
from .jax_ops import demand_plain, dot
from .jax_reader import COMPLEX, HANDLERS, NOTES, Reader, Value, handles_complex, spread

#: Equations that are linear in their complex operands: each part of the result is that of the parts.
BY_PARTS = (
    "add", "add_any", "broadcast_in_dim", "concatenate", "cumsum", "dynamic_slice", "dynamic_update_slice", "expand_dims", "gather",
    "neg", "pad", "reduce_sum", "reshape", "reshard", "rev", "scatter", "scatter-add", "scatter-sub", "scatter_add", "select_n",
    "sharding_constraint", "slice", "split", "squeeze", "stack", "sub", "tile", "transpose", "unstack",
)  # fmt: skip
AS_IT_IS = ("stop_gradient", "copy", "copy_p", "device_put", "optimization_barrier", "name", *NOTES)

#: Functions of each element, by their names in JAX.
FUNCTIONS = {**{name: name for name in complex_arrays.FUNCTIONS}, "conj": "conjugate", "logistic": "sigmoid"}

COMPLEX.update({name: HANDLERS[name] for name in AS_IT_IS})


def numbers(reader: Reader, value: Value) -> Complex:
    return complex_of(reader.program, reader.numbers(value))


def _real(var: Any) -> Any:
    """A variable with the type of its parts."""
    kind = str(var.aval.dtype)
    return SimpleNamespace(aval=jax.core.ShapedArray(var.aval.shape, np.dtype(PARTS.get(kind, kind))))


@handles_complex(*BY_PARTS)
def _by_parts(reader: Reader, eqn: Any, values: List[Value]) -> Any:
    real = eqn.replace(outvars=[_real(v) for v in eqn.outvars])

    def of(var: Any, value: Value, k: int) -> Value:
        if not is_complex(var.aval.dtype):
            return value
        if isinstance(value, np.ndarray):
            return np.array((value.real, value.imag)[k])
        return numbers(reader, value).parts[k]

    parts = []
    for k in (0, 1):
        made = HANDLERS[eqn.primitive.name](reader, real, [of(var, v, k) for var, v in zip(eqn.invars, values)])
        parts.append([reader.lift(x) for x in (made if isinstance(made, list) else [made])])
    return [Complex(a, b) for a, b in zip(*parts)]


@handles_complex("convert_element_type")
def _convert(reader: Reader, eqn: Any, values: List[Value]) -> Numbers:
    """Of a complex number as a real one, the real part."""
    kind = str(eqn.outvars[0].aval.dtype)
    made: Complex = of_parts(lambda x: reader.program.convert(x, PARTS.get(kind, kind)), numbers(reader, values[0]))
    return made if kind in PARTS else made.real


# ---- parts


@handles_complex("complex")
def _complex(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    real, imag = (reader.lift(v) for v in values)
    return Complex(spread(reader, real, imag), spread(reader, imag, real))


@handles_complex("real", "imag")
def _part(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    z = numbers(reader, values[0])
    return z.real if eqn.primitive.name == "real" else z.imag


@handles_complex("abs")
def _size(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    return complex_arrays.size(reader.program, numbers(reader, values[0]))


# ---- functions of each element


@handles_complex(*FUNCTIONS)
def _function(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    return complex_arrays.FUNCTIONS[FUNCTIONS[eqn.primitive.name]](reader.program, numbers(reader, values[0]))


@handles_complex("one_minus_square")
def _one_minus_square(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    """(1 + z)(1 - z), from JAX 0.11 on in gradients of tanh."""
    p, z = reader.program, numbers(reader, values[0])
    one = complex_of(p, p.broadcast(p.number(1.0, z.real.dtype), z.shape, []))
    return complex_arrays.times(p, *(of_parts(lambda x, y, fn=fn: p.map(fn, x, y), one, z) for fn in ("add", "sub")))


@handles_complex("mul", "div", "pow")
def _of_two(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    a, b = (numbers(reader, v) for v in values)
    of = {"mul": complex_arrays.times, "div": complex_arrays.quotient, "pow": complex_arrays.raised}[eqn.primitive.name]
    return of(reader.program, a, b)


@handles_complex("integer_pow")
def _integer_pow(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    return complex_arrays.power(reader.program, numbers(reader, values[0]), eqn.params["y"])


@handles_complex("eq", "ne")
def _compare(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    p, (a, b) = reader.program, (numbers(reader, v) for v in values)
    same = p.logic("and", *(p.compare("equal", x, y) for x, y in zip(a.parts, b.parts)))
    return same if eqn.primitive.name == "eq" else p.logic("not", same)


@handles_complex("is_finite")
def _finite(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    p = reader.program
    return p.logic("and", *(p.map("finite", x, dtype="bool", carrier=x.carrier) for x in numbers(reader, values[0]).parts))


# ---- products, and Fourier transforms


@handles_complex("dot_general")
def _dot(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    p, (a, b) = reader.program, (numbers(reader, v) for v in values)
    summed, batch = eqn.params["dimension_numbers"]
    demand_plain(eqn)
    kind = PARTS[str(eqn.outvars[0].aval.dtype)]
    return multiplied(p, a, b, lambda x, y: dot(p, x, y, summed, batch, kind))


@handles_complex("conv_general_dilated")
def _convolution(reader: Reader, eqn: Any, values: List[Value]) -> Complex:
    a, b = (numbers(reader, v) for v in values)
    real = eqn.replace(outvars=[_real(v) for v in eqn.outvars])

    def real_one(x: Array, y: Array) -> Array:
        return HANDLERS[eqn.primitive.name](reader, real, [x, y])  # type: ignore[no-any-return]

    return multiplied(reader.program, a, b, real_one)


@handles_complex("fft")
def _fft(reader: Reader, eqn: Any, values: List[Value]) -> Numbers:
    """Over the last axes; an inverse one is divided by the number of points."""
    p, z = reader.program, numbers(reader, values[0])
    kind, lengths = str(getattr(eqn.params["fft_type"], "name", eqn.params["fft_type"])), eqn.params["fft_lengths"]
    axes = list(range(z.rank - len(lengths), z.rank))
    made: Numbers
    if kind == "RFFT":
        made = fourier.fft(p, fourier.rfft(p, z.real, axes[-1]), axes[:-1])
    elif kind == "IRFFT":
        x = fourier.irfft(p, fourier.fft(p, z, axes[:-1], True), axes[-1], lengths[-1])
        made = p.map("mul", x, p.number(1 / math.prod(lengths), x.dtype))
    elif kind in ("FFT", "IFFT"):
        made = fourier.fft(p, z, axes, kind == "IFFT")
        made = scaled(p, made, 1 / math.prod(lengths)) if kind == "IFFT" else made
    else:
        raise Gap(f"a Fourier transform of the type {kind}")
    return made
