"""What a run showed, in numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.results import readable_json
from harness.reliability import LongRun, finished

from .journal import Run
from .outcome import FINDINGS, Outcome, Status


@dataclass(frozen=True)
class Summary:
    """One run, summed up."""

    run: Run
    graphs: int
    nodes: int
    """Of all graphs, those of subgraphs as well."""
    core_seconds: float
    counts: Mapping[str, int]
    """Graphs by status."""
    references: Mapping[str, int]
    """Graphs by who computed what is expected: ``onnx`` where ONNX Runtime lacks a node."""
    opsets: Mapping[str, int]
    types: Mapping[str, int]
    """Graphs by element types that go in or come out."""
    operators: Mapping[str, int]
    """Graphs that have an operator."""
    rejected: Mapping[str, int]
    """Draws that were given up, by reason."""
    findings: Sequence[Mapping[str, Any]]

    def long_run(self, jobs: int) -> LongRun:
        """What ``docs/reliability.md`` says of the run, of `jobs` processes at a time."""
        counts = {"models": self.graphs, "nodes": self.nodes, "operators": len(self.operators)}
        counts |= {status: self.counts[status] for status in Status if status not in FINDINGS}
        what = f"models of seed {self.run.seed} for {self.run.target}, beside ONNX Runtime"
        found, seconds = len(self.findings), self.core_seconds / jobs
        return finished(what, "make fuzz", counts, violations=found, seconds=seconds)

    def figures(self) -> list[str]:
        """The numbers that say most."""
        found = sum(self.counts.get(status, 0) for status in Status) - self.counts["pass"]
        return [
            f"{self.graphs} graphs of {self.nodes} nodes, {len(self.operators)} operators, "
            f"{len(self.types)} element types, in {self.core_seconds / 3600:.2f} hours of a core",
            f"{self.counts['pass']} pass, {found} do not:",
            *(f"  {self.counts[status]} {status}" for status in Status if status != Status.PASS),
        ]


def sum_up(run: Run, outcomes: Iterable[Outcome]) -> Summary:
    """The numbers of a run."""
    ended = sorted(outcomes, key=lambda each: each.index)
    rejected: Counter[str] = Counter()
    for each in ended:
        rejected.update(each.rejected)
    by_status = Counter(each.status for each in ended)
    return Summary(
        run,
        len(ended),
        sum(each.nodes for each in ended),
        round(sum(each.seconds for each in ended), 1),
        {status.value: by_status[status] for status in Status},
        _sorted(Counter(each.reference for each in ended if each.reference)),
        _sorted(Counter(f"{each.opset:02}" for each in ended if each.opset)),
        _sorted(Counter(name for each in ended for name in each.types)),
        _sorted(Counter(name for each in ended for name in each.operators)),
        _sorted(rejected),
        [
            {"index": each.index, "status": each.status, "detail": each.detail}
            for each in ended
            if each.is_finding
        ],
    )


def write_summary(summary: Summary, path: Path) -> Path:
    """Write all of it, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(readable_json(asdict(summary)), encoding="utf-8")
    return path


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
