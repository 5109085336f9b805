"""What a notebook shows: tables as HTML, pictures as SVG."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html
import os
import tempfile
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from .program import call


@dataclass(frozen=True)
class Picture:
    """An SVG drawing, shown by a notebook."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: "str | os.PathLike[str]") -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def draw(what: str, arguments: Sequence[str], stdin: Optional[str]) -> Picture:
    """`shardsim show WHAT` as a picture.  The program writes pictures to files that end in .svg."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.svg")
        call(["show", what, f"--output={path}", *arguments], stdin, prints=False)
        with open(path, encoding="utf-8") as file:
            return Picture(file.read())


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """An HTML table of the columns that have a value in some row."""
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in columns) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
