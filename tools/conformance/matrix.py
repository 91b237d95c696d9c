"""``docs/support-matrix.md``: what becomes of each operator, as the cases showed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from ...frontend.onnx.registry import converters
from .cases import Case, all_nodes
from .outcome import Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "support-matrix.md"
NOTE = "<!-- Written by `make conformance`; edits here are lost. -->"
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")

Operator = tuple[str, str]
"""Domain and name."""


@dataclass
class Evidence:
    """What the cases of one operator showed."""

    native: int = 0
    host: int = 0
    types: set[str] = field(default_factory=set)
    failures: list[Outcome] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All its cases."""
        return self.native + self.host + len(self.failures)


def write_matrix(
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    figures: Iterable[str],
    reasons: Mapping[str, str],
) -> None:
    """Write the page. `reasons` says why cases do not pass that are known not to."""
    evidence = gather(cases, {outcome.name: outcome for outcome in outcomes})
    lines = ["# ONNX operators: what is supported", "", NOTE, ""]
    lines += [
        "From ONNX's own test suite for backends, on the CPU; shape, element type and values are "
        "compared strictly.",
        "",
        *(f"- {figure}" for figure in figures),
        "",
        "*Opsets* are those at which the converter's meaning changes; *body* means that ONNX's own "
        "function body is compiled. *Types* are those of the inputs of the passing cases. *Native* "
        "counts cases that were compiled as a whole, *host* those with a part that "
        "`onnx.reference` runs.",
    ]
    for domain in _DOMAINS:
        lines += ["", f"## {domain or 'ai.onnx'}", "", *_table(domain, evidence, reasons)]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def gather(cases: Iterable[Case], outcomes: Mapping[str, Outcome]) -> dict[Operator, Evidence]:
    """The evidence for each operator; an expanded function body is none for its parts."""
    evidence: dict[Operator, Evidence] = defaultdict(Evidence)
    for case in cases:
        outcome = outcomes.get(case.name)
        if outcome is None or case.kind != "node" or "_expanded" in case.name:
            continue
        model = case.model()
        for operator in {_operator(node) for node in all_nodes(model.graph)}:
            _record(evidence[operator], outcome, model)
    return evidence


def _record(evidence: Evidence, outcome: Outcome, model: onnx.ModelProto) -> None:
    if not outcome.passed:
        evidence.failures.append(outcome)
        return
    evidence.types |= set(_types(model))
    if outcome.native:
        evidence.native += 1
    else:
        evidence.host += 1


def _types(model: onnx.ModelProto) -> Iterator[str]:
    for info in model.graph.input:
        if info.type.HasField("tensor_type"):
            yield onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
        else:
            yield str(info.type.WhichOneof("value")).removesuffix("_type")


def _operator(node: onnx.NodeProto) -> Operator:
    return ("" if node.domain == "ai.onnx" else node.domain), node.op_type


def _table(
    domain: str, evidence: Mapping[Operator, Evidence], reasons: Mapping[str, str]
) -> Iterator[str]:
    opsets: dict[Operator, list[int]] = defaultdict(list)
    for converter in converters():
        opsets[converter.domain, converter.op_type].append(converter.since)
    yield "| operator | opsets | types | native | host | not passing |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in _operators(domain):
        found = evidence.get((domain, name), Evidence())
        failures = [f"`{o.name}`: {reasons.get(o.name, o.detail)}" for o in found.failures]
        columns = [
            name,
            ", ".join(map(str, opsets[domain, name])) or _without_converter(domain, name),
            ", ".join(sorted(found.types)),
            str(found.native or ""),
            str(found.host or ""),
            "; ".join(failures).replace("|", "\\|"),
        ]
        yield f"| {' | '.join(columns)} |"


def _operators(domain: str) -> list[str]:
    schemas = onnx.defs.get_all_schemas()
    return sorted({schema.name for schema in schemas if schema.domain == domain})


def _without_converter(domain: str, name: str) -> str:
    schema: Any = onnx.defs.get_schema(name, domain=domain)  # stubs leave function bodies out
    return "body" if schema.has_function or schema.has_context_dependent_function else ""
