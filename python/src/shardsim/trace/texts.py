"""Names and numbers as lines of a scenario have them."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, Sequence


def readable(path: str) -> str:
    """A path as a name: letters, digits, '_' and '.'."""
    name = re.sub(r"[^A-Za-z0-9_]+", ".", path).strip(".") or "x"
    return "n" + name if name[0].isdigit() else name


def bare(text: str) -> str:
    """An expression without brackets around all of it."""
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


FOLDED: Dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "pow": lambda a, b: a**b,
    "convert": lambda a: a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "rem": math.fmod,
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "greater": lambda a, b: int(a > b),
    "greater_equal": lambda a, b: int(a >= b),
    "equal": lambda a, b: int(a == b),
    "not_equal": lambda a, b: int(a != b),
    "bit_xor": lambda a, b: int(a) ^ int(b),
    "bit_and": lambda a, b: int(a) & int(b),
    "bit_or": lambda a, b: int(a) | int(b),
    "select": lambda p, a, b: a if p else b,
}

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def number_of(text: str) -> float:
    """The number that `number_text` wrote."""
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
