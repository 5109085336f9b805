"""A traced program with its mesh: run, planned, explained, saved as a scenario."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

import numpy as np

from ..commands import explain as explain_scenario
from ..commands import plan as plan_scenario
from ..errors import InputError
from ..program import call
from ..results import Result, Results
from ..tensors import read_tensors, write_tensors
from .arrays import Program, is_float
from .array import Array
from .complex_arrays import Complex, Numbers, assembled, parts_of
from .lines import Writer, kind_of
from .naming import Leaf, Value
from .whole import EXACT_MOST, largest


#: Bytes of a pattern, at most.
PATTERN_MOST = 200


@dataclass(frozen=True)
class Ran:
    """An executed step: the function's outputs, what it makes of parameters and optimizers' states, and the counted figures."""

    outputs: Any
    gradients: Mapping[str, np.ndarray]
    result: Result
    updated: Mapping[str, np.ndarray]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)


def caller() -> str:
    """The user's line that traces a program: "/home/me/trace.py:14"."""
    own = str(Path(__file__).parents[1]) + os.sep
    frame: Optional[FrameType] = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def _beside(place: str) -> str:
    """A place in a file, by its relative path; none outside of a file, as in a notebook."""
    file, _, line = place.rpartition(":")
    if not os.path.isfile(file):
        return ""
    path = os.path.relpath(file)
    return f"{file if path.startswith(os.pardir) else path}:{line}"


class Traced:
    """A program that a framework traced, on a mesh."""

    def __init__(
        self,
        program: Program,
        mesh: Mapping[str, int],
        outputs: Sequence[Numbers],
        rebuild: Callable[[List[np.ndarray]], Any],
        gradients: Optional[Mapping[str, int]] = None,
        gaps: Sequence[str] = (),
        names: Optional[Sequence[str]] = None,
        updated: Optional[Mapping[str, int]] = None,
    ) -> None:
        """`rebuild` makes of all outputs what the function returns; `gradients` and `updated` are places among the
        outputs, which are called `names`.  A complex output is two arrays of the scenario."""
        self.name = program.name
        self.mesh = dict(mesh)
        self._rebuild = rebuild
        self._gradients = dict(gradients or {})
        self._updated = dict(updated or {})
        self._outputs = list(outputs)
        self._arrays = [x for one in outputs for x in parts_of(one)]
        self._called = caller()
        writer = Writer(mesh)
        self._bounds = program.bounds
        beyond_bounds = [x for x, _ in self._bounds]
        read = {x.number for x in writer.needed([*self._arrays, *beyond_bounds])}
        self._checks = [x for x in program.checks if x.number in read]
        called = [n for one, name in zip(outputs, names or [f"out.{k}" for k in range(len(outputs))]) for n in part_names(one, name)]
        called += [f"check.{k}" for k in range(len(self._checks) + len(beyond_bounds))]
        self._values: List[Value] = writer.write([*self._arrays, *(largest(program, x) for x in self._checks), *beyond_bounds], called)
        self._writer = writer
        found = [*dict.fromkeys([*gaps, *writer.gaps])]
        if found:
            lines = "\n  ".join(found)
            raise InputError(f"{self.name}: {len(found)} unsupported operation(s):\n  {lines}")
        self._leaves: Dict[str, Leaf] = {leaf.name: leaf for leaf in writer.leaves}
        self._names = [v.text for v in self._values]

    # ---- as a scenario

    def _array(self, leaf: Leaf, values: bool) -> Any:
        return {
            "dims": list(leaf.dims),
            "dtype": leaf.array.carrier,
            **({"values": True} if values and leaf.array.attrs["value"] is not None else {}),
        }

    def scenario(self, values: Optional[str] = None) -> Dict[str, Any]:
        """The scenario as a mapping, with the name of its file of values, if any."""
        writer = self._writer
        graph: Dict[str, Any] = {"dims": dict(writer.dims)}
        if values:
            graph["values"] = values
        for leaf in writer.leaves:
            graph.setdefault(kind_of(leaf.array), {})[leaf.name] = self._array(leaf, bool(values))
        graph["ops"] = list(writer.lines)
        graph["outputs"] = sorted({n for n in self._names if n not in self._leaves})
        made: Dict[str, Any] = {
            "version": 1,
            "name": self.name,
            "mesh": writer.shardings.mesh,
            "graph": graph,
            "step": ["forward"],
        }
        if "params" in graph:
            made["params"] = [*self._rules("params"), [".*", []]]
        constraints = self._rules("inputs")
        if constraints:
            made["constraints"] = constraints
        return made

    def _rules(self, kind: str) -> List[Any]:
        """Specs of parameters, or of other arrays, as rules: one rule for all names sharded by the same line."""
        names: Dict[str, List[str]] = {}
        for name, spec in self._writer.shardings.specs.items():
            leaf = self._leaves.get(name)
            is_param = leaf is not None and kind_of(leaf.array) == "params"
            if is_param == (kind == "params") and (leaf is None or any(spec)):
                place = _beside(self._writer.places.get(name) or self._called)
                key = json.dumps([spec, place] if place else [spec])
                names.setdefault(key, []).append(name.replace(".", "[.]"))
        return [[pattern, *json.loads(key)] for key, found in names.items() for pattern in patterns(found)]

    def save(self, path: "str | os.PathLike[str]") -> Path:
        """Write the scenario and a file with the values of its arrays, for the command line."""
        target = Path(path)
        values = target.with_suffix(".safetensors")
        write_tensors(values, self._contents())
        target.write_text(json.dumps(self.scenario(values.name), indent=1) + "\n", encoding="utf-8")
        return target

    def _contents(self) -> Dict[str, np.ndarray]:
        out = {}
        for name, leaf in self._leaves.items():
            value = leaf.array.attrs["value"]
            if value is not None:
                check_range(leaf, np.asarray(value))
                sizes = [self._writer.dims[dim] for dim in leaf.dims]
                out[name] = np.ascontiguousarray(np.asarray(value)).astype(stored(leaf.array.carrier)).reshape(sizes)
        return out

    # ---- done

    def run(self) -> Ran:
        """Execute on virtual devices, verify against one device, and return what the function returns."""
        without = [x.array.attrs["path"] for x in self._leaves.values() if x.array.attrs["value"] is None]
        if without:
            more = f" and {len(without) - 1} more" if without[1:] else ""
            raise InputError(f"{self.name}: '{without[0]}'{more} has a shape but no values; run needs arrays, plan does not")
        with tempfile.TemporaryDirectory(prefix="shardsim-") as folder:
            path = self.save(Path(folder) / "step.yaml")
            written = Path(folder) / "outputs.safetensors"
            with self._at_lines(path.read_text(encoding="utf-8")):
                raw = json.loads(call(["run", "--json", "--quiet", f"--outputs={written}", "--", str(path)]))
            arrays = read_tensors(written)
        called = self._names[len(self._arrays) :]
        for x, name in zip(self._checks, called):
            if not float(arrays[name]) <= EXACT_MOST:
                raise beyond(x)
        for (x, what), name in zip(self._bounds, called[len(self._checks) :]):
            if float(arrays[name]):
                raise InputError(f"{x.where}: {what}")
        result = Result.parse(raw[0] if isinstance(raw, list) else raw, None, ())
        each = iter([self._shaped(array, name, arrays) for array, name in zip(self._arrays, self._names)])
        flat = [assembled(one, [next(each) for _ in parts_of(one)]) for one in self._outputs]
        gradients, updated = ({name: flat[at] for name, at in of.items()} for of in (self._gradients, self._updated))
        beside = {*self._gradients.values(), *self._updated.values()}
        returned = [a for i, a in enumerate(flat) if i not in beside]
        return Ran(self._rebuild(returned), gradients, result, updated)

    @contextlib.contextmanager
    def _at_lines(self, text: str) -> Iterator[None]:
        """An error of the program at a line of the scenario, of which this is the text, is one at the user's line."""
        try:
            yield
        except InputError as error:
            at = re.search(r":(\d+):(\d+): error", str(error))
            before = text.split("\n")[int(at[1]) - 1][: int(at[2])] if at else ""
            name = re.split(r"[\[ ]", before.rpartition('"')[2])[0]
            place = self._writer.places.get(name)
            raise InputError(f"{place}: {error}") if place else error

    def _shaped(self, array: Array, name: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        leaf = self._leaves.get(name)
        value = arrays[name] if leaf is None else np.asarray(leaf.array.attrs["value"])
        value = value.reshape(array.shape)
        if array.dtype == "int64" and value.dtype.kind == "f" and value.size and np.abs(value).max() > EXACT_MOST:
            raise beyond(array)
        return value if is_float(array.dtype) and value.dtype.kind == "f" else value.astype(stored(array.dtype))

    def plan(self, **options: Any) -> Result:
        """Plan without executing."""
        scenario = self.scenario()
        with self._at_lines(json.dumps(scenario)):
            return plan_scenario(scenario, **options).only

    def explain(self, **options: Any) -> str:
        """Explain the step: its computation between collectives, and the reason of each collective."""
        return explain_scenario(self.scenario(), **options)

    @property
    def places(self) -> Mapping[str, str]:
        """The file and line of the user's source that each line of the scenario comes from."""
        return self._writer.places


def part_names(value: Numbers, name: str) -> List[str]:
    return [f"{name}.real", f"{name}.imag"] if isinstance(value, Complex) else [name]


def patterns(names: Sequence[str]) -> List[str]:
    """Patterns of whole names, each of an allowed length."""
    made: List[List[str]] = [[]]
    for name in names:
        if made[-1] and sum(len(n) + 1 for n in made[-1]) + len(name) > PATTERN_MOST - len("^()$"):
            made.append([])
        made[-1].append(name)
    return [f"^({'|'.join(some)})$" if len(some) > 1 else f"^{some[0]}$" for some in made]


def beyond(array: Array) -> InputError:
    return InputError(f"{array.where}: integers beyond 2^53 are not exact; reduce each product modulo a number")


def check_range(leaf: Leaf, value: np.ndarray) -> None:
    """64-bit integers are stored in int32, or in float64."""
    if value.dtype == np.int64 and value.size and (value.min() < -EXACT_MOST or value.max() > EXACT_MOST):
        raise InputError(f"'{leaf.array.attrs['path']}' has integers beyond 2^53, which are not exact")


def stored(dtype: str) -> Any:
    """The numpy type for writing values of a type."""
    return np.dtype("float32") if dtype in ("bfloat16", "float16") else np.dtype(dtype)
