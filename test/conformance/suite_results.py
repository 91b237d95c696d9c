"""Results of the last complete run for each target: ``docs/conformance/``, one file each.

The pages of ``docs/`` are written from these files, so the targets need not be run again for them.
"""

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from graphc.runtime.targets import TARGETS

from .case_outcome import CaseOutcome, CaseStatus
from .suite_journal import SuiteRun

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "conformance"


@dataclass(frozen=True)
class CaseInfo:
    """The properties of a case that determine which statistics it counts for."""

    name: str
    tensors: bool
    """True if all inputs, outputs and intermediate values are tensors of numbers."""
    operators: Sequence[str]
    """Operators that the case is evidence for, with the names of `operator_key`."""
    types: Sequence[str]
    """Element types of the inputs."""


@dataclass
class OperatorResult:
    """Results of the cases of one operator."""

    native: int = 0
    """Number of cases that pass and are compiled as a whole."""
    host: int = 0
    """Number of cases that pass with a part on the host."""
    types: list[str] = field(default_factory=list)
    """Element types of the inputs of the passing cases."""
    not_passing: list[str] = field(default_factory=list)
    """Names of the cases that do not pass."""

    @property
    def total(self) -> int:
        """Number of all cases of the operator."""
        return self.native + self.host + len(self.not_passing)


@dataclass(frozen=True)
class NotPassing:
    """The outcome of a case that does not pass."""

    status: CaseStatus
    detail: str


@dataclass(frozen=True)
class SuiteResults:
    """The summary of one run."""

    run: SuiteRun
    counts: Mapping[str, int]
    """Number of cases, by status."""
    tensors: int
    """Number of cases with tensors of numbers only."""
    native_tensors: int
    """Number of these that pass and are compiled as a whole."""
    not_passing: Mapping[str, NotPassing]
    operators: Mapping[str, OperatorResult]
    """Results by operator name, which has the prefix ``domain::`` if the domain is not ONNX's
    own."""

    @property
    def total(self) -> int:
        """Number of all cases."""
        return sum(self.counts.values())

    @property
    def passed(self) -> int:
        """Number of cases that pass."""
        return self.counts.get(CaseStatus.PASS, 0)

    def figures(self) -> list[str]:
        """Lines with the numbers of cases that pass, in total and compiled as a whole."""
        return [
            f"{share(self.passed, self.total)} pass",
            *(f"{self.counts.get(s, 0)} {s}" for s in CaseStatus if s is not CaseStatus.PASS),
            f"{share(self.native_tensors, self.tensors)} of those on tensors alone pass, "
            "all compiled",
        ]


def sum_up(
    run: SuiteRun, cases: Iterable[CaseInfo], outcomes: Mapping[str, CaseOutcome]
) -> SuiteResults:
    """Summarize the outcomes of `cases`; `outcomes` has one for each."""
    pairs = [(case, outcomes[case.name]) for case in cases]
    counts = Counter(outcome.status for _, outcome in pairs)
    tensors = [outcome for case, outcome in pairs if case.tensors]
    return SuiteResults(
        run,
        {status.value: counts[status] for status in CaseStatus},
        len(tensors),
        sum(outcome.passed and outcome.native for outcome in tensors),
        {o.name: NotPassing(o.status, o.detail) for _, o in pairs if not o.passed},
        dict(sorted(_by_operator(pairs).items())),
    )


def with_mended(
    results: SuiteResults, cases: Iterable[CaseInfo], outcomes: Mapping[str, CaseOutcome]
) -> SuiteResults:
    """`results` of a complete run, updated for those of `cases` that did not pass then and do
    now."""
    mended = [c for c in cases if c.name in results.not_passing and outcomes[c.name].passed]
    counts, operators = Counter(results.counts), copy.deepcopy(dict(results.operators))
    for case in mended:
        counts[results.not_passing[case.name].status] -= 1
        counts[CaseStatus.PASS] += 1
        for name in case.operators:
            operators[name].not_passing.remove(case.name)
            _record(operators[name], case, outcomes[case.name])
    names = {case.name for case in mended}
    native = sum(case.tensors and outcomes[case.name].native for case in mended)
    return replace(
        results,
        counts={status.value: counts[status] for status in CaseStatus},
        native_tensors=results.native_tensors + native,
        not_passing={k: v for k, v in results.not_passing.items() if k not in names},
        operators=operators,
    )


def _by_operator(pairs: Iterable[tuple[CaseInfo, CaseOutcome]]) -> dict[str, OperatorResult]:
    found: dict[str, OperatorResult] = defaultdict(OperatorResult)
    for case, outcome in pairs:
        for operator in case.operators:
            _record(found[operator], case, outcome)
    return found


def _record(result: OperatorResult, case: CaseInfo, outcome: CaseOutcome) -> None:
    if not outcome.passed:
        result.not_passing.append(outcome.name)
        return
    result.types = sorted({*result.types, *case.types})
    if outcome.native:
        result.native += 1
    else:
        result.host += 1


def operator_key(domain: str, name: str) -> str:
    """The key of an operator in `Results.operators`."""
    return name if domain in ("", "ai.onnx") else f"{domain}::{name}"


def write_results(results: SuiteResults) -> Path:
    """Write the results file of the run's target."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{results.run.target.replace(':', '-')}.json"
    path.write_text(readable_json(asdict(results)), encoding="utf-8")
    return path


def results_of(run: SuiteRun) -> SuiteResults | None:
    """The stored results for the target of `run`; None unless they are of an equally executed
    run."""
    same = (each for each in read_results() if each.run.target == run.target)
    return next((each for each in same if each.run.executed == run.executed), None)


def read_results() -> list[SuiteResults]:
    """The results of all targets, in the order of the target table."""
    found = [
        results_from_json(json.loads(path.read_text("utf-8"))) for path in FOLDER.glob("*.json")
    ]
    order: Sequence[str] = list(TARGETS)
    return sorted(found, key=lambda r: (order.index(r.run.target.partition(":")[0]), r.run.target))


def results_from_json(written: dict[str, Any]) -> SuiteResults:
    """The `SuiteResults` that a dict stands for."""
    return SuiteResults(
        **{
            **written,
            "run": SuiteRun(**written["run"]),
            "not_passing": {
                name: NotPassing(CaseStatus(each["status"]), each["detail"])
                for name, each in written["not_passing"].items()
            },
            "operators": {k: OperatorResult(**v) for k, v in written["operators"].items()},
        }
    )


def readable_json(data: Mapping[str, Any]) -> str:
    """JSON with one line for each entry of the values of `data`, so that diffs are readable."""
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
