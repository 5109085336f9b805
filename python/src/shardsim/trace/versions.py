"""Versions of frameworks whose traces the tests have read."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import warnings

TRIED = {"JAX": ("0.10", "0.11", "0.12"), "PyTorch": ("2.13", "2.14", "2.15")}


def tell_untried(framework: str, version: str) -> None:
    """Warn once about a version that no test has read: it may trace to other operations."""
    tried = TRIED[framework]
    if ".".join(version.split(".")[:2]) not in tried:
        warnings.warn(
            f"shardsim is tested with {framework} {' and '.join(tried)}, not with {version}; "
            "an operation that it does not know is an error",
            stacklevel=2,
        )
