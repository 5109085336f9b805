"""Tables of handlers of a framework's operations, by name."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Callable, Dict, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])


def adds_to(table: Dict[str, Handler]) -> Callable[..., Callable[[Handler], Handler]]:
    """A decorator that registers a function under names."""

    def names_of(*names: str) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            table.update((name, handler) for name in names)
            return handler

        return add

    return names_of
