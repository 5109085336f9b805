"""Names and numbers in the syntax of a scenario."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, Sequence

import numpy as np

from .array import Gap


def readable(path: str) -> str:
    """A path as a name: letters, digits, '_' and '.'."""
    name = re.sub(r"[^A-Za-z0-9_]+", ".", path).strip(".") or "x"
    return "n" + name if name[0].isdigit() else name


def bare(text: str) -> str:
    """An expression without enclosing brackets."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text


def bracket(names: Sequence[str]) -> str:
    return "[" + ",".join(names) + "]"


#: Types in which functions of numbers alone are worked out; words and booleans are int32 here as in the program.
KEPT = {"float32": np.float32, "float64": np.float64, "bfloat16": np.float32, "float16": np.float16, "int32": np.int32}


def _divided(a: Any, b: Any) -> Any:
    """A quotient: for integers, rounded towards zero."""
    return a / b if a.dtype.kind == "f" else np.trunc(a.astype(np.float64) / b)


FOLDED: Dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divided, "neg": np.negative, "abs": np.abs,
    "max": np.maximum, "min": np.minimum, "rem": np.fmod, "pow": np.power, "sign": np.sign,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "expm1": np.expm1, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "atan2": np.arctan2, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "round": np.round,
    "convert": lambda a: a, "finite": np.isfinite,
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": np.equal, "not_equal": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "xor": np.logical_xor,
    "bit_xor": np.bitwise_xor, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
    "select": np.where,
}  # fmt: skip


def folded(fn: str, values: Sequence[float], types: Sequence[str], made: str) -> Any:
    """A function of numbers of the given types, computed like the program, in the type `made`."""
    with np.errstate(all="ignore"):
        operands = [_kept(v, t) for v, t in zip(values, types)]
        if fn in ("div", "rem") and operands[0].dtype.kind == "i" and operands[1] == 0:
            raise Gap("a division of whole numbers by zero")
        if fn == "pow" and operands[0].dtype.kind == "i" and operands[1] < 0:
            raise Gap("a whole number to a power below zero")
        result = _kept(FOLDED[fn](*operands), made)
    return float(str(result)) if result.dtype.kind == "f" else int(result)


def _kept(value: Any, kind: str) -> Any:
    """A number rounded to a type."""
    value = np.asarray(value)
    if kind == "int32":
        if value.dtype.kind == "f":  # what is no number is 0, and what is too large the largest
            value = np.clip(np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0), -(2**31), 2**31 - 1)
        return value.astype(np.int64).astype(np.int32)
    value = value.astype(KEPT[kind])
    if kind == "bfloat16" and np.isfinite(value):  # the upper half of the bits, to the nearest, and to the even one
        bits = int(value.view(np.uint32))
        bits += 0x7FFF + (bits >> 16 & 1)
        value = np.asarray(bits & 0xFFFF0000, np.uint32).view(np.float32)
    return value


OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def number_of(text: str) -> float:
    """The inverse of `number_text`."""
    return math.nan if text == "(inf - inf)" else float(text.strip("()"))


def option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else number_text(value)


def number_text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    number = float(value)
    if math.isnan(number):
        return "(inf - inf)"
    if math.isinf(number):
        return "inf" if number > 0 else "(-inf)"
    text = repr(number)
    text = text[:-2] if text.endswith(".0") else text
    return text if number >= 0 and not text.startswith("-") else f"({text})"
