"""Results of run, plan, compare and search, as immutable dataclasses.

Bytes and flops are exact ints, times are seconds.  `raw` is the whole object that the program
printed, for what has no field here.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Sequence, Tuple, Union

from .notebook import Picture, draw, table
from .program import Source, call

if TYPE_CHECKING:
    import numpy
    import pandas


SHOWN = ("received_bytes", "peak_memory_bytes_most", "modelled_step_seconds", "replayed_step_seconds")


@dataclass(frozen=True)
class DeviceClass:
    """Devices with the same figure: their number, the first id, and the figure."""

    devices: int
    first: int
    value: int


@dataclass(frozen=True)
class PerDevice:
    """A figure per device, in classes of equal devices; with few devices one class per device."""

    classes: Tuple[DeviceClass, ...]

    @property
    def most(self) -> int:
        return max(c.value for c in self.classes)

    @property
    def total(self) -> int:
        return sum(c.devices * c.value for c in self.classes)

    @property
    def devices(self) -> int:
        return sum(c.devices for c in self.classes)

    @staticmethod
    def parse(items: Sequence[Any]) -> PerDevice:
        return PerDevice(
            tuple(
                DeviceClass(i["devices"], i["first"], i["value"]) if isinstance(i, dict) else DeviceClass(1, n, i)
                for n, i in enumerate(items)
            )
        )


@dataclass(frozen=True)
class Collective:
    """A row of the table of collectives; `received_bytes` sums all devices and all `count` runs."""

    op: str
    axes: Tuple[str, ...]
    phase: str
    count: int
    group_size: int
    groups: int
    operand_bytes: int
    received_bytes: int
    where: str
    why: str

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> Collective:
        same = ("op", "phase", "count", "group_size", "groups", "operand_bytes")
        return Collective(
            axes=tuple(raw["axes"]),
            received_bytes=raw["received_bytes"],
            where=raw["where"],
            why=raw["why"],
            **{name: raw[name] for name in same},
        )


@dataclass(frozen=True)
class Received:
    """Bytes received from other devices."""

    total: int
    per_device: PerDevice
    by_axis: Mapping[str, int]
    by_op: Mapping[str, int]
    by_phase: Mapping[str, int]


@dataclass(frozen=True)
class Balance:
    """Mean / maximum over devices: 1 is even."""

    mean: float
    max: float
    ratio: float
    slowest: Optional[int]


@dataclass(frozen=True)
class Memory:
    """Peak memory of each device; `by_kind` is for the device with the highest peak."""

    peak_bytes: PerDevice
    limit_bytes: Optional[int]
    by_kind: Mapping[str, int]


@dataclass(frozen=True)
class Times:
    """Seconds of a step.  The three are not comparable with each other.

    measured: on this machine, whose cores the devices share; replayed: had each a core of its own;
    modelled: on the cluster that the scenario names.  None: not known of this result.
    """

    measured: Optional[float]
    replayed: Optional[float]
    modelled: Optional[float]
    mfu: Optional[float]


@dataclass(frozen=True)
class Verify:
    """The step compared with the unsharded computation; errors as fractions of their bounds."""

    ok: bool
    outputs: Mapping[str, float]
    gradients: Mapping[str, float]


@dataclass(frozen=True)
class Result:
    """One strategy, executed or planned."""

    scenario: str
    strategy: str
    mode: str
    mesh: Tuple[Tuple[str, int], ...]
    devices: int
    collectives: Tuple[Collective, ...]
    received_bytes: Received
    balance: Mapping[str, Balance]
    memory: Memory
    times: Times
    verify: Optional[Verify]
    figures: Mapping[str, float]
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    _source: Optional[Source] = field(repr=False, compare=False)
    _settings: Tuple[str, ...] = field(repr=False, compare=False)

    @property
    def fits(self) -> Optional[bool]:
        """Whether the peak is within limits.memory, and with the runtime's own within the memory of the
        cluster that the scenario names; None: there is neither."""
        limit = self.memory.limit_bytes
        within = [] if limit is None else [self.memory.peak_bytes.most <= limit]
        modelled = (self.raw.get("time", {}).get("modelled") or {}).get("fits")
        within += [] if modelled is None else [bool(modelled)]
        return all(within) if within else None

    @property
    def peak_bytes(self) -> int:
        """The highest peak memory of any device."""
        return int(self.memory.peak_bytes.most)

    @property
    def mfu(self) -> Optional[float]:
        """Model flops utilization (MFU), 0 to 1; None: there are no modelled times."""
        return self.times.mfu

    @property
    def bubble(self) -> Optional[float]:
        """Pipeline bubble: the mean fraction of the step in which a rank is idle; None: no pipeline."""
        pipeline = self.raw.get("pipeline")
        return None if pipeline is None else float(pipeline["bubble"])

    def row(self) -> Mapping[str, Any]:
        """The main figures, for a table that fits a page."""
        return self._row({name: self.figures.get(name) for name in SHOWN})

    def frame_row(self) -> Mapping[str, Any]:
        """Every figure, by the keys that `shardsim show figures` lists."""
        return self._row(self.figures)

    def _row(self, figures: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "scenario": self.scenario,
            "strategy": self.strategy,
            "mesh": ", ".join(f"{name}={size}" for name, size in self.mesh),
            "devices": self.devices,
            **figures,
            "fits": self.fits,
            "verified": None if self.verify is None else self.verify.ok,
        }

    def to_frame(self) -> pandas.DataFrame:
        """The collectives, one row each."""
        import pandas

        names = list(Collective.__dataclass_fields__)
        return pandas.DataFrame([{n: getattr(c, n) for n in names} for c in self.collectives], columns=names)

    def traffic(self) -> Tuple[Tuple[int, ...], ...]:
        """Planned bytes from device to device: a row is a receiver, a column a sender."""
        arguments, stdin = self._chosen()
        raw = json.loads(call(["show", "matrix", "--json", *arguments], stdin))
        return tuple(tuple(row) for row in raw["received_bytes"])

    def matrix(self) -> numpy.ndarray[Any, Any]:
        """traffic() as an array of numpy; of Python's ints where a figure is beyond 64 bits."""
        import numpy

        rows = self.traffic()
        wide = any(value >= 1 << 63 for row in rows for value in row)
        return numpy.array(rows, dtype=object if wide else numpy.int64)

    def picture(self, what: str = "matrix") -> Picture:
        """The drawing of `shardsim show WHAT` for this strategy: matrix, memory, tree or timetable."""
        return draw(what, *self._chosen())

    def _chosen(self) -> Tuple[Sequence[str], Optional[str]]:
        """The arguments that name this strategy to the program, and its standard input."""
        if self._source is None:
            raise ValueError("a comparison of several scenarios has no such drawing; use a result of plan() or run()")
        strategy = [] if self.strategy == "default" else [f"--strategy={self.strategy}"]
        return [*strategy, *self._settings, "--", self._source.path], self._source.stdin

    def _repr_html_(self) -> str:
        return table([self.row()])

    @staticmethod
    def parse(raw: Mapping[str, Any], source: Optional[Source], set_: Sequence[str]) -> Result:
        received, memory, time = raw["received_bytes"], raw["memory"], raw.get("time", {})
        verify = raw.get("verify")
        step: Callable[[str], Optional[float]] = lambda label: (time.get(label) or {}).get("step_seconds")
        return Result(
            scenario=raw["scenario"],
            strategy=raw["strategy"],
            mode=raw["mode"],
            mesh=tuple((name, size) for name, size in raw["mesh"]),
            devices=raw["devices"],
            collectives=tuple(Collective.parse(c) for c in raw["collectives"]),
            received_bytes=Received(
                received["total"],
                PerDevice.parse(received["per_device"]),
                received["by_axis"],
                received["by_op"],
                received["by_phase"],
            ),
            balance={
                name: Balance(b["mean"], b["max"], b["ratio"], b.get("slowest"))
                for name, b in raw["balance"].items()
            },
            memory=Memory(PerDevice.parse(memory["peak_bytes"]), memory["limit_bytes"], memory["by_kind"]),
            times=Times(
                step("measured"), step("replayed"), step("modelled"), (time.get("modelled") or {}).get("mfu")
            ),
            verify=None if verify is None else Verify(verify["ok"], verify["outputs"], verify["gradients"]),
            figures=raw["figures"],
            raw=raw,
            _source=source,
            _settings=tuple(set_),
        )


class Results(Sequence[Result]):
    """The strategies of a scenario, by number or by name."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __getitem__(self, key: Union[int, str, slice]) -> Any:
        if isinstance(key, str):
            for result in self._results:
                if result.strategy == key:
                    return result
            names = ", ".join(result.strategy for result in self._results)
            raise KeyError(f"unknown strategy {key!r}; there are {names}")
        return self._results[key]

    @property
    def only(self) -> Result:
        """The only result; an error if there are several."""
        if len(self._results) != 1:
            raise ValueError(f"there are {len(self._results)} strategies; choose one, with strategy= or by [name]")
        return self._results[0]

    def to_frame(self) -> pandas.DataFrame:
        """One row per strategy."""
        import pandas

        return pandas.DataFrame([result.frame_row() for result in self._results])

    def _repr_html_(self) -> str:
        return table([result.row() for result in self._results])


@dataclass(frozen=True)
class Comparison:
    """A comparison of strategies; `verdict` is the program's sentence, or empty."""

    results: Results
    verdict: str
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def to_frame(self) -> pandas.DataFrame:
        """One row per strategy."""
        return self.results.to_frame()

    def _repr_html_(self) -> str:
        return f"{self.results._repr_html_()}<p>{html.escape(self.verdict)}</p>"


@dataclass(frozen=True)
class Layout:
    """A layout found by a search: its choices and its planned figures."""

    choices: Mapping[str, Any]
    step_seconds: float
    mfu: float
    memory_bytes: float


@dataclass(frozen=True)
class Found:
    """The layouts found, best first; no other layout is faster than `proven_seconds`."""

    layouts: Tuple[Layout, ...]
    proven_seconds: Optional[float]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def best(self) -> Layout:
        """The best planned layout; the best of all if `proven`."""
        return self.layouts[0]

    @property
    def proven(self) -> bool:
        """Whether no other layout can have a shorter step than the best."""
        return self.proven_seconds is None or self.proven_seconds >= self.best.step_seconds

    def to_frame(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame([_layout_row(layout) for layout in self.layouts])

    def _repr_html_(self) -> str:
        return table([_layout_row(layout) for layout in self.layouts])


def _layout_row(layout: Layout) -> Mapping[str, Any]:
    return {
        **layout.choices,
        "step_seconds": layout.step_seconds,
        "mfu": layout.mfu,
        "memory_bytes": layout.memory_bytes,
    }
