"""Random numbers of JAX, bit for bit: keys are arrays of two words, and threefry is arithmetic on them.

JAX's own implementation is traced in place of each op on keys, so that nothing of it is written here.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, Callable, List, Sequence

import jax
import numpy as np

from .arrays import Array, Gap
from .jax_reader import CONSTANT_MOST, Reader, Real, handles


def _implementation(dtype: Any) -> Any:
    found = getattr(dtype, "_impl", None)
    if found is None:
        raise Gap(f"random keys of the type {dtype}")
    return found


def _traced(reader: Reader, fn: Callable[..., Any], values: Sequence[Real], kept: int) -> List[Real]:
    """Apply a function of words, one key at a time over the first `kept` axes."""
    for _ in range(kept):
        fn = jax.vmap(fn)
    shapes = [jax.ShapeDtypeStruct(v.shape, np.dtype(v.dtype)) for v in values]
    closed = jax.make_jaxpr(fn)(*shapes)
    return reader.read(closed.jaxpr, closed.consts, list(values))


@handles("random_seed")
def _seed(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    return _traced(reader, eqn.params["impl"].seed, values, len(eqn.invars[0].aval.shape))


@handles("random_wrap", "random_unwrap")
def _as_words(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    return list(values)


@handles("random_split")
def _split(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    aval, shape = eqn.invars[0].aval, eqn.params["shape"]
    split = _implementation(aval.dtype).split
    return _traced(reader, lambda key: split(key, shape), values, len(aval.shape))


@handles("random_fold_in")
def _fold_in(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    aval = eqn.invars[0].aval
    fold_in = _implementation(aval.dtype).fold_in
    return _traced(reader, lambda key, data: fold_in(key, data.astype("uint32")), values, len(aval.shape))


@handles("random_bits")
def _bits(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    aval, width, shape = eqn.invars[0].aval, eqn.params["bit_width"], eqn.params["shape"]
    if width != 32:
        raise Gap(f"random numbers of {width} bits; 32 bits are supported")
    draw = _implementation(aval.dtype).random_bits
    return _traced(reader, lambda key: draw(key, width, shape), values, len(aval.shape))


#: Draws of a gamma sample: a draw is rejected with a probability below 1/20, all seven with one below 1e-9.
DRAWS_MOST = 7


@handles("random_gamma")
def _gamma(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    """JAX's loops, which draw until a sample is accepted, with a bounded number of draws; a run checks the last draw."""
    impl, draw, log_space = _implementation(eqn.invars[0].aval.dtype), eqn.primitive.impl, eqn.params["log_space"]

    def samples(words: Any, parameters: Any) -> Any:
        return draw(jax.random.wrap_key_data(words, impl=impl.name), parameters, log_space=log_space, use_vmap=True)

    if math.prod(eqn.outvars[0].aval.shape) <= CONSTANT_MOST and not any(isinstance(v, Array) for v in values):
        return [np.asarray(jax.jit(samples)(*values))]
    kind = eqn.outvars[0].aval.dtype
    if kind != np.float32:
        raise Gap(f"samples of gamma distributions (also for beta, Dirichlet, t) in {kind}; samples in float32 are supported")
    with reader.bounded(DRAWS_MOST, f"a sample of a gamma distribution is rejected {DRAWS_MOST} times; use another key"):
        return _traced(reader, samples, values, 0)


@handles("threefry2x32")
def _threefry(reader: Reader, eqn: Any, values: List[Real]) -> List[Real]:
    try:
        from jax._src.random.threefry2x32 import _threefry2x32_lowering as rounds
    except ImportError:
        try:
            from jax._src.prng import _threefry2x32_lowering as rounds
        except ImportError:
            raise Gap("threefry of this version of JAX") from None
    return _traced(reader, lambda *words: rounds(*words, use_rolled_loops=False), values, 0)


@handles("bitcast_convert_type")
def _bitcast(reader: Reader, eqn: Any, values: List[Real]) -> Array:
    """A float in [1, 2) from the bits of its fraction, as uniform random numbers are made."""
    p, x = reader.program, reader.lift(values[0])
    to = str(eqn.params["new_dtype"])
    if {x.dtype, to} <= {"int32", "uint32"}:
        return p.retyped(x, to)
    found = _fraction_bits(x) if to == "float32" else None
    if found is None:
        raise Gap(f"the bits of {x.dtype} as {to}; bits from jax.random are supported")
    fraction = p.convert(p.retyped(found, "int32"), "float32")
    return p.map("add", p.map("mul", fraction, p.number(2.0**-23, "float32")), p.number(1.0, "float32"))


def _fraction_bits(x: Array) -> "Array | None":
    """y of `y | bits of 1.0`, where y has 23 bits."""
    if x.op != "map" or x.attrs["fn"] != "bit_or":
        return None
    for one, y in ((x.inputs[1], x.inputs[0]), (x.inputs[0], x.inputs[1])):
        while one.op == "view":
            one = one.inputs[0]
        if one.op == "number" and int(one.attrs["value"]) == 0x3F800000 and _shifted(y) >= 9:
            return y
    return None


def _shifted(x: Array) -> int:
    """The number of bits by which an array of words was shifted right."""
    if x.op != "map" or x.attrs["fn"] != "shift_right":
        return 0
    by = x.inputs[1]
    while by.op == "view":
        by = by.inputs[0]
    return int(by.attrs["value"]) if by.op == "number" and not math.isnan(by.attrs["value"]) else 0
