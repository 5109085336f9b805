"""Find the program and call it."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .errors import CannotRun, InputError

#: A path, YAML text (with a newline in it), or the scenario itself.
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]

#: Exit statuses with which there is a result on standard output: well, and a check that failed.
HAS_RESULT = (0, 1)
BAD_INPUT = 2


#: The program that came with the package, if it did.
INSIDE = os.path.join(os.path.dirname(__file__), "bin", "shardsim")


def find() -> str:
    """The program in the variable SHARDSIM, else the package's own, else `shardsim` on PATH."""
    named = os.environ.get("SHARDSIM") or (INSIDE if os.path.exists(INSIDE) else "shardsim")
    path = shutil.which(named)
    if path is None:
        raise CannotRun(
            f"there is no program {named!r}; install shardsim on PATH, or set SHARDSIM to its path"
        )
    return path


def environment() -> Dict[str, str]:
    """The caller's environment without variables that colour messages."""
    return {**os.environ, "NO_COLOR": "1"}


class Source:
    """A scenario as an argument of the program, and what it is given on standard input.

    Texts and mappings come by standard input, so that there is no file to clean up.  A path is
    given behind `--`, where no name is an option; alone, `-` would still be standard input.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.stdin: Optional[str] = None
        self.path = "/dev/stdin"
        if isinstance(scenario, Mapping):
            self.stdin = json.dumps(scenario)
        elif isinstance(scenario, str) and "\n" in scenario:
            self.stdin = scenario
        else:
            path = os.fspath(scenario)
            self.path = "./-" if path == "-" else path


def settings(values: Optional[Mapping[str, Any]], options: Mapping[str, Any]) -> List[str]:
    """--set for each; `mesh__tp=4` means `mesh.tp`: keywords have no dots."""
    merged = {**(values or {}), **{name.replace("__", "."): v for name, v in options.items()}}
    return [
        f"--set={name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in merged.items()
    ]


def call(arguments: Sequence[str], stdin: Optional[str] = None, prints: bool = True) -> str:
    """Run the program and return what it prints; its errors are raised.

    `prints`: without output there is no result, whatever the status.
    """
    done = subprocess.run(
        [find(), *arguments],
        input=stdin if stdin is not None else "",
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        check=False,
    )
    if done.returncode in HAS_RESULT and (done.stdout or not prints):
        return done.stdout
    message = done.stderr.strip() or f"shardsim ended with status {done.returncode}"
    raise (InputError if done.returncode == BAD_INPUT else CannotRun)(message)


def main() -> None:
    """The command `shardsim` that comes with the package: its program, by its own path."""
    path = find()
    if os.path.realpath(path) == os.path.realpath(sys.argv[0]):
        raise SystemExit("shardsim: this package does not contain the program; set SHARDSIM to its path")
    os.execv(path, [path, *sys.argv[1:]])
