"""What can go wrong, as exceptions that have the program's own message."""

# SPDX-License-Identifier: Apache-2.0


class ShardsimError(Exception):
    """Any failure; str() is what the program says."""


class InputError(ShardsimError):
    """The scenario, an option or a value is refused (exit status 2)."""


class CannotRun(ShardsimError):
    """It could not run here: no program, no memory, no threads, or interrupted."""


class QueryError(ShardsimError):
    """A question of a session was refused; `kind` says how, for programs."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
