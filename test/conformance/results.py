"""What the last whole run for each target showed: ``docs/conformance/``, a file for each.

The pages of ``docs/`` are written from these files, so that no target need be run for them again.
"""

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from graphc.runtime.targets import TARGETS

from .journal import Run
from .outcome import Outcome, Status

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "conformance"


@dataclass(frozen=True)
class CaseInfo:
    """What of a case decides where it counts."""

    name: str
    tensors: bool
    """Whether all that goes in, comes out, or is computed is tensors of numbers."""
    operators: Sequence[str]
    """Those that it is evidence for, as `operator_key` calls them."""
    types: Sequence[str]
    """Of its inputs."""


@dataclass
class OperatorResult:
    """What the cases of one operator showed."""

    native: int = 0
    """Cases that pass, compiled as a whole."""
    host: int = 0
    """Cases that pass with a part on the host."""
    types: list[str] = field(default_factory=list)
    """Of the inputs of the passing cases."""
    not_passing: list[str] = field(default_factory=list)
    """Names of cases."""

    @property
    def total(self) -> int:
        """All its cases."""
        return self.native + self.host + len(self.not_passing)


@dataclass(frozen=True)
class Ending:
    """How a case that does not pass ended."""

    status: Status
    detail: str


@dataclass(frozen=True)
class Results:
    """One run, summed up."""

    run: Run
    counts: Mapping[str, int]
    """Cases by status."""
    tensors: int
    """Cases that have tensors of numbers alone."""
    native_tensors: int
    """Those of them that pass, compiled as a whole."""
    not_passing: Mapping[str, Ending]
    operators: Mapping[str, OperatorResult]
    """By name, behind ``domain::`` where it is not ONNX's own."""

    @property
    def total(self) -> int:
        """All cases."""
        return sum(self.counts.values())

    @property
    def passed(self) -> int:
        """Cases that pass."""
        return self.counts.get(Status.PASS, 0)

    def figures(self) -> list[str]:
        """How many passed, natively above all."""
        return [
            f"{share(self.passed, self.total)} pass",
            *(f"{self.counts.get(s, 0)} {s}" for s in Status if s is not Status.PASS),
            f"{share(self.native_tensors, self.tensors)} of those on tensors alone pass, "
            "all compiled",
        ]


def sum_up(run: Run, cases: Iterable[CaseInfo], outcomes: Mapping[str, Outcome]) -> Results:
    """How `cases` ended; `outcomes` has one for each."""
    pairs = [(case, outcomes[case.name]) for case in cases]
    counts = Counter(outcome.status for _, outcome in pairs)
    tensors = [outcome for case, outcome in pairs if case.tensors]
    return Results(
        run,
        {status.value: counts[status] for status in Status},
        len(tensors),
        sum(outcome.passed and outcome.native for outcome in tensors),
        {o.name: Ending(o.status, o.detail) for _, o in pairs if not o.passed},
        dict(sorted(_by_operator(pairs).items())),
    )


def with_mended(
    results: Results, cases: Iterable[CaseInfo], outcomes: Mapping[str, Outcome]
) -> Results:
    """`results` of a whole run, but for those of `cases` that pass now and did not then."""
    mended = [c for c in cases if c.name in results.not_passing and outcomes[c.name].passed]
    counts, operators = Counter(results.counts), copy.deepcopy(dict(results.operators))
    for case in mended:
        counts[results.not_passing[case.name].status] -= 1
        counts[Status.PASS] += 1
        for name in case.operators:
            operators[name].not_passing.remove(case.name)
            _record(operators[name], case, outcomes[case.name])
    names = {case.name for case in mended}
    native = sum(case.tensors and outcomes[case.name].native for case in mended)
    return replace(
        results,
        counts={status.value: counts[status] for status in Status},
        native_tensors=results.native_tensors + native,
        not_passing={k: v for k, v in results.not_passing.items() if k not in names},
        operators=operators,
    )


def _by_operator(pairs: Iterable[tuple[CaseInfo, Outcome]]) -> dict[str, OperatorResult]:
    found: dict[str, OperatorResult] = defaultdict(OperatorResult)
    for case, outcome in pairs:
        for operator in case.operators:
            _record(found[operator], case, outcome)
    return found


def _record(result: OperatorResult, case: CaseInfo, outcome: Outcome) -> None:
    if not outcome.passed:
        result.not_passing.append(outcome.name)
        return
    result.types = sorted({*result.types, *case.types})
    if outcome.native:
        result.native += 1
    else:
        result.host += 1


def operator_key(domain: str, name: str) -> str:
    """How `Results.operators` calls an operator."""
    return name if domain in ("", "ai.onnx") else f"{domain}::{name}"


def write_results(results: Results) -> Path:
    """Write the file of the run's target."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{results.run.target.replace(':', '-')}.json"
    path.write_text(readable_json(asdict(results)), encoding="utf-8")
    return path


def results_of(run: Run) -> Results | None:
    """The results for the target of `run`, if there are some of such a run: executed as it is."""
    same = (each for each in read_results() if each.run.target == run.target)
    return next((each for each in same if each.run.executed == run.executed), None)


def read_results() -> list[Results]:
    """The results of all targets, in the order of the table of targets."""
    found = [
        results_from_json(json.loads(path.read_text("utf-8"))) for path in FOLDER.glob("*.json")
    ]
    order: Sequence[str] = list(TARGETS)
    return sorted(found, key=lambda r: (order.index(r.run.target.partition(":")[0]), r.run.target))


def results_from_json(written: dict[str, Any]) -> Results:
    """What the dict of a `Results` stands for."""
    return Results(
        **{
            **written,
            "run": Run(**written["run"]),
            "not_passing": {
                name: Ending(Status(each["status"]), each["detail"])
                for name, each in written["not_passing"].items()
            },
            "operators": {k: OperatorResult(**v) for k, v in written["operators"].items()},
        }
    )


def readable_json(data: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of what `data` maps to, so that changes can be read."""
    blocks = []
    for key, value in data.items():
        text = json.dumps(value)
        if isinstance(value, Mapping) and value:
            entries = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            text = "{\n" + ",\n".join(entries) + "\n }"
        blocks.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def share(part: int, whole: int) -> str:
    """``3 of 4 (75.0 %)``."""
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "0 of 0"
