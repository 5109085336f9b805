"""Shard a model over virtual devices: see the communication, the memory, and whether results are right."""

# SPDX-License-Identifier: Apache-2.0
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .commands import check, compare, explain, plan, report, run, search, show
from .errors import CannotRun, InputError, QueryError, ShardsimError
from .notebook import Picture
from .results import (
    Balance,
    Collective,
    Comparison,
    DeviceClass,
    Found,
    Layout,
    Memory,
    PerDevice,
    Received,
    Result,
    Results,
    Times,
    Verify,
)
from .session import Session

if TYPE_CHECKING:
    from .trace.jax import from_jax
    from .trace.torch import from_torch
    from .trace.torch_rules import layout_of_dtensors, rules_of_tp_plan

__all__ = [
    "Balance",
    "CannotRun",
    "Collective",
    "Comparison",
    "DeviceClass",
    "Found",
    "InputError",
    "Layout",
    "Memory",
    "PerDevice",
    "Picture",
    "QueryError",
    "Received",
    "Result",
    "Results",
    "Session",
    "ShardsimError",
    "Times",
    "Verify",
    "check",
    "compare",
    "explain",
    "from_jax",
    "from_torch",
    "layout_of_dtensors",
    "plan",
    "report",
    "rules_of_tp_plan",
    "run",
    "search",
    "show",
]


def __getattr__(name: str) -> Any:
    """Modules that need a framework are imported on first use."""
    rules = dict.fromkeys(("layout_of_dtensors", "rules_of_tp_plan"), "torch_rules")
    found = {"from_jax": "jax", "from_torch": "torch", **rules}.get(name)
    if found is not None:
        return getattr(import_module(f".trace.{found}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
