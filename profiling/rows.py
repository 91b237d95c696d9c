"""The data of a profile: dispatches and their times."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ..runtime.execution.profiler import Event
from .sites import Site


@dataclass(frozen=True)
class ProfileRow:
    """A dispatch. `seconds` is its time per run, in which it is called `calls` times.

    `workers` is the average number of threads that worked on it. `flops` is the number of additions
    and multiplications of a call, `bytes` the size of the operands and results that it reads and
    writes; None if sizes are known only at run time.
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
        """Throughput in 10^9 operations per second."""
        return self._rate(self.flops)

    @property
    def gigabytes(self) -> float | None:
        """Bandwidth in 10^9 bytes per second."""
        return self._rate(self.bytes)

    def _rate(self, count: int | None) -> float | None:
        return self.calls * count / self.seconds / 1e9 if count and self.seconds else None


@dataclass(frozen=True)
class Measurements:
    """Measurements of profiled runs of a model.

    `latency` is the median time of a run without the profiler, in seconds; `peak_gflops` is the
    peak performance of the threads. `peak_bytes` is the peak memory of a run, for intermediate
    tensors and outputs. `rows` are the dispatches, slowest first.
    """

    model: str
    threads: int
    runs: int
    latency: float
    peak_gflops: float
    peak_bytes: int
    rows: tuple[ProfileRow, ...]
    events: tuple[tuple[Event, Site], ...]
    """Executed dispatches, in order of their start."""

    @property
    def seconds(self) -> float:
        """Total time of the dispatches of a run."""
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
) -> tuple[ProfileRow, ...]:
    """The rows for the `events` of `runs` runs; `rewrites` maps nodes to the names of the rewrites
    that fired there."""
    by_site: dict[Site, list[Event]] = defaultdict(list)
    for event, site in events:
        by_site[site].append(event)
    rows = [_row(site, group, runs, rewrites) for site, group in by_site.items()]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _row(
    site: Site, events: Sequence[Event], runs: int, rewrites: Mapping[str, Sequence[str]]
) -> ProfileRow:
    calls = len(events) / runs
    times = [event.end - event.start for event in events]
    fired = dict.fromkeys(name for node in site.nodes for name in rewrites.get(node, ()))
    return ProfileRow(
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
