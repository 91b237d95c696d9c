"""``docs/support-matrix.md``: the test results of each operator by target."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from gpu_check.device_results import read_reports
from graphc.frontend.onnx.importing.registry import converters

from .case_outcome import CaseStatus
from .known import load_known
from .suite_results import OperatorResult, SuiteResults, operator_key, read_results, share

NOTE = "<!-- Written by `make docs` from docs/conformance/ and docs/gpu/; edits here are lost. -->"
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
_OTHERS = [status for status in CaseStatus if status is not CaseStatus.PASS]
_EXPLANATION = """\
*Opsets* are those at which the semantics of the converter change; *body* means that ONNX's own \
function body is compiled. *Types* are the input types of the cases that pass on the first target. \
The column of a target counts the passing cases of an operator; *host* counts those of them with a \
part that `onnx.reference` runs. *Compiled* means that nothing was executed."""


def support_matrix() -> str:
    """The page, from the results of all targets."""
    return page(columns())


def columns() -> dict[str, SuiteResults]:
    """The results by column head: one column per target, then one per device."""
    found = {title(each): each for each in read_results()}
    for report in read_reports():
        if report.results.total and not report.matching:
            found[f"{report.results.run.target} on {report.device}"] = report.results
    return found


def title(results: SuiteResults) -> str:
    """The head of a target's column."""
    return results.run.target if results.run.executed else f"{results.run.target} (compiled)"


def page(columns: Mapping[str, SuiteResults]) -> str:
    """The page for results by column head."""
    notes = _Notes(columns)
    lines = ["# Operator support", "", NOTE, ""]
    lines += [
        "Results of ONNX's backend tests; shape, element type and values are compared strictly.",
        "",
        *_summary(columns),
        "",
        _EXPLANATION,
    ]
    for domain in _DOMAINS:
        lines += ["", f"## {domain or 'ai.onnx'}", "", *_table(domain, columns, notes)]
    return "\n".join([*lines, "", *notes.text()]) + "\n"


def _summary(columns: Mapping[str, SuiteResults]) -> Iterator[str]:
    yield f"| target | device | date | pass | {' | '.join(_OTHERS)} | tensor-only, fully compiled |"
    yield "| --- " * (5 + len(_OTHERS)) + "|"
    for head, each in columns.items():
        counts = [str(each.counts.get(status, 0)) for status in _OTHERS]
        cells = [head, each.run.device or "none", each.run.date]
        cells += [share(each.passed, each.total), *counts]
        cells += [share(each.native_tensors, each.tensors)]
        yield f"| {' | '.join(cells)} |"


def _table(domain: str, columns: Mapping[str, SuiteResults], notes: "_Notes") -> Iterator[str]:
    opsets: dict[tuple[str, str], list[int]] = defaultdict(list)
    for converter in converters():
        opsets[converter.domain, converter.op_type].append(converter.since)
    heads = ["operator", "opsets", "types", *columns, "not passing"]
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for name in _operators(domain):
        key = operator_key(domain, name)
        found = [each.operators.get(key, OperatorResult()) for each in columns.values()]
        cells = [
            name,
            ", ".join(map(str, opsets[domain, name])) or _without_converter(domain, name),
            ", ".join(found[0].types) if found else "",
            *map(_cell, found),
            notes.of(found),
        ]
        yield f"| {' | '.join(cells)} |"


def _cell(result: OperatorResult) -> str:
    """``15``; ``13 of 15`` if some fail; ``15 (4 host)`` if four have host parts."""
    if not result.total:
        return ""
    passed = result.native + result.host
    text = str(passed) if passed == result.total else f"{passed} of {result.total}"
    return f"{text} ({result.host} host)" if result.host else text


class _Notes:
    """Footnotes with the reasons why cases do not pass."""

    def __init__(self, columns: Mapping[str, SuiteResults]):
        self._columns = list(columns.items())
        self._known = [load_known(r.run.target, r.run.executed) for r in columns.values()]
        self._numbers: dict[str, int] = {}

    def of(self, found: Sequence[OperatorResult]) -> str:
        """The failing cases of one operator, by target and reason."""
        targets: dict[tuple[str, str], list[str]] = defaultdict(list)
        for index, result in enumerate(found):
            for name in result.not_passing:
                targets[name, self._reason(index, name)].append(self._columns[index][0])
        cases: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (name, reason), where in targets.items():
            cases[", ".join(where), reason].append(f"`{name}`")
        return "; ".join(
            f"{where}: {', '.join(names)}[^{self._number(reason)}]"
            for (where, reason), names in cases.items()
        )

    def text(self) -> Iterator[str]:
        """The footnotes as lines of text."""
        for reason, number in self._numbers.items():
            yield f"[^{number}]: {reason}"

    def _reason(self, index: int, name: str) -> str:
        known: Mapping[str, Any] = self._known[index]
        if name in known:
            return known[name].reason
        ending = self._columns[index][1].not_passing[name]
        return f"{ending.status}: {ending.detail}"

    def _number(self, reason: str) -> int:
        return self._numbers.setdefault(reason, len(self._numbers) + 1)


def _operators(domain: str) -> list[str]:
    schemas = onnx.defs.get_all_schemas()
    return sorted({schema.name for schema in schemas if schema.domain == domain})


def _without_converter(domain: str, name: str) -> str:
    schema: Any = onnx.defs.get_schema(name, domain=domain)  # stubs leave function bodies out
    return "body" if schema.has_function or schema.has_context_dependent_function else ""
