"""Lay a model out over virtual devices, and see what is communicated, what fits, and whether it is right."""

# SPDX-License-Identifier: Apache-2.0
from .commands import compare, plan, run, search
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
    "compare",
    "plan",
    "run",
    "search",
]
