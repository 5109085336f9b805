"""Whole numbers that int32 does not hold: of 64 bits, and words of 32 bits without a sign.

The program computes with int32 and with fractions.  A whole number of 64 bits is int32 as long as its range says that it fits,
else float64, which has all whole numbers up to 2^53: what may be larger is looked at when the program is run, and refused there.
Of a word the 32 bits are kept as int32, and what asks for its size turns the first bit over, or goes by float64.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional, Sequence

from .array import Array, Gap, is_float, uniform
from .ranges import ANY, ENDS, LIMITS, Range

if TYPE_CHECKING:
    from .arrays import Program

#: Above it float64 lacks whole numbers.
EXACT_MOST = 2.0**53

#: Functions of bits.
BITS = ("bit_and", "bit_or", "bit_xor")

WORD = 2.0**32


def fits(ends: Range) -> bool:
    """Whether int32 holds all numbers of a range."""
    return ends[0] >= -(2**31) and ends[1] < 2**31


def fractions(p: Program, x: Array) -> Array:
    """Whole numbers as float64."""
    if x.op == "number":
        return p.number(float(x.attrs["value"]), "float64")
    if x.carrier == "float64":
        return p.retyped(x, "float64")
    made = p.map("convert", x, dtype="float64", carrier="float64")
    if x.dtype != "uint32" or (p.ranges.of(x)[0] >= 0 and fits(p.ranges.of(x))):
        return made
    return p.select(p.compare("less", made, p.number(0.0, "float64")), p.map("add", made, p.number(WORD, "float64")), made)


def long(p: Program, made: Array, ends: Range) -> Array:
    """64-bit integers within a range, stored as float64."""
    if fits(ends):
        return p.narrowed(made, "int64", ends)
    if ends[0] < -EXACT_MOST or ends[1] > EXACT_MOST:
        x = p.retyped(made, "int64", (max(ends[0], -EXACT_MOST), min(ends[1], EXACT_MOST)))
        p.checks.append(x)
        return x
    return p.retyped(made, "int64", ends)


def span(p: Program, x: Array) -> Range:
    """The range of an array's values, as far as known, else of its type."""
    known = p.ranges.of(x)
    return LIMITS.get(x.dtype, known) if known == ANY else known


def wrapped(p: Program, made: Array, dtype: str, ends: Range) -> Array:
    """Integers of a type, with wraparound, stored as float64, within a range."""
    return p.convert(long(p, made, ends), dtype)


def largest(p: Program, x: Array) -> Array:
    """The largest magnitude of integers."""
    return p.reduce("max", p.map("abs", fractions(p, x)), range(x.rank))


def truncated(p: Program, x: Array) -> Array:
    """Truncate fractions."""
    return p.select(p.compare("less", x, p.number(0.0, x.dtype)), p.map("ceil", x), p.map("floor", x))


def low_word(p: Program, x: Array) -> Array:
    """The low 32 bits of integers stored as float64, as int32."""
    rest = p.map("sub", x, p.map("mul", _high(p, x), p.number(WORD, "float64")))
    half = p.compare("less", rest, p.number(WORD / 2, "float64"))
    return p.narrowed(p.select(half, rest, p.map("sub", rest, p.number(WORD, "float64"))), "int32", (-(2.0**31), 2.0**31 - 1))


def _high(p: Program, x: Array) -> Array:
    """The bits above the low 32."""
    return p.map("floor", p.map("mul", x, p.number(1 / WORD, "float64")))


def mapped(p: Program, fn: str, operands: Sequence[Array], dtype: str) -> Optional[Array]:
    """fn of integers where int32 arithmetic differs; None: int32 is correct."""
    kinds = [dtype, *(x.dtype for x in operands)]
    if fn == "convert" or fn == "select":
        return None
    if "int64" in kinds:
        return _of_longs(p, fn, operands)
    if "uint32" in kinds:
        return _of_words(p, fn, operands)
    if fn == "pow" and dtype == "int32":
        return low_word(p, fractions(p, _of_longs(p, fn, [p.retyped(x, "int64") for x in operands])))
    return None


def _of_longs(p: Program, fn: str, operands: Sequence[Array]) -> Array:
    if fn == "relu":
        fn, operands = "max", [operands[0], p.number(0, "int64")]
    ends = ENDS[fn](*(p.ranges.of(x) for x in operands)) if fn in ENDS else ANY
    if any(math.isnan(end) for end in ends):
        ends = ANY
    narrow = all(x.carrier != "float64" and fits(p.ranges.of(x)) for x in operands)
    if narrow and (fits(ends) or fn in (*BITS, "bit_not")):
        return p.plain(fn, operands, "int64")
    wide = [fractions(p, x) for x in operands]
    if fn in BITS:
        return _bits(p, fn, wide)
    if fn == "bit_not":
        return long(p, p.map("sub", p.number(-1.0, "float64"), wide[0]), (-1 - ends[1], -1 - ends[0]))
    if fn == "shift_left" and (by := uniform(operands[1])) is not None and 0 <= by < 64:
        return _of_longs(p, "mul", [operands[0], p.number(2 ** int(by), "int64")])
    if fn == "div":
        return long(p, truncated(p, p.map("div", *wide)), ends)
    if fn not in ("add", "sub", "mul", "neg", "abs", "max", "min", "sign", "rem", "pow"):
        raise Gap(f"{fn} of whole numbers that may be beyond 32 bits")
    return long(p, p.map(fn, *wide), ends)


def _bits(p: Program, fn: str, wide: Sequence[Array]) -> Array:
    """A function of bits, 32 at a time."""
    low = p.map(fn, *(low_word(p, x) for x in wide))
    high = p.map(fn, *(p.narrowed(_high(p, x), "int32", (-(2.0**31), 2.0**31 - 1)) for x in wide))
    parts = fractions(p, p.retyped(low, "uint32")), p.map("mul", fractions(p, high), p.number(WORD, "float64"))
    return long(p, p.map("add", *parts), (-EXACT_MOST, EXACT_MOST))


def shifted_down(p: Program, x: Array, by: Array) -> Array:
    """Arithmetic right shift by a constant: the floor of a quotient."""
    count = uniform(by)
    if count is None or not 0 <= count < 64:
        raise Gap("a right shift by computed amounts; a constant amount is supported")
    low, high = p.ranges.of(x)
    ends = low * 2.0**-count, high * 2.0**-count
    ends = ends if math.inf in (-low, high) else (math.floor(ends[0]), math.floor(ends[1]))
    made = p.map("floor", p.map("mul", fractions(p, x), p.number(2.0**-count, "float64")))
    return long(p, made, ends) if x.dtype == "int64" else p.narrowed(made, x.dtype, ends)


def ordered(p: Program, x: Array) -> Array:
    """Order-preserving int32 form of words: with the sign bit flipped."""
    return p.map("bit_xor", p.retyped(x, "int32"), p.number(-(2**31), "int32"))


def as_words(p: Program, x: Array) -> Array:
    """The inverse of `ordered`."""
    return p.retyped(p.map("bit_xor", x, p.number(-(2**31), "int32")), "uint32")


def _of_words(p: Program, fn: str, operands: Sequence[Array]) -> Optional[Array]:
    """For unsigned words; sums, products and bit operations are the same as signed."""
    if fn in ("max", "min"):
        return as_words(p, p.map(fn, *(ordered(p, x) for x in operands)))
    if fn == "abs":
        return operands[0]
    if fn == "sign":
        return p.convert(p.convert(operands[0], "bool"), "uint32")
    if fn in ("div", "rem"):
        a, b = (fractions(p, x) for x in operands)
        made, none = (p.map("floor", p.map("div", a, b)), p.number(WORD - 1, "float64")) if fn == "div" else (p.map("rem", a, b), a)
        zero = p.compare("equal", b, p.number(0.0, "float64"))  # then as XLA has it
        return p.retyped(low_word(p, p.select(zero, none, made) if zero.rank == made.rank else made), "uint32")
    if fn == "pow":
        raise Gap("words of 32 bits to a power that is an array")
    return None


def products(p: Program, a: Array, b: Array, count: int) -> Range:
    """The range of a sum of `count` products."""
    most = [max(abs(end) for end in span(p, x)) for x in (a, b)]
    total = most[0] * most[1] * count if 0 not in most else 0.0
    return -total, total


def reduced(p: Program, fn: str, x: Array, over: Sequence[int]) -> Optional[Array]:
    """A reduction over axes where int32 arithmetic differs; None: int32 is correct."""
    if x.dtype == "uint32" and fn in ("max", "min", "argmax", "argmin"):
        made = p.reduce(fn, ordered(p, x), over)
        return made if fn.startswith("arg") else as_words(p, made)
    if x.dtype == "int64" and fn == "sum":
        count = math.prod(x.shape[a] for a in over)
        low, high = p.ranges.of(x)
        ends = low * count, high * count
        if not (fits(ends) and x.carrier != "float64"):
            return long(p, p.reduce(fn, fractions(p, x), over), ends)
    return None


def along(p: Program, fn: str, x: Array, axis: int, **options: Any) -> Optional[Array]:
    """A function along an axis where int32 arithmetic differs; None: int32 is correct."""
    if x.dtype in LIMITS and fn == "cumprod":
        return _products_so_far(p, x, axis, bool(options.get("reverse")))
    if x.dtype == "uint32" and fn in ("cummax", "cummin"):
        return as_words(p, p.along(fn, ordered(p, x), axis, **options))
    if fn == "topk":
        return p.along(fn, fractions(p, ordered(p, x) if x.dtype == "uint32" else x), axis, **options)
    if x.dtype == "int64" and fn in ("cumsum", "cumprod"):
        low, high = p.ranges.of(x)
        count = x.shape[axis]
        ends = (min(low * count, low), max(high * count, high)) if fn == "cumsum" else ANY
        if not (fits(ends) and x.carrier != "float64"):
            return long(p, p.along(fn, fractions(p, x), axis, **options), ends)
    return None


def _products_so_far(p: Program, x: Array, axis: int, reverse: bool) -> Array:
    """Cumulative product, doubling the span in each step: a product of two keeps its low bits."""
    count, by = x.shape[axis], 1
    while by < count:
        before = p.slice(x, axis, by if reverse else 0, count - by)
        x = p.map("mul", x, p.pad(before, axis, 0 if reverse else by, by if reverse else 0, 1.0))
        by *= 2
    return x


def converted(p: Program, x: Array, dtype: str) -> Array:
    """Convert integers or fractions to integers of another type, or words to fractions."""
    if is_float(dtype):
        return p.convert(fractions(p, x), dtype)
    if dtype == "int64":
        ends = p.ranges.of(x)
        if is_float(x.dtype):
            if fits(ends):
                return p.narrowed(x, "int64", ends)
            return long(p, truncated(p, p.convert(x, "float64")), ends)
        if x.dtype == "uint32" and not (ends[0] >= 0 and fits(ends)):
            return long(p, fractions(p, x), (0.0, WORD - 1))
        if x.carrier != "int32":
            return p.narrowed(x, "int64", ends)
        return p.retyped(x, "int64", ends if fits(ends) else (-(2.0**31), 2.0**31 - 1))
    if is_float(x.dtype):  # to words, the nearest of which XLA takes
        inside = p.map("min", p.map("max", p.convert(x, "float64"), p.number(0.0, "float64")), p.number(WORD - 1, "float64"))
        return p.retyped(low_word(p, p.map("floor", inside)), "uint32")
    if x.carrier == "int32":
        return p.retyped(x, dtype)
    return p.retyped(low_word(p, fractions(p, x)) if x.dtype == "int64" else p.narrowed(x, "int32", (0.0, 1.0)), dtype)
