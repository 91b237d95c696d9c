"""``docs/support-matrix.md``: what becomes of each operator, as the cases showed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from ...frontend.onnx.registry import converters
from .known import load_known
from .outcome import Status
from .results import OperatorResult, Results, operator_key, read_results, share

NOTE = "<!-- Written by `make docs` from docs/conformance/; edits here are lost. -->"
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
_OTHERS = [status for status in Status if status is not Status.PASS]
_EXPLANATION = """\
*Opsets* are those at which the converter's meaning changes; *body* means that ONNX's own function \
body is compiled. *Types* are those of the inputs of the cases that pass on the first target. A \
target's column says how many of an operator's cases pass, *host* how many of these have a part \
that `onnx.reference` runs; *compiled* means that nothing was executed."""


def support_matrix() -> str:
    """The page, from the results of all targets."""
    return page(read_results())


def page(results: Sequence[Results]) -> str:
    """The page for `results`, of which each has a column."""
    notes = _Notes(results)
    lines = ["# ONNX operators: what is supported", "", NOTE, ""]
    lines += [
        "From ONNX's own test suite for backends; shape, element type and values are compared "
        "strictly.",
        "",
        *_summary(results),
        "",
        _EXPLANATION,
    ]
    for domain in _DOMAINS:
        lines += ["", f"## {domain or 'ai.onnx'}", "", *_table(domain, results, notes)]
    return "\n".join([*lines, "", *notes.text()]) + "\n"


def title(results: Results) -> str:
    """The head of a target's column."""
    return results.run.target if results.run.executed else f"{results.run.target} (compiled)"


def _summary(results: Sequence[Results]) -> Iterator[str]:
    yield f"| target | device | date | pass | {' | '.join(_OTHERS)} | tensors alone, all compiled |"
    yield "| --- " * (5 + len(_OTHERS)) + "|"
    for each in results:
        counts = [str(each.counts.get(status, 0)) for status in _OTHERS]
        columns = [title(each), each.run.device or "none", each.run.date]
        columns += [share(each.passed, each.total), *counts]
        columns += [share(each.native_tensors, each.tensors)]
        yield f"| {' | '.join(columns)} |"


def _table(domain: str, results: Sequence[Results], notes: "_Notes") -> Iterator[str]:
    opsets: dict[tuple[str, str], list[int]] = defaultdict(list)
    for converter in converters():
        opsets[converter.domain, converter.op_type].append(converter.since)
    heads = ["operator", "opsets", "types", *map(title, results), "not passing"]
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for name in _operators(domain):
        key = operator_key(domain, name)
        found = [each.operators.get(key, OperatorResult()) for each in results]
        columns = [
            name,
            ", ".join(map(str, opsets[domain, name])) or _without_converter(domain, name),
            ", ".join(found[0].types) if found else "",
            *map(_cell, found),
            notes.of(found),
        ]
        yield f"| {' | '.join(columns)} |"


def _cell(result: OperatorResult) -> str:
    """``15``, ``13 of 15`` where not all pass, ``15 (4 host)`` where parts of four do not run on
    the device."""
    if not result.total:
        return ""
    passed = result.native + result.host
    text = str(passed) if passed == result.total else f"{passed} of {result.total}"
    return f"{text} ({result.host} host)" if result.host else text


class _Notes:
    """Why cases do not pass, each reason once, at the end of the page."""

    def __init__(self, results: Sequence[Results]):
        self._results = results
        self._known = [load_known(each.run.target, each.run.executed) for each in results]
        self._numbers: dict[str, int] = {}

    def of(self, found: Sequence[OperatorResult]) -> str:
        """The cases of one operator that do not pass, by target and reason."""
        targets: dict[tuple[str, str], list[str]] = defaultdict(list)
        for index, result in enumerate(found):
            for name in result.not_passing:
                targets[name, self._reason(index, name)].append(self._results[index].run.target)
        cases: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (name, reason), where in targets.items():
            cases[", ".join(where), reason].append(f"`{name}`")
        return "; ".join(
            f"{where}: {', '.join(names)}[^{self._number(reason)}]"
            for (where, reason), names in cases.items()
        )

    def text(self) -> Iterator[str]:
        """The reasons."""
        for reason, number in self._numbers.items():
            yield f"[^{number}]: {reason}"

    def _reason(self, index: int, name: str) -> str:
        known: Mapping[str, Any] = self._known[index]
        if name in known:
            return known[name].reason
        ending = self._results[index].not_passing[name]
        return f"{ending.status}: {ending.detail}"

    def _number(self, reason: str) -> int:
        return self._numbers.setdefault(reason, len(self._numbers) + 1)


def _operators(domain: str) -> list[str]:
    schemas = onnx.defs.get_all_schemas()
    return sorted({schema.name for schema in schemas if schema.domain == domain})


def _without_converter(domain: str, name: str) -> str:
    schema: Any = onnx.defs.get_schema(name, domain=domain)  # stubs leave function bodies out
    return "body" if schema.has_function or schema.has_context_dependent_function else ""
