"""Errors of a trace in one sentence: the line of the user's source, the fault, and the remedy."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import traceback
from typing import Tuple

import torch
from torch._subclasses import fake_tensor
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from ..errors import InputError
from .torch_functions import INNER

#: The fault of a program that asks for a value.
ASKED_SENTENCE = (
    "what is computed depends on a tensor's value, which is not known while tracing (if, while, item, a size);"
    " keep it in tensors, for example by torch.where"
)

#: The remedies of a size that is not known.
KNOWN_SENTENCE = "torch.where(mask, x, 0) keeps all elements, and torch._check(x.shape[0] == N) tells a number that is known"

#: What is asked of a tensor's value or of a size, and the fault of the program.
ASKED_OF: Tuple[Tuple[str, str], ...] = (
    (r"expression Eq\(u\d+, u\d+\) ", "whether two masks select equally many elements is asked; compute the mask once"),
    (r"Size-like symbols: u", f"how many elements a mask selects is asked (if, while, or a function that needs to know it); {KNOWN_SENTENCE}"),
)

#: PyTorch's sentences about its tracer, and the fault of the program behind each.
MEANT: Tuple[Tuple[str, str], ...] = (
    ("mutating a non-functional tensor",
     "a tensor is changed in place that is no argument, and of no module or optimizer that the function names; pass it as an argument"),
    ("Attempted to resize a view", "resize_ of a view to more elements than it has; make a tensor of that size"),
    (r"[.]numpy\(\) is not supported|Can't call numpy\(\)|resolve_conj|cannot be converted to a NumPy",
     "a tensor is converted to numpy, which would need its values; compute it with functions of torch"),
    ("SymIntArrayRef expected|expected to contain only concrete integers",
     f"PyTorch does not trace this (random numbers, for example) of as many elements as a mask selects; {KNOWN_SENTENCE}"),
    ("Cannot access data pointer", "a tensor is converted to numpy, or its memory is read, which would need its values; compute it with functions of torch"),
    ("_linalg_check_errors",
     "a factor whose matrix is looked at; factors by Cholesky, LU and QR, and what is solved with them, are supported"),
    ("Cannot cast FakeTensor|data is not allocated yet", ASKED_SENTENCE),
    ("does not require grad and does not have a grad_fn",
     "the backward pass starts from a tensor that depends on no parameter that requires a gradient; call requires_grad_() on one"),
)  # fmt: skip

#: Where PyTorch has its decompositions of operations, whose errors of Python are no fault of the program.
DECOMPOSED = tuple(os.path.join(os.path.dirname(torch.__file__), folder) for folder in ("_decomp", "_refs"))

#: Exceptions of PyTorch when a program asks for a value that the trace does not have.
ASKED = (GuardOnDataDependentSymNode, fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)


def told(error: Exception, otherwise: str) -> InputError:
    """The error for an exception; `otherwise` is its place if no line of the user raised it."""
    raised = traceback.extract_tb(error.__traceback__)
    frames = [f for f in raised if not f.filename.startswith(INNER)]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else otherwise
    own = isinstance(error, (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError))
    refused = bool(raised) and (raised[-1].line or "").startswith("raise ")  # the arguments, in PyTorch's words
    inside = next((f.name for f in reversed(raised) if own and not refused and f.filename.startswith(DECOMPOSED)), "")
    sentence = _sentence(error) if not inside else f"PyTorch does not trace '{inside}' of these arguments; write it with other functions"
    if isinstance(error, GuardOnDataDependentSymNode) and any(f.name.endswith("dropout") for f in raised if f.filename.startswith(INNER)):
        sentence = f"random numbers of as many elements as a mask selects; {KNOWN_SENTENCE}"
    return InputError(f"{place}: {sentence}" if place else sentence)


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    if isinstance(error, InputError):
        return text
    if isinstance(error, ASKED):
        return next((sentence for pattern, sentence in ASKED_OF if re.search(pattern, text)), ASKED_SENTENCE)
    meant = next((sentence for pattern, sentence in MEANT if re.search(pattern, text)), None)
    if meant is not None:
        return meant
    first = re.split(r"\n|(?<=[.]) (?:Hint|If|This|Please|Specify|For more)\b", text, maxsplit=1)[0].rstrip(". ")
    if isinstance(error, RuntimeError) and first:
        return f"PyTorch does not trace this: {first}"
    return f"the program fails while it is traced: {type(error).__name__}{': ' * bool(first)}{first}"


def unread(place: str, operation: object, error: Exception) -> InputError:
    """An error for an operation whose handler fails."""
    told_at = f"{place}: " if place else ""
    return InputError(f"{told_at}'{operation}' is not read with these arguments ({type(error).__name__}: {error}); write it with other functions")


__all__ = ["told", "unread"]
