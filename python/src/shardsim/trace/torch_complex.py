"""ATen operations on complex numbers, and Fourier transforms."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List, Sequence

import torch

from . import complex_arrays, fourier
from .arrays import Array, Gap
from .complex_arrays import Complex, Numbers, complex_of, conjugate, multiplied, of_parts, scaled, truth
from .torch_axes import PRODUCTS, SUMMED, product
from .torch_graph import COMPLEX, HANDLERS, Call, handles, handles_complex
from .torch_ops import arguments_first, mapped, ranked

#: Operations that are linear in the arguments of VALUES: each part of the result is that of the parts.
BY_PARTS = (
    "_reshape_alias", "_unsafe_index_put", "_unsafe_view", "add", "as_strided", "as_strided_scatter", "cat", "constant_pad_nd",
    "copy", "copy_", "cumsum", "diagonal", "diagonal_backward", "diagonal_scatter", "expand", "flip", "gather", "index", "index_add",
    "index_put", "index_select", "masked_fill", "masked_scatter", "masked_scatter_backward", "mean", "neg", "permute", "repeat",
    "reshape", "rsub", "scatter", "scatter_add", "select", "select_backward", "select_scatter", "slice", "slice_backward", "slice_scatter",
    "split", "split_with_sizes", "squeeze", "stack", "sub", "sum", "t", "transpose", "unbind", "unsafe_chunk", "unsafe_split", "chunk",
    "unsqueeze", "view", "view_copy", "where",
)  # fmt: skip
VALUES = ("self", "other", "grad", "grad_output", "input", "source", "src", "tensors", "value", "values")

#: Operations that pass on what they are given, or make constants.
AS_REAL = (
    "alias", "clone", "contiguous", "detach", "lift_fresh", "lift_fresh_copy", "empty", "empty_like", "empty_strided", "full", "full_like",
    "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like",
    "resolve_conj", "resolve_neg",
)  # fmt: skip

#: Functions of each element, by their names in ATen.
FUNCTIONS = {**{name: name for name in complex_arrays.FUNCTIONS}, "sgn": "sign", "_conj": "conjugate", "_conj_physical": "conjugate",
             "conj_physical": "conjugate"}  # fmt: skip


def part(c: Call, k: int) -> Call:
    """The call on the real parts of its values, or on the imaginary ones."""

    def of(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [of(v) for v in value]
        if isinstance(value, (complex, float, int)) and not isinstance(value, bool):
            return (value.real, value.imag)[k]
        if isinstance(value, (Array, Complex, torch.Tensor)):
            return complex_of(c.program, c.reader.numbers(value)).parts[k]
        return value

    return Call(c.reader, c.node, c.arguments.changed(lambda name, value: of(value) if name in VALUES else value))


def multiplied_before(c: Call) -> Call:
    """The call with a complex factor of one operand as part of that operand."""
    operand = {"rsub": "self", "index_add": "source"}.get(c.name, "other")
    made = complex_arrays.times(c.program, c.numbers(getattr(c, operand)), c.numbers(c.alpha))
    return Call(c.reader, c.node, c.arguments.changed(lambda name, value: {operand: made, "alpha": 1}.get(name, value)))


@handles_complex(*BY_PARTS, "_neg_view")
def _by_parts(c: Call) -> Any:
    """An array for each result, as `shaped` makes it: the axis of a row that stands for a number is still there."""
    c = multiplied_before(c) if isinstance(getattr(c.arguments, "alpha", None), complex) else c
    real, imag = (HANDLERS[c.name](part(c, k)) for k in (0, 1))
    return [Complex(a, b) for a, b in zip(real, imag)] if isinstance(real, (list, tuple)) else Complex(real, imag)


@handles("_neg_view")
def _negative(c: Call) -> Array:
    return mapped(c, "neg", c.self)


HANDLERS["resolve_conj"] = HANDLERS["resolve_neg"] = HANDLERS["alias"]
COMPLEX.update({name: HANDLERS[name] for name in AS_REAL})


@handles_complex("_to_copy", "convert_element_type")
def _converted(c: Call) -> Numbers:
    """A conversion to real numbers keeps the real part; a boolean is true where a part is not 0."""
    if c.dtype == "bool":
        return truth(c.program, c.reader.numbers(arguments_first(c)))
    made: Complex = of_parts(lambda x: c.program.convert(x, c.dtype), complex_of(c.program, c.reader.numbers(arguments_first(c))))
    return made if c.values[0].dtype.is_complex else made.real


@handles_complex("all", "any", "logical_and", "logical_not", "logical_or", "logical_xor", "nonzero")
def _of_truth(c: Call) -> Array:
    changed = c.arguments.changed(lambda name, value: truth(c.program, c.reader.numbers(value)) if name in ("self", "other") else value)
    return HANDLERS[c.name](Call(c.reader, c.node, changed))  # type: ignore[no-any-return]


@handles_complex("fill")
def _filled(c: Call) -> Complex:
    made: Complex = of_parts(lambda x: c.reader.spread(x, c.shape), c.numbers(c.value))
    return made


@handles_complex("var", "var_mean")
def _variance(c: Call) -> Any:
    """The mean of squared sizes of differences, which is the sum of both parts' variances."""
    real, imag = (HANDLERS[c.name](part(c, k)) for k in (0, 1))
    if c.name == "var":
        return c.program.map("add", real, imag)
    return c.program.map("add", real[0], imag[0]), Complex(real[1], imag[1])


# ---- parts


@handles("view_as_complex")
@handles_complex("view_as_complex")
def _view_as_complex(c: Call) -> Complex:
    p, x = c.program, c.array(c.self)
    return Complex(*(p.reshape(p.slice(x, x.rank - 1, k, 1), c.shape) for k in (0, 1)))


@handles_complex("view_as_real")
def _view_as_real(c: Call) -> Array:
    p, z = c.program, complex_of(c.program, c.reader.numbers(c.self))
    return p.concat([p.reshape(x, [*z.shape, 1]) for x in z.parts], z.rank)


@handles("complex", "polar")
@handles_complex("complex", "polar")
def _of_two(c: Call) -> Complex:
    """Complex numbers of parts, or of absolute values and angles."""
    p = c.program
    names = ("abs", "angle") if c.name == "polar" else ("real", "imag")
    first, second = (c.reader.spread(x, c.shape) for x in ranked(p, [c.array(getattr(c, name), c.dtype) for name in names]))
    return complex_arrays.polar(p, first, second) if c.name == "polar" else Complex(first, second)


@handles("angle")
def _angle(c: Call) -> Array:
    """Of a real number: 0, or half a turn if it is below 0."""
    p, x = c.program, c.array(c.self, c.dtype)
    zero, half = p.number(0.0, x.dtype), p.number(math.pi, x.dtype)
    return p.select(p.compare("equal", x, x), p.select(p.compare("less", x, zero), half, zero), x)


@handles_complex("abs", "angle")
def _polar_parts(c: Call) -> Array:
    made = complex_arrays.size if c.name == "abs" else complex_arrays.angle
    return made(c.program, c.numbers(c.self))


# ---- functions of each element


@handles_complex(*FUNCTIONS)
def _function(c: Call) -> Complex:
    return complex_arrays.FUNCTIONS[FUNCTIONS[c.name]](c.program, c.numbers(arguments_first(c)))


def both(c: Call, a: Any, b: Any) -> List[Complex]:
    """Two operands of one rank."""
    x, y = (c.numbers(v) for v in (a, b))
    pairs = [ranked(c.program, each) for each in zip(x.parts, y.parts)]
    return [Complex(real, imag) for real, imag in zip(*pairs)]


@handles_complex("mul", "div")
def _product_or_quotient(c: Call) -> Complex:
    if getattr(c.arguments, "rounding_mode", None) is not None:
        raise Gap("a rounded quotient of complex numbers")
    of = complex_arrays.times if c.name == "mul" else complex_arrays.quotient
    return of(c.program, *both(c, c.self, c.other))


@handles_complex("pow")
def _pow(c: Call) -> Complex:
    exponent = c.exponent
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and abs(exponent) <= 64:
        return complex_arrays.power(c.program, c.numbers(c.self), int(exponent))
    return complex_arrays.raised(c.program, *both(c, c.self, exponent))


@handles_complex("eq", "ne")
def _compare(c: Call) -> Array:
    p, kinds = c.program, [v.dtype for v in (c.self, c.other) if isinstance(v, torch.Tensor)]
    kinds += [n.meta["val"].dtype for n in c.node.all_input_nodes]
    kind = "float64" if torch.complex128 in kinds or torch.float64 in kinds else "float32"
    operands = [complex_of(p, c.reader.numbers(v, kind)) for v in (c.self, c.other)]
    pairs = [ranked(p, [p.convert(x, kind) for x in each]) for each in zip(*(z.parts for z in operands))]
    same = p.logic("and", *(p.compare("equal", *each) for each in pairs))
    return same if c.name == "eq" else p.logic("not", same)


@handles_complex("isnan", "isfinite")
def _is(c: Call) -> Array:
    p, z = c.program, complex_of(c.program, c.reader.numbers(c.self))
    if c.name == "isnan":
        return p.logic("or", *(p.compare("not_equal", x, x) for x in z.parts))
    return p.logic("and", *(p.map("finite", x, dtype="bool", carrier=x.carrier) for x in z.parts))


# ---- products


@handles_complex(*PRODUCTS)
def _product(c: Call) -> Complex:
    a, b = (c.numbers(getattr(c, argument.name)) for argument in c.node.target._schema.arguments[:2])
    a = conjugate(c.program, a) if c.name == "vdot" else a
    return multiplied(c.program, a, b, lambda x, y: product(c, x, y, PRODUCTS[c.name]))


@handles_complex(*SUMMED)
def _product_and_sum(c: Call) -> Complex:
    p = c.program
    added, a, b = (c.numbers(getattr(c, argument.name)) for argument in c.node.target._schema.arguments[:3])
    made = multiplied(p, a, b, lambda x, y: product(c, x, y, SUMMED[c.name]))
    made = complex_arrays.times(p, made, c.numbers(c.alpha))
    if c.beta == 0:
        return made
    added = complex_arrays.times(p, added, c.numbers(c.beta))
    total: Complex = of_parts(lambda x, y: p.map("add", *ranked(p, [x, y])), made, added)
    return total


# ---- Fourier transforms


def factor(mode: int, sizes: Sequence[int]) -> float:
    """Of a transform of so many points: none, or one by their root, or by their number."""
    return (1.0, 1 / math.sqrt(math.prod(sizes)), 1 / math.prod(sizes))[mode]


def demand_float(c: Call) -> None:
    kinds = [v.dtype for v in (*c.values, *(n.meta["val"] for n in c.node.all_input_nodes))]
    if torch.complex32 in kinds or torch.float16 in kinds:
        raise Gap("a Fourier transform of float16; convert to float32")


@handles_complex("_fft_c2c", "_fft_r2c", "_fft_c2r")
def _fft(c: Call) -> Numbers:
    """The last axis first, or last if the result is real; of it, one half of the frequencies is enough."""
    demand_float(c)
    p, z = c.program, complex_of(c.program, c.reader.numbers(c.self))
    axes = [d % z.rank for d in c.dim]
    if c.name == "_fft_c2r":
        shape = [c.last_dim_size if a == axes[-1] else z.shape[a] for a in axes]
        x = fourier.irfft(p, fourier.fft(p, z, axes[:-1], True), axes[-1], int(c.last_dim_size))
        scale = factor(c.normalization, shape)
        return x if scale == 1 else p.map("mul", x, p.number(scale, x.dtype))
    scale = factor(c.normalization, [z.shape[a] for a in axes])
    if c.name == "_fft_r2c" and c.onesided:
        made = fourier.fft(p, fourier.rfft(p, z.real, axes[-1]), axes[:-1])
    else:
        made = fourier.fft(p, z, axes, c.name == "_fft_c2c" and not c.forward)
    return scaled(p, made, scale)
