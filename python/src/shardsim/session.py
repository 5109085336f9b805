"""One process for many questions: `shardsim query` by pipes."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
import tempfile
from types import TracebackType
from typing import IO, Any, Optional, Type

from .errors import CannotRun, QueryError
from .program import environment, find


class Session:
    """Ask the program questions, one after the other.

    A context manager; owned by one thread.  Answers come in the order of the questions, so each
    is waited for before the next one is asked.
    """

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[str]] = None
        self._errors: Optional[IO[str]] = None
        self._asked = 0

    def __enter__(self) -> Session:
        # Errors go to a file: a pipe that nobody reads would fill up, and both would wait.
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [find(), "query"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env=environment(),
        )
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process.  May be closed twice."""
        process, self._process = self._process, None
        if process is not None:
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def ask(self, op: str, **inputs: Any) -> Any:
        """The answer to a question; QueryError if it is refused."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise CannotRun("the session is closed; open a session by `with Session() as session:`")
        self._asked += 1
        try:
            process.stdin.write(json.dumps({"id": self._asked, "op": op, "in": inputs}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise CannotRun(self._last_words())
        answer = json.loads(line)
        if "err" in answer:
            raise QueryError(answer["err"]["kind"], answer["err"]["message"])
        return answer["out"]

    def _last_words(self) -> str:
        words = ""
        if self._errors is not None:
            self._errors.seek(0)
            words = self._errors.read().strip()
        return words or "shardsim query ended without an answer"
