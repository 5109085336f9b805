"""Exceptions with the program's own message."""

# SPDX-License-Identifier: Apache-2.0


class ShardsimError(Exception):
    """Any failure; str() is the program's message."""


class InputError(ShardsimError):
    """The scenario, an option or a value is refused (exit status 2)."""


class CannotRun(ShardsimError):
    """The program could not run: not found, no memory, no threads, or interrupted."""


class QueryError(ShardsimError):
    """A question of a session was refused; `kind` is the kind of error, for programs."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
