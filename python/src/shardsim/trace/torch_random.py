"""Random numbers are drawn while tracing, equal to those of PyTorch on the CPU with the same seed.

The numbers are constants of the program.  A checkpoint restores the generator's state before it computes again.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Callable, Dict

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

#: Random operations whose tensor arguments give shapes and types alone.
DRAWN = {
    "bernoulli": ("p",), "rand": ("default",), "randn": ("default",), "rand_like": ("default",), "randn_like": ("default",),
    "randint": ("default", "low"), "randint_like": ("default", "low_dtype"), "randperm": ("default",), "uniform": ("default",),
    "normal_functional": ("default",), "exponential": ("default",),
}  # fmt: skip

#: Tensor methods of operations in place, which draw in the order of the storage.
IN_PLACE = {"bernoulli": "bernoulli_", "uniform": "uniform_", "normal_functional": "normal_", "exponential": "exponential_"}


def drawn() -> Dict[Any, Callable[..., Any]]:
    """The decomposition of each random operation: a constant."""
    aten = torch.ops.aten
    found = [getattr(getattr(aten, name), o) for name, overloads in DRAWN.items() for o in overloads if hasattr(getattr(aten, name), o)]
    return {op: _draw(op) for op in found}


def _draw(operation: Any) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device(kwargs["device"])
        devices = [v.device if isinstance(v, torch.Tensor) else v for v in pytree.tree_leaves((args, kwargs))]
        if torch.device("meta") in devices:
            return NotImplemented  # a plan of sizes alone
        with _disable_current_modes():
            args, kwargs = pytree.tree_map_only(torch.Tensor, _alike, (args, kwargs))
            in_place = getattr(torch.Tensor, IN_PLACE.get(operation._opname, ""), operation)
            return in_place(*args, **kwargs)

    return draw


def _alike(tensor: torch.Tensor) -> torch.Tensor:
    """With the same strides."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)


def is_drawn(operation: Any) -> bool:
    return operation.name().partition("::")[0] == "aten" and operation._overloadname in DRAWN.get(operation._opname, ())
