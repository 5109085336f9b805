"""`lax.associative_scan` of a linear recurrence as one op: h = a * h + b along an axis, from 0 on.

JAX writes such a scan as slices that are halved again and again.  While a function is traced, a call whose function is
that of pairs (a, b) is noted as an equation of its own, with its derivatives; others are what JAX makes of them.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core
from jax.interpreters import ad, batching

from .arrays import Array
from .jax_reader import Reader, Value, handles, operands

recurrence = core.Primitive("recurrence")
_plain = lax.associative_scan


def _of_b(a: Any, b: Any, **_: Any) -> Any:
    return b


def _computed(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    return _plain(_pair, (a, b), reverse, axis)[1]


def _pair(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    return first[0] * second[0], second[0] * first[1] + second[1]


def _moved(x: Any, axis: int, reverse: bool) -> Any:
    """Shift by one along the axis, with 0 first."""
    size = x.shape[axis]
    kept = lax.slice_in_dim(x, 1 if reverse else 0, size if reverse else size - 1, axis=axis)
    ends = [(0, 0, 0)] * x.ndim
    ends[axis] = (0, 1, 0) if reverse else (1, 0, 0)
    return lax.pad(kept, np.zeros((), x.dtype), ends)


def _jvp(primals: Any, tangents: Any, axis: int, reverse: bool) -> Any:
    (a, b), (da, db) = primals, tangents
    out = recurrence.bind(a, b, axis=axis, reverse=reverse)
    parts = [] if type(db) is ad.Zero else [db]
    if type(da) is not ad.Zero:
        parts.append(da * _moved(out, axis, reverse))
    return out, recurrence.bind(a, sum(parts[1:], parts[0]), axis=axis, reverse=reverse) if parts else ad.Zero.from_primal_value(out)


def _transposed(ct: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The gradient is a recurrence from the other end."""
    if type(ct) is ad.Zero:
        return None, ct
    return None, recurrence.bind(_moved(a, axis, not reverse), ct, axis=axis, reverse=not reverse)


def _batched(args: Sequence[Any], dims: Sequence[Any], axis: int, reverse: bool) -> Any:
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)
    a, b = (jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims))
    return recurrence.bind(a, b, axis=axis + 1, reverse=reverse), 0


recurrence.def_abstract_eval(_of_b)
recurrence.def_impl(_computed)
ad.primitive_jvps[recurrence] = _jvp
ad.primitive_transposes[recurrence] = _transposed
batching.primitive_batchers[recurrence] = _batched


def _is_recurrence(fn: Callable[..., Any], elems: Any) -> bool:
    """Whether a function of two pairs is that of a linear recurrence: by its text, and by numbers."""
    if not isinstance(elems, (tuple, list)) or len(elems) != 2:
        return False
    a, b = elems
    if not all(hasattr(x, "shape") and jnp.issubdtype(x.dtype, jnp.floating) for x in (a, b)):
        return False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    one = jax.ShapeDtypeStruct((), a.dtype)
    try:
        inner = jax.make_jaxpr(fn)((one, one), (one, one))
    except Exception:  # the function is of arrays, or of pairs in another form
        return False
    if sorted(e.primitive.name for e in inner.eqns) != ["add", "mul", "mul"] or len(inner.jaxpr.outvars) != 2:
        return False
    return all(_at(inner, p) == _pair(p[:2], p[2:]) for p in ((2.0, 3.0, 5.0, 7.0), (3.0, -2.0, 7.0, 11.0)))


def _at(inner: Any, numbers: Sequence[float]) -> Sequence[float]:
    """The results of additions and products, by numbers that are exact in any type."""
    env: Dict[Any, float] = dict(zip(inner.jaxpr.invars, numbers))

    def get(atom: Any) -> float:
        return float(atom.val) if isinstance(atom, core.Literal) else env[atom]

    for eqn in inner.eqns:
        x, y = (get(v) for v in eqn.invars)
        env[eqn.outvars[0]] = x + y if eqn.primitive.name == "add" else x * y
    return tuple(get(v) for v in inner.jaxpr.outvars)


def _noted(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    if not _is_recurrence(fn, elems):
        return _plain(fn, elems, reverse, axis)
    a, b = (jnp.asarray(x) for x in elems)
    place = axis % b.ndim
    return type(elems)((lax.cumprod(a, place, reverse), recurrence.bind(a, b, axis=place, reverse=bool(reverse))))


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Inside, `lax.associative_scan` is the one of this file."""
    setattr(lax, "associative_scan", _noted)
    try:
        yield
    finally:
        setattr(lax, "associative_scan", _plain)


@handles("recurrence")
def _recurrence(reader: Reader, eqn: Any, values: List[Value]) -> Array:
    a, b = operands(reader, eqn, values)
    return reader.program.recurrence(a, b, eqn.params["axis"], eqn.params["reverse"])
