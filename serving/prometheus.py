"""Measurements in the text format of Prometheus."""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class CounterMetric:
    """A sum that only grows, one for each value of `label` if there is one."""

    name: str
    doc: str
    label: str | None = None
    values: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.label is None:
            self.values[""] = 0

    def add(self, amount: float, value: str = "") -> None:
        """Add `amount`, for `value` of the label."""
        self.values[value] = self.values.get(value, 0) + amount

    def lines(self, labels: str) -> Iterator[str]:
        """The lines, with `labels` in each."""
        yield from _head(self.name, self.doc, "counter")
        for value, amount in sorted(self.values.items()):
            more = f'{labels},{self.label}="{value}"' if self.label else labels
            yield f"{self.name}{{{more}}} {amount:.17g}"


@dataclass
class GaugeMetric:
    """A number of the moment, which `read` finds."""

    name: str
    doc: str
    read: Callable[[], float]

    def lines(self, labels: str) -> Iterator[str]:
        """The lines, with `labels` in each."""
        yield from _head(self.name, self.doc, "gauge")
        yield f"{self.name}{{{labels}}} {self.read():g}"


@dataclass
class HistogramMetric:
    """How many observations are at most each of `bounds`, with their sum."""

    name: str
    doc: str
    bounds: Sequence[float]

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Add one observation."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, labels: str) -> Iterator[str]:
        """The lines, with `labels` in each."""
        yield from _head(self.name, self.doc, "histogram")
        counts, below = list(self.counts), 0
        names = [*(f"{bound:g}" for bound in self.bounds), "+Inf"]
        for name, count in zip(names, counts, strict=True):
            below += count
            yield f'{self.name}_bucket{{{labels},le="{name}"}} {below}'
        yield f"{self.name}_sum{{{labels}}} {self.total:.17g}"
        yield f"{self.name}_count{{{labels}}} {below}"


Metric = CounterMetric | GaugeMetric | HistogramMetric


def label(name: str, value: str) -> str:
    """``name="value"``, escaped."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{name}="{escaped}"'


def _head(name: str, doc: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {doc}"
    yield f"# TYPE {name} {kind}"
