"""The data of a profile: dispatches, and how long each took."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ..runtime.execution.profiler import Event
from .sites import Site


@dataclass(frozen=True)
class Row:
    """A dispatch. `seconds` are those of one run, in which it is called `calls` times.

    `workers` is how many threads worked on it, on average. `flops` are the additions and
    multiplications of a call, `bytes` the operands and results that it reads and writes; None where
    the sizes are known at run time alone.
    """

    kernel: str
    nodes: tuple[str, ...]
    rewrites: tuple[str, ...]
    """The rewrites that fired at these nodes."""
    seconds: float
    calls: float
    workers: float
    pieces: int
    flops: int | None
    bytes: int | None

    @property
    def gflops(self) -> float | None:
        """10^9 operations a second."""
        return self._rate(self.flops)

    @property
    def gigabytes(self) -> float | None:
        """10^9 bytes a second."""
        return self._rate(self.bytes)

    def _rate(self, count: int | None) -> float | None:
        return self.calls * count / self.seconds / 1e9 if count and self.seconds else None


@dataclass(frozen=True)
class Measurements:
    """The runs of a model that were profiled.

    `latency` is the median time of a run without the profiler, in seconds, and `peak_gflops` what
    the threads can do at most. `peak_bytes` are the most that a run allocates at once, for
    intermediate tensors and outputs. `rows` are the dispatches, slowest first.
    """

    model: str
    threads: int
    runs: int
    latency: float
    peak_gflops: float
    peak_bytes: int
    rows: tuple[Row, ...]
    events: tuple[tuple[Event, Site], ...]
    """Each dispatch that ran, in the order they began."""

    @property
    def seconds(self) -> float:
        """Time of all dispatches of a run together."""
        return sum(row.seconds for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The profile without its events as plain values, ready for JSON."""
        rows = [
            asdict(row)
            | {
                "gflops": row.gflops,
                "gigabytes": row.gigabytes,
                "share": row.seconds / self.seconds,
            }
            for row in self.rows
        ]
        names = ("model", "threads", "runs", "latency", "peak_gflops", "peak_bytes")
        return {name: getattr(self, name) for name in names} | {"rows": rows}


def make_rows(
    events: Iterable[tuple[Event, Site]], runs: int, rewrites: Mapping[str, Sequence[str]]
) -> tuple[Row, ...]:
    """The rows of `events` of so many `runs`; `rewrites` has the names of those that fired at a
    node."""
    by_site: dict[Site, list[Event]] = defaultdict(list)
    for event, site in events:
        by_site[site].append(event)
    rows = [_row(site, group, runs, rewrites) for site, group in by_site.items()]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _row(
    site: Site, events: Sequence[Event], runs: int, rewrites: Mapping[str, Sequence[str]]
) -> Row:
    calls = len(events) / runs
    times = [event.end - event.start for event in events]
    fired = dict.fromkeys(name for node in site.nodes for name in rewrites.get(node, ()))
    return Row(
        kernel=site.kernel,
        nodes=site.nodes,
        rewrites=tuple(fired),
        seconds=calls * median(times),
        calls=calls,
        workers=sum(event.busy for event in events) / (sum(times) or 1.0),
        pieces=max(event.pieces for event in events),
        flops=site.cost.flops,
        bytes=site.cost.bytes,
    )
