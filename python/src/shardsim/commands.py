"""The program's commands as functions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .program import Scenario, Source, call, settings
from .results import Comparison, Found, Layout, Result, Results


def _one(
    command: str,
    scenario: Scenario,
    strategy: Optional[str],
    values: Optional[Mapping[str, Any]],
    options: Mapping[str, Any],
    more: Sequence[str] = (),
) -> Results:
    source, set_ = Source(scenario), settings(values, options)
    chosen = [] if strategy is None else [f"--strategy={strategy}"]
    quiet = ["--quiet"] if command == "run" else []
    raw = json.loads(call([command, "--json", *quiet, *more, *chosen, *set_, "--", source.path], source.stdin))
    return Results([Result.parse(r, source, set_) for r in (raw if isinstance(raw, list) else [raw])])


def run(
    scenario: Scenario,
    *,
    strategy: Optional[str] = None,
    outputs: "Optional[str | os.PathLike[str]]" = None,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Results:
    """Execute each strategy of a scenario, or one of them, and compare it with one device.

    `outputs`: a .safetensors file that the outputs of the one strategy are written to
    (tensors.read_tensors()).  `set` overrides values of the scenario, {"mesh.tp": 4}; so do
    keywords, mesh__tp=4.
    """
    written = [] if outputs is None else [f"--outputs={os.fspath(outputs)}"]
    return _one("run", scenario, strategy, set, options, written)


def plan(
    scenario: Scenario,
    *,
    strategy: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Results:
    """Plan without executing: bytes, flops, memory, and the time on the scenario's cluster."""
    return _one("plan", scenario, strategy, set, options)


def compare(
    *scenarios: Scenario,
    execute: bool = True,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Comparison:
    """Compare the strategies of one or several scenarios; at most one may be a text or a mapping."""
    sources, set_ = [Source(s) for s in scenarios], settings(set, options)
    texts = [s.stdin for s in sources if s.stdin is not None]
    if len(texts) > 1:
        raise ValueError("at most one of several scenarios can be a text or a mapping; write the rest to files")
    stdin = texts[0] if texts else None
    planned = [] if execute else ["--plan"]
    paths = [s.path for s in sources]
    raw = json.loads(call(["compare", "--json", "--quiet", *planned, *set_, "--", *paths], stdin))
    source = sources[0] if len(sources) == 1 else None
    return Comparison(Results([Result.parse(r, source, set_) for r in raw["results"]]), raw["verdict"], raw)


def search(
    scenario: Scenario,
    *,
    strategy: Optional[str] = None,
    top: int = 10,
    devices: Optional[int] = None,
    plans: Optional[int] = None,
    ranges: Optional[Mapping[str, str]] = None,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> Found:
    """The layouts with the shortest step; `ranges` restricts choices, {"tp": "1..8"}."""
    source = Source(scenario)
    arguments: List[str] = ["search", "--json", "--quiet", f"--top={top}", *settings(set, options)]
    for name, value in (("strategy", strategy), ("devices", devices), ("plans", plans)):
        if value is not None:
            arguments.append(f"--{name}={value}")
    arguments += [f"--range={name}={value}" for name, value in (ranges or {}).items()]
    raw = json.loads(call([*arguments, "--", source.path], source.stdin))
    layouts = tuple(
        Layout(b["layout"], b["step_seconds"], b["mfu"], b["memory_bytes"]) for b in raw["best"]
    )
    return Found(layouts, raw.get("proven_seconds"), raw)


def explain(
    scenario: Scenario,
    *,
    strategy: Optional[str] = None,
    op: Optional[Union[int, str]] = None,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> str:
    """Explain a step: its computation between collectives, and the reason of each collective; or one op in full."""
    source = Source(scenario)
    chosen = [] if strategy is None else [f"--strategy={strategy}"]
    chosen += [] if op is None else [f"--op={op}"]
    return call(["explain", *chosen, *settings(set, options), "--", source.path], source.stdin)


def show(what: str, *arguments: str) -> str:
    """What `shardsim show WHAT` draws: an array, a mesh, groups, a timetable, names, options, ..."""
    return call(["show", what, *arguments])


def report(
    scenario: Scenario,
    *,
    execute: bool = True,
    strategy: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> str:
    """Write strategies as a self-contained HTML page."""
    source = Source(scenario)
    chosen = [] if strategy is None else [f"--strategy={strategy}"]
    planned = [] if execute else ["--plan"]
    return call(["report", "--quiet", *planned, *chosen, *settings(set, options), "--", source.path], source.stdin)


def check(path: "str | os.PathLike[str]", *, update: bool = False, execute: bool = True) -> Tuple[bool, str]:
    """Compare the scenarios of a folder or a file with their baselines: whether all match, and the TAP output."""
    options = ["--update"] if update else []
    options += [] if execute else ["--plan"]
    text = call(["check", "--quiet", *options, "--", os.fspath(path)])
    return not any(line.startswith("not ok") for line in text.splitlines()), text
