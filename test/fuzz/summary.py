"""The figures of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.suite_results import readable_json
from harness.reliability import LongRun, finished

from .fuzz_journal import FuzzRun
from .graph_outcome import FINDINGS, GraphOutcome, GraphStatus


@dataclass(frozen=True)
class Summary:
    """The summary of one run."""

    run: FuzzRun
    graphs: int
    nodes: int
    """Number of nodes in all graphs, including those of subgraphs."""
    core_seconds: float
    counts: Mapping[str, int]
    """Number of graphs, by status."""
    references: Mapping[str, int]
    """Number of graphs, by reference: ``onnx`` where ONNX Runtime lacks a node."""
    opsets: Mapping[str, int]
    types: Mapping[str, int]
    """Number of graphs, by element type of inputs and outputs."""
    operators: Mapping[str, int]
    """Number of graphs that contain each operator."""
    rejected: Mapping[str, int]
    """Number of rejected draws, by reason."""
    findings: Sequence[Mapping[str, Any]]

    def long_run(self, jobs: int) -> LongRun:
        """The entry for ``docs/reliability.md`` of this run, which used `jobs` processes."""
        counts = {"models": self.graphs, "nodes": self.nodes, "operators": len(self.operators)}
        counts |= {status: self.counts[status] for status in GraphStatus if status not in FINDINGS}
        family = f" of the family {self.run.family}" if self.run.family else ""
        what = f"models{family} of seed {self.run.seed} for {self.run.target}, beside ONNX Runtime"
        found, seconds = len(self.findings), self.core_seconds / jobs
        return finished(what, "make fuzz", counts, violations=found, seconds=seconds)

    def figures(self) -> list[str]:
        """The most important figures, as lines of text."""
        found = sum(self.counts.get(status, 0) for status in GraphStatus) - self.counts["pass"]
        return [
            f"{self.graphs} graphs of {self.nodes} nodes, {len(self.operators)} operators, "
            f"{len(self.types)} element types, in {self.core_seconds / 3600:.2f} hours of a core",
            f"{self.counts['pass']} pass, {found} do not:",
            *(
                f"  {self.counts[status]} {status}"
                for status in GraphStatus
                if status != GraphStatus.PASS
            ),
        ]


def sum_up(run: FuzzRun, outcomes: Iterable[GraphOutcome]) -> Summary:
    """Summarize the outcomes of a run."""
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
        {status.value: by_status[status] for status in GraphStatus},
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
    """Write the whole summary as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(readable_json(asdict(summary)), encoding="utf-8")
    return path


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
