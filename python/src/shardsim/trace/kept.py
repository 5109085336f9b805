"""What a program keeps in its objects while it runs, put back after it was traced.

A forward pass may store a table that it made, count its calls or draw random numbers.  While it is traced these are tensors that
have sizes alone, and must not be found there afterwards.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import random
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import torch

#: Objects that are looked at, at most.
OBJECTS_MOST = 1_000_000

#: What holds no other objects, or none that a forward pass may change.
PLAIN = (type(None), bool, int, float, complex, str, bytes, type, ModuleType, np.ndarray, np.generic)

#: What a training step changes though its class is PyTorch's.
CHANGED = (torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)

#: Packages whose objects, but for these and containers, are left alone: some load libraries when they are looked at.
LEFT_ALONE = ("torch", "numpy", "builtins", "logging", "threading", "_thread")

Undo = Callable[[], None]


@contextlib.contextmanager
def unchanged(*roots: Any) -> Iterator[None]:
    """On exit, restore attributes, lists, dicts and sets that roots refer to, gradients, and states of random number generators."""
    undo: List[Undo] = [*_states()]
    seen: Dict[int, Any] = {}
    waiting = list(roots)
    while waiting and len(seen) < OBJECTS_MOST:
        value = waiting.pop()
        if issubclass(type(value), PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value  # kept alive, so that its number stays its own
        undone, inside = _noted(value)
        undo += undone
        waiting += inside
    try:
        yield
    finally:
        for put_back in undo:
            put_back()


def _states() -> List[Undo]:
    own, drawn, arrays = torch.get_rng_state(), random.getstate(), np.random.get_state()
    return [partial(torch.set_rng_state, own), partial(random.setstate, drawn), partial(np.random.set_state, arrays)]


def _noted(value: Any) -> Tuple[List[Undo], List[Any]]:
    """How to restore a value, and the values inside it."""
    kind = type(value)  # what a value says of itself may be made up, and cost an import
    if issubclass(kind, torch.Tensor):
        return ([_gradient(value)] if value.is_leaf else []), []
    if kind is FunctionType:
        named = [value.__globals__[n] for n in names_in(value.__code__) if n in value.__globals__]
        cells = [c for c in value.__closure__ or () if filled(c)]
        followed = [v for v in named if issubclass(type(v), CHANGED) or is_called(v, value)]
        return [_cell(c) for c in cells], [*(c.cell_contents for c in cells), *followed, *(value.__defaults__ or ())]
    if kind is MethodType:
        return [], [value.__self__, value.__func__]
    undo: List[Undo] = []
    inside: List[Any] = []
    if issubclass(kind, (list, tuple)):
        inside += value
        undo += [_list(value)] if issubclass(kind, list) else []
    elif issubclass(kind, dict):
        inside += value.values()
        undo.append(_mapping(value))
    elif issubclass(kind, set):
        undo.append(_set(value))
    known = kind.__module__.partition(".")[0] in LEFT_ALONE and not issubclass(kind, CHANGED)
    if not known and "__dict__" in dir(kind):
        own = object.__getattribute__(value, "__dict__")
        inside += own.values()
        undo.append(_mapping(own))
    return undo, inside


def names_in(code: CodeType) -> List[str]:
    """Names in a function's code and in the functions inside."""
    inside = [name for one in code.co_consts if isinstance(one, CodeType) for name in names_in(one)]
    return [*code.co_names, *inside]


def is_called(value: Any, by: Any) -> bool:
    """Whether an object that a function names is a function of the same file, which is looked into."""
    return issubclass(type(value), (FunctionType, MethodType)) and value.__module__ == getattr(by, "__module__", None)


def filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _cell(cell: Any) -> Undo:
    before = cell.cell_contents

    def put_back() -> None:
        cell.cell_contents = before

    return put_back


def _gradient(tensor: torch.Tensor) -> Undo:
    grad, learned = tensor.grad, tensor.requires_grad

    def put_back() -> None:
        if tensor.requires_grad is not learned:
            tensor.requires_grad_(learned)
        if tensor.grad is not grad:
            tensor.grad = grad

    return put_back


def _list(value: List[Any]) -> Undo:
    before = list(value)

    def put_back() -> None:
        if len(value) != len(before) or any(x is not y for x, y in zip(value, before)):
            value[:] = before

    return put_back


def _mapping(value: Dict[Any, Any]) -> Undo:
    before = dict(value)

    def put_back() -> None:
        if len(value) != len(before) or any(key not in value or value[key] is not x for key, x in before.items()):
            value.clear()
            value.update(before)

    return put_back


def _set(value: "set[Any]") -> Undo:
    before = set(value)

    def put_back() -> None:
        if value != before:
            value.clear()
            value.update(before)

    return put_back
