"""An array of a traced program, and the types that it may have."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ..errors import InputError
from .dims import Axis


@dataclass(eq=False)
class Array:
    """A value of the traced program.

    `axes` has an Axis for each place, or None where the size is 1.  Booleans are 0 or 1 in the type of what was
    compared, which is `carrier`.
    """

    number: int
    op: str
    shape: Tuple[int, ...]
    dtype: str
    carrier: str
    inputs: Tuple["Array", ...] = ()
    attrs: Dict[str, Any] = field(default_factory=dict)
    axes: Tuple[Optional[Axis], ...] = ()
    where: str = ""
    scope: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)


#: Types of numbers that programs have: others would silently be computed as one of these.
TYPES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "uint32", "bool")


class Gap(InputError):
    """An operation that cannot be traced: its name, the place in the user's source, and an alternative."""


def uniform(x: Array) -> Optional[float]:
    """The value shared by all elements of an array, if known."""
    while x.op in ("view", "reshape"):
        x = x.inputs[0]
    return float(x.attrs["value"]) if x.op == "number" else None


def is_uniform(array: np.ndarray) -> bool:
    """Whether all elements are equal, zeros also in their signs."""
    first = array.reshape(-1)[:1]
    return bool((array == first).all() and (np.signbit(array) == np.signbit(first)).all())


#: Elements of a known array whose axes are merged, at most: it may have been broadcast.
MERGED_MOST = 1 << 24


def known(x: Array) -> Optional[np.ndarray]:
    """The elements of a constant, as views arrange them; None if they depend on an input.

    An argument's values are an example, and not known here.  A broadcast axis has stride 0.
    """
    if x.op == "number" or (x.op == "leaf" and x.attrs.get("constant")):
        return np.asarray(x.attrs["value"])
    if x.op == "iota":
        return np.arange(x.shape[0])
    if x.op not in ("view", "reshape"):
        return None
    value = known(x.inputs[0])
    if value is None:
        return None
    if x.op == "reshape":
        return value.reshape(x.shape) if value.size <= MERGED_MOST else None
    kept = [at for at in x.attrs["source"] if at is not None]
    value = value.squeeze(tuple(a for a in range(value.ndim) if a not in kept)).transpose(np.argsort(np.argsort(kept)))
    sizes = [1 if at is None else x.inputs[0].shape[at] for at in x.attrs["source"]]
    return np.broadcast_to(value.reshape(sizes), x.shape)


def unrepeated(value: np.ndarray) -> np.ndarray:
    """An array with one element along each axis that it is broadcast over."""
    return value[tuple(slice(0, 1 if step == 0 else None) for step in value.strides)]


def carrier_of(dtype: str) -> str:
    """The type in which values are stored: integers, words and booleans are int32."""
    return dtype if is_float(dtype) else "int32"


def is_float(dtype: str) -> bool:
    return dtype in ("float32", "float64", "bfloat16", "float16")
