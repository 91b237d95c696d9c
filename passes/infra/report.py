"""Reports of passes: the rewrites that fired or declined, by node, with reasons and timings."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from ...cpu_model import GENERIC_CPU, CpuModel

SHOWN_NODES = 4
"""The text form names at most this many nodes per line."""


@dataclass
class RewriteStatistics:
    """The number of times that a rewrite fired, and the nodes and reasons for which it declined.

    A node that declined and was rewritten later counts as rewritten only.
    """

    count: int = 0
    nodes: list[str] = field(default_factory=list[str])
    """The names of the nodes rewritten, one entry per time."""
    declined: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The names of the nodes that matched but were left alone, by reason."""
    checked: int = 0
    """The number of firings that were evaluated before and after, with equal results."""
    unchecked: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The names of the nodes whose firings could not be evaluated, by reason."""
    shapes: dict[str, str] = field(default_factory=dict[str, str])
    """The shapes of nodes, which the option `skip` of a pass takes; of passes that have it."""

    def record_fired(self, node: str, shapes: str = "") -> None:
        self.count += 1
        self.nodes.append(node)
        if shapes:
            self.shapes[node] = shapes
        for reason in [reason for reason, nodes in self.declined.items() if node in nodes]:
            self.declined[reason].remove(node)
            if not self.declined[reason]:
                del self.declined[reason]

    def record_declined(self, node: str, reason: str) -> None:
        nodes = self.declined.setdefault(reason, [])
        if node not in nodes:
            nodes.append(node)


class PassRecord(NamedTuple):
    """One pass that ran. `changed` is None when nobody looked."""

    name: str
    seconds: float
    changed: bool | None = None


class Stage(NamedTuple):
    """A program as it came in (``imported``), or after the pass `name` changed it."""

    program: str
    name: str
    compressed: bytes

    @property
    def text(self) -> str:
        """The program in MLIR's generic form, with locations, without large constants."""
        return zlib.decompress(self.compressed).decode()


@dataclass
class Report:
    """The report of a compilation; users get it as ``model.report``."""

    rewrites: dict[str, RewriteStatistics] = field(default_factory=dict[str, RewriteStatistics])
    passes: list[PassRecord] = field(default_factory=list[PassRecord])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    """Named sizes in bytes, or counts; the driver fills them in."""
    parts: list[Any] = field(default_factory=list[Any])
    """The parts of a model of which some nodes run on the host, in the order they run."""
    cached: str = ""
    """The time of the compilation, if the model was taken from the cache."""
    stages: list[Stage] = field(default_factory=list[Stage])
    """The programs between the passes over the graph; the driver has them recorded."""
    title: str = "model"
    """The name of the model."""
    cpu: CpuModel = GENERIC_CPU
    """The CPU that the program is compiled for; it decides what memory kernels need."""
    chosen: str = ""
    """The pipeline or the placement that was chosen, and why; empty if nothing was to be chosen."""

    def statistics(self, rewrite: str) -> RewriteStatistics:
        """The statistics of one rewrite; made on first use."""
        return self.rewrites.setdefault(rewrite, RewriteStatistics())

    def record_stage(self, name: str, seconds: float) -> None:
        """Record the duration of a stage outside the pass pipeline."""
        self.passes.append(PassRecord(name, seconds))

    def add_size(self, name: str, size: int) -> None:
        """Add to a named size: that of a model in parts is the sum of theirs."""
        self.sizes[name] = self.sizes.get(name, 0) + size

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "rewrites": {
                name: {
                    "count": s.count,
                    "nodes": list(s.nodes),
                    "declined": dict(s.declined),
                    "checked": s.checked,
                    "unchecked": dict(s.unchecked),
                }
                for name, s in sorted(self.rewrites.items())
            },
            "passes": [record._asdict() for record in self.passes],
            "sizes": dict(sorted(self.sizes.items())),
            "parts": [asdict(part) for part in self.parts],
            "cached": self.cached,
            "chosen": self.chosen,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], parts: Iterable[Any]) -> Self:
        """The report that `to_dict` has put into `values`, with the given parts."""
        rewrites = {name: RewriteStatistics(**raw) for name, raw in values["rewrites"].items()}
        passes = [PassRecord(**raw) for raw in values["passes"]]
        return cls(rewrites, passes, dict(values["sizes"]), list(parts), values["cached"])

    def __str__(self) -> str:
        lines = [self.chosen] if self.chosen else []
        lines += [f"from the cache: compiled {self.cached}"] if self.cached else []
        lines += [*map(str, self.parts), *self._rewrite_lines(), *self._pass_lines()]
        lines += [f"  {name}: {size:,}" for name, size in sorted(self.sizes.items())]
        return "\n".join(lines) or "nothing was rewritten"

    def _rewrite_lines(self) -> list[str]:
        lines: list[str] = []
        for name, statistics in sorted(self.rewrites.items()):
            if statistics.count:
                checked = f" ({statistics.checked} checked)" if statistics.checked else ""
                nodes = _listing(statistics.nodes)
                lines.append(f"  {statistics.count:5} x {name}{checked}: {nodes}")
            for reason, nodes in sorted(statistics.unchecked.items()):
                lines.append(f"  {len(nodes):5} of {name} not checked, {reason}: {_listing(nodes)}")
            for reason, nodes in sorted(statistics.declined.items()):
                lines.append(f"  {len(nodes):5} declined by {name}, {reason}: {_listing(nodes)}")
        return ["rewrites:", *lines] if lines else []

    def _pass_lines(self) -> list[str]:
        total = sum(record.seconds for record in self.passes)
        lines = [
            f"  {1000 * record.seconds:8.1f} ms {record.name}"
            + (" (no change)" if record.changed is False else "")
            for record in self.passes
        ]
        return [f"passes: {1000 * total:.1f} ms", *lines] if lines else []


def _listing(nodes: list[str]) -> str:
    shown = ", ".join(nodes[:SHOWN_NODES])
    rest = len(nodes) - SHOWN_NODES
    return f"{shown} and {rest} more" if rest > 0 else shown
